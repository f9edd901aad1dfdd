# A baseline beside the best plan: sets and splits that changed.
cd "$TMP" || exit 9
"$WEFT" shard alexnet --on f1-2x4 --dtype f16 --solver longest-group -o a.json --quiet || exit 9
"$WEFT" shard alexnet --on f1-2x4 --dtype f16 --time-limit 10min -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json
