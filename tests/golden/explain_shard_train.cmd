# Reasons and upgrades of a sharded network and of a training step.
cd "$TMP"
"$WEFT" shard alexnet --on f1-2x4 --steps 200 --quiet -o p.json
"$WEFT" explain p.json --steps 200
"$WEFT" train gpt2:small --on mixed-fleet --dtype f16 --batch 64 --steps 20000 --quiet -o t.json
"$WEFT" explain t.json --steps 20000 --upgrades speed --top 2
