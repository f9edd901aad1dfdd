/* SPDX-License-Identifier: MIT */
/* Small random problems of training, and the best plan of the planner's space by trying all.
 * Whoever includes this links brute_train.c. */
#ifndef WEFT_BRUTE_TRAIN_H
#define WEFT_BRUTE_TRAIN_H

#include "weft/train.h"

typedef struct small_training {
    weft_platform *platform;
    weft_training *training;
    weft_arena *arena;
} small_training;

/* Chains of 2 to most_units units, or graphs of such; one to four devices of one or two classes;
 * memory that binds in about half of the cases. */
small_training draw_small_training(bool is_dag, int most_units, weft_rng *r);
void drop_small_training(small_training *s);

/* Seconds of the best plan that fits, by the simulator; INFINITY: none does. */
double brute_train(const weft_training *p, weft_arena *a);

#endif
