cd "$TMP"; printf "\211PNG\r\n\032\n" >cat.onnx; : >empty.onnx
"$WEFT" inspect cat.onnx
"$WEFT" inspect empty.onnx
