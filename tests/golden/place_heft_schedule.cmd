# The schedule that the paper prints: T1 on P3 from 0, T4 on P2 from 18, ... T10 on P2 from 73.
"$WEFT" place tasks/topcuoglu.json --solver heft -o "$TMP/p.json" --quiet &&
    sed -n '/"decisions"/,/\]/{s/^ *"task": //p;s/^ *"device": //p;s/^ *"start_s": //p;}' "$TMP/p.json" |
    tr -d '",' | paste -d ' ' - - -
