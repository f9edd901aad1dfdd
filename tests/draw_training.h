/* SPDX-License-Identifier: MIT */
/* Random networks to be trained on random clusters, and random plans for them. Whoever includes
 * this links draw_training.c. */
#ifndef WEFT_DRAW_TRAINING_H
#define WEFT_DRAW_TRAINING_H

#include "sim.h"

typedef struct drawn_training {
    weft_platform *platform;
    weft_train_problem *training;
    weft_arena *arena;
} drawn_training;

/* What a random problem is like; all zero: a chain, everything allowed. */
typedef struct draw_training_ask {
    bool is_dag, is_contend, has_shared;
    int zero;
    int overlap;
    unsigned zeros;   /* several levels, as bits; 0: that one */
    bool is_alone;    /* no bytes between units, no gradients, no update: stages only compute */
    bool has_no_zero; /* every time is positive */
    bool is_sharing;  /* servers have cards, which share a spine (`shared:`) */
    double wider;     /* factor of the bandwidth between servers; 0: 1. Nothing else changes */
} draw_training_ask;

/* Two classes of one to three islands with one to four devices each, tensor widths 1, 2, 3, shares
 * of 1 to 6 samples, a batch of 12 or 24. */
drawn_training draw_training(const draw_training_ask *constraints, weft_rng *r);
void drop_training(drawn_training *d);

/* The spec behind a problem once more, for changes. In the arena of `d`. */
weft_train_problem_spec draw_spec(const drawn_training *d);

/* A legal plan but for memory; false: none was found in a few tries. In `a`. */
bool draw_pipeline(const weft_train_problem *p, weft_schedule schedule, weft_rng *r, weft_arena *a,
                   weft_train_plan *out);

#endif
