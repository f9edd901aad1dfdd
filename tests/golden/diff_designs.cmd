# What 40 W less cost, each the best of its limits; and of a pipeline one design for all stages beside
# one for each.
cp templates/small.yaml "$TMP" && cd "$TMP" || exit 9
"$WEFT" mine gpt2:layers=2,seq=64 --template small.yaml --area 300mm2 --power 160W -o a.json --quiet || exit 9
"$WEFT" mine gpt2:layers=2,seq=64 --template small.yaml --area 300mm2 --power 120W -o b.json --quiet || exit 9
"$WEFT" diff a.json b.json
"$WEFT" mine gpt2:layers=6,seq=64 --template small.yaml --stages 3 --area 300mm2 --power 160W -o c.json --quiet || exit 9
"$WEFT" mine gpt2:layers=6,seq=64 --template small.yaml --stages 3 --area 300mm2 --power 160W --designs stages -o d.json --quiet || exit 9
"$WEFT" diff c.json d.json
"$WEFT" diff a.json c.json
echo "exit code $?"
# A design that cannot be read is refused.
sed 's/"is_front_proved": [a-z]*/"is_front_proved": 7/' a.json >e.json
"$WEFT" diff e.json b.json 2>&1
echo "exit code $?"
