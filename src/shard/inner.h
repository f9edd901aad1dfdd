/* SPDX-License-Identifier: MIT */
/* The best splits for a given configuration. */
#ifndef WEFT_INNER_H
#define WEFT_INNER_H

#include "opt.h"
#include "tables.h"

/* One configuration as a sum of costs of steps and of pairs of steps. */
typedef struct weft_inner {
    weft_tables *tables;
    const weft_configurations *configs;
    int config, n_sets;
    const weft_set_kind **kind;  /* [n_sets] */
    weft_device_set *device_set; /* [n_sets] */
    int *at;         /* [n_classes * (n_sets + 1)] first state of a set; last: number of states */
    double **own;    /* [n_classes][state] seconds */
    double **weight; /* [n_classes][state] bytes of weights on each member of its set */
    weft_pairwise_min model;
    int64_t most_entries; /* of a table of weft_pairwise_min_solve */
} weft_inner;

/* rank: NULL, or the place of each set in the order of steps: a set then runs one stretch of them,
 * after the sets of lower rank (a pair for each two steps that follow each other says so). */
weft_inner *weft_inner_new(weft_tables *t, const weft_configurations *s, int config,
                           const int *rank, weft_arena *a);
/* What the least sum is asked for. */
typedef struct weft_inner_request {
    const int *order;    /* of weft_pairwise_min_order for this network; NULL: any */
    const double *price; /* [n_sets] seconds a byte of weights; NULL: nothing */
    const int *set_of;   /* [n_steps] the set that a step must run on, or -1; NULL: any */
} weft_inner_request;

/* Least sum of seconds and of what weights cost. */
void weft_inner_solve(const weft_inner *in, const weft_inner_request *request, weft_arena *a,
                      weft_pairwise_min_answer *out);
/* Seconds of a choice of states alone, and the bytes of weights on each member, [n_sets]. */
double weft_inner_value(const weft_inner *in, const int *state);
void weft_inner_weights(const weft_inner *in, const int *state, double *bytes);
int weft_inner_set(const weft_inner *in, int step, int state); /* set of a state */
/* The plan of a choice of states; steps in their order. */
weft_shard_plan weft_inner_plan(const weft_inner *in, const int *state, weft_arena *a);

#endif
