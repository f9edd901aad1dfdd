# No two accelerators are equal: side by side without being asked; one after the other is slower.
"$WEFT" shard models/small/small_cnn.onnx --on server-cpu-2gpu
"$WEFT" shard models/small/small_cnn.onnx --on server-cpu-2gpu --semantics sequential | grep 'at a time\|latency'
