"$WEFT" inspetc resnet50
