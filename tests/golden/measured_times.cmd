# Measured times: how many the plan has; misspelt nodes, devices and operators are errors.
cd "$TMP" || exit 9
cat >board.yaml <<'END'
schema: weft.platform/1
name: measured
devices:
  - {name: board, model: roofline, peak_flops: 1TFLOP/s, memory_bandwidth: 20GB/s, profile: times.json}
  - {name: cpu, model: roofline, peak_flops: 10GFLOP/s, memory_bandwidth: 20GB/s,
     only: [Conv, Relu, element]}
links:
  - {between: [board, cpu], bandwidth: 1GB/s, latency: 50us}
END
cat >times.json <<'END'
{"schema": "weft.profile/1", "times": [
  {"node": "conv_2", "device": "board", "seconds": 4e-4},
  {"node": "conv_6", "device": "board", "seconds": 5e-4},
  {"node": "conv_6", "device": "cpu", "seconds": 5}]}
END
place() {
    sed "$1" times.json >edited.json
    sed -e "$2" -e 's/times.json/edited.json/' board.yaml >edited.yaml
    "$WEFT" place vgg16 --on edited.yaml --steps 1000
    echo "exit $?"
}
place '' '' | grep 'measured\|exit'
place 's/"conv_6"/"conv6"/' ''
place 's/"conv_6"/"the fourth one"/' ''
place 's/"cpu"/"cpu0"/' ''
place '' 's/Relu/ReLU6/'
place '' 's/Relu/convolution/'
sed 's/Relu/Rleu/' board.yaml >edited.yaml
"$WEFT" shard vgg16 --on edited.yaml
"$WEFT" train vgg16 --on edited.yaml
# what its engine takes to start is the switch of a device, unless the platform gives one
sed 's/^  {"node": "conv_6", "device": "cpu".*/  {"node": "conv_6", "device": "cpu", "seconds": 5}], "devices": [{"name": "board", "launch_s": 3e-5}]}/' times.json >launch.json
sed 's/times.json/launch.json/' board.yaml >launch.yaml
sed 's/launch.json/launch.json, switch: 1us/' launch.yaml >given.yaml
for platform in board launch given; do
    "$WEFT" place vgg16 --on $platform.yaml --pin 'conv_2=board,conv_6=cpu,conv_11=board' --steps 100 | grep -i 'latency  \|switch'
done
