cd "$TMP"
"$WEFT" place resnet18 --on edge-soc --solver heft --quiet -o p.json
cat >m.json <<'END'
{"maxFPGAs": 1, "maxCPUs": 1, "maxSizePerFPGA": 100,
 "nodes": [{"id": 1, "name": "a", "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 2, "size": 60}],
 "edges": []}
END
"$WEFT" place m.json --format msr --quiet -o m.plan
try() { "$WEFT" explain "$@"; echo "exit $?"; }
try
try nothing.json
try p.json --upgrades link,clock
try p.json --uncertainty 0
try p.json --uncertainty 150%
try p.json --uncertainty often
try m.plan
cat >design.json <<'END'
{"schema": "weft.design/1"}
END
try design.json
sed 's/"device": "npu"/"device": "cpu"/' p.json >moved.json
try moved.json --upgrades none
sed 's/"solver": "heft"/"solver": "hand"/' p.json >hand.json
try hand.json --upgrades memory
