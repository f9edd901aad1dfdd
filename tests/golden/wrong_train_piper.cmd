# Wrong files and figures: a message and exit code 2.
"$WEFT" train tasks/sample.json --objective piper
echo "exit $?"
"$WEFT" train piper/nothing.json --objective piper
echo "exit $?"
"$WEFT" train piper/layers.json --objective piper --memory 8
echo "exit $?"
"$WEFT" train piper/layers.json --objective piper --bandwidth 0GB/s
echo "exit $?"
"$WEFT" train piper/branches.json --objective piper --max-cuts 10
echo "exit $?"
"$WEFT" train piper/layers.json --objective fastest
echo "exit $?"
