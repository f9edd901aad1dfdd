# Wrong flags and inputs: a message and exit code 2.
"$WEFT" train resnet50
echo "exit $?"
"$WEFT" train resnet50 --on dgx-a100 --batch 10 --microbatch 4
echo "exit $?"
"$WEFT" train resnet50 --on dgx-a100 --devices 4
echo "exit $?"
"$WEFT" train piper/layers.json --objective piper --on dgx-a100
echo "exit $?"
"$WEFT" train piper/layers.json --on dgx-a100
echo "exit $?"
"$WEFT" train resnet50 --on dgx-a100 --schedule zigzag
echo "exit $?"
"$WEFT" train resnet50 --on dgx-a100 --solver equals
echo "exit $?"
"$WEFT" train resnet51 --on dgx-a100
echo "exit $?"
