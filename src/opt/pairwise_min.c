/* SPDX-License-Identifier: MIT */
/* pairwise minimum.c: least sum of costs of pairs, by elimination of variables.
 *
 * 1. Costs are factors: tables over a scope of variables, at first one variable or two. A factor
 *    lies in the bucket of the variable of its scope that comes first in the order.
 * 2. In that order, the bucket of w is replaced by its least sum over the states of w, a factor
 *    over the other variables of the bucket (pairwise_min_fold.c). After the last variable the sum of the
 *    constants is the least value.
 * 3. Backwards, each variable takes the state with the least sum of its bucket, the others of the
 *    bucket being known; the lowest of equals. No table of decisions is kept.
 * 4. Tables have numbers; the same address has the same number. Before a fold, its key is looked
 *    up: the numbers of states, and for each factor the number of its table and the places of its
 *    scope among the neighbours. Equal keys share one table, and so its number.
 * 5. If a fold would have more than most_entries entries, the bucket is split: factors, largest
 *    scope first, go to the first part that stays within the limit with them, and each part is
 *    folded alone. The choice is then searched for (pairwise_min_beam.c).
 *
 * Guarantee. Let E be the sum of all factors, a function of the variables that are left. Step 2
 * replaces E by min_w E, as factors outside the bucket do not depend on w: the least value stays
 * the same, and by induction step 3 finds it. Step 4: a fold is a function of the contents of its
 * tables, of the way their scopes overlap and of the numbers of states; the key is all of that with
 * contents replaced by numbers of tables, and tables with the same number have the same content: by
 * promise of the caller for those of the model, by induction for those made here. Variables
 * themselves are not part of the key; the result's scope is given by places, so that it fits the
 * neighbours at hand. Step 5: the sum of least values of parts is at most the least sum, so that
 * the constants add up to a bound; it is exact if no bucket was split.
 *
 * The value is summed up again from the tables of the model; sums of step 2, in another order,
 * agree with it up to rounding. Time: sum over different folds of the product of the states of a
 * variable and its neighbours; a chain takes S^2 a variable, residual blocks S^3.
 * Bertele and Brioschi, Nonserial Dynamic Programming, 1972; Dechter, Artificial Intelligence 113,
 * 1999 (buckets); Dechter and Rish, Journal of the ACM 50(2), 2003 (parts of buckets). */
#include "pairwise_min.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Of sums of many terms in different orders, relative: all terms are >= 0. */
static const double ROUNDING = 1e-12;

/* What a fold gave: a table and the places of its axes. */
typedef struct result {
    const double *cost;
    int table;
    const int *axis;
} result;

typedef struct solver {
    weft_elimination e;
    int64_t most_entries;
    weft_arena *arena;
    int *rank; /* [n_vars] place in the order */
    int *mark; /* [n_vars] place among the neighbours, -1: none */
    int *near; /* [n_vars] neighbours of the variable at hand, by number */
    int *size; /* [n_vars + 1] their states */
    weft_map *address, *folds;
    WEFT_VEC(result) results;
    int n_tables;
} solver;

/* --- factors --------------------------------------------------------------------------------- */

size_t weft_factor_at(const weft_factor *f, const int *n_states, const int *state, int but)
{
    size_t at = 0;

    for (int i = 0; i < f->n; i++) {
        int v = f->var[i];

        at = at * (size_t)n_states[v] + (v == but ? 0 : (size_t)state[v]);
    }
    return at;
}

size_t weft_factor_step(const weft_factor *f, const int *n_states, int v)
{
    size_t step = 1;

    for (int i = f->n - 1; f->var[i] != v; i--)
        step *= (size_t)n_states[f->var[i]];
    return step;
}

