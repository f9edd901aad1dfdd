"$WEFT" inspect resnet50 --json=1
"$WEFT" inspect resnet50 --batch
