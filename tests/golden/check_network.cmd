# What place writes, check accepts: a network on a preset, each transfer model, a training step.
cd "$TMP"
try() {
    "$WEFT" place "$@" -o p.json --quiet && "$WEFT" check p.json --quiet && echo "ok $*"
}
try inception_v3 --on server-cpu-2gpu
try inception_v3 --on server-cpu-2gpu --goal throughput --solver peft
try resnet18 --on h2h-12 --batch 2
try gpt2:layers=2 --on dgx-a100 --train --optimizer sgd --dtype f16
for transfer in overlap contend block; do
    cat >m.yaml <<END
schema: weft.platform/1
name: pair
transfer: $transfer
host: cpu
devices:
  - {name: cpu, model: roofline, peak_flops: 1e11, memory_bandwidth: 50GB/s}
  - {name: gpu, count: 2, model: roofline, peak_flops: 1e13, memory_bandwidth: 500GB/s}
links:
  - {star: {center: cpu, to: [gpu]}, bandwidth: 12GB/s, latency: 5us}
END
    try squeezenet1_1 --on m.yaml
done
