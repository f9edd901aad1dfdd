"$WEFT" inspect resnet50 --train --optimizer momentum --batch 8
