# Constants fitted to a few rows; the platform that is written is read again, and predicts better.
cd "$TMP" || exit 9
cp "$OLDPWD/measured/products.csv" . && cp "$OLDPWD/gpus/v100.yaml" .
"$WEFT" calibrate products.csv --on v100.yaml -o fitted.yaml
cat fitted.yaml
"$WEFT" validate products.csv --on fitted.yaml | tail -n 2
"$WEFT" calibrate products.csv --on v100.yaml --json | head -n 8
"$WEFT" inspect --platform fitted.yaml | grep costs
"$WEFT" inspect --platform fitted.yaml --json | grep -A 7 calibrated
sed -i 's/rho: .*}/rho: 3}/' fitted.yaml
"$WEFT" inspect --platform fitted.yaml 2>&1
