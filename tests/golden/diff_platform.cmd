# The same network and solver, but a faster device, a faster link, another batch.
cd "$TMP" && cat >slow.yaml <<'Y'
schema: weft.platform/1
name: two
host: cpu
devices:
  - {name: cpu, model: roofline, peak_flops: 1e12, memory_bandwidth: 100GB/s, overhead: 2us}
  - {name: gpu, model: roofline, peak_flops: 4e12, memory_bandwidth: 200GB/s, memory: 8GB, overhead: 5us}
links:
  - {between: [cpu, gpu], bandwidth: 4GB/s, latency: 10us}
Y
sed -e 's/4e12/16e12/' -e 's/200GB/400GB/' -e 's/: 4GB/: 16GB/' slow.yaml >fast.yaml
"$WEFT" place alexnet --on slow.yaml --solver heft -o a.json --quiet || exit 9
"$WEFT" place alexnet --on fast.yaml --solver heft --batch 8 -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json
