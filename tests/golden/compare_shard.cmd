# Every solver that applies; the last column is the time it took.
"$WEFT" compare --task shard models/small/small_cnn.onnx --on f1-2x4 --csv | cut -d, -f1-6
"$WEFT" compare --task shard models/small/small_cnn.onnx --on f1-2x4 --json | grep '"task"\|"semantics"\|"best_baseline'
"$WEFT" compare --task shard models/small/small_cnn.onnx --on f1-2x4 | sed 's/ *[^ ]* [a-z]*$//; /^$/d' | head -3
