# Upgraded platforms as files: weft shard and weft train find the same value and bound on them.
cd "$TMP"
again() { # command, then the flags that made the plan
    for file in up/*.json; do
        "$WEFT" "$@" --on "$file" --json >r.json
        name=$(basename "$file" .json)
        awk -v name="\"$name\"," '
            FNR == 1 { file++ }
            file == 1 && $1 == "\"name\":" { is_here = $2 == name }
            file == 1 && is_here && ($1 == "\"solved_value\":" || $1 == "\"bound\":") { want[$1] = $2 + 0 }
            file == 2 && !seen[$1]++ { have[$1] = $2 + 0 }
            END {
                is_same = want["\"solved_value\":"] == have["\"value\":"] &&
                    want["\"bound\":"] == have["\"bound\":"] && have["\"value\":"] > 0
                print (is_same ? "same" : "differs"), name
            }' e.json r.json
    done
}
"$WEFT" shard alexnet --on f1-2x4 --steps 200 --quiet -o p.json
"$WEFT" explain p.json --steps 200 --save up --json -o e.json
again shard alexnet --steps 200 --semantics sequential
rm -r up
"$WEFT" train gpt2:layers=2 --on mixed-fleet --batch 64 --steps 20000 --quiet -o p.json
"$WEFT" explain p.json --steps 20000 --threads 2 --upgrades link,speed,device --save up --json -o e.json
again train gpt2:layers=2 --batch 64 --steps 20000
