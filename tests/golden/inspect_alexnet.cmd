"$WEFT" inspect onnx/alexnet.onnx
