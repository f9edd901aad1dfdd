/* SPDX-License-Identifier: MIT */
/* Latency against throughput: plans that keep limits of both, and the front of the best pairs. */
#ifndef WEFT_TRADE_H
#define WEFT_TRADE_H

#include "load.h"

typedef struct weft_front {
    int n, room;
    weft_tradeoff *at; /* by rising latency and falling period */
    weft_arena *arena;
} weft_front;

/* Belongs to `a`, which must not be the scratch memory of the search. */
weft_front weft_front_new(weft_arena *a);
/* Adds a simulated plan of one way unless another is as good in both; drops those it beats. The
 * plan is copied. */
bool weft_front_add(weft_front *f, double latency_s, double period_s, const weft_plan *plan);

/* Fills the front with plans that keep memory: the list schedulers', the candidates', and what a
 * search around them finds that makes the goal small under the limits of the problem. Small
 * problems: every mapping, and the limits do not matter: true. evaluations: simulations at most. */
bool weft_tradeoff_search(const weft_domain *m, const weft_candidates *found, int64_t evaluations,
                          weft_run *run, weft_front *front);
/* Simulations by default. */
int64_t weft_tradeoff_evaluations(const weft_problem *p, const weft_run *run);

/* The point of the front that is best for the goal and keeps the limits; NULL: none. */
const weft_tradeoff *weft_front_best(const weft_front *f, const weft_constraints *constraints);

#endif
