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
/* The linear program with whole columns that solver `milp` solves, for other programs; the format
 * is that of the ending, .lp or .mps (docs/solvers.md). Latency only. */
WEFT_CHECKED weft_status weft_place_write_model(const weft_problem *p, const char *path);

#ifdef __cplusplus
}
#endif
#endif
