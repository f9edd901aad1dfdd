"$WEFT" place alexnet --on edge-sock
echo "exit $?"
"$WEFT" place alexnet
echo "exit $?"
"$WEFT" place tasks/topcuoglu.json --on edge-soc
echo "exit $?"
"$WEFT" compare alexnet --on no/such.yaml
