# Tasks: links, times and capacities edited by hand give what is priced.
cd "$TMP"
cat >t.json <<'END'
{"schema": "weft.tasks/1", "devices": ["big", "small"],
 "tasks": [
  {"name": "load", "seconds": [2, 4]},
  {"name": "left", "seconds": [3, 5], "memory": 1048576},
  {"name": "right", "seconds": [3, 4]},
  {"name": "join", "seconds": [1, null]}],
 "edges": [
  {"from": "load", "to": "left", "amount": 8},
  {"from": "load", "to": "right", "amount": 8},
  {"from": "left", "to": "join", "amount": 2},
  {"from": "right", "to": "join", "amount": 2}],
 "link": [[0, 0.1], [0.1, 0]], "latency": [[0, 0.2], [0.2, 0]],
 "capacity": [null, 4194304]}
END
value() { "$WEFT" place "$1" --json | grep -m 1 '^ "value"'; }
priced() { grep -A 4 "\"name\": \"$1\"" e.json | grep '"value"' | sed 's/^  //'; }
same() {
    by_hand=$(value hand.json)
    [ "$by_hand" = "$(priced "$1")" ] && echo "$1 $by_hand" || echo "differs: $1 $by_hand $(priced "$1")"
}
"$WEFT" place t.json --quiet -o p.json
"$WEFT" explain p.json --json -o e.json
sed 's/"link": \[\[0, 0.1\], \[0.1, 0\]\]/"link": [[0, 0.05], [0.05, 0]]/' t.json >hand.json
same link-big-small
sed 's/\[2, 4\]/[1, 4]/; s/\[3, /[1.5, /; s/\[1, null\]/[0.5, null]/' t.json >hand.json
same speed-big
sed 's/\[2, 4\]/[2, 2]/; s/\[3, 5\]/[3, 2.5]/; s/\[3, 4\]/[3, 2]/' t.json >hand.json
same speed-small
sed 's/4194304/8388608/' t.json >hand.json
same memory-small
sed 's/"big", "small"/"big", "small", "big-2"/; s/\[2, 4\]/[2, 4, 2]/; s/\[3, 5\]/[3, 5, 3]/
    s/\[3, 4\]/[3, 4, 3]/; s/\[1, null\]/[1, null, 1]/; s/\[null, 4194304\]/[null, 4194304, null]/
    s/\[\[0, 0.1\], \[0.1, 0\]\]/[[0, 0.1, 0.1], [0.1, 0, 0.1], [0.1, 0.1, 0]]/
    s/\[\[0, 0.2\], \[0.2, 0\]\]/[[0, 0.2, 0.2], [0.2, 0, 0.2], [0.2, 0.2, 0]]/' t.json >hand.json
same device-big
