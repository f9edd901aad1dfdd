"$WEFT" inspect gpt2:huge
"$WEFT" inspect gpt2:layer=3
