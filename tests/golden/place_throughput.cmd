# Two tasks of 4 s and 2 s on either of two devices; what is sent takes 1 s. One device alone needs
# 6 s an item; a on one and b on the other, 4 s: the busiest device. The latency of that plan is
# 4 + 1 + 2 = 7 s, worse than 6 s. The bound is (4 + 2) / 2 = 3 s, as if tasks could be divided; the
# gap of 6 s is (6 - 3) / 6.
cat >"$TMP/two.json" <<'END'
{"schema": "weft.tasks/1", "devices": ["p", "q"],
 "tasks": [{"name": "a", "seconds": [4, 4]}, {"name": "b", "seconds": [2, 2]}],
 "edges": [{"from": "a", "to": "b", "amount": 1}]}
END
cd "$TMP"
for goal in latency throughput; do
    echo "$goal"
    "$WEFT" compare two.json --goal $goal --csv | cut -d, -f1-3 | grep 'single\|heft\|peft\|greedy'
done
"$WEFT" place two.json --goal throughput --solver single --json |
    grep '^ "\(goal\|value\|unit\|per_second\|bound\|gap\)"'
"$WEFT" place two.json --goal throughput --solver single -o p.json --quiet && "$WEFT" check p.json
