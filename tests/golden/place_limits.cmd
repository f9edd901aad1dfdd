# Topcuoglu's example. No plan takes less than 54 s (path bound) or makes more than 1 / 30.79 items a
# second (load bound): limits beyond are refused with a proof. The pair of 74 s and 36 s an item is
# between the fastest plan (73 s, 47 s an item) and the best throughput.
run() {
    "$WEFT" place tasks/topcuoglu.json "$@" | sed -n '3,6p'
}
run --deadline 50s
run --min-throughput 0.1
run --min-throughput 0.0277 --solver load
run --goal throughput --deadline 73s
"$WEFT" place tasks/topcuoglu.json --deadline 50s --json | grep '"\(status\|value\|reason\)"'
"$WEFT" place tasks/topcuoglu.json --goal throughput --deadline 74s -o "$TMP/plan.json" --quiet
grep -A5 '"limits"' "$TMP/plan.json"
"$WEFT" check "$TMP/plan.json" | sed "s|$TMP/||"
sed 's/"deadline_s": 74.0/"deadline_s": 60.0/' "$TMP/plan.json" >"$TMP/short.json"
"$WEFT" check "$TMP/short.json" | sed "s|$TMP/||; s/hash is .*/hash is .../"
