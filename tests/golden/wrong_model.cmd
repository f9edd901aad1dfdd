"$WEFT" inspect resnet5
