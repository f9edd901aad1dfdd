/* SPDX-License-Identifier: MIT */
/* forest.c: a small random forest for regression.
 *
 * 1. Each of 24 trees sees n samples drawn with replacement.
 * 2. A node looks at two features drawn at random and, for each, at cuts between neighbouring
 *    values; it takes the cut with the least sum of squared errors. Nodes with fewer than four
 *    samples, or without a cut that helps, are leaves with the mean.
 * 3. The answer is the mean of the trees, its uncertainty their standard deviation.
 *
 * Time O(trees n log^2 n). Breiman, Machine Learning 45, 2001. */
#include <math.h>
#include <stdlib.h>

#include "baselines.h"
#include "order.h"

enum { N_TREES = 24, N_LOOKS = 2, FEWEST = 4 };

typedef struct node {
    int feature; /* -1: a leaf */
    double cut, mean;
    int below, above; /* x[feature] <= cut; else */
} node;

typedef WEFT_VEC(node) node_list;

struct weft_forest {
    node_list tree[N_TREES];
};

typedef struct pair {
    double x, y;
    int sample;
} pair;

typedef struct grower {
    const double *x, *y;
    weft_rng *rng;
    weft_arena *arena;
    node_list *out;
    pair *scratch;
} grower;

typedef struct cut {
    int feature;
    double at, error;
} cut;

static int by_x(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    return weft_order((double[]){x->x, x->sample}, (double[]){y->x, y->sample}, 2);
}

/* Tries all cuts of one feature. Error: sum of squares less what the two means explain. */
static void look(grower *g, const int *sample, int n, int feature, cut *best)
{
    double sum = 0, left = 0;

    for (int i = 0; i < n; i++) {
        g->scratch[i] = (pair){g->x[(size_t)sample[i] * WEFT_N_PARAMETERS + (size_t)feature],
                               g->y[sample[i]], sample[i]};
        sum += g->scratch[i].y;
    }
    qsort(g->scratch, (size_t)n, sizeof *g->scratch, by_x);
    for (int i = 0; i + 1 < n; i++) {
        double right, error;

        left += g->scratch[i].y;
        right = sum - left;
        error = -left * left / (i + 1) - right * right / (n - i - 1);
        if (g->scratch[i].x < g->scratch[i + 1].x && error < best->error)
            *best = (cut){feature, 0.5 * (g->scratch[i].x + g->scratch[i + 1].x), error};
    }
}

/* Puts samples at or below the cut first; their number. */
static int divide(const grower *g, int *sample, int n, const cut *c)
{
    int n_below = 0;

    for (int i = 0; i < n; i++)
        if (g->x[(size_t)sample[i] * WEFT_N_PARAMETERS + (size_t)c->feature] <= c->at) {
            int kept = sample[i];

            sample[i] = sample[n_below];
            sample[n_below++] = kept;
        }
    return n_below;
}

static double mean_of(const grower *g, const int *sample, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += g->y[sample[i]];
    return sum / n;
}

/* A node over these samples and all below it; depth is limited by the samples. */
static int grow_node(grower *g, int *sample, int n)
{
    node leaf = {.feature = -1, .mean = mean_of(g, sample, n)};
    cut best = {-1, 0, -leaf.mean * leaf.mean * n * (1 - 1e-12) - 1e-12};
    int at = g->out->n, n_below;

    WEFT_PUSH(g->arena, *g->out, leaf);
    for (int i = 0; i < N_LOOKS && n >= FEWEST; i++)
        look(g, sample, n, weft_rng_below(g->rng, WEFT_N_PARAMETERS), &best);
    if (best.feature < 0)
        return at;
    n_below = divide(g, sample, n, &best);
    g->out->at[at].feature = best.feature;
    g->out->at[at].cut = best.at;
    for (int side = 0; side < 2; side++) {
        int child =
            side == 0 ? grow_node(g, sample, n_below) : grow_node(g, sample + n_below, n - n_below);

        *(side == 0 ? &g->out->at[at].below : &g->out->at[at].above) = child;
    }
    return at;
}

weft_forest *weft_forest_grow(const double *x, const double *y, int n, weft_rng *r, weft_arena *a)
{
    weft_forest *f = WEFT_NEW(a, weft_forest, 1);
    int *sample = WEFT_NEW(a, int, n);
    grower g = {x, y, r, a, NULL, WEFT_NEW(a, pair, n)};

    for (int t = 0; t < N_TREES; t++) {
        for (int i = 0; i < n; i++)
            sample[i] = weft_rng_below(r, n);
        g.out = &f->tree[t];
        grow_node(&g, sample, n);
    }
    return f;
}

static double ask_tree(const node_list *t, const double *x)
{
    int at = 0;

    while (t->at[at].feature >= 0)
        at = x[t->at[at].feature] <= t->at[at].cut ? t->at[at].below : t->at[at].above;
    return t->at[at].mean;
}

void weft_forest_request(const weft_forest *f, const double *x, double *mean, double *deviation)
{
    double sum = 0, squares = 0;

    for (int t = 0; t < N_TREES; t++) {
        double y = ask_tree(&f->tree[t], x);

        sum += y;
        squares += y * y;
    }
    *mean = sum / N_TREES;
    *deviation = sqrt(fmax(0, squares / N_TREES - *mean * *mean));
}
