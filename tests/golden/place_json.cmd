# value 80, bound 54, gap 26/80; how long it took and the memory it took are cut out.
"$WEFT" place tasks/topcuoglu.json --solver heft --json | grep -v '^ "seconds"\|^ "peak_rss_bytes"'
