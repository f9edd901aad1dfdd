/* SPDX-License-Identifier: MIT */
/* lanes.c: plans for a target where links do not matter.
 *
 * A segment is some layers in lanes side by side: rates that sum up to the target, and in each lane a
 * chain of nodes that pass its rate. Lanes of a segment hold equally many layers. Segments follow
 * each other; one lane is a chain. How many nodes of each class go into which lanes is a whole-number
 * program for most layers; its solution is laid out node by node and trimmed to the layers of the
 * model. What it is worth is for others to say: an engine that errs costs time, not truth. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

enum { MOST_LANES = 8, MOST_SPLITS = 120, MOST_TIGHT = 64, MOST_TREE = 4000, MOST_COLUMNS = 8000 };

static const double MOST_S = 8; /* of a program */

/* A way to divide the target. */
typedef struct split {
    int n;
    double rate[MOST_LANES];
    int first[MOST_LANES]; /* column of class 0 in each lane */
    int length;            /* column */
} split;

typedef struct plan_maker {
    const weft_serve_problem *p;
    double target;
    int n_splits, n_columns;
    split *split;
    const double *x; /* the solution */
    weft_arena *a;
    int *next;              /* [n_classes] place in the list of its nodes */
    const int *const *node; /* [n_classes] */
    weft_serve_plan plan;
    int layer;
} plan_maker;

/* --- splits ---------------------------------------------------------------------------------- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * b;
}

static void add_split(plan_maker *k, const double *rate, int n)
{
    split *s = &k->split[k->n_splits];

    if (k->n_splits == MOST_SPLITS || k->n_columns + n * k->p->n_classes > MOST_COLUMNS)
        return;
    for (int i = 0; n == 2 && i < k->n_splits; i++)
        if (k->split[i].n == 2 &&
            (is_near(k->split[i].rate[0], rate[0]) || is_near(k->split[i].rate[1], rate[0])))
            return;
    s->n = n;
    memcpy(s->rate, rate, sizeof *rate * (size_t)n);
    k->n_splits++;
    k->n_columns += n * k->p->n_classes;
}

/* Two lanes: what a node passes, and the rest. */
static void add_pairs(plan_maker *k, const weft_serve_items *items)
{
    for (int i = 0; i < items->n; i++) {
        double rate = items->item[i].rate;

        if (rate < k->target * (1 - 1e-9) && rate > 0.02 * k->target)
            add_split(k, (double[]){rate, k->target - rate}, 2);
    }
}

/* More lanes: configurations that the prices find worth it. The last lane has what is missing. */
static void add_tight(plan_maker *k, const weft_serve_pool *pool, const double *price)
{
    const int *list[MOST_TIGHT];
    int n = weft_serve_tight(pool, k->target, price, MOST_TIGHT, list);

    for (int c = 0; c < n; c++) {
        double rate[MOST_LANES], sum = 0;
        int lanes = 0;

        for (int i = 0; i < pool->items.n; i++)
            for (int j = 0; j < list[c][i]; j++)
                if (lanes < MOST_LANES)
                    rate[lanes++] = pool->items.item[i].rate;
                else
                    lanes = MOST_LANES + 1;
        if (lanes < 3 || lanes > MOST_LANES)
            continue;
        for (int i = 1; i < lanes; i++)
            sum += rate[i];
        rate[0] = k->target - sum;
        if (rate[0] > 0)
            add_split(k, rate, lanes);
    }
}

/* --- the program ----------------------------------------------------------------------------- */

/* Nodes of each class in a chain of this rate; returns the column of class 0. */
static int add_chain(plan_maker *k, weft_milp *m, double rate, int row, double cost)
{
    const weft_serve_problem *p = k->p;
    int first = weft_milp_n_columns(m);

    for (int c = 0; c < p->n_classes; c++) {
        int layers = weft_serve_layers_at(p, c, rate * (1 - WEFT_SERVE_SLACK));
        int column =
            weft_milp_column(m, NULL, 0, layers > 0 ? p->class_size[c] : 0, cost * layers, true);

        weft_milp_term(m, c, column, 1);
        if (row >= 0)
            weft_milp_term(m, row, column, -layers);
    }
    return first;
}

static weft_milp *program(plan_maker *k)
{
    const weft_serve_problem *p = k->p;
    weft_milp *m = weft_milp_new("lanes");

    for (int c = 0; c < p->n_classes; c++)
        weft_milp_row(m, NULL, -INFINITY, p->class_size[c]);
    add_chain(k, m, k->target, -1, -1);
    for (int i = 0; i < k->n_splits; i++) {
        split *s = &k->split[i];

        s->length = weft_milp_column(m, NULL, 0, p->n_layers, -1, false);
        for (int j = 0; j < s->n; j++) {
            int row = weft_milp_row(m, NULL, -INFINITY, 0);

            weft_milp_term(m, row, s->length, 1);
            s->first[j] = add_chain(k, m, s->rate[j], row, 0);
        }
    }
    return m;
}

/* --- the layout ------------------------------------------------------------------------------ */

/* Gives the nodes as many layers as they pass the rate with, `length` in all; false: there is no
 * such choice. reach[i * (length + 1) + l]: the first i nodes can hold l layers; what the last of
 * them holds, or -1. */
