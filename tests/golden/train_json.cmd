# How long it took and the memory it took are cut out.
"$WEFT" train models/small/small_mlp.onnx --on dgx-a100 --batch 16 --json --time-limit 10min |
    grep -v '^ "seconds"\|^ "peak_rss_bytes"\|s_tried"'
