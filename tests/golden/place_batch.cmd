# Batches to choose from and shares of a batch: the plan, one proof over all choices, wrong words.
"$WEFT" place alexnet --on server-cpu-2gpu --goal throughput --batch 1,4,16 --steps 200 -o "$TMP/stream.json"
(cd "$TMP" && "$WEFT" check stream.json) | head -3
grep -A15 '"limits"' "$TMP/stream.json" | tr -d '\n '
echo
grep '"again"\|"batch"' "$TMP/stream.json"
# a batch that is none of the choices, no certificate, other choices
sed 's/^   16$/   64/' "$TMP/stream.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
sed 's/"again": "choices"/"again": null/' "$TMP/stream.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
sed '/^   1,$/d' "$TMP/stream.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
"$WEFT" place squeezenet1_1 --on edge-soc --goal throughput --no-mix --deadline 30ms --batch auto --steps 100 -o "$TMP/deadline.json" --report "$TMP/page.html" |
    sed -n '/^Batches/,/^$/p'
grep -o 'weft place squeezenet[^\\]*' "$TMP/page.html" | head -1

"$WEFT" place alexnet --on server-cpu-2gpu --batch 16 --split-batch auto --steps 200 -o "$TMP/shares.json" --report "$TMP/page.html"
(cd "$TMP" && "$WEFT" check shares.json) | head -3
grep -o 'weft place alexnet[^\\]*' "$TMP/page.html" | head -1
sed 's/"split_batch": true/"split_batch": false/' "$TMP/shares.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
"$WEFT" place alexnet --on server-cpu-2gpu --batch 16 --split-batch 12,4 --steps 200 -o "$TMP/fixed.json" -q
(cd "$TMP" && "$WEFT" check fixed.json) | head -1
(cd "$TMP" && "$WEFT" split fixed.json -o parts)
echo "exit $?"
(cd "$TMP" && "$WEFT" explain fixed.json --upgrades none --steps 100) | head -3
sed 's/^   4$/   5/' "$TMP/fixed.json" >"$TMP/edited.json"
(cd "$TMP" && "$WEFT" check edited.json)
echo "exit $?"

for words in '--batch 1,4' '--batch few' '--split-batch auto' '--batch 8 --split-batch 3,4' '--batch 8 --split-batch 8' \
    '--batch 8 --split-batch auto --goal throughput' '--batch 8 --split-batch 4,4 --train' \
    '--batch 8 --split-batch 4,4 --semantics calls' '--batch 8 --split-batch auto --pareto'; do
    "$WEFT" place alexnet --on server-cpu-2gpu $words
    echo "exit $?"
done
