/* SPDX-License-Identifier: MIT */
/* collective.c: transfers and collectives in the alpha-beta model (Thakur, Rabenseifner, Gropp,
 * IJHPCA 19(1), 2005). g members, V bytes a member, alpha and BW the latency and bandwidth of the
 * slowest neighbour link of the ring (or of the slowest pair, for trees and all-to-all):
 *
 *   ring all-reduce   2 (g-1) alpha + 2 (g-1)/g V/BW
 *   tree all-reduce   2 ceil(log2 g) (alpha + V/BW)               reduce to a root, broadcast back
 *   reduce-scatter    (g-1) alpha + (g-1)/g V/BW
 *   all-gather        (g-1) alpha + (g-1)/g V/BW                  V is the gathered whole
 *   all-to-all        (g-1) alpha + (g-1)/g V/BW                  pairwise, V is what one holds
 *   broadcast         ceil(log2 g) (alpha + V/BW)                 binomial tree
 *   hierarchical      reduce-scatter in groups of n, ring all-reduce of V/n between groups,
 *                     all-gather */
#include "weft/cost.h"

#include <math.h>

double weft_transfer_s(const weft_platform *p, int from, int to, double bytes)
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return 0;
    return r->n_hops < 0 ? INFINITY : r->latency_s + bytes / r->bytes_per_s;
}

/* Latency and bandwidth of the slowest pair among those a collective uses. */
typedef struct slowest {
    double alpha_s, bytes_per_s;
} slowest;

static void take(const weft_platform *p, int from, int to, slowest *s)
{
    const weft_route *r = weft_platform_route(p, from, to);

    s->alpha_s = fmax(s->alpha_s, r->n_hops < 0 ? INFINITY : r->latency_s);
    s->bytes_per_s = fmin(s->bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
}

static slowest of_ring(const weft_platform *p, const int *member, int n)
{
    slowest s = {0, INFINITY};

    for (int i = 0; i < n; i++)
        take(p, member[i], member[(i + 1) % n], &s);
    return s;
}

static slowest of_pairs(const weft_platform *p, const int *member, int n)
{
    slowest s = {0, INFINITY};

    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (i != k)
                take(p, member[i], member[k], &s);
    return s;
}

static int log2_up(int n)
{
    int steps = 0;

    while ((1 << steps) < n)
        steps++;
    return steps;
}

double weft_collective_s(const weft_platform *p, weft_collective kind, const int *member, int n,
                         double bytes)
{
    bool is_ring =
        kind == WEFT_RING_ALL_REDUCE || kind == WEFT_REDUCE_SCATTER || kind == WEFT_ALL_GATHER;
    slowest s;
    double step_s, whole_s;

    if (n <= 1)
        return 0;
    s = is_ring ? of_ring(p, member, n) : of_pairs(p, member, n);
    if (!(s.bytes_per_s > 0)) /* not connected */
        return INFINITY;
    whole_s = s.alpha_s + bytes / s.bytes_per_s;
    step_s = (n - 1) * s.alpha_s + (n - 1.0) / n * bytes / s.bytes_per_s;
    switch (kind) {
    case WEFT_RING_ALL_REDUCE:
        return 2 * step_s;
    case WEFT_TREE_ALL_REDUCE:
        return 2 * log2_up(n) * whole_s;
    case WEFT_BROADCAST:
        return log2_up(n) * whole_s;
    case WEFT_REDUCE_SCATTER:
    case WEFT_ALL_GATHER:
    case WEFT_ALL_TO_ALL:
        return step_s;
    }
    return INFINITY;
}

double weft_hierarchical_all_reduce_s(const weft_platform *p, const int *member, int n, int group,
                                      double bytes)
{
    weft_arena *scratch = weft_arena_new();
    int n_groups = n / group;
    int *peer = WEFT_NEW(scratch, int, n_groups + 1);
    double inside_s = 0, between_s = 0;

    for (int i = 0; i < n_groups; i++) {
        const int *first = member + (size_t)i * (size_t)group;
        double s = weft_collective_s(p, WEFT_REDUCE_SCATTER, first, group, bytes) +
                   weft_collective_s(p, WEFT_ALL_GATHER, first, group, bytes);

        inside_s = fmax(inside_s, s);
    }
    for (int k = 0; k < group; k++) { /* the k-th members of all groups hold the same shard */
        for (int i = 0; i < n_groups; i++)
            peer[i] = member[i * group + k];
        between_s = fmax(between_s,
                         weft_collective_s(p, WEFT_RING_ALL_REDUCE, peer, n_groups, bytes / group));
    }
    weft_arena_free(scratch);
    return inside_s + between_s;
}
