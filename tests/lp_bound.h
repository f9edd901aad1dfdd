/* SPDX-License-Identifier: MIT */
/* No schedule of a subproblem is below: the relaxation without order, with a few rounds of cuts. INFINITY:
 * there is none at all. If the limit in seconds ends it early, it is the path bound or a little more. */
#ifndef WEFT_LP_BOUND_H
#define WEFT_LP_BOUND_H

#include "milp_place.h"

static inline double lp_bound(const weft_subproblem *x, double limit_s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    weft_milp_model m = weft_milp_model_new(x, INFINITY, WEFT_MILP_RELAXED, a);
    weft_milp_effort e = {.limit_s = limit_s, .rounds = 4};
    double bound;

    weft_milp_model_tighten(&m, &e);
    bound = m.is_empty ? INFINITY : m.lower;
    weft_milp_free(m.milp);
    weft_arena_rewind(a, mark);
    return bound;
}

#endif
