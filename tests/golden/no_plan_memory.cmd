# Weights of 18 bytes, two devices of 8: proved, with what would do.
cat >"$TMP/full.json" <<'JSON'
{"schema": "weft.tasks/1", "devices": ["p", "q"], "capacity": [8, 8],
 "tasks": [{"name": "a", "seconds": [1, 1], "memory": 6}, {"name": "b", "seconds": [1, 1], "memory": 7},
           {"name": "c", "seconds": [1, 1], "memory": 5}], "edges": []}
JSON
cd "$TMP"
"$WEFT" place full.json
