# Designs for the devices of a pipeline: one for all, or one for each stage.
for flags in "" "--designs stages --metric perf-per-tdp" "--replicas 2 --microbatch 2 --recompute full"; do
    "$WEFT" mine gpt2:layers=6,seq=64 --template templates/small.yaml --stages 3 --width 2 --area 300mm2 --power 160W \
        --time-limit 10min $flags
done
"$WEFT" mine gpt2:layers=4,seq=64 gpt2:layers=8,seq=64 --template templates/small.yaml --stages 2 --area 300mm2 --json \
    --weights 2,1 --time-limit 10min -o "$TMP/designs.json" | grep -v '^ "seconds"\|^ "peak_rss_bytes"' | head -60
head -24 "$TMP/designs.json"
