# How many boxes a detector finds depends on the image: what follows has no shape, hence no cost.
"$WEFT" place models/fasterrcnn_mobilenet_v3_320_full.onnx --on edge-soc
