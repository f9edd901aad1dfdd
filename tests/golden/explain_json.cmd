# The document, and the same bytes for any number of threads.
"$WEFT" place tasks/limits.json --quiet -o "$TMP/p.json" --steps 10000
for n in 1 2 8; do
    "$WEFT" explain "$TMP/p.json" --steps 10000 --threads $n --uncertainty 0.1 --samples 8 --json \
        >"$TMP/$n"
done
cmp "$TMP/1" "$TMP/2" && cmp "$TMP/1" "$TMP/8" && echo same
"$WEFT" explain "$TMP/p.json" --steps 10000 --upgrades speed,memory --top 1 --json | sed "s|$TMP|TMP|"
# A file that is asked for is written, said or not.
"$WEFT" explain "$TMP/p.json" --steps 10000 --upgrades none --quiet -o "$TMP/q.txt"
grep -c latency "$TMP/q.txt"
# A page takes what there is, with upgrades or without.
"$WEFT" explain "$TMP/p.json" --steps 1000 --upgrades none --uncertainty 10% --samples 2 --json -o "$TMP/x.json"
"$WEFT" report "$TMP/p.json" --explain "$TMP/x.json" --json -o "$TMP/p.html" | grep -c '"id": "uncertainty"'
