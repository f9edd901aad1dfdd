/* SPDX-License-Identifier: MIT */
/* A sharded run between lowering and measuring. */
#ifndef WEFT_SIM_SHARD_LOWERED_H
#define WEFT_SIM_SHARD_LOWERED_H

#include "parts.h"
#include "shard_plan.h"

/* What is to be simulated. Everything belongs to the arena it was made in. */
typedef struct weft_shard_lowered {
    weft_shard_plan_costs costs;
    int *move_job;     /* [n_moves] its job, the last one; -1: takes no time */
    int *move_start;   /* [n_moves] its first job */
    int *first, *last; /* [n_steps] its first job of computation, its last job */
    weft_jobs *jobs;
    const weft_shard_part *part; /* [n_jobs] */
} weft_shard_lowered;

/* Lowers a plan of which weft_shard_plan_form finds nothing wrong, with its modes. False: starts
 * contradict what steps read from each other. */
bool weft_shard_lower(const weft_shard_problem *p, const weft_shard_plan *s,
                      const weft_split_cost *mode, weft_arena *a, weft_shard_lowered *out);

#endif