double weft_pairwise_min_value(const weft_pairwise_min *m, const int *state)
{
    double value = 0;

    for (int v = 0; v < m->n_vars; v++)
        value += m->own[v][state[v]];
    for (int i = 0; i < m->n_pairs; i++) {
        const weft_pairwise_min_pair *p = &m->pair[i];

        value += p->cost[(size_t)state[p->u] * (size_t)m->n_states[p->v] + (size_t)state[p->v]];
    }
    return value;
}

static weft_factor *new_factor(solver *s, int n, const double *cost, int table)
{
    weft_factor *f = WEFT_NEW(s->arena, weft_factor, 1);
    int *scope = WEFT_NEW_RAW(s->arena, int, 2 * (size_t)n);

    *f = (weft_factor){n, scope, scope + n, cost, table};
    return f;
}

/* The number of a table of the model; *address must stay where it is. */
static int table_at(solver *s, const double *const *address)
{
    int table = weft_map_get(s->address, (const char *)address, sizeof *address);

    if (table < 0) {
        table = s->n_tables++;
        weft_map_set(s->address, (const char *)address, sizeof *address, table);
    }
    return table;
}

/* Puts a factor where it will be needed first; a constant adds to the bound. */
static void put(solver *s, weft_factor *f)
{
    int first = -1;

    for (int i = 0; i < f->n; i++)
        if (first < 0 || s->rank[f->var[i]] < s->rank[first])
            first = f->var[i];
    if (first < 0)
        s->e.bound += f->cost[0];
    else
        WEFT_PUSH(s->arena, s->e.bucket[first], f);
}

/* Step 1. */
static void put_model(solver *s)
{
    const weft_pairwise_min *m = s->e.m;

    for (int v = 0; v < m->n_vars; v++) {
        weft_factor *f = new_factor(s, 1, m->own[v], table_at(s, &m->own[v]));

        f->var[0] = v;
        put(s, f);
    }
    for (int i = 0; i < m->n_pairs; i++) {
        const weft_pairwise_min_pair *p = &m->pair[i];
        weft_factor *f = new_factor(s, 2, p->cost, table_at(s, &p->cost));

        assert(p->u != p->v);
        f->var[0] = p->u;
        f->var[1] = p->v;
        put(s, f);
    }
}

/* --- folds ----------------------------------------------------------------------------------- */

/* Lists the variables of the factors, but w, by number; fills `place` of the factors. Returns their
 * number; w itself comes after them. */
static int find_neighbours(solver *s, weft_factor *const *factor, int n_factors, int w)
{
    int n = 0;

    for (int i = 0; i < n_factors; i++)
        for (int k = 0; k < factor[i]->n; k++) {
            int v = factor[i]->var[k], at = n;

            if (v == w || s->mark[v] >= 0)
                continue;
            s->mark[v] = 0;
            for (; at > 0 && s->near[at - 1] > v; at--)
                s->near[at] = s->near[at - 1];
            s->near[at] = v;
            n++;
        }
    s->near[n] = w;
    for (int i = 0; i <= n; i++) {
        s->mark[s->near[i]] = i;
        s->size[i] = s->e.m->n_states[s->near[i]];
    }
    for (int i = 0; i < n_factors; i++)
        for (int k = 0; k < factor[i]->n; k++)
            factor[i]->place[k] = s->mark[factor[i]->var[k]];
    for (int i = 0; i <= n; i++)
        s->mark[s->near[i]] = -1;
    return n;
}

static bool is_before(const weft_factor *f, const weft_factor *g)
{
    if (f->n != g->n)
        return f->n < g->n;
    for (int i = 0; i < f->n; i++)
        if (f->place[i] != g->place[i])
            return f->place[i] < g->place[i];
    return f->table < g->table;
}

/* One order for equal sets of factors, however they came. */
static void sort_factors(weft_factor **factor, int n)
{
    for (int i = 1; i < n; i++) {
        weft_factor *f = factor[i];
        int at = i;

        for (; at > 0 && is_before(f, factor[at - 1]); at--)
            factor[at] = factor[at - 1];
        factor[at] = f;
    }
}

