/* SPDX-License-Identifier: MIT */
/* What the floor of sharded plans is made of (shard_bound.c). */
#ifndef WEFT_SHARD_FLOOR_H
#define WEFT_SHARD_FLOOR_H

#include "shard.h"

/* Least seconds of a step over all numbers of members, designs and splits, each by itself. */
typedef struct weft_step_bound {
    double own_s;     /* mode and host */
    double mode_s;    /* mode alone */
    double device_s;  /* accelerator-seconds */
    double compute_s; /* arithmetic alone */
    double host_s;    /* inputs from the host and outputs to it */
} weft_step_bound;

typedef struct weft_shard_bound_parts {
    const weft_step_bound *step; /* [n_steps] */
    weft_step_bound sum;
    double path_s; /* longest path of mode_s */
    int n_path;
    const int *path; /* steps, first to last */
} weft_shard_bound_parts;

weft_link_cost weft_fastest_link(const weft_shard_problem *p); /* between any two accelerators */
/* In `a`. */
void weft_shard_bound_find(const weft_shard_problem *p, weft_arena *a, weft_shard_bound_parts *out);

#endif
