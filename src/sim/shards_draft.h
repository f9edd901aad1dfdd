/* SPDX-License-Identifier: MIT */
/* A sharded run between lowering and measuring. */
#ifndef WEFT_SIM_SHARDS_DRAFT_H
#define WEFT_SIM_SHARDS_DRAFT_H

#include "parts.h"

/* An operand on its way to the set of its step, or a result on its way to the host. */
typedef struct weft_move {
    weft_shard_part part; /* RESHARD, HANDOVER or HOST */
    int step, operand;    /* operand -1: a result of the step goes to the host */
    int source, result;   /* step that makes it, and which of its results; source -1: an input */
    double seconds;
    double held_bytes; /* most that a member has to have of it; 0: all is where it is made */
    double sent_bytes; /* by all members */
    int job;           /* -1: takes no time */
} weft_move;

/* What is to be simulated. Everything belongs to the arena it was made in. */
typedef struct weft_shards_draft {
    const weft_sharding *p;
    const weft_shards *s;
    const weft_mode *mode;   /* [n_steps] */
    const weft_span *inside; /* [n_sets] */
    int n_moves;
    weft_move *move;
    const int *move_at; /* [n_steps + 1] those of a step's operands; then those to the host */
    int *first, *last;  /* [n_steps] its first job of computation, its last job */
    weft_jobs *jobs;
    const weft_shard_part *part; /* [n_jobs] */
} weft_shards_draft;

/* Lowers a plan of which weft_shards_form finds nothing wrong, with its modes. False: starts
 * contradict what steps read from each other. */
bool weft_shards_draft_new(const weft_sharding *p, const weft_shards *s, const weft_mode *mode,
                           weft_arena *a, weft_shards_draft *out);

#endif
