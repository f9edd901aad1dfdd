/* SPDX-License-Identifier: MIT */
/* The optimum of small networks on a design, to compare policy and bounds with. */
#ifndef EVAL_ORACLE_H
#define EVAL_ORACLE_H

#include "workload_eval.h"

enum { WEFT_MOST_ORACLE = 24 }; /* operators */
/* The least step of any schedule by linear programming for small graphs: every operator on
 * any of the numbers of cores that the policy may give it. At the limit value and bound differ. */
WEFT_CHECKED weft_status weft_eval_oracle(weft_workload_eval *m, const weft_design_point *p,
                                          double limit_s, double *value_s, double *bound_s);

#endif
