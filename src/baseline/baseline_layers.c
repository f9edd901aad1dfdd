/* SPDX-License-Identifier: MIT */
/* baseline_layers.c: the layers of a network, for mappers that put single layers on single
 * accelerators.
 *
 * 1. Every accelerator is a set of its own, configured with the design with which it takes least
 *    time for all steps.
 * 2. Layers are the steps that multiply and add: convolutions, recurrent ones, products. What
 *    stands between them is passed over: a layer reads another if a way of such steps leads there.
 * 3. Streams: a layer goes on with the stream of the first layer it reads that nobody has gone on
 *    with; else it begins a stream. Layers are numbered stream by stream.
 * 4. The other steps ride with what they read: on the accelerator of the first operand, or of the
 *    first layer behind them; if it does not support them, on the best linked one that does. They
 *    come right behind what they read.
 * Time O(layers * steps). */
#include "baseline_layers.h"

#include <math.h>

bool weft_layers_nest(const weft_steps *s, int u, weft_nest *out)
{
    weft_nests nests;

    weft_node_nests(s->graph, s->step[u].node[0], &nests);
    for (int i = 0; i < nests.n; i++) {
        if (nests.nest[i].is_mac) {
            *out = nests.nest[i];
            return true;
        }
    }
    return false;
}

/* Steps with a description are layers. */
static void find_layers(weft_layers *x)
{
    weft_baseline *b = x->base;
    const weft_steps *s = b->problem->steps;

    x->layer_of = WEFT_NEW(b->arena, int, s->n);
    x->step_of = WEFT_NEW(b->arena, int, s->n);
    for (int u = 0; u < s->n; u++) {
        weft_nest nest;
        bool is_layer =
            s->step[u].like < u ? x->layer_of[s->step[u].like] >= 0 : weft_layers_nest(s, u, &nest);

        x->layer_of[u] = is_layer ? x->n : -1;
        if (is_layer)
            x->step_of[x->n++] = u;
    }
}

/* Layers that step u reads, through steps that are none, in order of operands, each once. */
static void find_sources(const weft_layers *x, int u, int reader, int *seen, int *from, int *n)
{
    const weft_step *step = &x->base->problem->steps->step[u];

    for (int k = 0; k < step->n_operands; k++) {
        int v = step->operand[k].step;

        if (v < 0 || seen[v] == reader)
            continue;
        seen[v] = reader;
        if (x->layer_of[v] >= 0)
            from[(*n)++] = v;
        else
            find_sources(x, v, reader, seen, from, n);
    }
}

static void find_edges(weft_layers *x)
{
    weft_arena *a = x->base->arena;
    int n_steps = x->base->problem->steps->n, n = 0;
    int *seen = WEFT_NEW(a, int, n_steps), *from = WEFT_NEW(a, int, n_steps);
    WEFT_VEC(int) all = {0};

    x->from_at = WEFT_NEW(a, int, x->n + 1);
    for (int u = 0; u < n_steps; u++)
        seen[u] = -1;
    for (int l = 0; l < x->n; l++) {
        n = 0;
        find_sources(x, x->step_of[l], l, seen, from, &n);
        for (int i = 0; i < n; i++)
            WEFT_PUSH(a, all, from[i]);
        x->from_at[l + 1] = all.n;
    }
    x->from = all.at;
}

/* Streams and places; then layers numbered by them. */
static void find_streams(weft_layers *x)
{
    weft_arena *a = x->base->arena;
    int n_steps = x->base->problem->steps->n, n_streams = 0, n = 0;
    bool *is_continued = WEFT_NEW(a, bool, n_steps);

    x->stream = WEFT_NEW(a, int, n_steps);
    x->place = WEFT_NEW(a, int, n_steps);
    x->rank = WEFT_NEW(a, int, n_steps);
    for (int l = 0; l < x->n; l++) {
        int u = x->step_of[l];

        for (int i = x->from_at[l]; i < x->from_at[l + 1] && x->place[u] == 0; i++) {
            int v = x->from[i];

            if (is_continued[v])
                continue;
            is_continued[v] = true;
            x->stream[u] = x->stream[v];
            x->place[u] = x->place[v] + 1;
        }
        if (x->place[u] == 0) {
            x->stream[u] = n_streams++;
            x->place[u] = 1;
        }
    }
    for (int k = 0; k < n_streams; k++) { /* in a stream, places climb with steps */
        for (int l = 0; l < x->n; l++) {
            if (x->stream[x->step_of[l]] == k)
                x->rank[x->step_of[l]] = n++;
        }
    }
}

/* Is the edge from v to u one along a stream? */
static bool is_along(const weft_layers *x, int v, int u)
{
    return x->stream[v] == x->stream[u] && x->place[v] + 1 == x->place[u];
}

