/* SPDX-License-Identifier: MIT */
/* Searches to compare with. */
#ifndef WEFT_MINE_BASELINES_H
#define WEFT_MINE_BASELINES_H

#include "evaluator.h"

/* Designs for the forward networks alone; the winner is then valued on training. */
WEFT_CHECKED weft_status weft_mine_inference(const weft_objective *q,
                                             const weft_eval_cache *eval_cache, int64_t most,
                                             weft_run *run, weft_arena *a, weft_found *out);

/* Moves one parameter by one place, or two parameters in opposite directions; false: it ended
 * outside the lattice or the limits. */
bool weft_evaluator_move(const weft_evaluator *s, weft_rng *r, weft_design_point *p);

/* --- a forest of regression trees (forest.c) ------------------------------------------------- */

typedef struct weft_forest weft_forest;

/* x: [n][WEFT_N_PARAMETERS], y: [n]. In `a`. */
weft_forest *weft_forest_grow(const double *x, const double *y, int n, weft_rng *r, weft_arena *a);
/* Mean and standard deviation over the trees. */
void weft_forest_request(const weft_forest *f, const double *x, double *mean, double *deviation);

#endif
