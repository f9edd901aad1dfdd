# what cannot be printed is an error, whatever the command
for command in "list models" "inspect alexnet" "--version" "help" "inspect --help"; do
    "$WEFT" $command >/dev/full; echo $?
    "$WEFT" $command >&-; echo $?
done
