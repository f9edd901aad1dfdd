/* SPDX-License-Identifier: MIT */
/* inner.c: the best splits for a given configuration, by elimination of variables.
 *
 * A variable is a step, its states are the pairs (set, split over its members). With one step at a
 * time the latency is
 *
 *     sum of own seconds (mode, host)  +  sum over edges of reshard or handover seconds,
 *
 * a sum over single steps and pairs of steps: weft_pairwise_min_solve finds the least one exactly, as far
 * as its tables go. Steps and edges of one class share their tables, so equal blocks of a network
 * are eliminated once. A price on weights is added to own seconds: with multipliers on the memory
 * of sets this is Lagrange's relaxation (memory_limit.c). */
#include "inner.h"

#include <math.h>
#include <string.h>

/* Does a step alone exceed the memory of a member? While it runs, its weights, operands, results
 * and buffers are there, whatever the other steps do. */
static bool is_too_large(const weft_split_cost *m, const weft_set_kind *kind)
{
    return weft_split_cost_s(m, &kind->link, true) > 0 &&
           m->weight_bytes + m->operand_bytes + m->result_bytes + m->extra_bytes >
               kind->memory_bytes;
}

static void find_states(weft_inner *in, weft_arena *a)
{
    weft_tables *t = in->tables;

    in->at = WEFT_NEW(a, int, t->n_classes *(in->n_sets + 1));
    in->own = WEFT_NEW(a, double *, t->n_classes);
    in->weight = WEFT_NEW(a, double *, t->n_classes);
    for (int c = 0; c < t->n_classes; c++) {
        int *at = in->at + c * (in->n_sets + 1);

        for (int i = 0; i < in->n_sets; i++)
            at[i + 1] = at[i] + weft_tables_choices(t, c, in->kind[i]->n)->n;
        in->own[c] = WEFT_NEW_RAW(a, double, at[in->n_sets]);
        in->weight[c] = WEFT_NEW_RAW(a, double, at[in->n_sets]);
        for (int i = 0; i < in->n_sets; i++) {
            const weft_split_cost *m = weft_tables_costs(
                t, c, in->kind[i]->n, weft_device_set_design(t->problem, &in->kind[i]->device_set));

            for (int k = 0; k < at[i + 1] - at[i]; k++) {
                in->own[c][at[i] + k] = is_too_large(&m[k], in->kind[i])
                                            ? INFINITY
                                            : weft_tables_own_s(t, c, in->kind[i], k);
                in->weight[c][at[i] + k] = m[k].weight_bytes;
            }
        }
    }
}

/* Seconds of an edge inside set i, rows of `table` that are n_to long. */
static void fill_inside(const weft_inner *in, int edge_class, int i, double *table, int n_to)
{
    weft_tables *t = in->tables;
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    const int *from = in->at + t->class_of[e->from] * (in->n_sets + 1) + i;
    const int *to = in->at + t->class_of[e->to] * (in->n_sets + 1) + i;
    const double *bytes = weft_tables_reshard(t, edge_class, in->kind[i]->n);
    int n = to[1] - to[0];

    for (int x = 0; x < from[1] - from[0]; x++)
        for (int y = 0; y < n; y++)
            table[(from[0] + x) * n_to + to[0] + y] =
                t->problem->hides ? weft_tables_inside_s(t, edge_class, in->kind[i], x, y)
                                  : weft_reshard_s(&in->kind[i]->link, bytes[x * n + y]);
}

