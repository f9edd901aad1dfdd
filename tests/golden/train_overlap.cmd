# Sums of gradients beside the last backward pass: less is exposed, and the file says what was asked.
cd "$TMP" || exit 1
for flag in "" --overlap; do
    "$WEFT" train gpt2:layers=4 --on cluster-32:server=2 --batch 64 --tp 1 --pp 1 --dp 16 --mbs 4 --schedule 1f1b --recompute none \
        --time-limit 10min -o plan.json $flag | grep -E "^  step|split|exposed"
    "$WEFT" check plan.json | head -1
    grep '"overlap"' plan.json
done
"$WEFT" train gpt2:layers=4 --on cluster-32:server=2 --batch 64 --exactly dp=2,overlap=2 2>&1
true
