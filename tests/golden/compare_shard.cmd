# Every solver that applies; the last column is the time it took.
"$WEFT" compare --task shard models/small/small_mlp.onnx --on f1-2x4 --time-limit 10min --csv | cut -d, -f1-6
"$WEFT" compare --task shard models/small/small_mlp.onnx --on f1-2x4 --time-limit 10min --json | grep '"task"\|"semantics"\|"best_baseline'
"$WEFT" compare --task shard models/small/small_mlp.onnx --on f1-2x4 --time-limit 10min | sed 's/ *[^ ]* [a-z]*$//; /^$/d' | head -3
