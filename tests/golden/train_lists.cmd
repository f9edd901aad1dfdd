# Values, lists and auto of tp, pp, dp, mbs, zero, schedule, recompute; the plan file keeps what was asked and what was chosen.
cd "$TMP" || exit 1
"$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 16 --tp 1,2 --pp 2,3 --dp auto --mbs 1,2 --zero auto --schedule gpipe,1f1b \
    --recompute none,full --time-limit 10min --json -o plan.json | grep -E '"(status|tp|pp|dp|mbs|schedule)":'
"$WEFT" check plan.json
tr -d '\n ' <plan.json | grep -o '"zero":[^"]*'
for level in 0 1 2 3; do
    "$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 16 --tp 1,2 --pp 2,3 --mbs 1,2 --zero $level --schedule gpipe,1f1b \
        --recompute none,full --time-limit 10min | sed -n 3p
done
"$WEFT" report plan.json -o page.html
grep -o 'weft train gpt2[^"<]*' page.html | head -1
for wrong in "--tp 0" "--tp 2,,4" "--dp x" "--mbs 2,2" "--zero 4" "--zero 1,1" "--schedule 1f1b,fifo" "--recompute some"; do
    "$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 16 $wrong 2>&1
done
true
