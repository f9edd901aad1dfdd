"$WEFT" inspect resnet50 --batch many