static const char *key_of(const weft_bucket *b, weft_arena *a, size_t *bytes)
{
    int n = 2 + b->n, at = 0, *key;

    for (int i = 0; i < b->n_factors; i++)
        n += 2 + b->factor[i]->n;
    key = WEFT_NEW_RAW(a, int, n);
    key[at++] = b->n;
    for (int i = 0; i <= b->n; i++)
        key[at++] = b->size[i];
    for (int i = 0; i < b->n_factors; i++) {
        const weft_factor *f = b->factor[i];

        key[at++] = f->table;
        key[at++] = f->n;
        for (int k = 0; k < f->n; k++)
            key[at++] = f->place[k];
    }
    assert(at == n);
    *bytes = sizeof *key * (size_t)n;
    return (const char *)key;
}

/* Step 4: the table of a bucket, made or found. */
static result fold(solver *s, const weft_bucket *b)
{
    size_t mark = weft_arena_mark(s->arena), bytes;
    const char *key = key_of(b, s->arena, &bytes);
    int at = weft_map_get(s->folds, key, bytes), *axis;
    result r;

    if (at >= 0) {
        weft_arena_rewind(s->arena, mark);
        return s->results.at[at];
    }
    axis = WEFT_NEW_RAW(s->arena, int, b->n);
    r.cost = weft_bucket_fold(b, s->arena, axis);
    r.table = s->n_tables++;
    r.axis = axis;
    weft_map_set(s->folds, key, bytes, s->results.n);
    WEFT_PUSH(s->arena, s->results, r);
    return r;
}

/* Replaces factors of w by their least sum over w. */
static void fold_part(solver *s, weft_factor **factor, int n_factors, int w)
{
    weft_bucket b = {find_neighbours(s, factor, n_factors, w), n_factors, factor, s->size};
    weft_factor *f;
    result r;

    sort_factors(factor, n_factors);
    r = fold(s, &b);
    f = new_factor(s, b.n, r.cost, r.table);
    for (int i = 0; i < b.n; i++)
        f->var[i] = s->near[r.axis[i]];
    WEFT_PUSH(s->arena, s->e.sent[w], f);
    put(s, f);
}

/* --- buckets --------------------------------------------------------------------------------- */

/* Whether the fold of these factors keeps to the limit. */
static bool is_small(solver *s, weft_factor *const *factor, int n_factors, int w)
{
    int n = find_neighbours(s, factor, n_factors, w);
    int64_t n_entries = 1;

    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(n_entries, s->size[i], &n_entries))
            return false;
    return n_entries <= s->most_entries;
}

/* Moves a factor to another place in the row. */
static void move(weft_factor **factor, int from, int to)
{
    weft_factor *f = factor[from];

    for (; from < to; from++)
        factor[from] = factor[from + 1];
    for (; from > to; from--)
        factor[from] = factor[from - 1];
    factor[to] = f;
}

/* Step 5. A factor alone makes a part, too: what it sends is smaller than itself. Factors of w
 * alone take no room: they go with the first part. */
static void split(solver *s, weft_factor **factor, int n_factors, int w)
{
    for (int i = 1; i < n_factors; i++) {
        int to = i;

        while (to > 0 && factor[to - 1]->n < factor[i]->n)
            to--;
        move(factor, i, to); /* largest scope first */
    }
    s->e.is_split = true;
    while (n_factors > 0) {
        int n_part = 1;

        for (int i = 1; i < n_factors; i++) {
            move(factor, i, n_part);
            if (factor[n_part]->n == 1 || is_small(s, factor, n_part + 1, w))
                n_part++;
            else
                move(factor, n_part, i);
        }
        fold_part(s, factor, n_part, w);
        factor += n_part;
        n_factors -= n_part;
    }
}

/* Steps 2, 4 and 5 for one variable. */
static void eliminate(solver *s, int w)
{
    weft_factors *b = &s->e.bucket[w];

    if (is_small(s, b->at, b->n, w))
        fold_part(s, b->at, b->n, w);
    else
        split(s, b->at, b->n, w);
}

