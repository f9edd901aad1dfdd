# How long it took and the memory it took are cut out.
"$WEFT" mine gpt2:layers=2,seq=64 --template templates/small.yaml --area 300mm2 --power 160W --json \
    --time-limit 10min | grep -v '^ "seconds"\|^ "peak_rss_bytes"'
