# A type without a peak is refused with the names of device, key and node; others run at their own.
for what in place shard train; do
    "$WEFT" $what gpt2:layers=1 --on platforms/peaks.yaml --dtype bf16 --batch 2 --steps 100 2>&1
    echo "exit $?"
done
for type in f16 f32; do
    "$WEFT" place gpt2:layers=1 --on platforms/peaks.yaml --dtype $type --solver heft | grep latency
done
printf 'schema: weft.platform/1\nname: x\ndevices:\n  - {name: a, model: roofline, memory_bandwidth: 1GB/s, peak_flops: 0}\n' >"$TMP/x.yaml"
cd "$TMP" && "$WEFT" inspect --platform x.yaml
