"$WEFT" place alexnet --on edge-soc --solver hefty
echo "exit $?"
"$WEFT" place alexnet --on edge-soc --solver simulated-magic
