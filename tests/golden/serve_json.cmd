# The JSON of Helix's instances has no schema and no names of nodes. How long it took and the memory it took are cut out.
"$WEFT" serve serving/pruned.json --steps 400000 --json | grep -v '^ "seconds"\|^ "peak_rss_bytes"'
