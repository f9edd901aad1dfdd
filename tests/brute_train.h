/* SPDX-License-Identifier: MIT */
/* Small random problems of training, and the best plan of the planner's space by trying all.
 * Whoever includes this links brute_train.c. */
#ifndef WEFT_BRUTE_TRAIN_H
#define WEFT_BRUTE_TRAIN_H

#include "train.h"

/* Devices and links: numbers of which the platform is made. */
typedef struct small_machines {
    int n_fast, n_slow;
    double fast_bytes, slow_bytes;  /* memory */
    double bytes_per_s, latency_s;  /* of all links but those inside of islands */
    double time;                    /* of all transfers: a factor */
    bool is_contend, is_slow_first; /* slow first: as the text names them */
    bool has_trees;                 /* all-reduces by trees too */
    bool has_curves, is_shared;     /* bandwidth by size; links of the first device share one */
} small_machines;

typedef struct small_training {
    small_machines machines;
    weft_platform *platform;
    weft_train_problem *training;
    weft_arena *arena;
} small_training;

/* Chains of 2 to most_units units, or graphs of such; one to four devices of one or two classes;
 * memory that binds in about half of the cases. */
small_training draw_small_training(bool is_dag, int most_units, weft_rng *r);
/* The same units on other machines, or with another ask; the seconds of each class by a factor. */
small_training vary_small_training(const small_training *s, const small_machines *m,
                                   const weft_train_constraints *constraints,
                                   const double factor[2]);
void drop_small_training(small_training *s);

/* Seconds of the best plan that fits, by the simulator; INFINITY: none does. */
double brute_train(const weft_train_problem *p, weft_arena *a);

#endif
