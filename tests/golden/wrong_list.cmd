"$WEFT" list nothing
