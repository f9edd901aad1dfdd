/* SPDX-License-Identifier: MIT */
/* pairwise_min_beam.c: a good choice where the elimination had to split buckets.
 *
 * 1. Variables get states in the reverse order of elimination. A choice of the variables so far is
 *    worth the bound that the elimination gives to the best way to complete it,
 *
 *        b = costs among the chosen variables + what eliminated variables sent to them;
 *
 *    when w takes state x, what w sent is replaced by the sum of its bucket at x. The WIDTH best
 *    choices go on. Without splits b is exact and one choice would do.
 * 2. The best choice is improved: variables that form a forest in the graph of pairs are chosen
 *    anew, all together and at best, the others being fixed. Forests are grown in the order of the
 *    variables from the lowest one that was in no forest since the last gain; it ends when all
 *    were. A single variable is a forest: no change of one variable, nor of those of a forest
 * tried, makes the result better.
 *
 * No guarantee on the value. Time O(n WIDTH S log(WIDTH S)) for 1, O(n S^2) for each forest of 2.
 */
#include "pairwise_min.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64 };

/* --- beam ------------------------------------------------------------------------------------ */

typedef struct candidate {
    double value;
    int parent, x;
} candidate;

typedef struct beam {
    const weft_elimination *e;
    int n;
    double *value, *next_value; /* [WIDTH] */
    int *state, *next_state;    /* [WIDTH * n_vars] */
    candidate *candidate;       /* [WIDTH * most states] */
} beam;

static int by_value(const void *p, const void *q)
{
    const candidate *a = p, *b = q;

    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->x < b->x ? -1 : a->x > b->x;
}

/* Appends the states of w after choice `parent`; those that are not allowed are left out. */
static int expand(const beam *b, int parent, int w, candidate *to)
{
    const weft_elimination *e = b->e;
    const int *n_states = e->m->n_states, *state = b->state + (size_t)parent * (size_t)e->m->n_vars;
    double base = b->value[parent];
    int n = 0;

    for (int i = 0; i < e->sent[w].n; i++) {
        const weft_factor *f = e->sent[w].at[i];

        base -= f->cost[weft_factor_at(f, n_states, state, -1)]; /* finite: part of a finite sum */
    }
    for (int x = 0; x < n_states[w]; x++)
        to[x] = (candidate){base, parent, x};
    for (int i = 0; i < e->bucket[w].n; i++) {
        const weft_factor *f = e->bucket[w].at[i];
        const double *cost = f->cost + weft_factor_at(f, n_states, state, w);
        size_t step = weft_factor_step(f, n_states, w);

        for (int x = 0; x < n_states[w]; x++)
            to[x].value += cost[(size_t)x * step];
    }
    for (int x = 0; x < n_states[w]; x++)
        if (to[x].value < INFINITY)
            to[n++] = to[x];
    return n;
}

static void choose_state(beam *b, int w)
{
    size_t n_vars = (size_t)b->e->m->n_vars;
    int n = 0, *state = b->next_state;
    double *value = b->next_value;

    for (int i = 0; i < b->n; i++)
        n += expand(b, i, w, b->candidate + n);
    qsort(b->candidate, (size_t)n, sizeof *b->candidate, by_value);
    b->n = n < WIDTH ? n : WIDTH;
    for (int i = 0; i < b->n; i++) {
        const candidate *c = &b->candidate[i];

        value[i] = c->value;
        memcpy(state + (size_t)i * n_vars, b->state + (size_t)c->parent * n_vars,
               n_vars * sizeof *state);
        state[(size_t)i * n_vars + (size_t)w] = c->x;
    }
    b->next_state = b->state;
    b->next_value = b->value;
    b->state = state;
    b->value = value;
}

static bool run_beam(const weft_elimination *e, weft_arena *a, int *state)
{
    size_t n_vars = (size_t)e->m->n_vars;
    int most = 1;
    beam b = {.e = e, .n = 1};

    for (int v = 0; v < e->m->n_vars; v++)
        most = e->m->n_states[v] > most ? e->m->n_states[v] : most;
    b.value = WEFT_NEW(a, double, WIDTH);
    b.next_value = WEFT_NEW(a, double, WIDTH);
    b.state = WEFT_NEW(a, int, WIDTH *n_vars);
    b.next_state = WEFT_NEW(a, int, WIDTH *n_vars);
    b.candidate = WEFT_NEW_RAW(a, candidate, (size_t)WIDTH * (size_t)most);
    b.value[0] = e->bound;
    for (int i = e->m->n_vars - 1; i >= 0 && b.n > 0; i--)
        choose_state(&b, e->order[i]);
    if (b.n > 0)
        memcpy(state, b.state, n_vars * sizeof *state);
    return b.n > 0;
}

/* --- forests --------------------------------------------------------------------------------- */

typedef struct descent {
    const weft_pairwise_min *m;
    int *state;
    int *tree;    /* [n_vars] root of the tree of a variable of the forest, itself: a root */
    int *number;  /* [n_vars] among the variables of the forest, -1: not in it */
    bool *is_old; /* [n_vars] was in a forest since the last gain */
    int *at, *to; /* CSR: pairs of each variable */
} descent;

static void list_pairs(descent *d, weft_arena *a)
{
    const weft_pairwise_min *m = d->m;
    weft_pair *pair = WEFT_NEW_RAW(a, weft_pair, 2 * (size_t)m->n_pairs);
    weft_rows rows;

    for (int i = 0; i < m->n_pairs; i++) {
        pair[2 * i] = (weft_pair){m->pair[i].u, i};
        pair[2 * i + 1] = (weft_pair){m->pair[i].v, i};
    }
    rows = weft_rows_of_pairs(pair, 2 * m->n_pairs, m->n_vars, a);
    d->at = rows.at;
    d->to = rows.item;
}

