/* SPDX-License-Identifier: MIT */
/* The forward part of a training graph while it is contracted to units. Nodes are numbered in
 * topological order, whatever is merged. */
#ifndef WEFT_UNIT_NET_H
#define WEFT_UNIT_NET_H

#include "block.h"

/* Part of the whole network, 0 .. 1. */
typedef struct weft_share {
    double work;   /* arithmetic */
    double weight; /* bytes of weights; one that several nodes read counts at the first */
} weft_share;

typedef struct weft_block_net {
    const weft_graph *graph;
    weft_arena *arena;
    int n;
    int *in_at, *in;   /* [n + 1] neighbours, ascending, each once */
    int *out_at, *out; /* the same */
    weft_share *share; /* [n] */
    bool *has_macs;    /* [n] multiply-accumulates in it */
    int *stretch;      /* [n] a number for each stretch, ascending; 0 until there are any */
    int *of;           /* [nodes of the graph] node of the net; -1: not forward */
} weft_block_net;

/* Every forward node a node of its own. */
weft_block_net weft_block_net_new(const weft_graph *g, weft_arena *a);
/* Merges each u with to[u] >= 0 into the node to[u], which stays where it is. No cycle may come of
 * it. */
void weft_block_net_merge(weft_block_net *net, const int *to);

static inline double weft_share_of(weft_share s)
{
    return s.work > s.weight ? s.work : s.weight;
}

/* Merges at once all u for which `joins` holds with their first reader (is_late) or with the last
 * node that they read, where that one stays. True if there were any.
 *
 * No cycle comes of it. Late: moving every such u to just before its first reader leaves a
 * topological order: a reader of u that moves too goes behind its own first reader, all others are
 * where they were, not before u's first reader. Then what is merged stands side by side, and
 * merging neighbours of a topological order makes no cycle. Early: the same backwards. */
typedef bool (*weft_joins)(const weft_block_net *net, int u, const void *context);
bool weft_block_net_join(weft_block_net *net, bool is_late, weft_joins joins, const void *context);

/* [n] nodes comparable with all others. */
bool *weft_block_net_barriers(const weft_block_net *net, weft_arena *a);
/* [n] bytes of activations that cross the border behind each node of the net: all, or without
 * those that the node makes. */
double *weft_block_net_crossing(const weft_block_net *net, bool is_all, weft_arena *a);

#endif