/* Edges (v, u) by ranks: those along streams first, then by reader and operand. */
static int *list_edges(const weft_layers *x)
{
    int n_edges = x->from_at[x->n], n = 0;
    int *edge = WEFT_NEW(x->base->arena, int, 2 * n_edges);

    for (int i = 0; i < 2 * x->n; i++) {
        int l = i % x->n, u = x->step_of[l];

        for (int j = x->from_at[l]; j < x->from_at[l + 1]; j++) {
            if (is_along(x, x->from[j], u) != (i < x->n))
                continue;
            edge[n++] = x->rank[x->from[j]];
            edge[n++] = x->rank[u];
        }
    }
    return edge;
}

/* Edges by one end (key 0: where they begin, 1: where they end), in order. */
static void index_edges(const weft_layers *x, const int *edge, int key, int **at, int **to)
{
    weft_arena *a = x->base->arena;
    int n_edges = x->from_at[x->n];
    int *next = WEFT_NEW(a, int, x->n + 1);

    *at = WEFT_NEW(a, int, x->n + 1);
    *to = WEFT_NEW(a, int, n_edges);
    for (int e = 0; e < n_edges; e++)
        (*at)[edge[2 * e + key] + 1]++;
    for (int l = 0; l < x->n; l++)
        next[l + 1] = (*at)[l + 1] += (*at)[l];
    next[0] = 0;
    for (int e = 0; e < n_edges; e++)
        (*to)[next[edge[2 * e + key]]++] = edge[2 * e + 1 - key];
}

static void link_layers(weft_layers *x)
{
    const int *edge = list_edges(x);

    index_edges(x, edge, 1, &x->pred_at, &x->pred);
    index_edges(x, edge, 0, &x->succ_at, &x->succ);
}

/* --- plans ----------------------------------------------------------------------------------- */

static bool can_run(const weft_layers *x, int u, int set)
{
    return weft_baseline_split(x->base, u, &x->sets.device_set[set], 0)->phase_s < INFINITY;
}

/* The accelerator that runs step u and has the fastest link from `near`. */
static int nearest(const weft_layers *x, int u, int near)
{
    double best = -1;
    int at = near;

    if (can_run(x, u, near))
        return near;
    for (int d = 0; d < x->sets.n; d++) {
        double speed = d == near ? 0 : x->sets.between[near * x->sets.n + d].bytes_per_s;

        if (can_run(x, u, d) && speed > best) {
            best = speed;
            at = d;
        }
    }
    return at;
}

/* The accelerator of the first layer that reads each step, directly or not; 0: there is none. */
static int *find_ahead(const weft_layers *x, const int *device)
{
    const weft_steps *s = x->base->problem->steps;
    int *ahead = WEFT_NEW(x->base->arena, int, s->n);
    bool *is_set = WEFT_NEW(x->base->arena, bool, s->n);

    for (int v = s->n - 1; v >= 0; v--) {
        if (x->layer_of[v] >= 0) {
            ahead[v] = device[x->rank[v]];
            is_set[v] = true;
        }
        for (int k = 0; is_set[v] && k < s->step[v].n_operands; k++) {
            int u = s->step[v].operand[k].step;

            if (u >= 0) { /* the last one written is the first reader */
                ahead[u] = ahead[v];
                is_set[u] = true;
            }
        }
    }
    return ahead;
}

void weft_layers_ride(const weft_layers *x, const int *device, const double *start_s, weft_draft *d,
                      double *step_start_s)
{
    const weft_steps *s = x->base->problem->steps;
    const int *ahead = find_ahead(x, device);

    for (int u = 0; u < s->n; u++) {
        const weft_step *step = &s->step[u];
        int near = -1;

        if (x->layer_of[u] >= 0) {
            d->set_of[u] = device[x->rank[u]];
            step_start_s[u] = start_s == NULL ? u : start_s[x->rank[u]];
            continue;
        }
        step_start_s[u] = start_s == NULL ? u : 0;
        for (int k = 0; k < step->n_operands; k++) {
            int v = step->operand[k].step;

            if (v >= 0 && near < 0)
                near = d->set_of[v];
            if (v >= 0)
                step_start_s[u] = fmax(step_start_s[u], step_start_s[v]);
        }
        d->set_of[u] = nearest(x, u, near < 0 ? ahead[u] : near);
    }
}

weft_layers weft_layers_new(weft_baseline *b)
{
    weft_layers x = {.base = b, .sets = weft_baseline_singles(b)};

    for (int i = 0; i < x.sets.n; i++)
        x.sets.device_set[i].design =
            weft_baseline_best_design(b, &x.sets.device_set[i], NULL, NULL);
    find_layers(&x);
    find_edges(&x);
    find_streams(&x);
    link_layers(&x);
    return x;
}
