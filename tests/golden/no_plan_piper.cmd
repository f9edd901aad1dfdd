# Proved, with what would do; exit code 1.
"$WEFT" train piper/layers.json --objective piper --memory 200MB
echo "exit $?"
"$WEFT" train piper/layers.json --objective piper --memory 130MB --devices 1
echo "exit $?"
"$WEFT" train piper/layers.json --objective piper --memory 200MB --json | grep -A6 '"status"\|"reason"\|"needs"\|"plan"' | grep -v '"seconds"\|"peak_rss_bytes"'
