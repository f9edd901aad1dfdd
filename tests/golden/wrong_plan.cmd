# Files that are no plans: a task file, an empty file, a plan cut short, one with an unknown key.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" || exit 9
"$WEFT" place topcuoglu.json -o p.json --quiet || exit 9
: >empty.json
head -c 600 p.json >short.json
sed 's/"goal"/"gaol"/' p.json >key.json
sed 's/"device": "P3"/"device": 3/' p.json >kind.json
for file in topcuoglu.json empty.json short.json key.json kind.json none.json; do
    "$WEFT" check $file
    echo "exit $?"
done
