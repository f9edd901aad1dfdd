# Wrong flags and inputs: a message and exit code 2.
mine() {
    "$WEFT" mine "$@"
    echo "exit $?"
}
mine
mine --area 600mm2
mine resnet50
mine resnet50 --area 600
mine resnet50 --area tpu-v9
mine resnet50 --area 0mm2
mine resnet50 --power 280mm2
mine resnet51 --area 600mm2
mine resnet50 --area 600mm2 --template mine17
mine resnet50 --area 600mm2 --template templates/none.yaml
mine resnet50 --area 600mm2 --template models/small/small_mlp.onnx
mine resnet50 --area 600mm2 --power 280W --template marginal22
mine resnet50 --area 600mm2 --metric perf-per-tdp --template marginal22
mine resnet50 --area 600mm2 --solver fasd
mine resnet50 --area 600mm2 --metric latency
mine resnet50 --area 600mm2 --batch 0
mine resnet50 --area 600mm2 --batch 8,16
mine resnet50 vgg16 --area 600mm2 --weights 1
mine resnet50 vgg16 --area 600mm2 --weights 1,x
mine resnet50 --area 600mm2 --show
mine --show --study "$TMP/none.db" 2>&1 | sed "s/.*none.db/none.db/"
mine resnet50 --show --study "$TMP/none.db"
echo "not a database, but a text of some length" >"$TMP/text.db"
mine --show --study "$TMP/text.db" 2>&1 | sed 's|.*/text.db|text.db|'
mine resnet50 --area 600mm2 --study "$TMP/no/such/folder.db" 2>&1 | sed 's|.*/folder.db|folder.db|'
mine resnet50 --area 600mm2 --dtype int8
mine resnet50 --area 600mm2 --time-limit 5
mine gpt2 --area 600mm2 --width 2
mine gpt2 --area 600mm2 --stages 2 --study "$TMP/x.db"
mine gpt2 --area 600mm2 --stages 2 --solver fast
mine gpt2 --area 600mm2 --stages 2 --batch 7 --microbatch 2
mine gpt2 --area 600mm2 --stages 2 --between 25
mine gpt2 bert --area 600mm2 --stages 2 --designs stages
mine resnet50 --area 600mm2 --memory 16
mine resnet50 --area 600mm2 --designs each
