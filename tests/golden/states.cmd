# Caches of keys and values stay where they are used: on one device, in its memory for the whole time, never
# sent. They are found by name, or named with --state.
cache=llama:layers=2,hidden=64,heads=4,vocab=100,decode=1,context=16
place() {
    "$WEFT" place "$@" --steps 2000
}
refused() {
    "$WEFT" "$@" 2>&1 | sed "s#.*d.onnx: ##"
}
place $cache --on edge-soc -o "$TMP/built-in.json" -q
"$WEFT" report "$TMP/built-in.json" --annotate "$TMP/d.onnx" -o "$TMP/d.html" >"$TMP/said"
"$WEFT" inspect "$TMP/d.onnx" | grep -A 1 "inputs\|  state"
place "$TMP/d.onnx" --on edge-soc -o "$TMP/d.json" | grep "latency \|sent\|state"
"$WEFT" check "$TMP/d.json" | sed "s#.*d.json#d.json#"
place "$TMP/d.onnx" --on edge-soc --state none -o "$TMP/none.json" | grep "sent\|state"
"$WEFT" check "$TMP/none.json" | sed "s#.*none.json#none.json#" | head -1
place "$TMP/d.onnx" --on edge-soc --state 'past_key_values.*.key=present.*.key' | grep state
place "$TMP/d.onnx" --on edge-soc --goal throughput | grep "time per item\|state"

# A plan that claims other states, and what cannot be done.
sed 's/"optimizer": "adam"/"optimizer": "adam", "state": []/' "$TMP/d.json" >"$TMP/other.json"
"$WEFT" check "$TMP/other.json" | sed 's/.*other.json: //;s/its content.*//' | head -1
refused place "$TMP/d.onnx" --on edge-soc --goal throughput --mix
refused place "$TMP/d.onnx" --on edge-soc --state past_key_values.0.keyy
refused place "$TMP/d.onnx" --on edge-soc --state past_key_values.0.key=present.0.kex
refused place "$TMP/d.onnx" --on edge-soc --state past_key_values.0.key=logits,a=
refused place "$TMP/d.onnx" --on edge-soc --state '*.key=present'
refused place "$TMP/d.onnx" --on edge-soc --state input_ids=present.0.key
refused place "$TMP/d.onnx" --on edge-soc --state input_ids --train
"$WEFT" split "$TMP/d.json" -o "$TMP/parts" | head -1 | sed "s#.*/##"
grep -c '"state": "p' "$TMP/parts/manifest.json"
refused run "$TMP/parts"

# A language model with 7 billion weights of 16 bits on two H100 and four L4 cards: the bytes of its weights over
# the bandwidth of an H100 and a launch for each operator, and no more than a tenth above.
place llama:7b,decode=1,context=2048 --dtype f16 --on platforms/fleet.yaml -o "$TMP/7b.json" --json |
    awk -F '[:,]' '$1 ~ /^ "value"/ {
        floor = 13.476e9 / (3350e9 * 0.8) + 483 * 5e-6
        print ($2 < 1.1 * floor ? "decode: within 10 % of weights and launches" : "decode: " $2 " s")
    }'
"$WEFT" check "$TMP/7b.json" | head -1 | sed "s#.*7b.json#7b.json#"
