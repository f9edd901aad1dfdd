# Page, CSV and comparison of two solvers; no timeline, so no trace.
cp serving/four.yaml "$TMP" && cd "$TMP" || exit 9
"$WEFT" serve four.yaml --steps 4000000 -o p.json --report p.html --quiet
"$WEFT" serve four.yaml --solver stages --steps 40000 -o s.json --quiet
"$WEFT" report p.json --json --csv t | grep -E '"(kind|id)"|"title"' | sort | uniq -c
cat t/nodes.csv t/cut.csv
grep -c '"kind": *"serve"' p.html
"$WEFT" report p.json --trace t.json
echo "exit $?"
"$WEFT" explain p.json --steps 4000000
"$WEFT" explain p.json --steps 4000000 --upgrades link --json | grep '"what"\|"from"'
"$WEFT" explain p.json --uncertainty 20%
echo "exit $?"
"$WEFT" diff p.json p.json
"$WEFT" diff s.json p.json
