# A plan of a poor solver: what a better search finds is not the worth of an upgrade. The platform as it is gets
# the same search, and what is proved goes first.
"$WEFT" place alexnet --on edge-soc --solver single -o "$TMP/plan.json" -q
"$WEFT" explain "$TMP/plan.json" --solver auto --steps 2000 | sed -n '/what an upgrade/,$p'
"$WEFT" place inception_v3 --on edge-soc --solver heft -o "$TMP/plan.json" -q
"$WEFT" explain "$TMP/plan.json" --solver auto --steps 50 --json -o "$TMP/explain.json"
# Proved gains fall, then those of bounds; the best plans differ by no less than the least and no more than the
# most.
awk -F '[:,]' '
    $1 ~ /"least_gain"/ { least = $2 + 0 }
    $1 ~ /"bound_gain"/ { bound = $2 + 0 }
    $1 ~ /"most_gain"/ {
        if (least > $2 * (1 + 1e-9)) print "at least " least ", at most " $2
        proved = least > 1 + 1e-9 ? least : 1
        if (n > 0 && proved > last * (1 + 1e-9)) print "proved gains rise"
        last = proved
        n++
    }
    END { print n " upgrades, proved gains first" }' "$TMP/explain.json"
