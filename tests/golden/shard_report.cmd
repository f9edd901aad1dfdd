# Proved within a second, so no limit counts: sets, shares of time, all steps.
"$WEFT" shard alexnet --on f1-2x4 --dtype f16
