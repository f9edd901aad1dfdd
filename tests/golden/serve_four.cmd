# Four unlike nodes, 12 layers: enumeration proves what prices do not.
"$WEFT" serve serving/four.yaml --steps 4000000 --verbose
