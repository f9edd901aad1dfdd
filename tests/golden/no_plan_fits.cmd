# Two tasks with 3 bytes of weights each, devices with room for 5 and for 2: a and b together need 6
# on p, and q is too small for either. No plan: exit code 1, nothing is written. Whoever tries everything knows that there is none.
cat >"$TMP/tight.json" <<'END'
{"schema": "weft.tasks/1", "devices": ["p", "q"],
 "tasks": [{"name": "a", "seconds": [1, 1], "memory": 3}, {"name": "b", "seconds": [1, 1], "memory": 3}],
 "edges": [], "capacity": [5, 2]}
END
cd "$TMP"
for solver in single heft cpop; do
    "$WEFT" place tight.json --solver $solver -o p.json
    echo "exit $?"
done
"$WEFT" place tight.json --json | grep '^ "\(status\|value\|plan\)"'
"$WEFT" compare tight.json --csv | awk -F, 'NR > 1 && $3 != "" {print "a plan: " $0}'
"$WEFT" compare tight.json --csv | cut -d, -f1-3 | grep 'heft\|branch-bound'
ls
"$WEFT" compare tight.json >/dev/null
