# What each solver finds in 60 evaluations; those that prove something say so.
for solver in auto fast certified exhaustive boxes front random anneal genetic surrogate inference; do
    echo "$solver"
    "$WEFT" mine gpt2:layers=2,seq=64 --template templates/small.yaml --area 300mm2 --power 160W --solver $solver \
        --evaluations 60 | grep '^  design  \|^  throughput\|^  bound'
done
