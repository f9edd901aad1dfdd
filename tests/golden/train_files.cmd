# Plans and traces as files; every claim is computed again.
cd "$TMP"
"$WEFT" train gpt2:small --on mixed-fleet --dtype f16 --batch 64 --quiet -o plan.json --trace trace.json --time-limit 10min
"$WEFT" check plan.json
grep -c '"ph": "X"' trace.json
grep -c '"ph": "C"' trace.json
sed 's/"microbatch": 16,/"microbatch": 32,/' plan.json >other.json
"$WEFT" check other.json
echo "exit $?"
sed 's/"first": 23,/"first": 24,/' plan.json >hole.json
"$WEFT" check hole.json
echo "exit $?"
sed 's/"optimizer": "adam"/"optimizer": "sgd"/' plan.json >sgd.json
"$WEFT" check sgd.json | head -3
