# Each file has one fault; the message names file, line, value and what was expected.
for fault in link-to-nowhere zero-bandwidth negative-memory missing-unit wrong-unit duplicate-device \
    no-model unknown-model disconnected nan too-many; do
    "$WEFT" place alexnet --on platforms/bad-$fault.yaml
    [ $? = 2 ] || echo "$fault: not exit code 2"
done
