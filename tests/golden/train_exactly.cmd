# One plan is valued; what contradicts itself or cannot be is refused with a reason.
cd "$TMP"
for x in tp=2,pp=2,dp=2,mbs=3,schedule=1f1b,recompute=full tp=2,pp=2,dp=1,mbs=1,schedule=interleaved,chunks=3 tp=3,dp=1; do
    echo "$x"
    "$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --exactly $x --time-limit 10min |
        grep '^  step   \|^  schedule\|^  split\|^ *[0-9]* .* x[0-9]* gpu,'
done
"$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --tp 2 --pp 2 --dp 2 --mbs 3 --schedule 1f1b -o exact.json --quiet
"$WEFT" check exact.json | head -n 1
grep '"tp"\|"pp"\|"dp"\|"mbs"' exact.json
for zero in 0 1 2 3; do
    "$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 32 --exactly tp=1,pp=1,dp=8,mbs=2,recompute=none,zero=$zero -o zero.json |
        grep '^  step   \|^ *[0-9]* .* x[0-9]* gpu,\|^  sent'
    "$WEFT" check zero.json | head -n 1
done
grep '"split_moments"\|"zero"' zero.json
for x in tp=8,pp=2,dp=1 tp=16 dp=2,mbs=5 tp=1,pp=2,chunks=3,schedule=1f1b chunks=1,schedule=interleaved \
    pp=5,dp=1,mbs=1,schedule=interleaved pp=8,chunks=2 foo=1 tp=x tp=2,tp=2 schedule=fifo; do
    "$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --exactly $x 2>&1
    echo "exit code $?"
done
"$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --exactly tp=2 --tp 4 2>&1
"$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --tp 4 --width 2 2>&1
"$WEFT" train gpt2:layers=6 --on dgx-a100 --batch 24 --mbs 2 --dp 2 --microbatch 8 2>&1
echo "exit code $?"
