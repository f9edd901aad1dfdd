# Four servers whose GPUs share one card each, links with a curve: training, placement, sharding; what is refused.
cat >"$TMP/servers.yaml" <<'YAML'
schema: weft.platform/1
name: servers
switches: [fabric]
groups:
  - name: server
    count: 4
    switches: [hub]
    devices: [{name: gpu, count: 2, model: roofline, peak_flops: 1e14, memory_bandwidth: 1TB/s, memory: 40GB}]
    links:
      - {star: {center: hub, to: [gpu]}, latency: 1us, curve: [[4KiB, 1.3GB/s], [64KiB, 11GB/s], [1MiB, 110GB/s], [128MiB, 229GB/s]]}
    shared:
      - {name: card, bandwidth: 10GB/s, of: [{star: {center: fabric, to: [gpu]}}]}
links: [{star: {center: fabric, to: [server.gpu]}, bandwidth: 10GB/s, latency: 5us}]
YAML
cd "$TMP"
"$WEFT" train gpt2:small --on servers.yaml --batch 16 --dtype f16 --stages 1 --width 2 --microbatch 16 --schedule 1f1b -o plan.json | sed -n '/step  /p;/bound  /p'
"$WEFT" check plan.json | sed 1q
"$WEFT" place alexnet --on servers.yaml
echo "exit $?"
(cat servers.yaml; echo 'transfer: contend') >contend.yaml
"$WEFT" place alexnet --on contend.yaml -o place.json | sed -n '/latency  /p'
"$WEFT" check place.json | sed 1q
sed 's/\[64KiB, 11GB.s\]/[64KiB, 90GB\/s]/' servers.yaml >wrong.yaml
"$WEFT" place alexnet --on wrong.yaml
echo "exit $?"
sed 's/center: fabric, to: \[gpu\]/center: hub, to: [fabric]/' servers.yaml >wrong.yaml
"$WEFT" place alexnet --on wrong.yaml
echo "exit $?"
