"$WEFT" inspect
"$WEFT" inspect resnet50 vgg16
