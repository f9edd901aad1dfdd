/* SPDX-License-Identifier: MIT */
/* Decomposition of subproblems at barriers. */
#ifndef WEFT_SERIES_H
#define WEFT_SERIES_H

#include "subproblem.h"

typedef struct weft_series_effort {
    double lower;        /* a lower bound of the value, for the grid of tails; 0: none is known */
    int64_t part_states; /* of the search of each part */
    int64_t most_states; /* of all; parts that come too late get the cheap bounds only */
    const weft_run *run;
} weft_series_effort;

typedef struct weft_series {
    double bound;   /* of the subproblem */
    double *tail_s; /* [task * n_devices + device] lower bounds of what follows a task */
    int n_barriers, n_parts, n_open; /* parts searched, and those that were not closed */
    int n_largest;                   /* tasks of the largest part */
    int64_t n_states;
} weft_series;

/* tail_s belongs to `a`. */
weft_series weft_series_tails(const weft_subproblem *x, const weft_series_effort *e, weft_arena *a);

#endif
