# A plan, and the same with one thing changed: node, range, flow, cut, value, bound, gap, status, method, target, prices, options, problem.
cp serving/four.yaml serving/pruned.json "$TMP" && cd "$TMP" && "$WEFT" serve four.yaml --steps 4000000 -o p.json --quiet || exit 9
"$WEFT" check p.json
"$WEFT" serve four.yaml --solver lanes --steps 4000000 -o l.json --quiet || exit 9
"$WEFT" check l.json
try() {
    sed "$1" "${2-p.json}" >q.json
    cmp -s "${2-p.json}" q.json && echo "nothing was edited: $1"
    "$WEFT" check q.json
    echo "exit $?"
}
try 's/"node": "mid-0"/"node": "mid-7"/'
try 's/"node": "mid-0"/"node": "mid-1"/'
try '/"node": "big"/,/}/s/"start": [0-9]*/"start": 1/'
try '/"node": "big"/,/}/s/"end": [0-9]*/"end": 13/'
try '/"node": "mid-0"/,/}/s/"start": [0-9]*/"start": 0/'
try 's/"flow_tokens_per_s": [0-9.]*/"flow_tokens_per_s": 500.0/'
try 's/"nodes_used": [0-9]*/"nodes_used": 2/'
try 's/"value": [0-9.]*/"value": 500.0/'
try 's/"bound": [0-9.]*/"bound": 100.0/'
try 's/"gap": [0-9.e-]*/"gap": 0.5/'
try 's/"status": "optimal"/"status": "bounded"/'
try '/"prices"/,/]/s/[0-9]\.[0-9]*/0.5/'
try 's/"certified": [0-9.]*/"certified": 110.0/'
try 's/"target": [0-9.]*/"target": 110.0/'
try 's/"batch": 0/"batch": 8/'
try 's/"dtype": null/"dtype": "f16"/'
try 's/"train": false/"train": true/'
try 's/"objective": "flow"/"objective": "speed"/'
sed 's/"tokens_per_s": 60/"tokens_per_s": 5/' pruned.json >tight.json
"$WEFT" serve tight.json --steps 400000 -o e.json --quiet || exit 9
"$WEFT" check e.json
try 's/"solver": "auto"/"solver": "lanes"/' e.json
try 's/"method": "enumeration"/"method": "search"/' e.json
sed -i 's/900, 460/900, 470/' four.yaml
"$WEFT" check p.json
