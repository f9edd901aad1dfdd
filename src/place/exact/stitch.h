/* SPDX-License-Identifier: MIT */
/* Schedules stitched together from modules that are solved one after the other. */
#ifndef WEFT_STITCH_H
#define WEFT_STITCH_H

#include "subproblem.h"

typedef struct weft_stitch_options {
    const int *module; /* [n_tasks] every edge between modules climbs */
    int n_modules;
    int64_t most_states; /* steps of search in a module */
    int most_beam;       /* widest pass in a module, 64 or more */
} weft_stitch_options;

/* Writes a schedule that the subproblem allows and returns its value; INFINITY if it finds none.
 * *steps: in, the steps of search it may take (0: no limit); out, the steps taken. Without steps or
 * time left it completes the rest by list scheduling. */
double weft_stitch(const weft_subproblem *x, const weft_stitch_options *o, const weft_run *run,
                   int *device, double *start_s, int64_t *steps);

#endif
