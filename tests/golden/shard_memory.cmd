# Accelerators of 20 MB cannot hold 244 MB of weights: proved, with the reason and exit code 1. Those
# of 64 MB can, if the weights are cut.
cat >"$TMP/small.yaml" <<'YAML'
schema: weft.platform/1
name: small
host: cpu
devices:
  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 64GB/s}
  - {name: npu, count: 8, model: roofline, peak_flops: 1e12, memory_bandwidth: 64GB/s, memory: 20MB}
links:
  - {star: {center: cpu, to: [npu]}, bandwidth: 2Gbit/s}
YAML
cd "$TMP"
"$WEFT" shard alexnet --on small.yaml
echo "exit $?"
"$WEFT" shard alexnet --on small.yaml --json | grep '"status"\|"value"\|"plan"\|"sets"\|"reason"'
sed 's/20MB/64MB/; s/name: small/name: large/' small.yaml >large.yaml
"$WEFT" shard alexnet --on large.yaml | grep 'latency\|memory\|of 64'
echo "exit $?"
