# How long it took and the memory it took are cut out.
"$WEFT" shard models/small/small_mlp.onnx --on f1-2x4 --json | grep -v '^ "seconds"\|^ "peak_rss_bytes"'
