# Calls need a host; topcuoglu.json names none.
"$WEFT" place tasks/topcuoglu.json --semantics calls
