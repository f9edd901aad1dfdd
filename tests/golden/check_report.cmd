# The plan of 80 s with the bound of 54 s (compare_topcuoglu).
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" place topcuoglu.json --solver heft -o p.json --quiet &&
    "$WEFT" check p.json && "$WEFT" check p.json --json
