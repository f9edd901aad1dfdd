/* SPDX-License-Identifier: MIT */
/* Pipeline stages: each device has one stretch of the network. */
#ifndef WEFT_STAGES_H
#define WEFT_STAGES_H

#include "mapping.h"

typedef struct weft_stages {
    bool is_found;
    double bound_s; /* no stages are faster; 0: not proved */
} weft_stages;

/* Stages as intervals of the order of the tasks, of least largest computing time; [n_tasks]. Weights
 * take at most that part of each memory. */
weft_stages weft_stages_fill(const weft_mapping *map, double part, weft_arena *scratch,
                             int *device);

#endif
