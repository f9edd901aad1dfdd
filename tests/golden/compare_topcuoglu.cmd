# The example of Topcuoglu, Hariri and Wu (2002). single: P1, 14+13+11+13+12+13+7+5+18+21 = 127 (P2
# 130, P3 143). HEFT 80 and CPOP 86 are the paper's figures. met 82: every task where it runs
# fastest; greedy 88: tasks by number. bound 54: T1 T2 T9 T10 all on P2, 16+19+12+7, sending nothing.
# Times of solving are cut off. The other solvers have no figure to derive, but no plan is better than
# the optimum, 73, and no bound is above it. Shaving proves 73 (to 1e-11), whatever plan is beside it.
"$WEFT" compare tasks/topcuoglu.json --csv >"$TMP/all"
cut -d, -f1-3,5 "$TMP/all" | grep '^solver\|^single\|^met\|^greedy\|^heft\|^cpop'
sed 1d "$TMP/all" | awk -F, '$3 < 73 || $5 < 54 || $5 > 73 {print "wrong: " $0}'
awk -F, '$1 == "bound" {printf "%s: %.9f\n", $1, $5}' "$TMP/all"
