/* SPDX-License-Identifier: MIT */
/* Least time within a memory: one option of each item. */
#ifndef WEFT_PIPER_MODES_H
#define WEFT_PIPER_MODES_H

#include "base.h"

typedef struct weft_piper_pick {
    double cost_s, bytes; /* bytes: a whole number */
    int mode;             /* for the caller */
} weft_piper_pick;

/* Items with at least one option each, in order of rising time and falling memory. */
typedef struct weft_piper_knapsack {
    int n_items;
    int *at; /* [n_items + 1] */
    weft_piper_pick *option;
    double memory_bytes;
    int64_t max_points;
} weft_piper_knapsack;

/* INFINITY if nothing fits. */
typedef struct weft_piper_choice {
    double least_s, best_s; /* no choice takes less; this one takes */
    int *choice;            /* [n_items] index of an option */
} weft_piper_choice;

/* Sorts the options of one item and drops those that another beats; returns how many are left. */
int weft_piper_picks_keep(weft_piper_pick *o, int n);

/* Fills out (whose array is the caller's). True if least_s = best_s; with is_exact that fails only
 * beyond max_points. */
bool weft_piper_choose(const weft_piper_knapsack *k, bool is_exact, weft_arena *scratch,
                       weft_piper_choice *out);

#endif
