/* SPDX-License-Identifier: MIT */
/* Schedules made better by solving small windows of them exactly, one after the other. */
#ifndef WEFT_WINDOW_H
#define WEFT_WINDOW_H

#include "subproblem.h"

typedef struct weft_window_options {
    int most_free;       /* tasks of a window that may change, at most; 2 or more */
    int64_t most_states; /* steps of search in a window */
    int most_beam;       /* widest pass in a window, 64 or more */
    int patience;        /* windows in a row without improvement after which it ends; 0: never */
    const int *module;   /* [n_tasks] modules whose parts make windows too; NULL: none */
    int n_modules;
} weft_window_options;

/* Improves the schedule (device, start_s), which the subproblem must allow, and returns its value.
 * *steps: in, the steps of search it may take (0: no limit); out, the steps taken. Ends after
 * o->patience idle windows, at run's limit, or when one window held the whole subproblem and was
 * closed. Deterministic for a given run->seed unless run has a limit in seconds. */
double weft_windows(const weft_subproblem *x, int *device, double *start_s,
                    const weft_window_options *o, weft_run *run, int64_t *steps);

#endif
