# Why, what an upgrade is worth, and errors of costs, for the instance of Topcuoglu et al. 2002.
"$WEFT" place tasks/topcuoglu.json --quiet -o "$TMP/p.json" --time-limit 10min
"$WEFT" explain "$TMP/p.json" --time-limit 10min --uncertainty 20% --samples 50
"$WEFT" explain "$TMP/p.json" --time-limit 10min --upgrades link,memory --top 2 | sed -n '/worth/,$p'
