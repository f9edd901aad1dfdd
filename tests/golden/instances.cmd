for file in ten.stg costs.stg; do
    $WEFT place instances/$file --processors 2 | head -5
done
$WEFT place instances/workflow_14.json --speeds 1,2 --bandwidth 1MB/s -o "$TMP/plan.json" | head -5
sed -n '/machines/,/}/p' "$TMP/plan.json"
$WEFT check "$TMP/plan.json" | sed "s|^[^:]*/||"
$WEFT place instances/ten.stg --processors 2 -o "$TMP/plan.json" --quiet
$WEFT explain "$TMP/plan.json" --upgrades device | tail -3 # of a file that is edited as weft.tasks/1
$WEFT place instances/blocks.dot --processors 2 --bandwidth unlimited | head -5
$WEFT place instances/blocks.dot --processors 2
$WEFT place instances/ten.stg
$WEFT place instances/ten.stg --speeds 1,x
$WEFT place tasks/topcuoglu.json --processors 2
$WEFT place alexnet --on edge-soc --processors 2
