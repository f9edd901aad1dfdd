# The best design with its proof; the second with what happens if the cost model is wrong.
"$WEFT" mine resnet50 --area 600mm2 --power 280W --time-limit 10min
"$WEFT" mine gpt2:layers=2,seq=64 --template templates/small.yaml --area tpu-v2 --power tpu-v2 --sensitivity 4 \
    --time-limit 10min
