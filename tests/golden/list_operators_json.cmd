"$WEFT" list operators --json
