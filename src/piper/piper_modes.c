/* SPDX-License-Identifier: MIT */
/* piper_modes.c: which mode each node of a stage runs in: least time within the memory. A knapsack
 * with one choice a node.
 *
 * 1. Of each node keep the modes that no other beats in both time and memory.
 * 2. Relaxation: from the fastest modes, walk the lower convex hulls of (memory, time) by rising
 *    seconds per byte saved until the stage fits. The last step taken in part is the optimum of the
 *    relaxation (a lower bound), taken whole it is a choice (an upper bound).
 * 3. If that does not answer the question: sums of the kept modes, node by node, without those that
 *    another sum beats, and without those that no completion saves: with l the seconds per byte of
 *    the last step, a choice of time c and memory b <= M has c + l b <= best + l M if it is better
 *    than the best known, so a partial one whose c + l b plus the least c + l b of the nodes to
 * come is above that can be dropped; so can one that no completion fits into memory.
 *
 * Exact: only sums that are beaten or cannot lead to a better choice are dropped. The number of
 * sums may be exponential in the nodes; beyond max_points the bounds of step 2 stand. Steps 1 and 2
 * take O(modes log modes). Relaxation: Dantzig 1957; sums: Nemhauser and Ullmann 1969. */
#include "piper_modes.h"

#include <math.h>
#include <stdlib.h>

/* Partial choices may be off by rounding: none is dropped for less than this share. */
static const double rounding = 1e-12;

/* --- 1. modes worth a look ------------------------------------------------------------------- */

static int by_cost(const void *a, const void *b)
{
    const weft_piper_pick *x = a, *y = b;

    if (x->cost_s != y->cost_s)
        return x->cost_s < y->cost_s ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->mode > y->mode) - (x->mode < y->mode);
}

int weft_piper_picks_keep(weft_piper_pick *o, int n)
{
    int kept = 0;

    qsort(o, (size_t)n, sizeof *o, by_cost);
    for (int i = 0; i < n; i++)
        if (kept == 0 || o[i].bytes < o[kept - 1].bytes)
            o[kept++] = o[i];
    return kept;
}

/* --- 2. relaxation --------------------------------------------------------------------------- */

typedef struct step {
    double rate; /* seconds per byte saved */
    int item, from, to;
} step;

static int by_rate(const void *a, const void *b)
{
    const step *x = a, *y = b;

    if (x->rate != y->rate)
        return x->rate < y->rate ? -1 : 1;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* The steps along the hull of an item's options: from each corner to the one with the least rate,
 * the farthest one if several have it. */
static int hull_steps(const weft_piper_knapsack *k, int item, step *out)
{
    int n = 0;

    for (int from = k->at[item]; from < k->at[item + 1] - 1;) {
        step best = {INFINITY, item, from, from};

        for (int to = from + 1; to < k->at[item + 1]; to++) {
            double rate = (k->option[to].cost_s - k->option[from].cost_s) /
                          (k->option[from].bytes - k->option[to].bytes);

            if (rate <= best.rate)
                best = (step){rate, item, from, to};
        }
        out[n++] = best;
        from = best.to;
    }
    return n;
}

/* Sums of a choice, item by item in order. */
static double cost_of(const weft_piper_knapsack *k, const int *choice)
{
    double cost_s = 0;

    for (int i = 0; i < k->n_items; i++)
        cost_s += k->option[choice[i]].cost_s;
    return cost_s;
}

/* Fills least_s, best_s, choice; returns the rate of the last step. */
static double relax(const weft_piper_knapsack *k, weft_arena *scratch, weft_piper_choice *out)
{
    step *steps = WEFT_NEW(scratch, step, k->at[k->n_items]);
    double bytes = 0;
    int n = 0, i;

    for (i = 0; i < k->n_items; i++) {
        out->choice[i] = k->at[i];
        bytes += k->option[k->at[i]].bytes;
        n += hull_steps(k, i, steps + n);
    }
    out->least_s = out->best_s = cost_of(k, out->choice);
    if (bytes <= k->memory_bytes)
        return 0;
    qsort(steps, (size_t)n, sizeof *steps, by_rate);
    for (i = 0; i < n && bytes > k->memory_bytes; i++) {
        const weft_piper_pick *from = &k->option[steps[i].from], *to = &k->option[steps[i].to];

        out->least_s += fmin(bytes - k->memory_bytes, from->bytes - to->bytes) * steps[i].rate;
        bytes -= from->bytes - to->bytes;
        out->choice[steps[i].item] = steps[i].to;
    }
    out->best_s = cost_of(k, out->choice);
    if (bytes > k->memory_bytes) {
        out->least_s = out->best_s = INFINITY;
        return 0;
    }
    out->least_s = fmin(out->least_s * (1 - rounding), out->best_s);
    return steps[i - 1].rate;
}

/* --- 3. sums --------------------------------------------------------------------------------- */

typedef struct point {
    double cost_s, bytes;
    int before, option; /* index into the points of the item before */
} point;

static int by_point(const void *a, const void *b)
{
    const point *x = a, *y = b;

    if (x->cost_s != y->cost_s)
        return x->cost_s < y->cost_s ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->before != y->before)
        return x->before < y->before ? -1 : 1;
    return (x->option > y->option) - (x->option < y->option);
}

