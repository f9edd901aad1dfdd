/* SPDX-License-Identifier: MIT */
/* A sharded run between lowering and measuring. */
#ifndef WEFT_SIM_SHARDS_DRAFT_H
#define WEFT_SIM_SHARDS_DRAFT_H

#include "parts.h"
#include "shards.h"

/* What is to be simulated. Everything belongs to the arena it was made in. */
typedef struct weft_shards_draft {
    weft_shards_costs costs;
    int *move_job;     /* [n_moves] its job; -1: takes no time */
    int *first, *last; /* [n_steps] its first job of computation, its last job */
    weft_jobs *jobs;
    const weft_shard_part *part; /* [n_jobs] */
} weft_shards_draft;

/* Lowers a plan of which weft_shards_form finds nothing wrong, with its modes. False: starts
 * contradict what steps read from each other. */
bool weft_shards_draft_new(const weft_sharding *p, const weft_shards *s, const weft_mode *mode,
                           weft_arena *a, weft_shards_draft *out);

#endif
