# A wrong plan has no report: what is wrong is said and nothing is written.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 2
"$WEFT" place topcuoglu.json --solver heft -o p.json --quiet
sed 's/"device": "P1"/"device": "P2"/' p.json >wrong.json
"$WEFT" report wrong.json -o r.html --csv tables | tail -2
"$WEFT" report wrong.json -o r.html --csv tables >/dev/null
echo "exit $?"
# Documents about something else, or of another kind, are refused with one line each.
try() { "$WEFT" report p.json -o r.html --csv tables "$@" 2>&1; echo "exit $?"; }
echo '{"schema": "weft.comparison/1", "model": "other.json", "platform": null, "goal": "latency", "solvers": []}' >c.json
try --compare c.json
echo '{"schema": "weft.comparison/1", "model": "topcuoglu.json", "platform": null, "goal": "throughput", "solvers": []}' >c.json
try --compare c.json
echo '{"schema": "weft.comparison/1", "model": "topcuoglu.json", "platform": null, "goal": "latency", "solvers": [1]}' >c.json
try --compare c.json
echo '{"schema": "weft.comparison/1", "task": "shard", "model": "topcuoglu.json", "platform": null}' >c.json
try --compare c.json
echo '[1, 2]' >c.json
try --compare c.json
try --explain p.json
echo '{"schema": "weft.explain/1", "kind": "place", "model": "topcuoglu.json", "platform": null, "value": 81}' >e.json
try --explain e.json
try --compare missing.json
# A folder that cannot be made, a page that cannot be written.
"$WEFT" report p.json -o r.html --csv p.json/tables 2>&1
echo "exit $?"
"$WEFT" report p.json -o nowhere/r.html
echo "exit $?"
ls
