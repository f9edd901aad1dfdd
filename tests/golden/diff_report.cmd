# HEFT takes 80 s (the paper), the optimum is 73 s; busy times of HEFT as in place_report. Left and
# came add up: P1 18 + came - left, and so on.
"$WEFT" place tasks/topcuoglu.json --solver heft -o "$TMP/a.json" --quiet || exit 9
"$WEFT" place tasks/topcuoglu.json --solver exact --time-limit 10min -o "$TMP/b.json" --quiet || exit 9
sed -i 's#"tasks/#"#' "$TMP/a.json" "$TMP/b.json" && cp tasks/topcuoglu.json "$TMP" && cd "$TMP" && "$WEFT" diff a.json b.json
echo
"$WEFT" diff b.json b.json
