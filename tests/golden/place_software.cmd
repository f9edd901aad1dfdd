# The software is kept in the plan: check finds the value again, and not with another one. A platform file may say
# it, too; the flag goes before it.
cd "$TMP" || exit 9
cat >gpu.yaml <<'END'
schema: weft.platform/1
name: gpu
software: eager
devices:
  - {name: gpu, model: roofline, peak_flops: 100e12, memory_bandwidth: 1000GB/s, overhead: 4us, host_time: 20us}
END
for software in eager graph fused flash; do
    "$WEFT" place gpt2:layers=1 --on gpu.yaml --software $software -o $software.json | sed -n '1p;3p'
    "$WEFT" check $software.json | head -1
done
"$WEFT" place gpt2:layers=1 --on gpu.yaml -o file.json | sed -n '1p;3p'
"$WEFT" check file.json | head -1
grep -c '"software"' file.json flash.json
sed 's/"software": "flash"/"software": "fused"/' flash.json >edited.json
"$WEFT" check edited.json | head -3
"$WEFT" diff graph.json flash.json | grep -i software
sed 's/host_time: 20us/host_time: 20us, blocking: true/' gpu.yaml >blocking.yaml
"$WEFT" place gpt2:layers=1 --on blocking.yaml --json | grep '"software"\|"value"'
"$WEFT" inspect --platform gpu.yaml | grep software
"$WEFT" compare gpt2:layers=1 --on gpu.yaml --software fused --time-limit 1s | grep '^software'
sed 's/software: eager/software: flsh/' gpu.yaml >wrong.yaml
"$WEFT" place gpt2:layers=1 --on wrong.yaml
echo "exit $?"
"$WEFT" place gpt2:layers=1 --on gpu.yaml --software quick
echo "exit $?"
