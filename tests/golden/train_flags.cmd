# What is asked for is kept.
for flags in "--schedule gpipe" "--recompute full" "--microbatch 8" "--width 1 --replicas 1" "--stages 1" \
    "--schedule interleaved --replicas 1" "--optimizer sgd" "--split-moments" "--solver dp"; do
    echo "$flags"
    "$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 32 $flags --time-limit 10min |
        grep '^  step   \|^  schedule\|^ *[0-9]* .* x[0-9]* gpu,'
done
