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
# Without a word on it auto takes the better of one way and several, and none of several where that is not possible.
"$WEFT" place block.json --goal throughput | grep "time per item\|over replicas"
"$WEFT" place block.json --goal throughput --no-mix -o alone.json | grep "time per item\|over replicas"
"$WEFT" check alone.json | head -1
"$WEFT" place block.json --goal throughput --solver heft | grep "time per item"
"$WEFT" place block.json --goal throughput --mix --no-mix 2>&1
"$WEFT" place block.json --no-mix 2>&1
"$WEFT" place alexnet --on edge-soc --semantics calls --goal throughput --mix 2>&1
"$WEFT" place resnet18 --on edge-soc --goal throughput --batch 4 --steps 2000 --json |
    grep '"\(replicas\|samples\).*"'
