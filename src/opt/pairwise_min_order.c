/* SPDX-License-Identifier: MIT */
/* pairwise_min_order.c: the order in which variables are eliminated.
 *
 * Eliminating a variable makes its neighbours adjacent to each other. Until none is left, the
 * variable goes that adds the fewest edges; on a tie the one with the fewest neighbours, then the
 * one with the least depth, then the lowest number. The depth of a variable is 1 + the largest
 * depth among its eliminated neighbours, 0 without any: ties prefer variables whose tables are
 * still those of the model, so that repeated blocks are all begun in their middle, in the same way,
 * and not one after the other from an end. (Only then are their tables equal, and pairwise minimum.c makes
 * each once.)
 *
 * Guarantee: the width is the least possible if it is 1 or 2, or if the graph is chordal. Proof:
 * a chordal graph has a variable that adds no edge, such a variable and its neighbours are a
 * clique, which every order pays for, and the rest is chordal. A graph of width at most 2 has a
 * variable with at most 2 neighbours, which adds at most one edge; one with 3 or more that adds
 * none would make a clique of 4, so the one taken has at most 2, and eliminating it contracts an
 * edge, which keeps the width. Elsewhere a heuristic. Time O(n^2 + n d n / 64) with d changed
 * neighbours of neighbours a step. */
#include "pairwise_min.h"

typedef struct graph {
    int n, n_words;
    uint64_t *near; /* [n * n_words] neighbours of each variable */
    int *fill;      /* [n] edges its elimination would add; -1: not known any more */
    int *degree;    /* [n] known with the fill */
    int *depth;
    bool *is_gone;
} graph;

static uint64_t *near_of(const graph *g, int v)
{
    return g->near + (size_t)v * (size_t)g->n_words;
}

static void clear_bit(uint64_t *bits, int i)
{
    bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* Neighbours in the next word at or after *at that has some; 0 at the end. */
static uint64_t next_word(const uint64_t *bits, int n_words, int *at)
{
    while (*at < n_words && bits[*at] == 0)
        (*at)++;
    return *at < n_words ? bits[*at] : 0;
}

/* Counts the neighbours of v, and the pairs of them that are not adjacent: each is seen from both
 * sides. */
static void count(graph *g, int v)
{
    const uint64_t *near = near_of(g, v);
    int n_missing = 0, degree = 0;

    for (int i = 0; next_word(near, g->n_words, &i); i++)
        for (uint64_t left = near[i]; left; left &= left - 1) {
            int u = i * 64 + __builtin_ctzll(left);
            const uint64_t *other = near_of(g, u);

            for (int j = 0; j < g->n_words; j++)
                n_missing += __builtin_popcountll(near[j] & ~other[j]);
            n_missing--; /* u itself is no neighbour of u */
            degree++;
        }
    g->fill[v] = n_missing / 2;
    g->degree[v] = degree;
}

static bool is_before(const graph *g, int u, int v)
{
    if (g->fill[u] != g->fill[v])
        return g->fill[u] < g->fill[v];
    if (g->degree[u] != g->degree[v])
        return g->degree[u] < g->degree[v];
    return g->depth[u] < g->depth[v]; /* a tie: the first one seen stays */
}

static int pick(graph *g)
{
    int best = -1;

    for (int v = 0; v < g->n; v++) {
        if (g->is_gone[v])
            continue;
        if (g->fill[v] < 0)
            count(g, v);
        if (best < 0 || is_before(g, v, best))
            best = v;
    }
    return best;
}

/* Joins neighbour u of v to the other neighbours. Every variable next to two neighbours of v has
 * another fill then: it is next to u. */
static void join(graph *g, int u, int v)
{
    uint64_t *to = near_of(g, u);
    const uint64_t *near = near_of(g, v);

    for (int j = 0; j < g->n_words; j++)
        to[j] |= near[j];
    clear_bit(to, u);
    clear_bit(to, v);
    g->fill[u] = -1;
    if (g->depth[u] <= g->depth[v])
        g->depth[u] = g->depth[v] + 1;
    for (int i = 0; next_word(to, g->n_words, &i); i++)
        for (uint64_t left = to[i]; left; left &= left - 1)
            g->fill[i * 64 + __builtin_ctzll(left)] = -1;
}

static void eliminate(graph *g, int v)
{
    const uint64_t *near = near_of(g, v);

    for (int i = 0; next_word(near, g->n_words, &i); i++)
        for (uint64_t left = near[i]; left; left &= left - 1)
            join(g, i * 64 + __builtin_ctzll(left), v);
    g->is_gone[v] = true;
}

static graph graph_of(int n_vars, int n_pairs, const weft_pairwise_min_pair *pair, weft_arena *a)
{
    graph g = {.n = n_vars, .n_words = weft_bits_words(n_vars)};

    g.near = WEFT_NEW(a, uint64_t, (size_t)n_vars * (size_t)g.n_words);
    g.fill = WEFT_NEW(a, int, n_vars);
    g.degree = WEFT_NEW(a, int, n_vars);
    g.depth = WEFT_NEW(a, int, n_vars);
    g.is_gone = WEFT_NEW(a, bool, n_vars);
    for (int v = 0; v < n_vars; v++)
        g.fill[v] = -1;
    for (int i = 0; i < n_pairs; i++) {
        weft_bit_set(near_of(&g, pair[i].u), pair[i].v);
        weft_bit_set(near_of(&g, pair[i].v), pair[i].u);
    }
    return g;
}

int *weft_pairwise_min_order(int n_vars, int n_pairs, const weft_pairwise_min_pair *pair,
                             weft_arena *a)
{
    int *order = WEFT_NEW(a, int, n_vars);
    size_t mark = weft_arena_mark(a);
    graph g = graph_of(n_vars, n_pairs, pair, a);

    for (int i = 0; i < n_vars; i++) {
        order[i] = pick(&g);
        eliminate(&g, order[i]);
    }
    weft_arena_rewind(a, mark);
    return order;
}
