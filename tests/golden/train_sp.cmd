# Sequence parallelism: less memory at the same tensor cuts, chosen where it helps, kept in the plan file.
cd "$TMP" || exit 1
for sp in off on auto; do
    "$WEFT" train gpt2:layers=4,hidden=1024,heads=16 --on dgx-a100 --dtype f16 --batch 16 --tp 4 --pp 1 --dp 2 --mbs 4 \
        --schedule 1f1b --recompute none --sp $sp --time-limit 10min -o $sp.json | grep -E "^  step|split|^Memory|^      0"
    "$WEFT" check $sp.json | head -1
    tr -d '\n ' <$sp.json | grep -o '"sp":[^}"]*'
done
"$WEFT" diff off.json on.json | grep -E "sequence|step"
"$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 16 --sp maybe 2>&1
"$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 16 --sp auto --zero 2,3 --exactly tp=2,sp=1 --json | grep -E '"(tp|zero|sp|status)":'
