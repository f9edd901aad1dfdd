# The example of HEFT's authors, to the optimum, which is 73, and a proof.
"$WEFT" place tasks/topcuoglu.json --solver milp --steps 20000 | head -4
