# A copy of the model with notes on its nodes, and where weights are if they are not in the file.
cd onnx || exit 2
annotate() { "$WEFT" report "$TMP/p.json" -o "$TMP/r.html" --annotate "$1" 2>&1 | sed "s|$TMP/||g; s|r.html: .*|r.html|"; }
for model in small_mlp_external small_mlp_function small_mlp; do
    "$WEFT" place $model.onnx --on edge-soc --solver heft -o "$TMP/p.json" --quiet
    annotate "$TMP/$model.onnx"
done
annotate "$TMP/nowhere/a.onnx"
# Notes of the first two nodes, and the keys of the model.
tr -c '[:print:]' '\n' <"$TMP/small_mlp.onnx" | grep -a '..' | grep -a -A1 '^weft\.' >"$TMP/notes"
sed -n 's/J$//; 1,11p' "$TMP/notes"
sed -n 's/^\(weft\.[a-z_]*\).*/\1/p' "$TMP/notes" | tail -11 | grep -v 'device\|start\|time'
# Tasks have no model; nothing is written.
cp ../tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 2
"$WEFT" place topcuoglu.json --solver heft -o p.json --quiet
"$WEFT" report p.json -o none.html --annotate none.onnx
ls
