"$WEFT" inspect resnet50 --dtype int8
