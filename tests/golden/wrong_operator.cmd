# The only device cannot run the first node of the network that is not in its list.
cat >"$TMP/conv.yaml" <<'END'
schema: weft.platform/1
name: conv-only
devices:
  - {name: npu, model: roofline, peak_flops: 1e12, memory_bandwidth: 1e11, only: [Conv, Relu, MaxPool]}
END
"$WEFT" place onnx/alexnet.onnx --on "$TMP/conv.yaml"
