# Designs are recomputed: as they are, with other numbers, with another template.
cp templates/small.yaml "$TMP" && cd "$TMP" || exit 9
flags="--template small.yaml --area 300mm2 --power 160W --time-limit 10min"
"$WEFT" mine gpt2:layers=2,seq=64 $flags -o design.json --quiet || exit 9
"$WEFT" check design.json && "$WEFT" check design.json --json
edit() {
    sed "$1" design.json >edited.json
    cmp -s design.json edited.json && echo "nothing was edited"
    "$WEFT" check edited.json
    echo "exit $?"
}
edit 's/"area_mm2": 261\.98[0-9]*/"area_mm2": 251.5/'
edit '0,/"step_s": 0\.005/s//"step_s": 0.004/'
edit 's/"area_mm2": 300\.0/"area_mm2": 260.0/'
edit 's/"area_mm2": 300\.0/"area_mm2": 400.0/'
edit 's/"is_front_proved": false/"is_front_proved": true/'
edit 's/"status": "optimal"/"status": "best"/'
sed 's/700MHz/800MHz/' small.yaml >faster.yaml
"$WEFT" check design.json --on faster.yaml | head -1
"$WEFT" check design.json --model gpt2:layers=3,seq=64 | head -1
"$WEFT" mine gpt2:layers=4,seq=64 $flags --stages 2 --designs stages --batch 8 -o stages.json >/dev/null
"$WEFT" check stages.json
sed '0,/"last_cut": [0-9]*/s//"last_cut": 1/' stages.json >edited.json
"$WEFT" check edited.json
echo "exit $?"
