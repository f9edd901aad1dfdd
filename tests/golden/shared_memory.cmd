# Devices that share a memory; names of what is shared; measured times where only weft place can use them; what reports say of costs.
cd "$TMP" || exit 9
cat >soc.yaml <<'YAML'
schema: weft.platform/1
name: soc
host: a
devices:
  - {name: a, model: roofline, peak_flops: 1e12, memory_bandwidth: 30GB/s, memory: 4GB}
  - {name: b, count: 2, model: roofline, peak_flops: 1e12, memory_bandwidth: 60GB/s, memory: 4GB}
shared:
  - {name: dram, bandwidth: 60GB/s, of: [a, b]}
links: [{all: [a, b], bandwidth: 10GB/s}]
YAML
"$WEFT" place alexnet --on soc.yaml --solver single | sed -n '/latency  /p;/costs  /p'
sed 's/60GB.s, of/150GB\/s, of/' soc.yaml >enough.yaml
"$WEFT" place alexnet --on enough.yaml --solver single | sed -n '/latency  /p'
refuse() { # SED-SCRIPT COMMAND...
    sed "$1" soc.yaml >wrong.yaml
    shift
    "$WEFT" "$@" --on wrong.yaml 2>&1
    echo "exit $?"
}
refuse 's/{name: dram/{name: ""/' place alexnet
refuse 's/^  - {name: dram.*/&\n&/' place alexnet
refuse 's/^  - {name: dram.*/&\n  - {name: other, bandwidth: 1GB\/s, of: [a]}/' place alexnet
printf 'node,device,seconds\nconv_2,a,1\n' >times.csv
refuse '/^shared/d; /dram/d; s/name: a, /name: a, profile: times.csv, /' shard alexnet
refuse '/^shared/d; /dram/d; s/name: b, /name: b, profile: times.csv, /' shard alexnet
refuse '/^shared/d; /dram/d; s/name: a, /name: a, profile: times.csv, /' train alexnet --batch 8
cp "$OLDPWD/measured/products.csv" . && cp "$OLDPWD/gpus/v100.yaml" .
"$WEFT" calibrate products.csv --on v100.yaml -o fitted.yaml >/dev/null
"$WEFT" place alexnet --on fitted.yaml | grep 'costs  '
"$WEFT" place alexnet --on fitted.yaml --json | grep -A 7 '"costs"'
"$WEFT" train alexnet --on fitted.yaml --batch 8 | grep 'costs  '
"$WEFT" inspect --platform cluster-a100 | grep 'costs  '
