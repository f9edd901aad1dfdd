# Bounds and what is recomputed of them. The path proves 54 of the example of Topcuoglu, Hariri and Wu
# (2002). Shaving refutes every limit below 73: recomputed. A bound of 60 that is said to come from a
# search has no certificate beyond the path's; from anything else, or from a solver that makes no such
# search, it is refused.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" place topcuoglu.json --solver heft -o p.json --quiet || exit 9
"$WEFT" check p.json
"$WEFT" place topcuoglu.json --solver bound -o b.json --quiet && "$WEFT" check b.json
grep -A3 '"refuted"' b.json | grep '"shaving"'
sed 's/"shaving": true/"shaving": false/' b.json >c.json
"$WEFT" check c.json | cut -d, -f2
sed 's/"bound": 54\.0/"bound": 60.0/; s/"gap": 0\.3250*1*/"gap": 0.25/' p.json >q.json
"$WEFT" check q.json
sed 's/"method": "path"/"method": "search"/' q.json >r.json
"$WEFT" check r.json
sed 's/"solver": "heft"/"solver": "exact"/' r.json >s.json
"$WEFT" check s.json && "$WEFT" check s.json --json
