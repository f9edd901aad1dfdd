# a small network on three devices: what is written, and that it is written once more in the same way
DATA=$PWD
cd "$TMP"
cat >kinds.yaml <<'END'
schema: weft.platform/1
name: kinds
devices:
  - {name: cpu, model: roofline, peak_flops: 100GFLOP/s, memory_bandwidth: 20GB/s}
  - {name: gpu, engine: ort, cpus: [0, 1], model: roofline, peak_flops: 200GFLOP/s, memory_bandwidth: 40GB/s}
links: [{all: [cpu, gpu], bandwidth: 10GB/s, latency: 10ns}]
END
"$WEFT" place "$DATA"/onnx/small_mlp.onnx --on kinds.yaml --solver random --seed 2 --quiet -o plan.json
"$WEFT" split plan.json -o parts
(cd parts && ls && cksum *.onnx *.py *.txt onnxruntime.json openvino.json | sort -k3 | awk '{print $2, $3}')
"$WEFT" split plan.json -o parts --json >manifest.json
cmp manifest.json parts/manifest.json && grep -c '"file": "segment' manifest.json
"$WEFT" inspect parts/segment0000-*.onnx | head -3
cat parts/onnxruntime.json parts/tensorrt.txt
echo "-- what cannot be split"
"$WEFT" place alexnet --on kinds.yaml --dtype f16 --solver heft --quiet -o half.json
"$WEFT" split half.json -o half
"$WEFT" place "$DATA"/tasks/topcuoglu.json --solver heft --quiet -o tasks.json
"$WEFT" split tasks.json -o tasks
"$WEFT" train gpt2:layers=2 --on dgx-a100 --batch 8 --quiet -o train.json
"$WEFT" split train.json -o train
"$WEFT" split plan.json -o plan.json
ls -d half tasks train 2>/dev/null
