# Pins, groups, segments and stages: plans that keep them, a proof, a solver that has none, wrong words.
"$WEFT" place alexnet --on edge-soc --pin 'conv*=gpu' --together 'gemm*' --steps 200 -o "$TMP/plan.json" -q
echo "exit $?"
grep -A9 '"limits"' "$TMP/plan.json"
(cd "$TMP" && "$WEFT" check plan.json) | head -1
sed 's/"pin": "conv/"pin": "gemm/' "$TMP/plan.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
echo "exit $?"
"$WEFT" place inception_v3 --on edge-soc --max-segments 3 --steps 200 -o "$TMP/few.json" -q
echo "exit $?"
(cd "$TMP" && "$WEFT" check few.json) | head -1
sed 's/"max_segments": 3/"max_segments": 1/' "$TMP/few.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
echo "exit $?"
"$WEFT" place inception_v3 --on edge-soc --contiguous --min-segment 2ms --steps 200 -o "$TMP/long.json" -q
echo "exit $?"
(cd "$TMP" && "$WEFT" check long.json) | head -1
"$WEFT" place alexnet --on edge-soc --max-segments 1 --pin conv_2=gpu,gemm_35=cpu
echo "exit $?"
"$WEFT" place inception_v3 --on edge-soc --max-segments 2 --solver heft
echo "exit $?"
for flag in pin=conv=gpu pin=conv_2=tpu pin=conv_2 pin=conv_2=gpu,c*=cpu together=conv_2,,x together=gem min-segment=few min-segment=0; do
    "$WEFT" place alexnet --on edge-soc "--$flag"
    echo "exit $?"
done
"$WEFT" place alexnet --on edge-soc --semantics calls --max-segments 2
echo "exit $?"
