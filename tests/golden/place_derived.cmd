# A network by hand: AlexNet's last layer, 4096 x 1000, on one device of 1 TFLOP/s and 1 GB/s whose
# operators start after 1 ms. Gemm moves 4 (4096 x 1000 + 4096 + 1000 + 1000) bytes = 16.408384 MB,
# which takes 16.408384 ms, and multiplies and adds 2 x 4096 x 1000 times, 8.2 us: memory decides.
cat >"$TMP/m.yaml" <<'END'
schema: weft.platform/1
name: slow
devices:
  - {name: d, model: roofline, peak_flops: 1e12, memory_bandwidth: 1GB/s, overhead: 1ms}
END
"$WEFT" place alexnet --on "$TMP/m.yaml" -o "$TMP/p.json" --quiet
# The last start and the end: what lies between is the last task, 17.408384 ms.
awk -F'[:,]' '/"start_s"/ && !end {start = $2} /"makespan_s"/ {end = $2} END {printf "%.9f\n", end - start}' \
    "$TMP/p.json"
