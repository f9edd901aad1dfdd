# Pages of designs: cards, tables, plots, rows of the timeline; a wrong design has none.
cp templates/small.yaml "$TMP" && cd "$TMP" || exit 9
flags="--template small.yaml --area 300mm2 --power 160W --time-limit 10min"
show() {
    "$WEFT" report "$1" --json >page.json || exit 9
    grep -A 3 '^   "key": ' page.json | grep '"text"\|"note"' | head -40
    grep '^   "id": \|^   "title": \|^    "lanes": [0-9]*$' page.json
    tail -3 page.json
}
"$WEFT" mine gpt2:layers=2,seq=64 $flags --sensitivity 1 -o design.json --quiet && show design.json
"$WEFT" mine gpt2:layers=4,seq=64 $flags --stages 2 --width 2 --batch 8 -o pipeline.json --quiet && show pipeline.json
"$WEFT" report design.json --csv tables --quiet && head -3 tables/front.csv
sed '0,/"tdp_w": 151/s//"tdp_w": 150/' design.json >edited.json
"$WEFT" report edited.json -o edited.html
echo "exit $?"
ls
