/* SPDX-License-Identifier: MIT */
/* bound_memory.c: what it costs that the fast devices do not hold all weights.
 *
 * 1. A weight counts where the first task that reads it runs: own(u) bytes of task u.
 * 2. A byte on device k has a price m[k] >= 0; devices of one kind (equal times) share theirs.
 *    Along a way through the network the least sum of times, transfers and priced bytes is found
 *    device by device; tasks beside the way pay their cheapest byte; all memories are paid back:
 *
 *        bound = min over devices of ( time of the way + sum of m own )  +  sum beside the way of
 *                min over k of m[k] own(u)  -  sum over k of m[k] capacity(k)
 *
 * 3. The way holds as many bytes as any. For each kind as the one that has room to spare, bytes on
 *    faster kinds cost first what they save there; then prices are scaled kind by kind while that
 *    helps.
 *
 * Proof: in a legal plan each memory holds its weights, so the sum of m[k] (bytes on k - capacity
 * of k) is not positive; latency is no less than the time of any way; so latency is no less than
 * the time of the way plus that sum, for the devices of the plan, hence no less than the least over
 * all devices. Any way and any prices give a valid bound. It is the Lagrangian relaxation of memory
 * on a path.
 *
 * Time: a fixed number of recursions, each O(tasks of the way * devices^2). */
#include "bound.h"
#include "same.h"

#include <math.h>
#include <string.h>

enum { MOST_TRIES = 240 };

static const double FIRST_FACTOR = 4, LAST_FACTOR = 1.001;
static const double MOST_STEPS = 1e9;       /* of all recursions */
static const double ROUNDING = 1e-11;       /* relative, of all sums together */
static const double PRICE_OF_TIME = 0.0625; /* of time for bytes: for kinds without price */

typedef struct pricer {
    const weft_subproblem *x;
    double *own_bytes; /* [n_tasks] */
    int *way, *edge;   /* tasks, and the edge that enters each */
    int n_way;
    bool *is_on_way;
    int *kind; /* [n_devices] first device of the kind */
    double *price;
    double *cost, *next; /* [n_devices] scratch */
} pricer;

static void set_bytes(pricer *b, weft_arena *a)
{
    const weft_subproblem *x = b->x;
    bool *is_met = WEFT_NEW(a, bool, x->n_weights);

    for (int u = 0; u < x->n_tasks; u++) {
        for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++) {
            if (!is_met[x->weight[i]])
                b->own_bytes[u] += x->weight_bytes[x->weight[i]];
            is_met[x->weight[i]] = true;
        }
    }
}

/* The way with the most bytes; of ways with equal bytes one that has more tasks. */
static void set_way(pricer *b, weft_arena *a)
{
    const weft_subproblem *x = b->x;
    double *bytes = WEFT_NEW(a, double, x->n_tasks);
    int *length = WEFT_NEW(a, int, x->n_tasks), *by = WEFT_NEW(a, int, x->n_tasks), last = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        by[u] = -1;
        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
            int v = x->from[x->in[i]];

            if (by[u] < 0 || bytes[v] > bytes[u] ||
                (bytes[v] == bytes[u] && length[v] > length[u])) {
                bytes[u] = bytes[v];
                length[u] = length[v];
                by[u] = x->in[i];
            }
        }
        bytes[u] += b->own_bytes[u];
        length[u]++;
        if (bytes[u] > bytes[last] || (bytes[u] == bytes[last] && length[u] > length[last]))
            last = u;
    }
    b->n_way = length[last];
    for (int u = last, i = b->n_way - 1; i >= 0; i--) {
        b->way[i] = u;
        b->edge[i] = by[u];
        b->is_on_way[u] = true;
        u = by[u] < 0 ? -1 : x->from[by[u]];
    }
}

/* Devices of equal times and rooms. */
static bool is_kind(const void *context, int c, int d)
{
    const weft_subproblem *x = context;
    bool is_same = x->room_bytes[c] == x->room_bytes[d];

    for (int u = 0; u < x->n_tasks && is_same; u++)
        is_same = x->time_s[weft_cell(x, u, c)] == x->time_s[weft_cell(x, u, d)];
    return is_same;
}

/* The least priced time of the way. */
static double way_cost(pricer *b)
{
    const weft_subproblem *x = b->x;
    int k = x->n_devices;
    double least = INFINITY;

    for (int i = 0; i < b->n_way; i++) {
        int u = b->way[i];

        for (int d = 0; d < k; d++) {
            double at_s = i == 0 ? fmax(x->release_s[weft_cell(x, u, d)], x->free_s[d]) : INFINITY;

            for (int c = 0; i > 0 && c < k; c++)
                at_s = fmin(at_s,
                            b->cost[c] +
                                x->send_s[((size_t)b->edge[i] * (size_t)k + (size_t)c) * (size_t)k +
                                          (size_t)d]);
            b->next[d] = at_s + x->time_s[weft_cell(x, u, d)] + b->price[d] * b->own_bytes[u];
        }
        memcpy(b->cost, b->next, sizeof *b->cost * (size_t)k);
    }
    for (int d = 0; d < k; d++)
        least = fmin(least, b->cost[d] + x->tail_s[weft_cell(x, b->way[b->n_way - 1], d)]);
    return least;
}