/* What is left to pay from an item on, at least. */
typedef struct rest {
    double *bytes, *priced_s; /* [n_items + 1] */
    double rate, most_s;      /* a priced sum above most_s cannot lead to a better choice */
} rest;

static rest rest_of(const weft_piper_knapsack *k, double rate, double best_s, weft_arena *scratch)
{
    rest r = {.bytes = WEFT_NEW(scratch, double, k->n_items + 1),
              .priced_s = WEFT_NEW(scratch, double, k->n_items + 1),
              .rate = rate,
              .most_s = (best_s + rate * k->memory_bytes) * (1 + rounding)};

    for (int i = k->n_items - 1; i >= 0; i--) {
        double bytes = INFINITY, priced_s = INFINITY;

        for (int o = k->at[i]; o < k->at[i + 1]; o++) {
            bytes = fmin(bytes, k->option[o].bytes);
            priced_s = fmin(priced_s, k->option[o].cost_s + rate * k->option[o].bytes);
        }
        r.bytes[i] = r.bytes[i + 1] + bytes;
        r.priced_s[i] = r.priced_s[i + 1] + priced_s;
    }
    return r;
}

/* The sums after item i from the n sums before it. */
static int extend(const weft_piper_knapsack *k, int i, const rest *r, const point *from, int n,
                  point *to)
{
    int n_to = 0, kept = 0;

    for (int j = 0; j < n; j++)
        for (int o = k->at[i]; o < k->at[i + 1]; o++) {
            point q = {from[j].cost_s + k->option[o].cost_s, from[j].bytes + k->option[o].bytes, j,
                       o};

            if (q.bytes + r->bytes[i + 1] <= k->memory_bytes &&
                q.cost_s + r->rate * q.bytes + r->priced_s[i + 1] <= r->most_s)
                to[n_to++] = q;
        }
    qsort(to, (size_t)n_to, sizeof *to, by_point);
    for (int j = 0; j < n_to; j++)
        if (kept == 0 || to[j].bytes < to[kept - 1].bytes)
            to[kept++] = to[j];
    return kept;
}

/* Replaces the choice if there is a better one; false: too many sums. */
static bool add_up(const weft_piper_knapsack *k, double rate, weft_arena *scratch,
                   weft_piper_choice *out)
{
    rest r = rest_of(k, rate, out->best_s, scratch);
    point **layer = WEFT_NEW(scratch, point *, k->n_items + 1);
    int n = 1, j = 0;

    layer[0] = WEFT_NEW(scratch, point, 1);
    for (int i = 0; i < k->n_items; i++) {
        int64_t room = (int64_t)n * (k->at[i + 1] - k->at[i]);

        if (room > k->max_points)
            return false;
        layer[i + 1] = WEFT_NEW_RAW(scratch, point, room);
        n = extend(k, i, &r, layer[i], n, layer[i + 1]);
    }
    if (n > 0 && layer[k->n_items][0].cost_s < out->best_s) { /* the first takes the least time */
        for (int i = k->n_items; i > 0; i--) {
            out->choice[i - 1] = layer[i][j].option;
            j = layer[i][j].before;
        }
        out->best_s = cost_of(k, out->choice);
    }
    out->least_s = out->best_s;
    return true;
}

bool weft_piper_choose(const weft_piper_knapsack *k, bool is_exact, weft_arena *scratch,
                       weft_piper_choice *out)
{
    size_t mark = weft_arena_mark(scratch);
    double rate = relax(k, scratch, out);
    bool is_done = out->least_s == out->best_s;

    if (!is_done && is_exact)
        is_done = add_up(k, rate, scratch, out);
    weft_arena_rewind(scratch, mark);
    return is_done;
}
