# The file of a preset, saved and edited, is read by --on; as JSON too, and templates by --template.
cd "$TMP" || exit 9
"$WEFT" list platforms --show soc-affinity
"$WEFT" list platforms --show edge-soc -o mine.yaml && sed -i 's/^name: edge-soc/name: mine/; s/30GB/60GB/' mine.yaml
"$WEFT" inspect --platform mine.yaml | head -n 1
"$WEFT" place alexnet --on mine.yaml --solver heft --quiet -o plan.json && "$WEFT" check plan.json | head -n 1
"$WEFT" list platforms --show tpu-v2 --json | tee mine.json
"$WEFT" inspect --platform mine.json --json | grep hash
"$WEFT" inspect --platform tpu-v2 --json | grep hash
"$WEFT" list templates --show mine16 | tail -n 1
for what in "platforms --show edge-sock" "templates --show tpu" "models --show alexnet"; do
    "$WEFT" list $what 2>&1
    echo "exit $?"
done
