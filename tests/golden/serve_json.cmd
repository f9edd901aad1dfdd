# The JSON of Helix's instances has no schema and no names of nodes. How long it took, the memory it took, and digits that an
# engine may round otherwise are cut out.
"$WEFT" serve serving/pruned.json --steps 400000 --json | grep -v '^ "seconds"\|^ "peak_rss_bytes"' |
    sed 's/\([0-9]\.[0-9]\{6\}\)[0-9]*/\1/; s/"gap": [0-9.e-]*/"gap": .../'
