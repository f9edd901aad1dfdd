"$WEFT" list solvers
"$WEFT" list solvers --json | grep -c '"task": "shard"'
