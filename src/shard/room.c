/* SPDX-License-Identifier: MIT */
/* room.c: splits under limits of memory, by Lagrange's relaxation.
 *
 * Weights of all steps of a set lie on its members from the start to the end: for each set i
 *
 *     W_i(x) = sum of weight bytes of steps on i  <=  C_i = memory - spare.
 *
 *  1. Without prices: if the best choice fits, it is the best that fits.
 *  2. With prices q_i >= 0 on bytes, L(q) = min_x [ T(x) + sum q_i W_i(x) ] - sum q_i C_i is a lower
 *     bound for every x that fits, since the terms added are <= 0 for it. Prices follow the
 *     subgradient W - C with Polyak's step; each round is one elimination, and its choice, if it
 *     fits, is a plan.
 *  3. If no choice fitted, prices are raised until one does, or until nothing gets smaller.
 *  4. A plan is improved step by step: every state that fits and makes the sum smaller is taken,
 *     until there is none.
 *
 * Splits that store parts of weights (cuts of channels, rotating shards) are what prices make
 * attractive. If even the smallest states of all steps together exceed the sum of all memories,
 * nothing fits: bound INFINITY. */
#include "room.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 60, RAISES = 40 };

static const double MOST_BYTES = 1e18; /* instead of no limit: differences stay finite */

typedef struct room {
    const weft_inner *in;
    const int *order;
    double *limit; /* [n_sets] C */
    double *price; /* [n_sets] q */
    double *used;  /* [n_sets] W of the last choice */
    weft_room_answer *out;
    weft_arena *a, *scratch;
} room;

static bool does_fit(const room *r)
{
    for (int i = 0; i < r->in->n_sets; i++)
        if (r->used[i] > r->limit[i])
            return false;
    return true;
}

/* One elimination at the prices; false if no choice is allowed at all. */
static bool ask(room *r)
{
    size_t mark = weft_arena_mark(r->scratch);
    weft_minsum_answer m;
    double bound, paid = 0;

    weft_inner_solve(r->in, r->order, r->price, r->scratch, &m);
    if (m.value == INFINITY) {
        r->out->bound = INFINITY;
        weft_arena_rewind(r->scratch, mark);
        return false;
    }
    for (int i = 0; i < r->in->n_sets; i++)
        paid += r->price[i] * r->limit[i];
    bound = m.bound - paid;
    r->out->bound = fmax(r->out->bound, bound);
    weft_inner_weights(r->in, m.state, r->used);
    if (does_fit(r)) {
        double value = weft_inner_value(r->in, m.state);

        if (value < r->out->value) {
            r->out->value = value;
            memcpy(r->out->state, m.state, sizeof *m.state * (size_t)r->in->model.n_vars);
        }
    }
    weft_arena_rewind(r->scratch, mark);
    return true;
}

/* Prices one step along the subgradient; false if there is none left. */
static bool move(room *r, double target)
{
    double square = 0, step;

    for (int i = 0; i < r->in->n_sets; i++) {
        double g = r->used[i] - r->limit[i];

        square += r->price[i] > 0 || g > 0 ? g * g : 0;
    }
    if (!(square > 0) || !(target > r->out->bound))
        return false;
    step = (target - r->out->bound) / square;
    for (int i = 0; i < r->in->n_sets; i++)
        r->price[i] = fmax(0, r->price[i] + step * (r->used[i] - r->limit[i]));
    return true;
}

static void search_prices(room *r, double upper, const weft_run *run)
{
    double scale = 1.2;

    for (int round = 0; round < MOST_ROUNDS && !weft_run_is_over(run); round++) {
        double before = r->out->bound;
        double known = fmin(upper, r->out->value);
        double target = known < INFINITY ? before + scale * (known - before) : before * 1.05 + 1e-12;

        if (before >= upper || r->out->value <= before * (1 + 1e-9) || !move(r, target) || !ask(r))
            return;
        if (r->out->bound <= before)
            scale = fmax(0.05, scale * 0.8);
    }
}

/* Raises prices of sets that are too full until a choice fits. */
static void force(room *r, const weft_run *run)
{
    for (int i = 0; i < r->in->n_sets; i++)
        if (!(r->price[i] > 0))
            r->price[i] = fmax(r->out->bound, 1e-9) / fmax(r->limit[i], 1) * 0.01;
    for (int k = 0; k < RAISES && r->out->value == INFINITY && !weft_run_is_over(run); k++) {
        if (!ask(r))
            return;
        for (int i = 0; i < r->in->n_sets; i++)
            if (r->used[i] > r->limit[i])
                r->price[i] *= 1.6;
    }
}

