# The default solver proves the example of the literature; the certificate is checked again.
"$WEFT" place tasks/topcuoglu.json -o "$TMP/p.json" && "$WEFT" check "$TMP/p.json" | sed "s,$TMP/,,"
