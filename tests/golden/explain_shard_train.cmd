# Reasons and upgrades of a sharded network and of a training step.
cd "$TMP"
"$WEFT" shard alexnet --on f1-2x4 --steps 200 --quiet -o p.json
"$WEFT" explain p.json --steps 200
"$WEFT" train gpt2:small --on mixed-fleet --dtype f16 --batch 64 --steps 20000 --quiet -o t.json
"$WEFT" explain t.json --steps 20000 --upgrades speed --top 2
# Errors of costs of these kinds: entries of the platform file.
"$WEFT" explain p.json --upgrades none --uncertainty 40% --samples 5 | sed -n '/if costs/,$p'
cat >m.yaml <<'END'
schema: weft.platform/1
name: pair
devices:
  - {name: fast, model: roofline, peak_flops: 10TFLOP/s, memory_bandwidth: 900GB/s, overhead: 5us}
  - {name: slow, model: roofline, peak_flops: 9TFLOP/s, memory_bandwidth: 810GB/s, overhead: 5us}
links:
  - {between: [fast, slow], bandwidth: 50MB/s, latency: 5us}
END
"$WEFT" train gpt2:layers=2,hidden=128,heads=4,seq=64 --on m.yaml --batch 16 --steps 20000 --quiet -o t.json
for n in 1 3; do
    "$WEFT" explain t.json --upgrades none --uncertainty 40% --samples 5 --steps 20000 --threads $n \
        >"$TMP/$n"
done
cmp "$TMP/1" "$TMP/3" && sed -n '/if costs/,$p' "$TMP/1"
