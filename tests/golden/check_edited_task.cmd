# A decision about a task that is not there.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" place topcuoglu.json -o p.json --quiet || exit 9
sed '/"decisions"/,/\]/s/"T7"/"T77"/' p.json >q.json
cmp -s p.json q.json && echo "nothing was edited"
"$WEFT" check q.json
