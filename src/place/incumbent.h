/* SPDX-License-Identifier: MIT */
/* The best plan that a search knows. Every plan offered is simulated; only legal ones are kept. */
#ifndef WEFT_INCUMBENT_H
#define WEFT_INCUMBENT_H

#include "list.h"

typedef struct weft_incumbent {
    const weft_problem *problem;
    weft_run *run;
    bool has_plan;
    double value; /* of the plan, by the simulator; INFINITY without */
    weft_plan *plan;
} weft_incumbent;

/* Nothing yet; plans are kept in `plan`, which the caller owns. */
weft_incumbent weft_incumbent_new(const weft_problem *p, weft_run *run, weft_plan *plan);
/* Simulates a plan (its starts say the order) and keeps a copy if it is legal and better than what
 * there is: memory suffices, and the limits of the problem on latency and period are met. Tells
 * *value what it is worth, legal or not. */
WEFT_CHECKED weft_status weft_incumbent_offer(weft_incumbent *b, const weft_plan *plan,
                                              double *value);
/* Offers the plans of the list schedulers, a few simulations in all. */
WEFT_CHECKED weft_status weft_incumbent_begin(weft_incumbent *b);

#endif
