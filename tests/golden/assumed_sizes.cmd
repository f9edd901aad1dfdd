# What a detector finds depends on the image: with sizes that the user assumes it is planned whole, reports
# say what is assumed, and the plan keeps it.
model=models/fasterrcnn_mobilenet_v3_320_full.onnx
sizes='*NonZero*=200,*NonMaxSuppression*=100'
"$WEFT" inspect $model | sed -n '/depend/,$p'
"$WEFT" inspect $model --dim "$sizes" | sed -n '/assumed/,$p'
"$WEFT" place $model --on edge-soc --solver heft --dim "$sizes" -o "$TMP/plan.json" | grep -A2 "warning"
"$WEFT" check "$TMP/plan.json" | head -1 | sed "s/.*plan.json/plan.json/"
refused() {
    "$WEFT" place $model --on edge-soc "$@"
    echo "exit $?"
}
refused --dim /m/rpn/NonZero=200
refused --dim "$sizes" --dim /m/rpn/NonZzero=200
refused --dim "$sizes" --dim /m/rpn/Shape=200
refused --dim /m/rpn/NonZero=0
"$WEFT" inspect $model --dim "$sizes" --dim /m/rpn/NonZero=50 | grep assumed
refused --dim '/m/rpn/NonZero_output_0.1=200,/m/rpn/NonZero_output_0.7=1'
sed 's/"\*NonZero\*": 200/"*NonZero*": 100/' "$TMP/plan.json" >"$TMP/edited.json"
"$WEFT" check "$TMP/edited.json" >"$TMP/said"
echo "exit $?"
head -1 "$TMP/said" | sed 's/.*edited/edited/;s/is [0-9a-f]*, the plan has.*/is another/'
