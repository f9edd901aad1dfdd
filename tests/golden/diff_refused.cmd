# A plan that does not hold is refused as weft check does; of two kinds, and one that is not there.
cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" place topcuoglu.json --solver heft -o p.json --quiet || exit 9
sed 's/"bound": 54\.0/"bound": 60.0/' p.json >q.json
"$WEFT" diff p.json q.json
echo "exit code $?"
"$WEFT" train vgg16 --on dgx-a100 --batch 64 --solver equal -o t.json --quiet || exit 9
"$WEFT" diff p.json t.json
echo "exit code $?"
"$WEFT" diff p.json nowhere.json
echo "exit code $?"
"$WEFT" diff p.json
echo "exit code $?"
