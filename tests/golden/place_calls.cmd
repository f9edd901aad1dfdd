# a 1 s on an accelerator and 2 s to write it, b beside c on the host 9 s, d 2 s, 0.5 s to read it, e
# 1 s: 15.5 s. The plan names its semantics, and check finds value and bound again.
cp tasks/calls.json "$TMP" && cd "$TMP" && "$WEFT" place calls.json --steps 2000 -o p.json &&
    grep '^ "semantics"\|^ "transfer"' p.json && "$WEFT" check p.json
