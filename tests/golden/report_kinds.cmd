# Pages of sharded networks and of training plans: tables, kinds of bars and rows.
cd "$TMP" || exit 2
"$WEFT" shard alexnet --on f1-2x4 --steps 200 -o s.json --quiet
"$WEFT" report s.json --json --csv s | grep -E '"(kind|id|colour_by)"|"title"' | sort | uniq -c
head -3 s/splits.csv
"$WEFT" train gpt2 --on mixed-fleet --dtype f16 --replicas 1 --width 1 --steps 20000 -o t.json --quiet
"$WEFT" report t.json --json --csv t | grep -E '"(kind|id|colour_by)"|"title"' | sort | uniq -c
cut -d, -f1-5 t/stages.csv
"$WEFT" report t.json --dot x.dot
echo "exit $?"
ls
