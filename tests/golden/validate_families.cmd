# A family of sets is counted together; a network beside another device on one memory; bytes kept per parameter.
cd "$TMP" || exit 9
"$WEFT" validate megatron | tail -n 5
"$WEFT" validate megatron --json | grep -A 4 '"megatron, together"'
"$WEFT" validate xavier-nx
cat >soc.csv <<'END'
what,model,params,platform,device,type,published,unit
infer,alexnet,batch=1,edge-soc,gpu,f16,2,ms
infer,alexnet,batch=1 beside=npu,edge-soc,gpu,f16,2,ms
infer,alexnet,batch=1 beside=npu,edge-soc,gpu,f16,1,x
END
"$WEFT" validate soc.csv | sed -n '4,6p'
sed 's/beside=npu/beside=gpu/' soc.csv >same.csv
"$WEFT" validate same.csv
echo "exit $?"
sed 's/beside=npu/beside=cpus/' soc.csv >none.csv
"$WEFT" validate none.csv
echo "exit $?"
sed 's/edge-soc,gpu/mixed-fleet,fast.gpu/; s/beside=npu/beside=slow.gpu/' soc.csv >apart.csv
"$WEFT" validate apart.csv
echo "exit $?"
for recipe in 16 18; do
    printf 'what,model,params,platform,type,published,unit\ntrain,"gpt2:layers=2",batch=16 dp=8 recipe=%s,cluster-a100:server=1,bf16,10,ms\n' $recipe >t.csv
    "$WEFT" validate t.csv | sed -n 4p
done
