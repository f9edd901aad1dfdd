# What people type: names of types and units as elsewhere, and mistakes that would cost a file.
"$WEFT" --version --json | sed 's/"version": "[0-9.]*"/"version": "..."/; s/\["cbc.*\]/[...]/'
"$WEFT" --version --jsn
cp tasks/topcuoglu.json onnx/small_mlp.onnx "$TMP" && cd "$TMP" || exit 9
for type in fp16 float16 f16 bfloat16 fp32; do
    echo "$type: $("$WEFT" inspect small_mlp.onnx --dtype $type --json | grep weight_bytes)"
done
"$WEFT" inspect small_mlp.onnx --dtype f17
cat >two.yaml <<'END'
schema: weft.platform/1
name: two
host: a
devices:
  - {name: a, model: roofline, peak_flops: 1TFLOPS, memory_bandwidth: 20GBps, memory: 1GiB, overhead: 2µs}
  - {name: b, model: roofline, peak_flops: 1TFLOP/s, memory_bandwidth: 20GB/s, memory: 1GiB, overhead: 2us}
links:
  - {star: {center: a, to: [b]}, bandwidth: 8Gbps, latency: 3μs}
END
"$WEFT" inspect --platform two.yaml | sed -n 's/^  [ab] .*/&/p'
# An output that is read, or that two flags name, or that cannot be: refused before anything else.
"$WEFT" place topcuoglu.json -o topcuoglu.json
"$WEFT" place small_mlp.onnx --on two.yaml -o ./two.yaml
ln topcuoglu.json other.json && "$WEFT" place topcuoglu.json --trace other.json
"$WEFT" place topcuoglu.json -o plan.json --trace plan.json
"$WEFT" place topcuoglu.json -o nowhere/plan.json
mkdir folder && "$WEFT" place topcuoglu.json -o folder
"$WEFT" place topcuoglu.json -o folder/
"$WEFT" place topcuoglu.json -o /dev/null --quiet && echo "a device may be written"
"$WEFT" place topcuoglu.json --solver heft --solver cpop
ls
# Continuous integration: 80 against 73 is 9.6 % more.
"$WEFT" place topcuoglu.json -o best.json --quiet && "$WEFT" place topcuoglu.json --solver heft -o heft.json --quiet
for most in 0% 9.5% 9.6% 20%; do
    "$WEFT" diff best.json heft.json --quiet --fail-if-worse $most
    echo "exit code $?"
done
"$WEFT" diff heft.json best.json --quiet --fail-if-worse 0%
echo "exit code $?"
"$WEFT" diff heft.json best.json --fail-if-worse 2
"$WEFT" report best.json --csv tables -o r.html >/dev/null && "$WEFT" report best.json --csv tables -o r.html | sed "s/: .*//"
