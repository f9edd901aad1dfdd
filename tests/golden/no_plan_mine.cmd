# Limits that no design keeps, and a throughput that none has: exit code 1.
"$WEFT" mine resnet50 --area 150mm2
echo "exit $?"
"$WEFT" mine resnet50 --area 300mm2 --power 150W --least-throughput 2
echo "exit $?"
"$WEFT" mine resnet50 --area 150mm2 --json | grep '"status"\|"value"\|"gap"\|"plan"\|"reason"'
"$WEFT" mine gpt3 --stages 4 --width 2 --area 600mm2 --power 280W
echo "exit $?"
