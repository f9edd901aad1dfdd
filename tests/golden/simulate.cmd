# Decisions made elsewhere are valued; what is written is a plan that check accepts.
cd "$TMP"
"$WEFT" place alexnet --on edge-soc --solver single --quiet -o plan.json
{
    echo '{"schema": "weft.decisions/1", "kind": "place", "model": "alexnet", "platform": "edge-soc", "decisions": {'
    sed '/"measures"/,$d' plan.json | sed -n 's/^ *"task": \("[^"]*"\),/\1: "npu",/p' | sed '1s/npu/gpu/; $s/,$//'
    echo '}}'
} >nodes.json
"$WEFT" simulate nodes.json -o placed.json | grep '^  latency\|^  bound\|^  [a-z]* .* GB$'
"$WEFT" check placed.json | head -n 2
"$WEFT" simulate nodes.json --json | grep '"status"\|"value"\|"solver"'
sed 's/"npu"/"tpu"/' nodes.json >wrong.json
"$WEFT" simulate wrong.json
echo "exit code $?"
sed 's/^"\([a-z_0-9]*\)": "npu"/"x\1": "npu"/' nodes.json >wrong.json
"$WEFT" simulate wrong.json | head -n 2
{
    sed '$d' nodes.json
    echo '}, "order": ['
    sed -n 's/^\("[^"]*"\): ".pu",*$/\1,/p' nodes.json | sed '$s/,$//'
    echo ']}'
} >order.json
"$WEFT" simulate order.json | grep '^  latency'
awk '/"order"/ {print; a = 1; next} a && /^"/ {sub(",", ""); list = $0 (list == "" ? "" : ",\n" list); next} a {print list; a = 0} {print}' order.json >backwards.json
"$WEFT" simulate backwards.json
echo "exit code $?"
sed '/^"relu_3",$/d' order.json >short.json
"$WEFT" simulate short.json 2>&1
echo "exit code $?"
# Stages of a training step, with microbatches that the search does not know.
cat >train.yaml <<'END'
schema: weft.decisions/1
kind: train
model: gpt2:layers=4
platform: dgx-a100
ask: {batch: 24}
decisions:
  schedule: 1f1b
  microbatch: 6
  stages:
    - {width: 1, recompute: none, devices: [{class: gpu, blocks: 2, first: 0, samples: 3}], chunks: [[{first: 0, last: 6}]]}
    - {width: 1, recompute: full, devices: [{class: gpu, blocks: 2, first: 2, samples: 3}], chunks: [[{first: 7, last: 14}]]}
END
"$WEFT" simulate train.yaml -o trained.json | grep '^  step\|^  bound\|^  schedule\|^  split\|^ *[0-9]* .* x[0-9]* gpu,'
"$WEFT" check trained.json | head -n 2
sed 's/batch: 24/batch: 24, memory_margin: 0.99/' train.yaml >large.yaml
"$WEFT" simulate large.yaml
echo "exit code $?"
"$WEFT" simulate large.yaml --json | grep '"legal"\|"value"'
sed 's/last: 6/last: 5/' train.yaml >hole.yaml
"$WEFT" simulate hole.yaml
echo "exit code $?"
# A sharded network, in the order of its list.
"$WEFT" shard alexnet --on f1-2x4 --solver longest-group --quiet -o shard.json
{
    echo '{"schema": "weft.decisions/1", "kind": "shard", "model": "alexnet", "platform": "f1-2x4", "ask": {},'
    sed -n '/^ "sets"/,/^ ],$/p' shard.json
    sed -n '/^ "steps"/,/^ ],$/p' shard.json | sed '/"start_s"/d; s/\("split": .*\),$/\1/; $s/,$//'
    echo '}'
} >shards.json
"$WEFT" simulate shards.json -o sharded.json | grep '^  latency\|^  bound'
"$WEFT" check sharded.json | head -n 1
"$WEFT" check train.yaml 2>&1
"$WEFT" simulate plan.json 2>&1
echo 'schema: weft.decisions/1' >empty.yaml
"$WEFT" simulate empty.yaml 2>&1
echo "exit code $?"
