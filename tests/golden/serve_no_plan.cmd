# Too few layers; no way through. Exit code 1.
cd "$TMP" || exit 9
printf 'schema: weft.serving/1\nlayers: 9\nnodes:\n  - {name: a, count: 2, tokens_per_s_by_layers: [9, 4, 3]}\nlinks:\n  - {from: source, to: all, tokens_per_s: 9}\n  - {from: all, to: sink, tokens_per_s: 9}\n  - {from: all, to: all, tokens_per_s: 9}\n' >few.yaml
"$WEFT" serve few.yaml --steps 100000
echo "exit $?"
sed 's/layers: 9/layers: 4/; /from: all, to: all/d' few.yaml >apart.yaml
"$WEFT" serve apart.yaml --steps 100000 --json | grep '"status"\|"value"\|"reason"'