static int other_end(const weft_pairwise_min_pair *p, int v)
{
    return p->u == v ? p->v : p->u;
}

static int root_of(const descent *d, int v)
{
    while (d->tree[v] != v)
        v = d->tree[v];
    return v;
}

/* Adds v unless it would close a cycle: its neighbours in the forest must be in different trees.
 * Several pairs of the same two variables are one edge. */
static bool grow(descent *d, int v, int number)
{
    const weft_pairwise_min *m = d->m;

    for (int i = d->at[v]; i < d->at[v + 1]; i++)
        for (int k = d->at[v]; k < i; k++) {
            int p = other_end(&m->pair[d->to[i]], v), q = other_end(&m->pair[d->to[k]], v);

            if (p != q && d->number[p] >= 0 && d->number[q] >= 0 && root_of(d, p) == root_of(d, q))
                return false;
        }
    d->number[v] = number;
    d->tree[v] = v;
    for (int i = d->at[v]; i < d->at[v + 1]; i++) {
        int p = other_end(&m->pair[d->to[i]], v);

        if (d->number[p] >= 0)
            d->tree[root_of(d, p)] = v;
    }
    return true;
}

/* Variables from `first` on, around; returns how many. */
static int grow_forest(descent *d, int first)
{
    int n = 0, n_vars = d->m->n_vars;

    for (int v = 0; v < n_vars; v++)
        d->number[v] = -1;
    for (int i = 0; i < n_vars; i++) {
        int v = first + i < n_vars ? first + i : first + i - n_vars;

        if (grow(d, v, n))
            n++;
    }
    return n;
}

/* The costs of v alone, the variables outside the forest being fixed. */
static const double *own_of(const descent *d, int v, weft_arena *a)
{
    const weft_pairwise_min *m = d->m;
    double *own = weft_arena_copy(a, m->own[v], sizeof *own * (size_t)m->n_states[v]);

    for (int i = d->at[v]; i < d->at[v + 1]; i++) {
        const weft_pairwise_min_pair *p = &m->pair[d->to[i]];
        int u = other_end(p, v);
        size_t step = p->u == v ? (size_t)m->n_states[u] : 1;
        size_t at = (size_t)d->state[u] * (p->u == v ? 1 : (size_t)m->n_states[v]);

        if (d->number[u] >= 0)
            continue;
        for (int x = 0; x < m->n_states[v]; x++)
            own[x] += p->cost[at + (size_t)x * step];
    }
    return own;
}

static weft_pairwise_min forest_model(const descent *d, int n, weft_arena *a)
{
    const weft_pairwise_min *m = d->m;
    int *n_states = WEFT_NEW_RAW(a, int, n), n_pairs = 0;
    const double **own = WEFT_NEW_RAW(a, const double *, n);
    weft_pairwise_min_pair *pair = WEFT_NEW_RAW(a, weft_pairwise_min_pair, m->n_pairs);

    for (int v = 0; v < m->n_vars; v++)
        if (d->number[v] >= 0) {
            n_states[d->number[v]] = m->n_states[v];
            own[d->number[v]] = own_of(d, v, a);
        }
    for (int i = 0; i < m->n_pairs; i++) {
        int u = d->number[m->pair[i].u], v = d->number[m->pair[i].v];

        if (u >= 0 && v >= 0)
            pair[n_pairs++] = (weft_pairwise_min_pair){u, v, m->pair[i].cost};
    }
    return (weft_pairwise_min){n, n_states, own, n_pairs, pair};
}

/* Chooses a forest anew; true if the value is less then. */
static bool improve(descent *d, int first, double *value, weft_arena *a)
{
    int n = grow_forest(d, first),
        *old = weft_arena_copy(a, d->state, sizeof *old * (size_t)d->m->n_vars);
    weft_pairwise_min forest = forest_model(d, n, a);
    weft_pairwise_min_answer answer;
    double next;

    weft_pairwise_min_solve(&forest, NULL, INT64_MAX, a, &answer);
    for (int v = 0; v < d->m->n_vars && answer.state; v++)
        if (d->number[v] >= 0)
            d->state[v] = answer.state[d->number[v]];
    next = weft_pairwise_min_value(d->m, d->state);
    if (next < *value) {
        *value = next;
        return true;
    }
    memcpy(d->state, old, sizeof *old * (size_t)d->m->n_vars);
    return false;
}

/* Step 2. Each gain is a strictly smaller value of finitely many: it ends. */
static void descend(const weft_pairwise_min *m, weft_arena *a, int *state)
{
    descent d = {.m = m, .state = state};
    double value = weft_pairwise_min_value(m, state);
    int first = 0;

    list_pairs(&d, a);
    d.tree = WEFT_NEW(a, int, m->n_vars);
    d.number = WEFT_NEW(a, int, m->n_vars);
    d.is_old = WEFT_NEW(a, bool, m->n_vars);
    while (first < m->n_vars) {
        size_t mark = weft_arena_mark(a);

        if (improve(&d, first, &value, a))
            memset(d.is_old, 0, sizeof *d.is_old * (size_t)m->n_vars);
        weft_arena_rewind(a, mark);
        for (int v = 0; v < m->n_vars; v++)
            d.is_old[v] = d.is_old[v] || d.number[v] >= 0;
        for (first = 0; first < m->n_vars && d.is_old[first];)
            first++;
    }
}

bool weft_pairwise_min_search(const weft_elimination *e, weft_arena *a, int *state)
{
    if (!run_beam(e, a, state))
        return false;
    descend(e->m, a, state);
    return true;
}