static double *edge_table(const weft_inner *in, int edge_class, const weft_link_cost *link,
                          weft_arena *a)
{
    weft_tables *t = in->tables;
    const weft_shard_edge *e = &t->edge[t->edge_first[edge_class]];
    const int *from = in->at + t->class_of[e->from] * (in->n_sets + 1);
    const int *to = in->at + t->class_of[e->to] * (in->n_sets + 1);
    int n_to = to[in->n_sets];
    double *table = WEFT_NEW_RAW(a, double, from[in->n_sets] * n_to);

    for (int i = 0; i < in->n_sets; i++) {
        fill_inside(in, edge_class, i, table, n_to);
        for (int k = 0; k < in->n_sets; k++)
            for (int y = 0; y < to[k + 1] - to[k] && k != i; y++) {
                double s = weft_tables_between_s(t, edge_class, &link[i * in->n_sets + k],
                                                 in->kind[i]->n, in->kind[k]->n, y);

                for (int x = from[i]; x < from[i + 1]; x++)
                    table[x * n_to + to[k] + y] = s;
            }
    }
    return table;
}

/* 0 where the sets of two steps that follow each other do so in the order of ranks. */
static double *rank_table(const weft_inner *in, int u, int v, const int *rank, weft_arena *a)
{
    const int *from = in->at + in->tables->class_of[u] * (in->n_sets + 1);
    const int *to = in->at + in->tables->class_of[v] * (in->n_sets + 1);
    int n_to = to[in->n_sets];
    double *table = WEFT_NEW(a, double, from[in->n_sets] * n_to);

    for (int i = 0; i < in->n_sets; i++)
        for (int k = 0; k < in->n_sets; k++)
            for (int x = from[i]; x < from[i + 1] && rank[k] < rank[i]; x++)
                for (int y = to[k]; y < to[k + 1]; y++)
                    table[x * n_to + y] = INFINITY;
    return table;
}

static void add_pairs(weft_inner *in, const int *rank, weft_arena *a)
{
    weft_tables *t = in->tables;
    int n_steps = t->problem->steps->n, n = 0;
    double **table = WEFT_NEW(a, double *, t->n_edge_classes + 1);
    double **order = WEFT_NEW(a, double *, rank ? t->n_classes * t->n_classes : 1);
    weft_link_cost *link = WEFT_NEW(a, weft_link_cost, in->n_sets * in->n_sets);
    weft_pairwise_min_pair *pair = WEFT_NEW(a, weft_pairwise_min_pair, t->n_edges + n_steps);

    for (int i = 0; i < in->n_sets; i++)
        for (int k = 0; k < in->n_sets; k++)
            if (i != k)
                link[i * in->n_sets + k] =
                    weft_pair_link_cost(t->problem, &in->device_set[i], &in->device_set[k]);
    for (int e = 0; e < t->n_edges; e++) {
        int c = t->edge[e].class_of;

        if (table[c] == NULL)
            table[c] = edge_table(in, c, link, a);
        pair[n++] = (weft_pairwise_min_pair){t->edge[e].from, t->edge[e].to, table[c]};
    }
    for (int v = 1; rank && v < n_steps; v++) {
        int c = t->class_of[v - 1] * t->n_classes + t->class_of[v];

        if (order[c] == NULL)
            order[c] = rank_table(in, v - 1, v, rank, a);
        pair[n++] = (weft_pairwise_min_pair){v - 1, v, order[c]};
    }
    in->model.pair = pair;
    in->model.n_pairs = n;
}

weft_inner *weft_inner_new(weft_tables *t, const weft_configurations *s, int config,
                           const int *rank, weft_arena *a)
{
    weft_inner *in = WEFT_NEW(a, weft_inner, 1);
    int n_steps = t->problem->steps->n, *n_states = WEFT_NEW(a, int, n_steps);
    const double **own = WEFT_NEW(a, const double *, n_steps);

    in->tables = t;
    in->configs = s;
    in->config = config;
    in->n_sets = s->config[config].n_sets;
    in->kind = WEFT_NEW(a, const weft_set_kind *, in->n_sets);
    in->device_set = WEFT_NEW(a, weft_device_set, in->n_sets);
    for (int i = 0; i < in->n_sets; i++)
        in->kind[i] = &s->kind[s->config[config].kind[i]];
    weft_configuration_device_sets(t->problem, s, config, in->device_set);
    find_states(in, a);
    for (int v = 0; v < n_steps; v++) {
        n_states[v] = in->at[t->class_of[v] * (in->n_sets + 1) + in->n_sets];
        own[v] = in->own[t->class_of[v]];
    }
    in->most_entries = 1 << 17;
    in->model.n_vars = n_steps;
    in->model.n_states = n_states;
    in->model.own = own;
    add_pairs(in, rank, a);
    return in;
}

