# Which operators are one kernel: a layer of GPT-2 for inference, and its attention in training, where the
# backward kernel does 5 products for 2 (and the scores stay inside).
"$WEFT" inspect gpt2:layers=1 --fused
"$WEFT" inspect gpt2:layers=1 --fused --train | grep -B4 attention:
"$WEFT" inspect resnet18:image=64 --fused --software fused --json | head -20
"$WEFT" inspect gpt2:layers=1 --software eager --fused
echo "exit $?"
