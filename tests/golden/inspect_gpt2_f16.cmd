"$WEFT" inspect gpt2 --dtype f16
