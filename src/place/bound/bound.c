/* SPDX-License-Identifier: MIT */
/* bound.c: the best of the cheap lower bounds. A period is bounded by loads only; a makespan by
 * paths and by loads, and the larger is kept (the path on a tie). A task that has no device proves
 * that there is no plan: the bound is then INFINITY. Under calls a period is still no less than a
 * load, but the host works on many tasks at once and transfers are not paid task by task: a
 * makespan is bounded by calls_bound.c alone. All carry certificates. Where all times are multiples
 * of a grain, the bound is rounded up to one (problem/grain.c). */
#include "list.h"

#include <math.h>

void weft_place_bound(const weft_problem *p, weft_arena *a, weft_proof *out)
{
    weft_domain m = weft_domain_new(p, a);
    weft_proof load = {.outcome = WEFT_UNKNOWN, .value = INFINITY, .gap = INFINITY};

    *out = load;
    if (m.is_empty) {
        out->outcome = WEFT_INFEASIBLE;
        out->bound = out->certified = INFINITY;
        out->method = "domain";
        weft_limits_explain(&m, a, out);
        return;
    }
    if (p->constraints.goal != WEFT_LATENCY || p->transfer != WEFT_CALLS)
        weft_load_bound(&m, a, &load);
    if (p->constraints.goal == WEFT_LATENCY && p->transfer == WEFT_CALLS)
        weft_calls_bound(&m, a, out);
    else if (p->constraints.goal == WEFT_LATENCY)
        weft_path_bound(&m, load.bound, a, out);
    if (p->constraints.goal != WEFT_LATENCY || load.bound > out->bound)
        *out = load;
    out->certified = out->bound;
    weft_proof_round(out, weft_problem_grain_s(p));
    if (!(out->bound < INFINITY)) /* data that cannot reach any device of its reader */
        out->outcome = WEFT_INFEASIBLE;
    weft_limits_check(&m, load.bound, a, out);
}
