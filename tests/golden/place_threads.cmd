# The plan does not depend on the number of threads, nor on when it is made.
for n in 1 2 8; do
    "$WEFT" place inception_v3 --on server-cpu-2gpu --solver lookahead --threads $n --quiet -o "$TMP/$n"
done
"$WEFT" place inception_v3 --on server-cpu-2gpu --solver lookahead --quiet -o "$TMP/again"
cmp "$TMP/1" "$TMP/2" && cmp "$TMP/1" "$TMP/8" && cmp "$TMP/1" "$TMP/again" && echo same
for seed in 1 1 2; do
    "$WEFT" place inception_v3 --on server-cpu-2gpu --solver random --seed $seed --json |
        grep '^ "value"' >>"$TMP/random"
done
uniq "$TMP/random" | wc -l | tr -d ' ' # seed 1 twice the same, seed 2 another
