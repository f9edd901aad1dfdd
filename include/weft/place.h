/* SPDX-License-Identifier: MIT */
/* Placement: which task runs on which device, and when. */
#ifndef WEFT_PLACE_H
#define WEFT_PLACE_H

#include "weft/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

int weft_place_count(void);
const weft_solver *weft_place_at(int i);
const weft_solver *weft_place_find(const char *name); /* NULL: none */

/* The best of the cheap bounds: path and load. Valid for every transfer model. */
void weft_place_bound(const weft_problem *p, weft_arena *a, weft_proof *out);
/* Bound values again from the certificate alone; what `weft check` uses. */
double weft_path_bound_of(const weft_problem *p, const int *path, int n);
double weft_load_bound_of(const weft_problem *p, const double *price);

/* --- latency against throughput -------------------------------------------------------------- */

/* A plan and what the simulator says of it. */
typedef struct weft_point {
    double latency_s, period_s;
    weft_plan plan;
} weft_point;

/* Plans of which none is beaten in both latency and period, by rising latency, that keep the limits
 * of the problem. Found by sweeping limits of the period: a heuristic, the points are simulated and
 * legal, better ones may exist. Their number is *n; *out belongs
 * to `a`, which must not be run->scratch. */
WEFT_CHECKED weft_status weft_place_front(const weft_problem *p, weft_run *run, weft_arena *a,
                                          const weft_point **out, int *n);

#ifdef __cplusplus
}
#endif
#endif
