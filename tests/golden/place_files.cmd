# A plan, a timeline and a graph are written beside each other. The timeline is JSON with an event
# for each of the 10 tasks; the graph names them all and its 15 edges.
"$WEFT" place tasks/topcuoglu.json --quiet -o "$TMP/p.json" --trace "$TMP/t.json" --dot "$TMP/g.dot"
echo "exit $?"
cd "$TMP" && ls
for i in 1 2 3 4 5 6 7 8 9 10; do
    grep -q "\"name\": \"T$i\"" t.json && grep -q "label=\"T${i}[\"\\]" g.dot || echo "T$i is missing"
done
grep -c ' -> ' g.dot