/* Seconds of step v in a state, with its edges to the others as they are. */
static double cost_around(const weft_inner *in, const int *const *pair_of, const int *n_pairs, int v,
                          int x, const int *state)
{
    double s = in->model.own[v][x];

    for (int i = 0; i < n_pairs[v]; i++) {
        const weft_minsum_pair *p = &in->model.pair[pair_of[v][i]];
        int from = p->u == v ? x : state[p->u], to = p->v == v ? x : state[p->v];

        s += p->cost[from * in->model.n_states[p->v] + to];
    }
    return s;
}

static const int *const *find_pairs(const weft_inner *in, int *n_pairs, weft_arena *a)
{
    int **pair_of = WEFT_NEW(a, int *, in->model.n_vars);

    for (int i = 0; i < in->model.n_pairs; i++) {
        n_pairs[in->model.pair[i].u]++;
        n_pairs[in->model.pair[i].v]++;
    }
    for (int v = 0; v < in->model.n_vars; v++) {
        pair_of[v] = WEFT_NEW(a, int, n_pairs[v] + 1);
        n_pairs[v] = 0;
    }
    for (int i = 0; i < in->model.n_pairs; i++) {
        const weft_minsum_pair *p = &in->model.pair[i];

        pair_of[p->u][n_pairs[p->u]++] = i;
        pair_of[p->v][n_pairs[p->v]++] = i;
    }
    return (const int *const *)pair_of;
}

/* Takes the best state of step v that fits; true if it is a better one. */
static bool improve_step(room *r, const int *const *pair_of, const int *n_pairs, int v)
{
    const weft_inner *in = r->in;
    int c = in->tables->class_of[v], now = r->out->state[v], set = weft_inner_set(in, v, now);
    double least = cost_around(in, pair_of, n_pairs, v, now, r->out->state) * (1 - 1e-12);
    int best = now;

    for (int x = 0; x < in->model.n_states[v]; x++) {
        int i = weft_inner_set(in, v, x);
        double used = r->used[i] + in->weight[c][x] - (i == set ? in->weight[c][now] : 0), s;

        if (used > r->limit[i])
            continue;
        s = cost_around(in, pair_of, n_pairs, v, x, r->out->state);
        if (s < least) {
            least = s;
            best = x;
        }
    }
    r->used[set] -= in->weight[c][now];
    r->used[weft_inner_set(in, v, best)] += in->weight[c][best];
    r->out->state[v] = best;
    return best != now;
}

static void improve(room *r, const weft_run *run)
{
    int *n_pairs = WEFT_NEW(r->scratch, int, r->in->model.n_vars);
    const int *const *pair_of = find_pairs(r->in, n_pairs, r->scratch);
    bool is_better = true;

    weft_inner_weights(r->in, r->out->state, r->used);
    while (is_better && !weft_run_is_over(run)) {
        is_better = false;
        for (int v = 0; v < r->in->model.n_vars; v++)
            is_better = improve_step(r, pair_of, n_pairs, v) || is_better;
    }
    r->out->value = weft_inner_value(r->in, r->out->state);
}

/* Do all weights, in their smallest parts, exceed all memories together? */
static bool is_hopeless(const room *r)
{
    const weft_inner *in = r->in;
    double least = 0, all = 0;

    for (int i = 0; i < in->n_sets; i++)
        all += fmax(0, r->limit[i]) * in->kind[i]->n;
    for (int v = 0; v < in->model.n_vars; v++) {
        int c = in->tables->class_of[v];
        double smallest = INFINITY;

        for (int x = 0; x < in->model.n_states[v]; x++)
            smallest = fmin(smallest,
                            in->weight[c][x] * in->kind[weft_inner_set(in, v, x)]->n);
        least += smallest;
    }
    return least > all * (1 + 1e-9);
}

void weft_room_solve(const weft_inner *in, const int *order, double spare_bytes, double upper,
                     const weft_run *run, weft_arena *a, weft_room_answer *out)
{
    room r = {.in = in, .order = order, .out = out, .a = a, .scratch = weft_arena_new()};

    *out = (weft_room_answer){INFINITY, 0, WEFT_NEW(a, int, in->model.n_vars)};
    r.limit = WEFT_NEW(r.scratch, double, in->n_sets);
    r.price = WEFT_NEW(r.scratch, double, in->n_sets);
    r.used = WEFT_NEW(r.scratch, double, in->n_sets);
    for (int i = 0; i < in->n_sets; i++)
        r.limit[i] = fmin(in->kind[i]->memory_bytes, MOST_BYTES) - spare_bytes;
    if (is_hopeless(&r))
        out->bound = INFINITY;
    else if (ask(&r) && !does_fit(&r)) {
        search_prices(&r, upper, run);
        if (out->bound < upper && out->value == INFINITY)
            force(&r, run);
        if (out->value < INFINITY)
            improve(&r, run);
    }
    out->bound = fmin(out->bound, out->value);
    weft_arena_free(r.scratch);
}
