# A plan names its platform as ../x/p.yaml, from where it was made. It is found from other folders,
# if the plan lies deeper, after all was moved, and beside the plan; and a message says what to do.
mkdir -p "$TMP/a/x" "$TMP/a/y/out" && cp onnx/small_mlp.onnx "$TMP/a/y/m.onnx" || exit 9
cp "$(dirname "$(pwd)")/../presets/edge-soc.yaml" "$TMP/a/x/p.yaml" && cd "$TMP/a/y" || exit 9
"$WEFT" place m.onnx --on ../x/p.yaml --solver heft --quiet -o out/plan.json || exit 9
"$WEFT" check out/plan.json | head -n 1
cd "$TMP" && "$WEFT" check a/y/out/plan.json | head -n 1
mv a b && "$WEFT" check b/y/out/plan.json | head -n 1
cd b/y/out && "$WEFT" check plan.json | head -n 1
cd "$TMP" && mkdir c && mv b/x/p.yaml b/y/m.onnx b/y/out/plan.json c && "$WEFT" check c/plan.json | head -n 1
"$WEFT" explain c/plan.json --upgrades none | head -n 1
rm c/p.yaml
"$WEFT" check c/plan.json
echo "exit $?"
"$WEFT" check c/plan.json --on edge-soc | head -n 1
