/* SPDX-License-Identifier: MIT */
/* zoo_random.c: random graphs for randomly wired networks (Xie 2019).
 *
 *  1. An undirected random graph: ws ties each node of a ring to k / 2 neighbours on either side and
 *     moves the far end of each tie, with probability p, to a free node; er ties each pair with
 *     probability p; ba starts with m nodes and ties each further one to m different older ones,
 *     with probability proportional to their ties.
 *  2. Ties become edges from the lower to the higher number (ws: place in the ring, ba: age), so
 *     the graph has no cycle.
 *
 * Equal arguments give equal graphs on every machine; graphs are independent streams of the seed. */
#include "zoo.h"

#include <string.h>

/* What is asked for; those that a kind does not know count for nothing. */
typedef struct wish {
    int k, m;
    double p; /* below 0: the one of the kind */
} wish;

/* Ties of an undirected graph; every random graph below is asked for in this form. */
typedef struct ties {
    int n;
    bool *has; /* [n * n], symmetric */
    int *degree;
} ties;

static ties ties_new(int n, weft_arena *a)
{
    return (ties){
        .n = n, .has = WEFT_NEW(a, bool, (size_t)n *(size_t)n), .degree = WEFT_NEW(a, int, n)};
}

static bool tied(const ties *t, int i, int j)
{
    return t->has[(size_t)i * (size_t)t->n + (size_t)j];
}

static void tie(ties *t, int i, int j, bool on)
{
    t->has[(size_t)i * (size_t)t->n + (size_t)j] = on;
    t->has[(size_t)j * (size_t)t->n + (size_t)i] = on;
    t->degree[i] += on ? 1 : -1;
    t->degree[j] += on ? 1 : -1;
}

/* Moves the far end of the tie i-j to one of the nodes not tied to i, each equally likely. */
static void rewire(ties *t, int i, int j, weft_rng *rng)
{
    int n_free = t->n - 1 - t->degree[i];
    int pick;

    if (n_free == 0)
        return;
    pick = weft_rng_below(rng, n_free);
    for (int v = 0; v < t->n; v++) {
        if (v == i || tied(t, i, v) || pick-- > 0)
            continue;
        tie(t, i, j, false);
        tie(t, i, v, true);
        return;
    }
}

static void wire_ws(ties *t, const wish *o, weft_rng *rng)
{
    double p = o->p < 0 ? 0.75 : o->p;
    int reach = o->k / 2;

    for (int step = 1; step <= reach; step++)
        for (int i = 0; i < t->n; i++)
            tie(t, i, (i + step) % t->n, true);
    for (int step = 1; step <= reach; step++)
        for (int i = 0; i < t->n; i++)
            if (weft_rng_real(rng) < p)
                rewire(t, i, (i + step) % t->n, rng);
}

static void wire_er(ties *t, const wish *o, weft_rng *rng)
{
    double p = o->p < 0 ? 0.2 : o->p;

    for (int i = 0; i < t->n; i++)
        for (int j = i + 1; j < t->n; j++)
            if (weft_rng_real(rng) < p)
                tie(t, i, j, true);
}

/* A node older than i and not tied to it, with probability proportional to its ties. */
static int by_degree(const ties *t, int i, weft_rng *rng)
{
    int total = 0, pick, v;

    for (v = 0; v < i; v++)
        if (!tied(t, i, v))
            total += t->degree[v];
    pick = weft_rng_below(rng, total);
    for (v = 0; v < i; v++) {
        if (tied(t, i, v))
            continue;
        pick -= t->degree[v];
        if (pick < 0)
            break;
    }
    return v;
}

static void wire_ba(ties *t, const wish *o, weft_rng *rng)
{
    int m = o->m;

    for (int v = 0; v < m; v++) /* the first new node: nobody has a tie yet, it takes all */
        tie(t, m, v, true);
    for (int i = m + 1; i < t->n; i++)
        for (int count = 0; count < m; count++)
            tie(t, i, by_degree(t, i, rng), true);
}

typedef struct wiring {
    const char *kind;
    void (*make)(ties *t, const wish *o, weft_rng *rng);
} wiring;

static const wiring wirings[] = {
    {"ws", wire_ws},
    {"er", wire_er},
    {"ba", wire_ba},
};

/* The stream of graph `number`: those before it are split off too. */
static weft_rng stream_of(int64_t seed, int64_t number)
{
    weft_rng seeds = weft_rng_seed((uint64_t)seed), rng = seeds;

    for (int64_t i = 0; i <= number; i++)
        rng = weft_rng_split(&seeds, (uint64_t)i);
    return rng;
}

/* The numbers from `first` to `end` of the nodes that are tied to i. */
static weft_script_value neighbours(weft_zoo *z, const ties *t, int i, int first, int end)
{
    weft_script_value list = weft_script_list_new(z->script);

    for (int j = first; j < end; j++)
        if (tied(t, i, j))
            weft_script_push(z->script, list, weft_script_int(j));
    return list;
}

/* wiring(kind, nodes, k, m, p, seed, number): of each node, the list of the nodes it reads; and the
 * list of the nodes that none reads. */
void weft_zoo_wiring(weft_zoo *z, const weft_script_args *args, weft_script_value *out)
{
    const char *kind = weft_zoo_text_of(z, args, 0);
    ties t = ties_new((int)weft_zoo_int_of(z, args, 1), z->arena);
    wish o = {(int)weft_zoo_int_of(z, args, 2), (int)weft_zoo_int_of(z, args, 3), args->at[4].f};
    weft_rng rng = stream_of(weft_zoo_int_of(z, args, 5), weft_zoo_int_of(z, args, 6));
    weft_script_value from = weft_script_list_new(z->script),
                      last = weft_script_list_new(z->script);

    for (size_t i = 0; i < sizeof wirings / sizeof *wirings; i++)
        if (strcmp(wirings[i].kind, kind) == 0)
            wirings[i].make(&t, &o, &rng);
    for (int i = 0; i < t.n; i++) {
        weft_script_push(z->script, from, neighbours(z, &t, i, 0, i));
        if (neighbours(z, &t, i, i + 1, t.n).list->item.n == 0)
            weft_script_push(z->script, last, weft_script_int(i));
    }
    *out = weft_script_list_new(z->script);
    weft_script_push(z->script, *out, from);
    weft_script_push(z->script, *out, last);
}
