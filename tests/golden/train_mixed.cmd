# Devices that are not equal; the plan that treats them so is set beside it.
"$WEFT" train gpt2:small --on mixed-fleet --dtype f16 --batch 64 --time-limit 10min
"$WEFT" train gpt2:small --on mixed-fleet --dtype f16 --batch 64 --solver equal --time-limit 10min | grep 'step\|equal'
