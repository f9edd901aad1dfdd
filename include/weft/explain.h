/* SPDX-License-Identifier: MIT */
/* Why a plan takes as long as it does, and why no plan can take less than its bound. */
#ifndef WEFT_EXPLAIN_H
#define WEFT_EXPLAIN_H

#include "weft/place.h"
#include "weft/shard.h"
#include "weft/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reason why no plan is faster: a bound of its own. */
typedef struct weft_why_part {
    const char *key;  /* for programs: "path", "work", "device", "link", "memory", "search" ... */
    const char *name; /* for people: "critical path", "work of all devices", "link cpu > gpu0" */
    const char *text; /* a sentence, with units */
    double seconds;   /* no plan takes less, for this reason alone */
    int n_tasks;      /* tasks (steps, units) that it is made of, heaviest first */
    const int *task;
} weft_why_part;

typedef struct weft_why {
    int n_parts; /* by falling seconds; the first is the bound if is_explained */
    const weft_why_part *part;
    bool is_explained; /* the bound of the proof is that of the first part; else a search went
                          further than every single reason */
    /* The chain that explains the value: it is the sum of these. */
    double compute_s, transfer_s, wait_s;
    const char *text; /* what stands between value and bound: a sentence */
} weft_why;

/* All in `a`. Solutions without a plan have bounds only; the chain is 0 then. */
void weft_place_why(const weft_problem *p, const weft_solution *s, weft_arena *a, weft_why *out);
void weft_shard_why(const weft_sharding *p, const weft_shard_solution *s, weft_arena *a,
                    weft_why *out);
void weft_train_why(const weft_training *p, const weft_train_solution *s, weft_arena *a,
                    weft_why *out);

#ifdef __cplusplus
}
#endif
#endif
