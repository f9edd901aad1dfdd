# Measurements of one's own: text, Markdown and JSON; the recorded figures of a table.
cd "$TMP" || exit 9
cp "$OLDPWD/measured/products.csv" . && cp "$OLDPWD/gpus/v100.yaml" .
"$WEFT" validate products.csv --on v100.yaml
"$WEFT" validate products.csv --on v100.yaml --markdown
"$WEFT" validate products.csv --on v100.yaml --json | head -n 12
sed 's/^# summary.*/&\n# recorded: median=0.1/' products.csv >better.csv
"$WEFT" validate better.csv --on v100.yaml --check 2>&1 | tail -n 1
"$WEFT" validate better.csv --on v100.yaml --check >out 2>&1
echo "exit $?"
