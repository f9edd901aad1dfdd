# a folder that does not exist, a folder in place of a file: nothing is left behind
cd "$TMP"; mkdir taken
"$WEFT" inspect resnet50 -o missing/summary.txt; echo $?
"$WEFT" inspect resnet50 -o taken; echo $?
find . | sort
