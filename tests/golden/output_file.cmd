# -o writes the same bytes that are printed otherwise
"$WEFT" inspect alexnet -o "$TMP/a" && "$WEFT" inspect alexnet | cmp - "$TMP/a" && echo same
