# Each solver by its name, on the example of Topcuoglu, Hariri and Wu (2002): single 127, met 82,
# greedy 88, heft 80, cpop 86 as derived in compare_topcuoglu. A flag is said once.
for solver in single met greedy heft cpop; do
    echo "$solver: $("$WEFT" place tasks/topcuoglu.json --solver "$solver" --json | grep '^ "value"')"
done
"$WEFT" place tasks/topcuoglu.json --solver single --solver=met 2>&1
"$WEFT" place alexnet --on edge-soc --dim N=1 --dim N=2 --quiet --quiet 2>&1
