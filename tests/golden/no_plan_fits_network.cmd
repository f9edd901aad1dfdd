# AlexNet has 61 100 840 parameters (inspect_alexnet): 244 MB in f32 do not fit into 100 MB.
cat >"$TMP/tiny.yaml" <<'END'
schema: weft.platform/1
name: tiny
devices:
  - {name: npu, model: roofline, peak_flops: 1e12, memory_bandwidth: 1e11, memory: 100MB}
END
cd "$TMP" && "$WEFT" place alexnet --on tiny.yaml
