# A network that no device holds, on four equal servers: a plan, its bound, and its check. Steps, not
# seconds: the same on every machine.
cd "$TMP" && "$WEFT" place gpt3 --on cluster-32 --dtype f16 --steps 200000 -o p.json | sed -n 1,4p
"$WEFT" check p.json | head -3
