"$WEFT" list sets
"$WEFT" list sets --json | head -n 5