/* Own seconds with what weights cost, for each class. */
static double **add_prices(const weft_inner *in, const double *price, weft_arena *a)
{
    const weft_tables *t = in->tables;
    double **priced = WEFT_NEW(a, double *, t->n_classes);

    for (int c = 0; c < t->n_classes; c++) {
        const int *at = in->at + c * (in->n_sets + 1);

        priced[c] = WEFT_NEW_RAW(a, double, at[in->n_sets]);
        for (int i = 0; i < in->n_sets; i++)
            for (int x = at[i]; x < at[i + 1]; x++)
                priced[c][x] = in->own[c][x] + price[i] * in->weight[c][x];
    }
    return priced;
}

/* Own seconds of a step that must run on a set. */
static const double *restrict_own(const weft_inner *in, int v, const double *own, int set,
                                  weft_arena *a)
{
    const int *at = in->at + in->tables->class_of[v] * (in->n_sets + 1);
    double *only = WEFT_NEW_RAW(a, double, at[in->n_sets]);

    for (int x = 0; x < at[in->n_sets]; x++)
        only[x] = x >= at[set] && x < at[set + 1] ? own[x] : INFINITY;
    return only;
}

void weft_inner_solve(const weft_inner *in, const weft_inner_request *request, weft_arena *a,
                      weft_pairwise_min_answer *out)
{
    weft_pairwise_min m = in->model;
    const double **own = WEFT_NEW(a, const double *, m.n_vars);
    double **priced = request->price ? add_prices(in, request->price, a) : in->own;

    for (int v = 0; v < m.n_vars; v++) {
        own[v] = priced[in->tables->class_of[v]];
        if (request->set_of && request->set_of[v] >= 0)
            own[v] = restrict_own(in, v, own[v], request->set_of[v], a);
    }
    m.own = own;
    weft_pairwise_min_solve(&m, request->order, in->most_entries, a, out);
}

int weft_inner_set(const weft_inner *in, int step, int state)
{
    const int *at = in->at + in->tables->class_of[step] * (in->n_sets + 1);
    int i = 0;

    while (state >= at[i + 1])
        i++;
    return i;
}

double weft_inner_value(const weft_inner *in, const int *state)
{
    double sum = 0;

    for (int v = 0; v < in->model.n_vars; v++)
        sum += in->model.own[v][state[v]];
    for (int i = 0; i < in->model.n_pairs; i++) {
        const weft_pairwise_min_pair *p = &in->model.pair[i];

        sum += p->cost[state[p->u] * in->model.n_states[p->v] + state[p->v]];
    }
    return sum;
}

void weft_inner_weights(const weft_inner *in, const int *state, double *bytes)
{
    memset(bytes, 0, sizeof *bytes * (size_t)in->n_sets);
    for (int v = 0; v < in->model.n_vars; v++)
        bytes[weft_inner_set(in, v, state[v])] += in->weight[in->tables->class_of[v]][state[v]];
}

weft_shard_plan weft_inner_plan(const weft_inner *in, const int *state, weft_arena *a)
{
    weft_tables *t = in->tables;
    int n = in->model.n_vars;
    weft_shard_plan s = weft_shard_plan_new(in->n_sets, n, a);

    memcpy(s.set, in->device_set, sizeof *s.set * (size_t)in->n_sets);
    for (int v = 0; v < n; v++) {
        int i = weft_inner_set(in, v, state[v]), c = t->class_of[v];

        s.set_of[v] = i;
        s.split[v] = weft_tables_choices(t, c, in->kind[i]->n)
                         ->split[state[v] - in->at[c * (in->n_sets + 1) + i]];
        s.start_s[v] = v;
    }
    return s;
}
