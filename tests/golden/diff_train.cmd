# Two batches and schedules: cuts, replicas, stage times, bubble.
cd "$TMP" || exit 9
"$WEFT" train vgg16 --on dgx-a100 --batch 64 --schedule 1f1b --replicas 2 --time-limit 10min -o a.json --quiet || exit 9
"$WEFT" train vgg16 --on dgx-a100 --batch 64 --schedule gpipe --microbatch 16 --time-limit 10min -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json
