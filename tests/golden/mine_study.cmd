# A study is filled, asked again, and shown; files are written. Hashes depend on nothing but the inputs.
mine() {
    "$WEFT" mine gpt2:layers=2,seq=64 --template templates/small.yaml --area 300mm2 --power 160W --time-limit 10min \
        --study "$TMP/designs.db" "$@"
}
mine -o "$TMP/design.json" --pareto "$TMP/front.csv" | grep -A 1 '^  searched'
mine | grep -A 1 '^  searched'
mine --metric perf-per-tdp --quiet
"$WEFT" mine --study "$TMP/designs.db" --show
"$WEFT" mine --study "$TMP/designs.db" --show --json | head -20
cat "$TMP/design.json" "$TMP/front.csv"
