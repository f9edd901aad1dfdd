# A page and all that may be written beside it. The last lines name what was written; the page holds
# the same document that --json prints, and the same plan gives the same bytes.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 2
"$WEFT" place topcuoglu.json --solver heft -o p.json --quiet
"$WEFT" report p.json -o r.html --timeline t.svg --graph g.svg --csv tables --trace t.json --dot g.dot |
    sed 's/: .*/: written/'
ls . tables
cat tables/devices.csv tables/links.csv tables/traffic.csv
"$WEFT" report p.json -o again.html --quiet
sed 's/again\.html/r.html/' again.html | cmp - r.html && echo same
"$WEFT" place topcuoglu.json --solver heft --report r.html -o p.json --quiet && "$WEFT" report p.json -o r2.html -q &&
    sed 's/r2\.html/r.html/' r2.html | cmp - r.html && echo same at once
"$WEFT" report p.json -q && ls p.html
