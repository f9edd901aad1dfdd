# Plans that take no time: nothing is divided by it.
cat >"$TMP/t.json" <<'END'
{"schema": "weft.tasks/1", "devices": ["a", "b"], "tasks": [{"name": "x", "seconds": [0, 4]}], "edges": []}
END
cd "$TMP"
"$WEFT" place t.json --quiet -o p.json
sed 's/0, 4/1, 4/' t.json >u.json
"$WEFT" place u.json --quiet -o q.json
"$WEFT" explain p.json --upgrades speed,device --top 2 --uncertainty 10% --samples 2
"$WEFT" diff p.json p.json | grep -A 1 "^  result"
"$WEFT" diff p.json q.json | grep -A 1 "^  result"
"$WEFT" report p.json --json | grep -c '"key": "value"'
