# Several networks: the mean of what they gain, or the worst; throughput for each watt.
for flags in "" "--weights 3,1" "--blend worst" "--metric perf-per-tdp" "--metric perf-per-tdp --least-throughput 1"; do
    echo "$flags"
    "$WEFT" mine mobilenet_v3_large gpt2:layers=2,seq=64 --batch 4,8 --template templates/small.yaml --area 300mm2 \
        --power 160W --time-limit 10min $flags | sed '/^  searched/,$d'
done
