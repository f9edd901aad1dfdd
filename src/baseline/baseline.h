/* SPDX-License-Identifier: MIT */
/* What the baselines of sharding share: classes of equal accelerators, candidate sets, splits and
 * costs by look-up, drafts of plans, and the best plan so far. */
#ifndef WEFT_BASE_PARTS_H
#define WEFT_BASE_PARTS_H

#include "solve.h"

/* Sets that a draft may use, with the links in, to and between them. Designs may be changed at any
 * time, members not. */
typedef struct weft_baseline_sets {
    int n;
    weft_device_set *device_set;
    weft_link_cost *inside, *host;
    weft_link_cost *between; /* [from * n + to] */
} weft_baseline_sets;

/* Decisions as numbers: choice[u] is a place in the list of splits of step u over as many members
 * as its set has. */
typedef struct weft_draft {
    const weft_baseline_sets *sets;
    int *set_of, *choice; /* [n_steps] */
} weft_draft;

/* Splits of one step over n members and what is known of them; see baseline_cost.c. */
typedef struct weft_baseline_list {
    int n;
    const weft_split *split;
    weft_split_cost **mode;            /* [n_designs] each [n], n_phases 0: not computed */
    double *need_bytes, *result_bytes; /* [operand or result * n + split]; NaN: not computed */
} weft_baseline_list;

typedef struct weft_baseline_memo { /* whole numbers -> reals */
    int n, room;
    uint64_t *key; /* 0: free */
    double *value;
} weft_baseline_memo;

typedef struct weft_baseline {
    const weft_shard_problem *problem;
    weft_run *run;
    weft_arena *arena;
    int n_classes;
    int *class_of;  /* [n_devices of the platform]; equal accelerators; host: -1 */
    int *design_at; /* [n_classes + 1] designs of a class in all designs */
    const weft_design **design;
    weft_baseline_list **list; /* [n_steps * (WEFT_MAX_MEMBERS + 1)] of first steps of equal work */
    int *edge_at, *edge_class; /* operand k of step u: edge_class[edge_at[u] + k]; -1: an input */
    weft_baseline_memo reshard, interior;
    double *end_s; /* [n_steps] scratch */
    double best_s; /* INFINITY: no plan yet */
    weft_shard_plan best;
    const char *reason; /* why the last plan offered was not legal; NULL: none was offered */
} weft_baseline;

weft_baseline *weft_baseline_new(const weft_shard_problem *p, weft_run *run);
/* Where the value of a key > 0 stands; *is_new: it does not stand there yet. */
double *weft_baseline_memo_at(weft_baseline_memo *m, uint64_t key, bool *is_new, weft_arena *a);

/* --- sets ------------------------------------------------------------------------------------ */

/* Components that appear when links are cut off, slowest first, in each class of equal
 * accelerators; see baseline_sets.c. parent[i] < i, -1: a whole class. */
typedef struct weft_candidates {
    int n;
    const weft_device_set *device_set;
    const int *parent;
} weft_candidates;

weft_candidates weft_baseline_candidates(const weft_baseline *b);
/* Every accelerator on its own, in order. */
weft_baseline_sets weft_baseline_singles(const weft_baseline *b);
weft_baseline_sets weft_baseline_sets_new(const weft_baseline *b, const weft_device_set *device_set,
                                          int n);
/* Other sets in the same place, not more than it was made for. */
void weft_baseline_sets_fill(const weft_baseline *b, const weft_device_set *device_set, int n,
                             weft_baseline_sets *out);
/* As many equal members with equal links, so that a step costs the same on both. */
bool weft_baseline_are_same(const weft_baseline *b, const weft_device_set *x,
                            const weft_device_set *y);
/* The design with which one member takes least time for all steps, those that it does not support
 * left out; fewest of these first. Their number and its time (both may be NULL). */
int weft_baseline_best_design(weft_baseline *b, const weft_device_set *t, int *n_missing,
                              double *time_s);

/* --- costs ----------------------------------------------------------------------------------- */

const weft_baseline_list *weft_baseline_splits(weft_baseline *b, int step, int n);
const weft_split_cost *weft_baseline_split(weft_baseline *b, int step, const weft_device_set *t,
                                           int choice);
/* Seconds of a step on its set; INFINITY: not supported there. */
double weft_baseline_node_s(weft_baseline *b, const weft_draft *d, int u);
/* Seconds of the way of operand k of step v, less what is hidden. */
double weft_baseline_edge_s(weft_baseline *b, const weft_draft *d, int v, int k);
/* Seconds of the ways of all operands; of the outputs' way to the host. */
double weft_baseline_entry_s(weft_baseline *b, const weft_draft *d, int v);
double weft_baseline_exit_s(weft_baseline *b, const weft_draft *d, int u);
/* One step after the other: the sum of all that. */
double weft_baseline_value(weft_baseline *b, const weft_draft *d);
/* As it is asked for: that sum, or the latency side by side. order: [n_steps]; NULL: as numbered.
 */
double weft_baseline_latency(weft_baseline *b, const weft_draft *d, const int *order);

/* --- choices --------------------------------------------------------------------------------- */

/* The split of u that is cheapest behind what is chosen for the steps before it. */
int weft_baseline_follow(weft_baseline *b, weft_draft *d, int u);
/* The two longest axes of step u cut over n members; see longest.c. */
int weft_baseline_longest(weft_baseline *b, int u, int n);
/* The split of v that cuts axes of the same names as split i of u into as many parts; or -1. */
int weft_baseline_alike(weft_baseline *b, int u, int i, int v, int n);

/* --- plans ----------------------------------------------------------------------------------- */

weft_draft weft_draft_new(const weft_baseline *b, const weft_baseline_sets *sets);
/* Simulates the draft, steps in order or by start_s if that is not NULL. If it is a legal plan that
 * fits and is faster than the best so far, it is the best. */
bool weft_baseline_offer(weft_baseline *b, const weft_draft *d, const double *start_s);
/* Hands out the best plan, or says why there is none. */
weft_status weft_baseline_finish(weft_baseline *b, weft_shard_plan *plan, weft_proof *proof);

bool weft_baseline_is_free(
    const weft_shard_problem *p); /* sets may run any steps: applies of some */

extern const weft_shard_solver weft_shard_longest_group, weft_shard_longest_all, weft_shard_uniform,
    weft_shard_random, weft_shard_herald, weft_shard_h2h, weft_shard_h2h_repaired,
    weft_shard_streams, weft_shard_ga;

#endif
