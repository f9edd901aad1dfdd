/* SPDX-License-Identifier: MIT */
/* A queue by key and rank: a binary heap, the least (key, rank) first. Ranks in a queue differ. */
#ifndef WEFT_PROBLEM_QUEUE_H
#define WEFT_PROBLEM_QUEUE_H

#include "base.h"

typedef struct weft_queued {
    double key;
    int64_t rank;
    int id;
} weft_queued;

typedef struct weft_queue {
    weft_queued *entry; /* room is the maker's business */
    int n;
} weft_queue;

void weft_queue_push(weft_queue *q, weft_queued x);
weft_queued weft_queue_pop(weft_queue *q); /* not empty */

#endif
