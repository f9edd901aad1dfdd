/* SPDX-License-Identifier: MIT */
/* Random and structured problems of placement: what solvers get wrong is rarely uniform. Chains,
 * forks and joins, repeated blocks, skips, loose tasks; equal, related and unrelated devices;
 * zeros, whole numbers, tenths and magnitudes from 1e-12 to 1e9; missing and asymmetric links;
 * memory that binds; switches that take time. Whoever includes this links draw_place.c. */
#ifndef WEFT_DRAW_PLACE_H
#define WEFT_DRAW_PLACE_H

#include "problem.h"

typedef struct drawn_place {
    weft_problem *problem; /* the caller owns it */
    bool is_plain;         /* a task file can say all of it */
    bool is_tight;         /* not every plan fits the memories */
} drawn_place;

/* The transfer model and all else but the goal follow from the seed. */
drawn_place draw_place(uint64_t seed, int n_tasks, int n_devices, weft_transfer transfer,
                       bool has_memory);
/* A plain problem as the text of a task file, of `a`. */
const char *place_text(const weft_problem *p, weft_arena *a);

#endif
