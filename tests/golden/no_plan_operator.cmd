# The only device cannot run a node of the network, or no device a task: there is no plan, which is a
# result with exit code 1.
cat >"$TMP/conv.yaml" <<'END'
schema: weft.platform/1
name: conv-only
devices:
  - {name: npu, model: roofline, peak_flops: 1e12, memory_bandwidth: 1e11, only: [Conv, Relu, MaxPool]}
END
cat >"$TMP/t.json" <<'END'
{"schema": "weft.tasks/1", "devices": ["p", "q"],
 "tasks": [{"name": "a", "seconds": [1, 2]}, {"name": "b", "seconds": [null, null]}],
 "edges": [{"from": "a", "to": "b", "amount": 1}]}
END
cp onnx/alexnet.onnx "$TMP" && cd "$TMP" || exit 9
for goal in latency throughput; do
    "$WEFT" place t.json --goal $goal --json | grep '^ "\(status\|value\|reason\)"'
done
"$WEFT" compare t.json --csv | cut -d, -f2 | sort -u
"$WEFT" place alexnet.onnx --on conv.yaml
