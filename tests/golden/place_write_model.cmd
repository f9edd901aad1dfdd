# The model of solver milp, in both formats; it says how many columns and rows it has. Other endings
# and goals are refused.
"$WEFT" place tasks/topcuoglu.json --quiet --write-model "$TMP/m.lp" && head -5 "$TMP/m.lp"
tail -1 "$TMP/m.lp"
"$WEFT" place tasks/topcuoglu.json --quiet --write-model "$TMP/m.mps" && head -6 "$TMP/m.mps"
grep -c "^ UP BND x_" "$TMP/m.mps"
cd "$TMP" || exit
"$WEFT" place "$OLDPWD/tasks/topcuoglu.json" --quiet --write-model m.txt
echo "exit $?"
"$WEFT" place "$OLDPWD/tasks/topcuoglu.json" --quiet --goal throughput --write-model m.lp
echo "exit $?"
