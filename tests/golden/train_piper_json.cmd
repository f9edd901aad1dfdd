# How long it took and the memory it took are cut out.
"$WEFT" train piper/layers.json --objective piper --json | grep -v '^ "seconds"\|^ "peak_rss_bytes"'
