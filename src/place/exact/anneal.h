/* SPDX-License-Identifier: MIT */
/* Schedules of a subproblem made better by annealing of devices and orders. */
#ifndef WEFT_ANNEAL_H
#define WEFT_ANNEAL_H

#include "subproblem.h"

typedef struct weft_anneal_effort {
    int64_t steps;        /* moves tried */
    double hot_s, cold_s; /* first and last temperature */
    uint64_t seed;
    const weft_run *run; /* when to stop; NULL: no limit */
} weft_anneal_effort;

/* Improves the schedule (device, start_s), which the subproblem must allow, and returns its value;
 * it never rises. Subproblems with limited memory or groups are left as they are. Deterministic
 * unless `run` has a limit in seconds. */
double weft_subproblem_anneal(const weft_subproblem *x, int *device, double *start_s,
                              const weft_anneal_effort *e);

/* The same for what lies between barriers, one after the other, in rounds until some of them gain
 * nothing. *steps: in, the moves it may try (0: no limit); out, those it tried. Ends at run's
 * limit. Deterministic for a given run->seed unless run has a limit in seconds. */
double weft_anneal_spans(const weft_subproblem *x, int *device, double *start_s, weft_run *run,
                         int64_t *steps);

#endif
