# three mistakes, one line each; nothing is printed
"$WEFT" inspect onnx/small_mlp.onnx --dim N
"$WEFT" inspect onnx/small_mlp.onnx --dim N=0
"$WEFT" inspect onnx/small_mlp.onnx --dim nowhere=8
