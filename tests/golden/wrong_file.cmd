"$WEFT" inspect no/such.onnx
