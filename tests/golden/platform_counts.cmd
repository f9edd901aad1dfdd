# Counts of a preset or file are set where it is named; plans record them; files may have ':' in
# their names.
cd "$TMP" || exit 9
"$WEFT" inspect --platform cluster-32:server=2,server.gpu=4 | head -n 1
"$WEFT" list platforms --show dgx-a100 -o a:gpu=2.yaml
"$WEFT" inspect --platform a:gpu=2.yaml | head -n 1
"$WEFT" inspect --platform a:gpu=2.yaml:gpu=2 | head -n 1
"$WEFT" place alexnet --on a:gpu=2.yaml:gpu=2 --solver heft --quiet -o place.json
"$WEFT" shard alexnet --on dgx-a100:gpu=2 --steps 1 --quiet -o shard.json
"$WEFT" train gpt2:layers=2 --on cluster-32:server=1,server.gpu=2 --batch 8 --steps 10000 --quiet -o train.json
mkdir deep && mv place.json a:gpu=2.yaml deep
for plan in deep/place.json shard.json train.json; do
    "$WEFT" check $plan | head -n 1 | cut -d: -f1-2
    grep '"source"' $plan | tail -n 1
done
"$WEFT" explain shard.json --upgrades link | head -n 1
rm deep/a*
"$WEFT" check deep/place.json 2>&1
"$WEFT" compare alexnet --on dgx-a100:gpus=2 2>&1
