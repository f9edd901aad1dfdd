/* SPDX-License-Identifier: MIT */
/* Placement: which task runs on which device, and when. */
#ifndef WEFT_PLACE_H
#define WEFT_PLACE_H

#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

int weft_place_count(void);
const weft_solver *weft_place_at(int i);
const weft_solver *weft_place_find(const char *name); /* NULL: none */

/* The best of the cheap bounds: path and load. Valid for every transfer model. */
void weft_place_bound(const weft_problem *p, weft_arena *a, weft_proof *out);
/* The strongest bound without search: also bodies, propagation, shaving and parts in series, as far
 * as most_work steps (about 1e8 a second) allow. `upper` is the value of a plan, or INFINITY: the
 * bound that equals it proves it optimal. Deterministic. */
void weft_place_bound_more(const weft_problem *p, double upper, double most_work, weft_arena *a,
                           weft_proof *out);
/* May a bound of this method exceed its certificates? True for methods that rest on a search. */
bool weft_method_is_search(const char *method);
/* Bound values again from the certificate alone; what `weft check` uses. */
double weft_path_bound_of(const weft_problem *p, const int *path, int n);
double weft_load_bound_of(const weft_problem *p, const double *price);
/* The linear program with whole columns that solver `milp` solves, for other programs; the format
 * is that of the ending, .lp or .mps (docs/solvers.md). Latency only. */
WEFT_CHECKED weft_status weft_place_write_model(const weft_problem *p, const char *path);
/* Latency under WEFT_CALLS; 0 for other problems and for what is no path. */
double weft_calls_path_bound_of(const weft_problem *p, const int *path, int n);
/* Is it found again that no plan takes less than limit_s? */
bool weft_refuted_again(const weft_problem *p, double limit_s, bool is_shaving);
/* The bound of this name ("memory", "head-tail", "series"), computed again; 0 for other names. */
double weft_bound_again(const weft_problem *p, const char *name);

/* What every answer is set beside. */
typedef struct weft_reference {
    double single_s; /* value of the best single device; NAN if no device can do all, or unknown */
    const char *single; /* its name, or NULL */
    double heft_s;      /* value of HEFT's plan; NAN if it has none */
    double
        replicas_s; /* throughput: of the whole network on each device that holds it, items shared
                           out among these; NAN: no device holds it, or unknown */
    int n_replicas;
} weft_reference;

/* `bound`: of weft_place_bound. Limits of the problem do not count. What is not known when the run
 * is over (from its begin_s on; NULL: never) is left out. */
WEFT_CHECKED weft_status weft_place_reference(const weft_problem *p, const weft_proof *bound,
                                              const weft_run *run, weft_arena *a,
                                              weft_reference *out);

/* --- latency against throughput -------------------------------------------------------------- */

/* A plan and what the simulator says of it. */
typedef struct weft_tradeoff {
    double latency_s, period_s;
    weft_plan plan;
} weft_tradeoff;

/* Plans of which none is beaten in both latency and period, by rising latency, that keep the limits
 * of the problem. Found by sweeping limits of the period: a heuristic, the points are simulated and
 * legal, better ones may exist. Their number is *n; *out belongs
 * to `a`, which must not be run->scratch. */
WEFT_CHECKED weft_status weft_place_front(const weft_problem *p, weft_run *run, weft_arena *a,
                                          const weft_tradeoff **out, int *n);

#ifdef __cplusplus
}
#endif
#endif
