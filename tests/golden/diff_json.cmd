cat >"$TMP/t.json" <<'J'
{"schema": "weft.tasks/1", "devices": ["P1", "P2"],
 "tasks": [{"name": "a", "seconds": [2, 4]}, {"name": "b", "seconds": [3, 3]}, {"name": "c", "seconds": [4, 2]}],
 "edges": [{"from": "a", "to": "b", "amount": 5}, {"from": "b", "to": "c", "amount": 5}]}
J
# All on P1: 2 + 3 + 4 = 9 s; the fastest device for each: c on P2, 2 + 3 + 5 + 2 = 12 s.
cd "$TMP" && "$WEFT" place t.json --solver single -o a.json --quiet && "$WEFT" place t.json --solver met -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json --json
