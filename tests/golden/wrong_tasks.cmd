# Faults of task files, each in a file of its own.
cd "$TMP"
try() {
    printf '%s\n' '{"schema": "weft.tasks/1", "devices": ["p", "q"],' "$1" >t.json
    "$WEFT" place t.json
    [ $? = 2 ] || echo "not exit code 2: $1"
}
try '"tasks": [], "edges": []}'
try '"tasks": [{"name": "a", "seconds": [1]}], "edges": []}'
try '"tasks": [{"name": "a", "seconds": [-1, 1]}], "edges": []}'
try '"tasks": [{"name": "a", "seconds": [1, 1]}, {"name": "a", "seconds": [1, 1]}], "edges": []}'
try '"tasks": [{"name": "task", "seconds": [1, 1]}], "edges": [{"from": "task", "to": "tsak", "amount": 1}]}'
try '"tasks": [{"name": "a", "seconds": [1, 1]}, {"name": "b", "seconds": [1, 1]}],
 "edges": [{"from": "a", "to": "b", "amount": 1}, {"from": "b", "to": "a", "amount": 1}]}'
try '"tasks": [{"name": "a", "seconds": [1, 1e300]}], "edges": []}'
"$WEFT" place t.json --format xyz
echo "exit $?"
