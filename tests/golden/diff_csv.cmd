# What moved, task by task; --top 1 shows the stretch with the largest effect only.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 9
"$WEFT" place topcuoglu.json --solver heft -o a.json --quiet || exit 9
"$WEFT" place topcuoglu.json --solver exact --time-limit 10min -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json --top 1 --csv moved.csv | sed -n '/^moved/,$p'
cat moved.csv
