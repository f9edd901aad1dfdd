# Proved, with what is missing and what would fit; exit code 1.
"$WEFT" train llama --on server-cpu-2gpu --batch 8 --time-limit 10min
echo "exit $?"
"$WEFT" train gpt2:xl --on server-cpu-2gpu --batch 8 --microbatch 4 --recompute none --stages 2 --time-limit 10min
echo "exit $?"
"$WEFT" train llama --on server-cpu-2gpu --batch 8 --time-limit 10min --json | grep '"status"\|"value"\|"plan"\|"stages"\|"reason"'
