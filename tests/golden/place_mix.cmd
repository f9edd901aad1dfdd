# Three devices of 127, 130 and 143 s under block: items shared among them take 1 / (1/127 + 1/130 +
# 1/143) = 44.33 s, no transfer at all.
sed 's|"schema": "weft.tasks/1",|"schema": "weft.tasks/1", "transfer": "block",|' \
    tasks/topcuoglu.json >"$TMP/block.json"
cd "$TMP"
"$WEFT" place block.json --goal throughput --mix -o mix.json
"$WEFT" check mix.json
grep '"share"' mix.json | cut -c1-16
sed 's/"mixed": true/"mixed": false/' mix.json >one.json
"$WEFT" check one.json | sed "s/hash is .*/hash is .../"
"$WEFT" place block.json --goal throughput --contiguous | sed -n '3,6p'
