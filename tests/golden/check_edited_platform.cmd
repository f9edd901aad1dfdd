# Twice the bandwidth: the platform is not the one of the plan, and every transfer is shorter.
cat >"$TMP/m.yaml" <<'END'
schema: weft.platform/1
name: pair
host: cpu
devices:
  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 1GB/s}
  - {name: gpu, model: roofline, peak_flops: 1e13, memory_bandwidth: 500GB/s}
links:
  - {between: [cpu, gpu], bandwidth: 1GB/s}
END
cd "$TMP"
"$WEFT" place alexnet --on m.yaml -o p.json --quiet && "$WEFT" check p.json --quiet || exit 9
sed 's/bandwidth: 1GB.s}$/bandwidth: 2GB\/s}/' m.yaml >twice && mv twice m.yaml
"$WEFT" check p.json >out
code=$?
sed -n '1s/hash is .*/hash is .../p' out
exit $code
