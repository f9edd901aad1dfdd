"$WEFT" list models
