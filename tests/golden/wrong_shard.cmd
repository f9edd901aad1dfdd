"$WEFT" shard alexnet --on f1-2x4 --solver autto
echo "exit $?"
"$WEFT" shard alexnet
echo "exit $?"
# A platform without accelerators, and one whose devices for products do not run Gelu.
cat >"$TMP/host.yaml" <<'YAML'
schema: weft.platform/1
name: lonely
host: cpu
devices:
  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 64GB/s}
YAML
"$WEFT" shard alexnet --on "$TMP/host.yaml"
echo "exit $?"
"$WEFT" shard bert --on h2h-12
echo "exit $?"
"$WEFT" shard tasks/topcuoglu.json --on f1-2x4
echo "exit $?"
"$WEFT" shard alexnet --on f1-2x4 --semantics calls
echo "exit $?"
"$WEFT" shard alexnet --on f1-2x4 --train
echo "exit $?"
"$WEFT" shard alexnet --on f1-2x4 --time-limit soon
echo "exit $?"
# What compares plans of one kind is not for the other.
"$WEFT" compare --task shard alexnet --on f1-2x4 --goal throughput
echo "exit $?"
"$WEFT" compare --task shard alexnet --on f1-2x4 --semantics calls
echo "exit $?"
"$WEFT" compare alexnet --on f1-2x4 --semantics branches
echo "exit $?"
"$WEFT" compare --task sharding alexnet --on f1-2x4
