# The front of Topcuoglu's example, known by enumeration: (73 s, 47 s) and (74 s, 36 s).
"$WEFT" place tasks/topcuoglu.json --pareto
"$WEFT" place tasks/topcuoglu.json --pareto --json | grep '"\(schema\|latency_s\|period_s\)"' |
    grep -v null
