# A symbolic batch is the batch: --dim and --batch agree, or the command is refused.
model=models/resnet50_dynN.onnx
refused() {
    "$WEFT" "$@"
    echo "exit $?"
}
refused inspect $model --dim N=1 --batch 64
refused place $model --on server-cpu-2gpu --dim N=1 --batch 64
refused compare $model --on server-cpu-2gpu --dim N=1 --batch 64
refused shard $model --on f1-2x4 --dim N=1 --batch 64
refused train $model --on dgx-a100 --dim N=1
refused mine $model --template templates/small.yaml --area 300mm2 --dim N=1 --batch 64
refused mine $model --template templates/small.yaml --area 300mm2 --dim N=4 --stages 2
"$WEFT" inspect $model --dim N=4 --batch 4 | grep MACs
step() {
    "$WEFT" train $model --on dgx-a100 --steps 100000 -o "$TMP/plan.json" "$@" | grep "^  step\|warning"
    "$WEFT" check "$TMP/plan.json" | head -1
}
step --batch 16 >"$TMP/one"
step --batch 16 --dim N=16 | cmp - "$TMP/one" && echo "the same step"
design() {
    "$WEFT" mine $model --template templates/small.yaml --area 300mm2 --evaluations 20 -o "$TMP/plan.json" "$@" |
        sed '/^  searched/,$d'
    "$WEFT" check "$TMP/plan.json" | head -1
}
design --batch 4 >"$TMP/one"
design --batch 4 --dim N=4 | cmp - "$TMP/one" && echo "the same design"
design --dim N=4 | cmp - "$TMP/one" && echo "the same design"
