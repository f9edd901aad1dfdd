/* SPDX-License-Identifier: MIT */
/* Configurations whose sets have too little memory for the fastest splits. */
#ifndef WEFT_ROOM_H
#define WEFT_ROOM_H

#include "inner.h"
#include "solve.h"

typedef struct weft_memory_limit_answer {
    double value; /* of `state`; INFINITY: no choice that fits was found */
    double bound; /* no choice that fits is below; INFINITY: none fits */
    int *state;
} weft_memory_limit_answer;

/* The best choice of states whose weights leave spare_bytes on every member of every set, and a
 * bound for all such. `upper`: a value that is known from elsewhere (work may stop once the bound
 * is above it). The answer belongs to `a`. */
void weft_memory_limit_solve(const weft_inner *in, const int *order, double spare_bytes,
                             double upper, const weft_run *run, weft_arena *a,
                             weft_memory_limit_answer *out);

#endif
