# Three plans as files of other programs: a pipeline of unequal layers, FSDP, a device map; and what they cannot say.
cd "$TMP" || exit 1
"$WEFT" train gpt2:layers=8 --on dgx-a100 --dtype bf16 --batch 64 --time-limit 10min -q -o pipeline.json \
    --exactly tp=2,pp=4,dp=1,mbs=2,schedule=1f1b,sp=1,recompute=selective
"$WEFT" report pipeline.json --deploy megatron
"$WEFT" report pipeline.json --deploy torchtitan
"$WEFT" train llama:7b --on dgx-h100 --dtype bf16 --batch 64 --time-limit 10min -q -o fsdp.json \
    --exactly tp=1,pp=1,dp=8,mbs=1,schedule=1f1b,zero=3,recompute=full
"$WEFT" report fsdp.json --deploy megatron
"$WEFT" report fsdp.json --deploy deepspeed
"$WEFT" report fsdp.json --deploy torchtitan
"$WEFT" train llama:7b,layers=6 --on dgx-h100 --dtype bf16 --batch 64 --time-limit 10min -q -o map.json \
    --exactly tp=1,pp=2,dp=1,mbs=4,schedule=1f1b,recompute=none
"$WEFT" report map.json --deploy accelerate
"$WEFT" report pipeline.json --deploy deepspeed 2>&1
"$WEFT" report pipeline.json --deploy accelerate 2>&1
"$WEFT" report fsdp.json --deploy accelerate 2>&1
"$WEFT" report fsdp.json --deploy jax 2>&1
"$WEFT" train gpt2:layers=4 --on dgx-a100 --batch 64 --time-limit 10min -q -o gpipe.json --exactly tp=2,pp=2,dp=1,mbs=2,schedule=gpipe
"$WEFT" report gpipe.json --deploy megatron 2>&1
"$WEFT" report gpipe.json --deploy torchtitan 2>&1
"$WEFT" place alexnet --on edge-soc --solver heft -q -o placed.json
"$WEFT" report placed.json --deploy megatron 2>&1
ls
