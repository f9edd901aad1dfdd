/* SPDX-License-Identifier: MIT */
/* Shared by the rules and the simulator of sharded networks. */
#ifndef WEFT_PLAN_SHARDS_H
#define WEFT_PLAN_SHARDS_H

#include "problem.h"

/* Rules that hold whatever the order and the memory are (1 and 2 of shard_check.c); fills
 * mode[n_steps]. A plan without breaches can be simulated. */
int weft_shard_plan_form(const weft_shard_problem *p, const weft_shard_plan *s,
                         weft_violation *violation, int most, weft_arena *a, weft_split_cost *mode);

typedef enum weft_move_kind {
    WEFT_MOVE_INSIDE, /* between the members of a set */
    WEFT_MOVE_OVER,   /* from another set */
    WEFT_MOVE_HOST,   /* from the host, or to it */
} weft_move_kind;

/* An operand on its way to the set of its step, or a result on its way to the host. */
typedef struct weft_move {
    weft_move_kind kind;
    int step, operand;  /* operand -1: a result of the step goes to the host */
    int source, result; /* step that makes it, and which of its results; source -1: an input */
    double seconds;
    double shared_s;   /* of these, it occupies what it shares with others (weft_shared_way) */
    double held_bytes; /* most that a member has to have of it; 0: all is where it is made */
    double sent_bytes; /* by all members */
} weft_move;

/* A plan in numbers. Everything belongs to the arena it was made in. */
typedef struct weft_shard_plan_costs {
    const weft_shard_problem *p;
    const weft_shard_plan *s;
    const weft_split_cost *mode;  /* [n_steps] */
    const weft_link_cost *inside; /* [n_sets] */
    int n_moves;
    weft_move *move;
    const int *move_at;   /* [n_steps + 1] those of a step's operands; then those to the host */
    const bool *is_short; /* [n_steps] takes no time once its operands are there */
    const double *share;  /* [n_steps] of it that is computed while its first operand moves */
} weft_shard_plan_costs;

/* Of a plan of which weft_shard_plan_form finds nothing wrong, with its modes. */
weft_shard_plan_costs weft_shard_plan_costs_of(const weft_shard_problem *p,
                                               const weft_shard_plan *s,
                                               const weft_split_cost *mode, weft_arena *a);
/* The order in which steps run, [n_steps] in `a`; NULL if starts contradict what steps read from
 * each other. */
const int *weft_shard_plan_order(const weft_shard_plan_costs *d, weft_arena *a);

/* What transfers from one set to another (NULL: the host) share with other transfers: its seconds, as
 * of a link without latency, and what it is, of n_shared in all: resources of the platform, under
 * contend also directions of links. */
typedef struct weft_shared_way {
    weft_link_cost link;
    int n, n_shared;
    const int *resource;
} weft_shared_way;

weft_shared_way weft_shared_way_of(const weft_shard_problem *p, const weft_device_set *from,
                                   const weft_device_set *to, weft_arena *a);

static inline const weft_device_set *weft_device_set_of(const weft_shard_plan *s, int step)
{
    return &s->set[s->set_of[step]];
}

#endif
