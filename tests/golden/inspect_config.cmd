cd configs
"$WEFT" inspect config.json:seq=64 | head -12
"$WEFT" inspect tiny.gguf:seq=64 | grep -A2 -e GGUF -e parameters -e warning
"$WEFT" place tiny.gguf:seq=64 --on edge-soc --solver heft | head -3
"$WEFT" inspect tiny.gguf:words=3
"$WEFT" inspect config.json --dim seq=64
