# A plan that weft check finds legal and worth its claims, and a timeline with all steps.
"$WEFT" shard alexnet --on f1-2x4 --contiguous --no-sharing --quiet -o "$TMP/p.json" --trace "$TMP/t.json"
echo "exit $?"
cd "$TMP" && ls
"$WEFT" check p.json
grep -c '"cat": "compute"' t.json
grep '"contiguous"\|"sharing"\|"semantics"' p.json
# Another split for one step, and a claim of less time: both are noticed.
sed '0,/"split": "[^"]*"/s//"split": "m=8"/' p.json >moved.json
"$WEFT" check moved.json >moved.txt
echo "exit $?"
grep -q 'recomputed' moved.txt && echo "noticed"
sed 's/"latency_s": 0.00/"latency_s": 0.001/' p.json >faster.json
"$WEFT" check faster.json
echo "exit $?"
