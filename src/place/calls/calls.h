/* SPDX-License-Identifier: MIT */
/* A stream of items under `calls` as its solvers see it: blocks of tasks that share a device, the
 * tensors between them, and what devices pay.
 *
 * Every device but the host is an accelerator. The load of the host is the time of its blocks. The
 * load of an accelerator is the time of its blocks, plus in_s of each tensor that is made elsewhere
 * and read on it, plus out_s of each tensor that is made on it and read elsewhere, each once. The
 * period is the largest load. */
#ifndef WEFT_PLACE_CALLS_H
#define WEFT_PLACE_CALLS_H

#include "list.h"

typedef struct weft_calls {
    const weft_problem *problem;
    int n_devices, n_blocks;
    int n_forward;              /* blocks with forward tasks: 0 .. n_forward - 1 */
    const int *block;           /* [n_tasks] */
    const double *time_s;       /* [block * n_devices + device]; INFINITY: not there */
    int n_tensors;              /* those that more than one block touches */
    const int *maker;           /* [n_tensors] block */
    const int *reader_at;       /* [n_tensors + 1] */
    const int *reader;          /* tensor -> blocks that read it but its maker, each once */
    const double *in_s;         /* [tensor * n_devices + device]; 0 on the host */
    const double *out_s;        /* the same */
    const int *made_at;         /* [n_blocks + 1] */
    const int *made;            /* block -> tensors it makes */
    const int *read_at;         /* [n_blocks + 1] */
    const int *read;            /* block -> tensors it reads */
    const int *near_at;         /* [n_blocks + 1] */
    const int *near;            /* block -> blocks that read what it makes or make what it reads */
    int n_weights;              /* 0: memory cannot matter */
    const int *weight_at;       /* [n_blocks + 1] */
    const int *weight;          /* block -> weights it reads, each once */
    const double *weight_bytes; /* [n_weights] */
    const int *apart_at;        /* [n_blocks + 1] */
    const int *apart;           /* block -> blocks that must be on another device */
    /* Edges between forward blocks; every edge goes to a higher number if is_contiguous. */
    const int *pred_at, *pred, *succ_at, *succ;
    bool is_contiguous;
    bool is_empty; /* some block has no device, or must be apart from itself: there is no plan */
    bool is_restricted; /* devices that the host cannot reach are left out: bounds do not hold */
} weft_calls;

/* Two tasks that must share a device, or must not: what a search assumes beyond the problem. */
typedef struct weft_calls_rule {
    int u, v;
    bool is_together;
} weft_calls_rule;

typedef struct weft_calls_rules {
    const weft_calls_rule *rule;
    int n;
} weft_calls_rules;

/* Blocks are the groups of the problem's colocation groups. With is_contiguous, groups that a pipeline cannot
 * take apart are one block, and forward blocks are numbered in topological order. Blocks without
 * work that are never worse off beside a neighbour are part of it. No merge loses the best plan, if
 * its period is below cutoff_s (calls_model.c), among the plans that keep the rules (NULL: there are none). Belongs to `a`. */
weft_calls *weft_calls_new(const weft_problem *p, bool is_contiguous, double cutoff_s,
                           const weft_calls_rules *rules, weft_arena *a);

/* For each device the first that costs the same, whatever is placed on them. The host is like no
 * other. */
int *weft_calls_first_same(const weft_calls *m, weft_arena *a);
/* A lower bound of the period: the largest over blocks of what a device that has the block takes at
 * least (calls_cut.c). If blocks were joined for a cutoff, of periods below it. */
double weft_calls_cut_bound(const weft_calls *m, weft_arena *a);
/* The same from the problem alone: no period is below, if a plan of period upper_s is known;
 * upper_s INFINITY: none is. What a check computes again. 0: no bound. */
double weft_calls_cut_of(const weft_problem *p, bool is_contiguous, double upper_s);

/* A placement of blocks and its loads, kept up to date move by move. A block may be nowhere. */
typedef struct weft_calls_loads {
    const weft_calls *calls;
    int *device;    /* [n_blocks] or -1 */
    double *load_s; /* [n_devices] */
    double *bytes;  /* [n_devices] weights held */
    int *n_readers; /* [tensor * n_devices + device] */
    int *n_placed;  /* [n_tensors] readers that are somewhere */
    int *n_holders; /* [weight * n_devices + device] */
} weft_calls_loads;

weft_calls_loads weft_calls_loads_new(const weft_calls *m, weft_arena *a); /* nothing placed */
/* Moves a block to a device of its domain, or to -1: nowhere. */
void weft_calls_move(weft_calls_loads *l, int block, int device);
/* Loads and bytes again from the devices alone: what moves have rounded is gone. */
void weft_calls_renew(weft_calls_loads *l);
double weft_calls_period(const weft_calls_loads *l); /* largest load */
bool weft_calls_fits(const weft_calls_loads *l);     /* memory of every device */
/* Places the blocks from `first` on: each in turn where it does best, again and again while that helps. False
 * if some block found no room. */
bool weft_calls_place_rest(weft_calls_loads *l, int first);

/* Devices of tasks from devices of blocks; starts are positions. */
void weft_calls_plan(const weft_calls *m, const int *device, weft_plan *plan);

#endif
