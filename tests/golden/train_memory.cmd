# Memory by recipe: gpt2:layers=6 has 82 million parameters, so 2 bytes of each are 0.16 GB. The
# logits are not computed again: full costs the forward of all other units.
cd "$TMP"
for recipe in 16 18 20; do
    "$WEFT" train gpt2:layers=6 --on dgx-a100 --dtype f16 --batch 8 --exactly tp=1,pp=1,dp=1,mbs=1,recompute=none --recipe $recipe -o plan.json |
        grep '^ *[0-9]* .* x[0-9]* gpu,'
    "$WEFT" check plan.json | head -n 1
done
grep '"recipe"' plan.json
for recompute in none full; do
    "$WEFT" train gpt2:layers=6 --on dgx-a100 --dtype f16 --batch 8 --exactly tp=1,pp=1,dp=1,mbs=1,recompute=$recompute --json |
        grep '"forward_s"\|"again_s"' | head -n 2
done
"$WEFT" train gpt2:xl --on dgx-a100 --dtype f16 --batch 8 --tp 1 --pp 1 --memory-margin 0.7
echo "exit code $?"
"$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 8 --memory-margin 0.1 --quiet -o plan.json
"$WEFT" check plan.json | head -n 1
grep '"memory_margin"' plan.json
"$WEFT" train gpt2:layers=6 --on dgx-a100 --recipe 17 2>&1
