"$WEFT" help
