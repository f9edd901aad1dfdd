# The report of a plan: 80 s (the paper), bound 54 s (compare_topcuoglu), gap (80-54)/80 = 32.5 %,
# speed-up 127/80 = 1.59 of at most 127/54 = 2.35. Busy: P1 runs T2 and T8, 13+5 = 18 s; P2 T4 T6 T9
# T10, 8+16+12+7 = 43 s; P3 T1 T3 T5 T7, 9+19+10+11 = 49 s.
"$WEFT" place tasks/topcuoglu.json --solver heft
