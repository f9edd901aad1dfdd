head -c 300 onnx/alexnet.onnx >"$TMP/cut.onnx"; cd "$TMP"; "$WEFT" inspect ./cut.onnx
