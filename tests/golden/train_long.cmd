# Long sequences that were really trained: 7B at 65,536 tokens on eight H100, 125M at 32,768 on eight A100 (llm-foundry).
"$WEFT" train gpt3:layers=32,hidden=4096,heads=32,seq=65536,vocab=50368 --on cluster-h100:server=1 --dtype bf16 --software flash \
    --batch 8 --zero 3 --sp auto --tp 1,8 --pp 1,2 --schedule 1f1b --recompute full --time-limit 10min |
    grep -E "^  step|split|no plan"
"$WEFT" train gpt3:layers=12,hidden=768,heads=12,seq=32768,vocab=50368 --on cluster-a100:server=1 --dtype bf16 --software flash \
    --batch 8 --zero 3 --tp 1 --pp 1 --schedule 1f1b --time-limit 10min | grep -E "^  step|split|no plan"