/* The bound for the prices as they are, less what rounding can have added. */
static double priced_bound(pricer *b)
{
    const weft_subproblem *x = b->x;
    double gain = way_cost(b), paid = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        double least = INFINITY;

        if (b->is_on_way[u] || !(b->own_bytes[u] > 0))
            continue;
        for (int d = 0; d < x->n_devices; d++) {
            if (x->time_s[weft_cell(x, u, d)] < INFINITY)
                least = fmin(least, b->price[d]);
        }
        gain += least < INFINITY ? least * b->own_bytes[u] : 0;
    }
    for (int d = 0; d < x->n_devices; d++) {
        if (b->price[d] > 0)
            paid += b->price[d] * x->room_bytes[d];
    }
    return gain < INFINITY ? gain - paid - ROUNDING * (gain + paid) : 0;
}

static void scale_kind(pricer *b, int kind, double to)
{
    for (int d = 0; d < b->x->n_devices; d++) {
        if (b->kind[d] == kind)
            b->price[d] = to;
    }
}

/* Seconds that tasks with bytes on the way take on d; those that cannot be there count nothing. */
static double weighty_s(const pricer *b, int d)
{
    const weft_subproblem *x = b->x;
    double sum = 0;

    for (int i = 0; i < b->n_way; i++) {
        double time_s = x->time_s[weft_cell(x, b->way[i], d)];

        sum += b->own_bytes[b->way[i]] > 0 && time_s < INFINITY ? time_s : 0;
    }
    return sum;
}

/* The best of the first prices, for `bytes` on the way. */
static double begin(pricer *b, double bytes, weft_arena *a)
{
    const weft_subproblem *x = b->x;
    int n = x->n_devices;
    double *best = WEFT_NEW(a, double, n), *kind_s = WEFT_NEW(a, double, n);
    double most = priced_bound(b);

    for (int d = 0; d < n; d++)
        kind_s[d] = b->kind[d] == d ? weighty_s(b, d) : kind_s[b->kind[d]];
    for (int spare = 0; spare < n; spare++) {
        double value;

        if (b->kind[spare] != spare)
            continue;
        for (int d = 0; d < n; d++)
            b->price[d] =
                x->room_bytes[d] < INFINITY ? fmax(0, kind_s[spare] - kind_s[d]) / bytes : 0;
        value = priced_bound(b);
        if (value > most) {
            most = value;
            memcpy(best, b->price, sizeof *best * (size_t)n);
        }
    }
    memcpy(b->price, best, sizeof *best * (size_t)n);
    return most;
}

/* Prices up and down, one kind at a time. */
static double climb(pricer *b, double best, double guess)
{
    double factor = FIRST_FACTOR;
    const weft_subproblem *x = b->x;
    int n_tries = 0;

    while (factor > LAST_FACTOR) {
        bool is_better = true;

        while (is_better && n_tries < MOST_TRIES) {
            is_better = false;
            for (int d = 0; d < x->n_devices; d++) {
                if (b->kind[d] != d || !(x->room_bytes[d] < INFINITY))
                    continue;
                for (int way = 0; way < 2; way++) {
                    double before = b->price[d], value;

                    scale_kind(b, d, before > 0 ? before * (way ? factor : 1 / factor) : guess);
                    value = priced_bound(b);
                    n_tries++;
                    is_better |= value > best;
                    if (value > best)
                        best = value;
                    else
                        scale_kind(b, d, before);
                }
            }
        }
        factor = sqrt(factor);
    }
    return best;
}

double weft_memory_bound(const weft_subproblem *x, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    pricer b = {.x = x};
    double bytes = 0, bound = 0, way_s;

    if (!(x->n_weights > 0) || x->n_tasks == 0)
        return 0;
    b.own_bytes = WEFT_NEW(a, double, x->n_tasks);
    b.way = WEFT_NEW(a, int, x->n_tasks);
    b.edge = WEFT_NEW(a, int, x->n_tasks);
    b.is_on_way = WEFT_NEW(a, bool, x->n_tasks);
    b.price = WEFT_NEW(a, double, x->n_devices);
    b.cost = WEFT_NEW(a, double, x->n_devices);
    b.next = WEFT_NEW(a, double, x->n_devices);
    set_bytes(&b, a);
    set_way(&b, a);
    b.kind = weft_first_same(x->n_devices, is_kind, x, a);
    for (int i = 0; i < b.n_way; i++)
        bytes += b.own_bytes[b.way[i]];
    way_s = way_cost(&b);
    if (bytes > 0 && way_s < INFINITY &&
        (double)b.n_way * x->n_devices * x->n_devices * MOST_TRIES < MOST_STEPS)
        bound = climb(&b, begin(&b, bytes, a), PRICE_OF_TIME * way_s / bytes);
    weft_arena_rewind(a, mark);
    return fmax(bound, 0);
}
