# The curve of links from all-reduces; the platform that is written predicts them; what is refused.
cd "$TMP" || exit 9
"$WEFT" calibrate nccl-a100 --on cluster-a100:server=1 -o fitted.yaml
sed -n '/curve/,/262144B/p' fitted.yaml
"$WEFT" inspect --platform fitted.yaml | sed -n 1p
{
    echo what,params,platform,device,published,unit
    echo allreduce,ranks=8 bytes=1048576,fitted.yaml,server.gpu,101.9,us
    echo allreduce,ranks=8 bytes=2097152,fitted.yaml,server.gpu,101.4,us
} >own.csv
"$WEFT" validate own.csv | tail -n 5
refuse() {
    printf 'what,params,type,published,unit\n%b' "$1" >t.csv
    "$WEFT" calibrate t.csv --on cluster-a100:server=1 2>&1
    echo "exit $?"
}
refuse 'allreduce,ranks=8 bytes=1,,1,s\nallreduce,ranks=4 bytes=1,,1,s\n'
refuse 'allreduce,ranks=9 bytes=1,,1,s\n'
refuse 'allreduce,ranks=8 bytes=1,,1,us\n'
refuse 'allreduce,ranks=8 bytes=1,,1,s\ngemm,m=1 n=1 k=1,f16,1,s\n'
refuse 'gemm,m=1 n=1 k=1,f16,1,s\nallreduce,ranks=8 bytes=1,,1,s\n'
"$WEFT" calibrate nccl-a100 --on mixed-fleet 2>&1
echo "exit $?"
"$WEFT" calibrate nccl-a100 --on cluster-a100:server=1 --json | head -n 7