/* --- the choice ------------------------------------------------------------------------------ */

/* Step 3 for one variable: the least sum of its bucket. */
static int best_state(const weft_elimination *e, int w, const int *state, double *sum)
{
    const int *n_states = e->m->n_states;
    int best = 0;

    memset(sum, 0, sizeof *sum * (size_t)n_states[w]);
    for (int i = 0; i < e->bucket[w].n; i++) {
        const weft_factor *f = e->bucket[w].at[i];
        const double *cost = f->cost + weft_factor_at(f, n_states, state, w);
        size_t step = weft_factor_step(f, n_states, w);

        for (int x = 0; x < n_states[w]; x++)
            sum[x] += cost[(size_t)x * step];
    }
    for (int x = 1; x < n_states[w]; x++)
        if (sum[x] < sum[best])
            best = x;
    return best;
}

static void trace_back(const weft_elimination *e, weft_arena *a, int *state)
{
    int most = 1;
    double *sum;

    for (int v = 0; v < e->m->n_vars; v++)
        most = e->m->n_states[v] > most ? e->m->n_states[v] : most;
    sum = WEFT_NEW_RAW(a, double, most);
    for (int i = e->m->n_vars - 1; i >= 0; i--)
        state[e->order[i]] = best_state(e, e->order[i], state, sum);
}

static solver begin(const weft_pairwise_min *m, const int *order, int64_t most_entries,
                    weft_arena *a)
{
    solver s = {
        .e = {.m = m, .order = order},
          .most_entries = most_entries, .arena = a
    };

    s.rank = WEFT_NEW_RAW(a, int, m->n_vars);
    s.mark = WEFT_NEW_RAW(a, int, m->n_vars);
    s.near = WEFT_NEW_RAW(a, int, m->n_vars);
    s.size = WEFT_NEW_RAW(a, int, m->n_vars + 1);
    s.e.bucket = WEFT_NEW(a, weft_factors, m->n_vars);
    s.e.sent = WEFT_NEW(a, weft_factors, m->n_vars);
    s.address = weft_map_new(a);
    s.folds = weft_map_new(a);
    weft_map_reserve(s.address, m->n_vars + m->n_pairs);
    weft_map_reserve(s.folds, m->n_vars);
    for (int i = 0; i < m->n_vars; i++) {
        s.rank[order[i]] = i;
        s.mark[i] = -1;
    }
    return s;
}

/* The choice, its value and the bound after an elimination whose bound is finite. */
static void choose(const weft_elimination *e, weft_arena *a, weft_pairwise_min_answer *out)
{
    if (!e->is_split)
        trace_back(e, a, out->state);
    else if (!weft_pairwise_min_search(e, a, out->state))
        return;
    out->value = weft_pairwise_min_value(e->m, out->state);
    out->is_exact = !e->is_split || out->value <= e->bound * (1 + ROUNDING);
    if (out->is_exact)
        out->bound = out->value;
}

void weft_pairwise_min_solve(const weft_pairwise_min *m, const int *order, int64_t most_entries,
                             weft_arena *a, weft_pairwise_min_answer *out)
{
    int *state = WEFT_NEW(a, int, m->n_vars);
    size_t mark = weft_arena_mark(a);
    solver s = begin(m, order ? order : weft_pairwise_min_order(m->n_vars, m->n_pairs, m->pair, a),
                     most_entries, a);

    put_model(&s);
    for (int i = 0; i < m->n_vars; i++)
        eliminate(&s, s.e.order[i]);
    *out = (weft_pairwise_min_answer){INFINITY, s.e.bound * (1 - ROUNDING), false, state};
    if (s.e.bound < INFINITY)
        choose(&s.e, a, out);
    else
        out->is_exact = true;
    if (!(out->value < INFINITY))
        out->state = NULL;
    weft_arena_rewind(a, mark);
}
