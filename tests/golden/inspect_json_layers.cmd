"$WEFT" inspect onnx/small_mlp.onnx --json --layers
