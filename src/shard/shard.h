/* SPDX-License-Identifier: MIT */
/* Sharding: which accelerators work together, which design each set gets, how each step is cut. */
#ifndef WEFT_SHARD_H
#define WEFT_SHARD_H

#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

int weft_shard_count(void);
const weft_shard_solver *weft_shard_at(int i);
const weft_shard_solver *weft_shard_find(const char *name); /* NULL: none */

typedef struct weft_shard_solution {
    weft_shard_plan plan;
    weft_proof proof;
    weft_shard_plan_measures measures;
    double seconds;
} weft_shard_solution;

/* Runs a solver, simulates and checks its plan, fills the proof: as weft_solve. */
WEFT_CHECKED weft_status weft_shard_solve(const weft_shard_solver *s, const weft_shard_problem *p,
                                          const weft_shard_options *o, weft_run *run, weft_arena *a,
                                          weft_shard_solution *out);

/* What no plan can beat, found without search: every step on the best set of the best design, one
 * after the other; or side by side, the longest path and the mean work of an accelerator. `method`
 * is "floor"; proof.again names it, so that anybody can compute it again. */
void weft_shard_bound(const weft_shard_problem *p, weft_arena *a, weft_proof *out);

/* True for methods of bounds that rest on a search, which nobody repeats to check it. */
bool weft_shard_method_is_search(const char *method);

#ifdef __cplusplus
}
#endif
#endif
