# A long network: the longest steps, or with --layers all 40 of them.
"$WEFT" shard resnet34 --on f1-2x4 --dtype f16
"$WEFT" shard resnet34 --on f1-2x4 --dtype f16 --layers | sed -n '/^  step/,$p' | grep -c ' 0 [a-z]'
