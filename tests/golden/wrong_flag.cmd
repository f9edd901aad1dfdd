"$WEFT" inspect resnet50 --bacth 8