static bool fit(plan_maker *k, const int *node, int n, double rate, int length)
{
    int wide = length + 1, *held = WEFT_NEW(k->a, int, (n + 1) * wide);
    const weft_serve_problem *p = k->p;

    for (int i = 0; i < (n + 1) * wide; i++)
        held[i] = -1;
    held[0] = 0;
    for (int i = 0; i < n; i++)
        for (int l = 0; l <= length; l++) {
            if (held[i * wide + l] < 0)
                continue;
            held[(i + 1) * wide + l] = 0;
            for (int h = 1; h <= p->most[node[i]] && l + h <= length; h++)
                if (p->rate[node[i]][h - 1] >= rate * (1 - WEFT_SERVE_SLACK))
                    held[(i + 1) * wide + l + h] = h;
        }
    if (held[n * wide + length] < 0)
        return false;
    for (int i = n, l = length; i > 0; i--) {
        int h = held[i * wide + l];

        k->plan.end[node[i - 1]] = k->layer + l;
        k->plan.start[node[i - 1]] = k->layer + l - h;
        l -= h;
    }
    return true;
}

/* Takes the nodes of a chain from their classes. */
static int take(plan_maker *k, int first, int *node)
{
    int n = 0;

    for (int c = 0; c < k->p->n_classes; c++)
        for (int i = (int)lround(k->x[first + c]); i > 0 && k->next[c] < k->p->class_size[c]; i--)
            node[n++] = k->node[c][k->next[c]++];
    return n;
}

/* How many layers the nodes of a chain can hold. */
static int layers_of(const plan_maker *k, const int *node, int n, double rate)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += weft_serve_layers_at(k->p, k->p->class_of[node[i]], rate * (1 - WEFT_SERVE_SLACK));
    return sum;
}

static bool lay_segment(plan_maker *k, const split *s)
{
    int *node[MOST_LANES], n[MOST_LANES], length = k->p->n_layers - k->layer;

    for (int j = 0; j < s->n; j++) {
        int held;

        node[j] = WEFT_NEW(k->a, int, k->p->n_nodes);
        n[j] = take(k, s->first[j], node[j]);
        held = layers_of(k, node[j], n[j], s->rate[j]);
        length = held < length ? held : length;
    }
    for (; length > 0; length--) { /* not every length can be had where rates rise */
        bool fits = true;

        for (int j = 0; j < s->n && fits; j++)
            fits = fit(k, node[j], n[j], s->rate[j], length);
        if (fits)
            break;
    }
    for (int j = 0; length <= 0 && j < s->n; j++)
        for (int i = 0; i < n[j]; i++)
            k->plan.start[node[j][i]] = k->plan.end[node[j][i]] = 0;
    k->layer += length > 0 ? length : 0;
    return length > 0;
}

static bool lay_out(plan_maker *k)
{
    split chain = {.n = 1, .rate = {k->target}, .first = {0}};

    for (int i = 0; i < k->n_splits; i++)
        if (k->x[k->split[i].length] > 0.5)
            lay_segment(k, &k->split[i]);
    if (k->layer < k->p->n_layers)
        lay_segment(k, &chain);
    return k->layer == k->p->n_layers;
}

static const int *const *nodes_of_classes(const weft_serve_problem *p, weft_arena *a)
{
    int **list = WEFT_NEW(a, int *, p->n_classes), *n = WEFT_NEW(a, int, p->n_classes);

    for (int c = 0; c < p->n_classes; c++)
        list[c] = WEFT_NEW(a, int, p->class_size[c]);
    for (int i = 0; i < p->n_nodes; i++)
        list[p->class_of[i]][n[p->class_of[i]]++] = i;
    return (const int *const *)list;
}

static void begin_layout(plan_maker *k, const double *x)
{
    k->x = x;
    k->next = WEFT_NEW(k->a, int, k->p->n_classes);
    k->node = nodes_of_classes(k->p, k->a);
    k->plan = weft_serve_plan_new(k->p->n_nodes, k->a);
}

static void end_layout(const plan_maker *k, weft_serve_plan *out)
{
    memcpy(out->start, k->plan.start, sizeof *out->start * (size_t)out->n_nodes);
    memcpy(out->end, k->plan.end, sizeof *out->end * (size_t)out->n_nodes);
}

bool weft_serve_lanes(weft_serve_pool *pool, double target, const double *price,
                      weft_serve_plan *out)
{
    weft_arena *a = weft_arena_new();
    plan_maker k = {.p = pool->p, .target = target, .a = a};
    const weft_milp_options o = {.limit_s = fmin(weft_run_left_s(pool->run), MOST_S),
                                 .most_nodes = MOST_TREE,
                                 .part = WEFT_MILP_FIND,
                                 .stop = pool->run->stop};
    weft_milp_result r = {0};
    weft_milp *m;
    bool is_found;

    k.split = WEFT_NEW(a, split, MOST_SPLITS);
    add_tight(&k, pool, price);
    add_pairs(&k, &pool->items);
    m = program(&k);
    is_found = weft_milp_solve(m, &o, a, &r) == WEFT_OK && r.x != NULL &&
               r.value < -pool->p->n_layers + 0.5;
    weft_milp_free(m);
    if (is_found) {
        begin_layout(&k, r.x);
        is_found = lay_out(&k);
    }
    if (is_found)
        end_layout(&k, out);
    weft_arena_free(a);
    return is_found;
}

bool weft_serve_chain(const weft_serve_problem *p, double target, weft_serve_plan *out)
{
    weft_arena *a = weft_arena_new();
    plan_maker k = {.p = p, .target = target, .a = a};
    double *all = WEFT_NEW(a, double, p->n_classes);
    bool is_found;

    for (int c = 0; c < p->n_classes; c++)
        all[c] = p->class_size[c];
    begin_layout(&k, all);
    is_found = lay_out(&k);
    if (is_found)
        end_layout(&k, out);
    weft_arena_free(a);
    return is_found;
}
