# times of other tools: names that fit, names that do not
DATA=$PWD
cd "$TMP"
cp -r "$DATA"/times times
for times in ort.json trtexec.json openvino.csv pytorch.json; do
    "$WEFT" profile "$DATA"/models/resnet18.onnx --read times/$times --device gpu -o out.json
    grep -c '"node"' out.json
done
"$WEFT" profile "$DATA"/models/resnet18.onnx --read times/trtexec.json --read times/trtexec_times.json --device gpu -o out.json
"$WEFT" profile alexnet --read times/trtexec.json --device gpu -o none.json
"$WEFT" profile alexnet --read times/trtexec_times.json --device gpu -o none.json
"$WEFT" profile alexnet --read times/ort.json -o none.json
printf 'layerName;realTime (ms)\nconv_2;fast\n' >bad.csv
"$WEFT" profile alexnet --read bad.csv --device gpu -o none.json
"$WEFT" profile --devices alexnet
"$WEFT" profile alexnet --on edge-soc -o none.json
ls none.json 2>/dev/null
