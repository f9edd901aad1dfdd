# Equal devices: one class. Devices are shown with --verbose.
"$WEFT" train gpt2:small --on dgx-a100 --dtype f16 --time-limit 10min
"$WEFT" train vgg16 --on dgx-a100 --batch 64 --schedule 1f1b --replicas 2 --verbose --time-limit 10min
