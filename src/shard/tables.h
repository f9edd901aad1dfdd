/* SPDX-License-Identifier: MIT */
/* What every search over splits looks up: splits, modes and edges, each computed once. */
#ifndef WEFT_TABLES_H
#define WEFT_TABLES_H

#include "sets.h"

/* The splits of a class of steps over n members. */
typedef struct weft_choices {
    int n;
    const weft_split *split; /* [n] */
    double **need_bytes;     /* [n_operands][n] largest need of a member */
    double **result_bytes;   /* [n_results][n] largest part of a member */
    int n_designs;           /* modes so far */
    const weft_design **design;
    weft_split_cost **mode; /* [n_designs][n] */
} weft_choices;

/* An edge: operand k of step v, made by step u. Edges of one class have equal tables. */
typedef struct weft_shard_edge {
    int from, to, operand;
    int class_of;
} weft_shard_edge;

typedef struct weft_tables {
    const weft_shard_problem *problem;
    weft_arena *arena;
    /* Steps of one class have equal splits and costs, and read and give the same at the host. */
    int n_classes;
    int *class_of; /* [n_steps] */
    int *first;    /* [n_classes] a step of it */
    int *n_like;   /* [n_classes] steps of it */
    weft_choices
        *choice; /* [n_classes * (WEFT_MAX_MEMBERS + 1)] by members; empty: not asked yet */
    int n_edges;
    weft_shard_edge *edge; /* by (to, operand) */
    int n_edge_classes;
    int *edge_first;   /* [n_edge_classes] an edge of it */
    double **reshard;  /* [n_edge_classes * (WEFT_MAX_MEMBERS + 1)]: [from * n_to + to] bytes */
    double **interior; /* the same: share that is computed before they arrive; if problem->hides */
} weft_tables;

weft_tables *weft_tables_new(const weft_shard_problem *p, weft_arena *a);
const weft_choices *weft_tables_choices(weft_tables *t, int step_class, int n);
/* [choices] of a class over n members that are configured as `d`. */
const weft_split_cost *weft_tables_costs(weft_tables *t, int step_class, int n,
                                         const weft_design *d);
const double *weft_tables_reshard(weft_tables *t, int edge_class, int n);
/* Makes all tables for the kinds of sets, so that threads may look them up. */
void weft_tables_fill(weft_tables *t, const weft_configurations *s);

/* Seconds of a state apart from edges between steps: the mode, inputs from the host, outputs to
 * it. `k` is a split of the class over the members of the set. */
double weft_tables_own_s(weft_tables *t, int step_class, const weft_set_kind *kind, int k);
/* Seconds of an edge inside a set (`from` and `to` are splits over its members), and between two.
 */
double weft_tables_inside_s(weft_tables *t, int edge_class, const weft_set_kind *kind, int from,
                            int to);
double weft_tables_between_s(weft_tables *t, int edge_class, const weft_link_cost *link, int n_from,
                             int n_to, int to);

#endif
