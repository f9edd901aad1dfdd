# Training with attention as one kernel: less memory, less time; the plan says so and is checked with it.
cd "$TMP" || exit 9
for software in graph fused flash; do
    "$WEFT" train gpt2:layers=4,seq=2048 --on dgx-a100 --dtype bf16 --batch 64 --software $software -o $software.json |
        sed -n '1,4p' | grep 'step\|software'
    "$WEFT" check $software.json | head -1
done
sed '/"software": "flash"/d; s/"optimizer": "adam",/"optimizer": "adam"/' flash.json >edited.json
"$WEFT" check edited.json | head -1
# Sharding and mining keep it as well.
"$WEFT" shard gpt2:layers=1,seq=64 --on f1-2x4 --software fused -o shard.json | sed -n '1,2p'
"$WEFT" check shard.json | head -1
"$WEFT" mine gpt2:layers=2,seq=64 --area 300mm2 --software flash --evaluations 200 -o design.json | sed -n '1,2p'
"$WEFT" check design.json | head -1
"$WEFT" mine gpt2:layers=2,seq=64 --area 300mm2 --software eager
echo "exit $?"
