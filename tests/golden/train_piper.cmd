# Two stages of width 2, with their nodes; another machine; a limit on the memory chooses recomputation.
"$WEFT" train piper/layers.json --objective piper --verbose
"$WEFT" train piper/layers.json --objective piper --devices 6 --bandwidth 10GB/s --microbatches 12
"$WEFT" train piper/branches.json --objective piper --memory 1000B
