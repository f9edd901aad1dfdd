mkdir "$TMP/net.onnx"; cd "$TMP"; "$WEFT" inspect net.onnx
