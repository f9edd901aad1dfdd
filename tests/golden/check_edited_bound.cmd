# The path T1 T2 T9 T10 proves 54 s, not 60; the gap of 80 and 60 would be 0.25.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" place topcuoglu.json --solver heft -o p.json --quiet || exit 9
sed 's/"bound": 54\.0/"bound": 60.0/' p.json >q.json
cmp -s p.json q.json && echo "nothing was edited"
"$WEFT" check q.json
