/* SPDX-License-Identifier: MIT */
/* Throughput: mappings of small period, and what they share. */
#ifndef WEFT_LOAD_H
#define WEFT_LOAD_H

#include "mapping.h"

/* The least period found under the limits and options that the problem asks for: one mapping,
 * pipeline stages (ask.is_contiguous), or a mix of mappings (ask.is_mixed). The proof carries the
 * best bound known. For the goal of latency without most_period_s: no plan. */
weft_status weft_load_solve(const weft_problem *p, weft_run *run, weft_plan *plan,
                            weft_proof *proof);

/* --- candidates ------------------------------------------------------------------------------ */

enum { WEFT_MOST_CANDIDATES = 12 };

/* Mappings of small period, the best first, all different. */
typedef struct weft_candidates {
    int n, n_tasks;
    int *device[WEFT_MOST_CANDIDATES];
    double period_s[WEFT_MOST_CANDIDATES];
} weft_candidates;

weft_candidates weft_candidates_new(int n_tasks, weft_arena *a);
void weft_candidates_add(weft_candidates *c, const int *device, double period_s);

/* A mapping that was simulated. */
typedef struct weft_tried {
    double latency_s, period_s;
    bool is_legal; /* memory and limits are kept */
} weft_tried;

/* Orders and simulates a mapping; writes starts into plan (one way). A second order, by number,
 * is tried if the first needs too much memory. */
weft_tried weft_mapping_try(const weft_domain *m, const int *device, weft_arena *scratch,
                            weft_plan *plan);

/* --- search ---------------------------------------------------------------------------------- */

/* What the search makes small: the largest load, or with prices the sum of price * load. */
typedef struct weft_load_task {
    const weft_domain *domain;
    const double *price; /* [n_resources] or NULL */
    double heat;         /* first temperature, as a share of the energy */
    int64_t steps;       /* moves tried at most */
    uint64_t seed;
    const weft_run *run; /* when to stop */
} weft_load_task;

/* Anneals from the mapping in `device` and leaves the best one there (or in the candidates, if not
 * NULL). Returns the steps taken. Only mappings that keep domains, connections and room for weights
 * count, if there are any. */
int64_t weft_load_search(const weft_load_task *task, int *device, weft_candidates *found,
                         weft_arena *scratch);
/* Moves tried by default. */
int64_t weft_load_steps(const weft_problem *p);

/* The mappings of least period that the search finds from all its starts. `bound` is the load bound
 * with its prices; it is raised if pipeline stages are asked for and their least period is found.
 */
void weft_load_candidates(const weft_domain *m, weft_proof *bound, weft_run *run,
                          weft_candidates *found);

/* Every mapping that may be better than `upper`, depth first (load_exact.c). True: the search ended
 * within most_nodes; then no mapping has a smaller period than *least_s = min(upper, the best one
 * found), which is in the candidates if it is below upper. */
bool weft_load_exact(const weft_domain *m, const weft_proof *bound, double upper,
                     int64_t most_nodes, weft_run *run, weft_candidates *found, double *least_s);

/* Mappings for networks whose weights fill the memories; bound_s: no plan is below it. Candidates that
 * the simulator refuses are dropped. */
void weft_load_rooms(const weft_domain *m, double bound_s, weft_run *run, weft_candidates *found);

/* No plan, a mix or one way, has a smaller period: work and weights over all devices
 * (load_memory.c). INFINITY: the weights do not fit. 0: nothing is known. */
double weft_load_memory_bound(const weft_domain *m, const weft_run *run);

#endif
