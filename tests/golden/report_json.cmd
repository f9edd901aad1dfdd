# The data of the page: the result is what weft place --json prints, to the last digit; nothing is
# written. What compare and explain printed become tables.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 2
"$WEFT" place topcuoglu.json --solver heft -o p.json --json |
    grep -E '"(value|bound|gap|speed_up|heft_value|best_single_value)"' | head -6 | tr -d ' ,' >a
"$WEFT" report p.json --json >page.json
sed -n '/"result"/,/^ },/p' page.json | grep -E '"(value|bound|gap|speed_up|heft_value|best_single_value)"' |
    tr -d ' ,' | cmp - a && echo same numbers
ls
sed -n '/"result"/,/"timeline"/p' page.json
sed -n '/"about"/,$p' page.json
"$WEFT" compare topcuoglu.json --steps 1000 --json -o c.json
"$WEFT" explain p.json --steps 1000 --upgrades link --json >e.json
"$WEFT" report p.json --json --compare c.json --explain e.json | grep '"id"'
# Names that the shell would read otherwise are quoted in the command.
cp topcuoglu.json "it's one.json" && "$WEFT" place "it's one.json" --solver heft --seed 7 -o 'a plan.json' --quiet &&
    "$WEFT" report 'a plan.json' --json | grep '"command": "weft'
