/* SPDX-License-Identifier: MIT */
/* What the floor of sharded plans is made of (floor.c). */
#ifndef WEFT_SHARD_FLOOR_H
#define WEFT_SHARD_FLOOR_H

#include "weft/shard.h"

/* Least seconds of a step over all numbers of members, designs and splits, each by itself. */
typedef struct weft_step_floor {
    double own_s;     /* mode and host */
    double mode_s;    /* mode alone */
    double device_s;  /* accelerator-seconds */
    double compute_s; /* arithmetic alone */
    double host_s;    /* inputs from the host and outputs to it */
} weft_step_floor;

typedef struct weft_shard_floor {
    const weft_step_floor *step; /* [n_steps] */
    weft_step_floor sum;
    double path_s; /* longest path of mode_s */
    int n_path;
    const int *path; /* steps, first to last */
} weft_shard_floor;

/* In `a`. */
void weft_shard_floor_find(const weft_sharding *p, weft_arena *a, weft_shard_floor *out);

#endif
