# Each kind of wrong table: one line, exit code 2.
cd "$TMP" || exit 9
cp "$OLDPWD/gpus/v100.yaml" .
try() {
    printf '%b' "$1" >t.csv
    "$WEFT" validate t.csv --on v100.yaml 2>&1
    echo "exit $?"
}
head='what,params,type,published,unit\n'
try ''
try 'what,parms,type,published,unit\n'
try "${head}gem,m=1,f16,1,s\n"
try "${head}gemm,m=1 n=1,f16,1,s\n"
try "${head}gemm,m=1 n=1 k=1,f16,-1,s\n"
try "${head}gemm,m=1 n=1 k=1,bf16,1,s\n"
try "${head}gemm,m=1 n=1 k=1,string,1,s\n"
try "${head}allreduce,ranks=2 bytes=1,f32,1,s\n"
try "${head}infer,batch=1,f32,1,x\n"
try "${head}gemm,m=1 n=1 k=1,f16,1\n"
try "${head}gemm,\"m=1 n=1 k=1,f16,1,s\n"
"$WEFT" validate nccl-a10 2>&1
"$WEFT" validate none.csv 2>&1
"$WEFT" calibrate nccl-a100 2>&1
