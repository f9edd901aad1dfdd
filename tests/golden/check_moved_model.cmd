# A plan whose model has moved: refused with its name, found where --model says.
cp onnx/small_mlp.onnx "$TMP/here.onnx" && cd "$TMP" || exit 9
"$WEFT" place here.onnx --solver heft --on edge-soc -o p.json --quiet || exit 9
mv here.onnx there.onnx
"$WEFT" check p.json
echo "exit $?"
"$WEFT" check p.json --model there.onnx --quiet
echo "exit $?"
