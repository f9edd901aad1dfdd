/* SPDX-License-Identifier: MIT */
/* base_h2h.c: the solvers `h2h` and `h2h-repaired`: the mapper H2H (h2h.c) on single accelerators.
 * A re-implementation; its decisions come from its own costs, its value from the simulator.
 *
 * 1. Every accelerator is a set of its own, configured with the design with which it takes least
 *    time for all steps.
 * 2. Layers are the steps that multiply and add: convolutions, recurrent ones, products. What
 *    stands between them is passed over: a layer reads another if a way of such steps leads there.
 *    A layer goes on with the stream of the first layer it reads that nobody has gone on with; else
 *    it begins a stream.
 * 3. Costs are those of H2H: tiled designs for convolutions, rooflines for the others; devices that
 *    it does not know cost what weft says. Half of a memory may hold pinned weights. Elements have
 *    32 bits, all transfers go to the host.
 * 4. The other steps ride with what they read: the accelerator of the first operand, or of the
 * first layer behind them; if it does not support them, the best linked one that does.
 * 5. Order: layers by their starts as soon as possible, others right behind what they read.
 *
 * No guarantee, and H2H knows no limit of memory for weights that are not pinned: its plan may not
 * fit. Source: see h2h.c. */
#include "base.h"
#include "h2h.h"

#include <math.h>
#include <string.h>

static const double PINNED_SHARE = 0.5;
static const double REPAIRED_GAIN = 1e-9; /* of the latency: more than rounding */

typedef struct bridge {
    weft_base *base;
    weft_base_sets sets; /* one accelerator each */
    int n_layers;
    int *layer_of;       /* [n_steps] -1: none */
    int *step_of;        /* [n_layers] */
    int *from_at, *from; /* layers that a layer reads, as steps */
    int *stream, *place; /* [n_steps] of layers */
    int *rank;           /* [n_steps] number among the layers by stream and place */
    weft_h2h_layer *layer;
    weft_h2h_data *data;
    double *compute_s, *bits_per_s;
    int64_t *room;
    int *pred_at, *pred, *succ_at, *succ;
} bridge;

/* --- layers ----------------------------------------------------------------------------------- */

static bool has_axis(const weft_nest *n, weft_axis_kind kind)
{
    for (int i = 0; i < n->n_axes; i++) {
        if (n->axis[i].kind == kind && n->axis[i].extent > 1)
            return true;
    }
    return false;
}

static int64_t elements_of(const weft_steps *s, const weft_step_operand *list, int n)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += s->graph->tensor[list[i].tensor].elements;
    return sum;
}

/* What H2H knows of a step: its form, and what travels. */
static void describe(const weft_steps *s, int u, const weft_nest *nest, weft_h2h_layer *l,
                     weft_h2h_data *data)
{
    const weft_step *step = &s->step[u];
    weft_layer form;

    if (!has_axis(nest, WEFT_AXIS_SEQUENTIAL) && weft_layer_of_nest(nest, &form)) {
        bool is_conv = form.c > 1 || form.kh * form.kw > 1 || has_axis(nest, WEFT_AXIS_SPATIAL);

        l->kind = is_conv ? WEFT_H2H_CONV : WEFT_H2H_FC;
        l->m = form.m * form.groups;
        l->n = form.n;
        l->r = form.r * form.batch;
        l->c = form.c;
        l->k = is_conv ? form.kh * form.kw : form.r * form.batch;
        *data = weft_h2h_data_of(l);
        data->input *= form.groups;
        return;
    }
    l->kind = has_axis(nest, WEFT_AXIS_SEQUENTIAL) ? WEFT_H2H_LSTM : WEFT_H2H_FC;
    data->weights = elements_of(s, step->weight, step->n_weights);
    data->input = elements_of(s, step->operand, step->n_operands);
    for (int i = 0; i < step->n_results; i++)
        data->output += s->graph->tensor[step->result[i]].elements;
}

/* The multiply-accumulate nest of a step's head. */
static bool mac_nest(const weft_steps *s, int u, weft_nest *out)
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
static void find_layers(bridge *x)
{
    weft_base *b = x->base;
    const weft_steps *s = b->problem->steps;

    x->layer_of = WEFT_NEW(b->arena, int, s->n);
    x->step_of = WEFT_NEW(b->arena, int, s->n);
    for (int u = 0; u < s->n; u++) {
        weft_nest nest;
        bool is_layer =
            s->step[u].like < u ? x->layer_of[s->step[u].like] >= 0 : mac_nest(s, u, &nest);

        x->layer_of[u] = is_layer ? x->n_layers : -1;
        if (is_layer)
            x->step_of[x->n_layers++] = u;
    }
}

/* Layers that step u reads, through steps that are none, in order of operands, each once. */
static void find_sources(const bridge *x, int u, int reader, int *seen, int *from, int *n)
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

static void find_edges(bridge *x)
{
    weft_arena *a = x->base->arena;
    int n_steps = x->base->problem->steps->n, n = 0;
    int *seen = WEFT_NEW(a, int, n_steps), *from = WEFT_NEW(a, int, n_steps);
    WEFT_VEC(int) all = {0};

    x->from_at = WEFT_NEW(a, int, x->n_layers + 1);
    for (int u = 0; u < n_steps; u++)
        seen[u] = -1;
    for (int l = 0; l < x->n_layers; l++) {
        n = 0;
        find_sources(x, x->step_of[l], l, seen, from, &n);
        for (int i = 0; i < n; i++)
            WEFT_PUSH(a, all, from[i]);
        x->from_at[l + 1] = all.n;
    }
    x->from = all.at;
}

/* Streams and places; then layers numbered by them. */
static void find_streams(bridge *x)
{
    weft_arena *a = x->base->arena;
    int n_steps = x->base->problem->steps->n, n_streams = 0, n = 0;
    bool *is_continued = WEFT_NEW(a, bool, n_steps);

    x->stream = WEFT_NEW(a, int, n_steps);
    x->place = WEFT_NEW(a, int, n_steps);
    x->rank = WEFT_NEW(a, int, n_steps);
    for (int l = 0; l < x->n_layers; l++) {
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
        for (int l = 0; l < x->n_layers; l++) {
            if (x->stream[x->step_of[l]] == k)
                x->rank[x->step_of[l]] = n++;
        }
    }
}

/* Is the edge from v to u one along a stream? */
static bool is_along(const bridge *x, int v, int u)
{
    return x->stream[v] == x->stream[u] && x->place[v] + 1 == x->place[u];
}

/* Edges (v, u) by ranks: those along streams first, then by reader and operand. */
static int *list_edges(const bridge *x)
{
    int n_edges = x->from_at[x->n_layers], n = 0;
    int *edge = WEFT_NEW(x->base->arena, int, 2 * n_edges);

    for (int i = 0; i < 2 * x->n_layers; i++) {
        int l = i % x->n_layers, u = x->step_of[l];

        for (int j = x->from_at[l]; j < x->from_at[l + 1]; j++) {
            if (is_along(x, x->from[j], u) != (i < x->n_layers))
                continue;
            edge[n++] = x->rank[x->from[j]];
            edge[n++] = x->rank[u];
        }
    }
    return edge;
}

/* Edges by one end (key 0: where they begin, 1: where they end), in order. */
static void index_edges(const bridge *x, const int *edge, int key, int **at, int **to)
{
    weft_arena *a = x->base->arena;
    int n_edges = x->from_at[x->n_layers];
    int *next = WEFT_NEW(a, int, x->n_layers + 1);

    *at = WEFT_NEW(a, int, x->n_layers + 1);
    *to = WEFT_NEW(a, int, n_edges);
    for (int e = 0; e < n_edges; e++)
        (*at)[edge[2 * e + key] + 1]++;
    for (int l = 0; l < x->n_layers; l++)
        next[l + 1] = (*at)[l + 1] += (*at)[l];
    next[0] = 0;
    for (int e = 0; e < n_edges; e++)
        (*to)[next[edge[2 * e + key]]++] = edge[2 * e + 1 - key];
}

static void link_layers(bridge *x)
{
    const int *edge = list_edges(x);

    index_edges(x, edge, 1, &x->pred_at, &x->pred);
    index_edges(x, edge, 0, &x->succ_at, &x->succ);
}

/* --- costs ------------------------------------------------------------------------------------ */

/* A design as a device of H2H; false if it is none for this kind of layer. */
static bool device_of(const weft_design *d, weft_h2h_kind kind, weft_h2h_device *out)
{
    const double *v = d->value;

    *out = (weft_h2h_device){0};
    if (kind == WEFT_H2H_CONV && d->model == WEFT_TILED) {
        double flops = v[WEFT_P_FLOPS] > 0 && v[WEFT_P_FLOPS] < INFINITY
                           ? v[WEFT_P_FLOPS]
                           : 2 * v[WEFT_P_TM] * v[WEFT_P_TN] * v[WEFT_P_CLOCK];

        *out = (weft_h2h_device){.gop_per_s = flops / 1e9,
                                 .clock_mhz = v[WEFT_P_CLOCK] / 1e6,
                                 .port_bits = 32 * v[WEFT_P_PORT_IN],
                                 .tm = (int64_t)v[WEFT_P_TM],
                                 .tn = (int64_t)v[WEFT_P_TN],
                                 .tr = (int64_t)v[WEFT_P_TR],
                                 .tc = (int64_t)v[WEFT_P_TC],
                                 .side = (int64_t)fmax(v[WEFT_P_TR], v[WEFT_P_TC])};
        return true;
    }
    if (kind == WEFT_H2H_FC && d->model == WEFT_ROOFLINE) {
        *out = (weft_h2h_device){.gop_per_s = v[WEFT_P_FLOPS] / 1e9,
                                 .clock_mhz = 1, /* a port as wide as the memory is fast */
                                 .port_bits = 8 * v[WEFT_P_BANDWIDTH] / 1e6};
        return true;
    }
    return false;
}

static double layer_s(bridge *x, int u, int set, const weft_h2h_layer *l)
{
    const weft_team *t = &x->sets.team[set];
    double s = weft_mode_compute_s(weft_base_mode(x->base, u, t, 0));
    weft_h2h_device d;

    if (!(s < INFINITY) || l->m == 0 ||
        !device_of(weft_team_design(x->base->problem, t), l->kind, &d))
        return s;
    return weft_h2h_compute_s(l, &d);
}

static void price_layers(bridge *x)
{
    weft_arena *a = x->base->arena;
    const weft_sharding *p = x->base->problem;

    x->layer = WEFT_NEW(a, weft_h2h_layer, x->n_layers);
    x->data = WEFT_NEW(a, weft_h2h_data, x->n_layers);
    x->compute_s = WEFT_NEW(a, double, x->n_layers * x->sets.n);
    x->bits_per_s = WEFT_NEW(a, double, x->sets.n);
    x->room = WEFT_NEW(a, int64_t, x->sets.n);
    for (int i = 0; i < x->n_layers; i++) {
        int u = x->step_of[i], l = x->rank[u];
        weft_nest nest;

        mac_nest(p->steps, u, &nest);
        describe(p->steps, u, &nest, &x->layer[l], &x->data[l]);
        x->layer[l].stream = x->stream[u];
        x->layer[l].place = x->place[u];
        for (int d = 0; d < x->sets.n; d++)
            x->compute_s[l * x->sets.n + d] = layer_s(x, u, d, &x->layer[l]);
    }
    for (int d = 0; d < x->sets.n; d++) {
        weft_h2h_device memory = {.memory_bytes = weft_team_memory(p, &x->sets.team[d]),
                                  .pinned_share = PINNED_SHARE};

        x->bits_per_s[d] = 8 * x->sets.host[d].bytes_per_s;
        x->room[d] = weft_h2h_room(&memory);
    }
}

/* --- plans ------------------------------------------------------------------------------------ */

static bool can_run(const bridge *x, int u, int set)
{
    return weft_base_mode(x->base, u, &x->sets.team[set], 0)->phase_s < INFINITY;
}

/* The accelerator that runs step u and has the fastest link from `near`. */
static int nearest(const bridge *x, int u, int near)
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
static int *find_ahead(const bridge *x, const int *device)
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

/* Sets and starts of all steps from those of layers. */
static void ride(const bridge *x, const int *device, const double *start_s, weft_draft *d,
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

static bridge new_bridge(weft_base *b)
{
    bridge x = {.base = b, .sets = weft_base_singles(b)};

    for (int i = 0; i < x.sets.n; i++)
        x.sets.team[i].design = weft_base_best_design(b, &x.sets.team[i], NULL, NULL);
    find_layers(&x);
    find_edges(&x);
    find_streams(&x);
    link_layers(&x);
    price_layers(&x);
    return x;
}

static weft_status solve(const weft_sharding *p, weft_run *run, weft_h2h_rule rule,
                         weft_shards *plan, weft_proof *proof)
{
    weft_base *b = weft_base_new(p, run);
    bridge x = new_bridge(b);
    weft_h2h problem = {x.n_layers, x.sets.n, x.layer,     x.data,       x.pred_at, x.pred,
                        x.succ_at,  x.succ,   x.compute_s, x.bits_per_s, x.room};
    double *start_s = WEFT_NEW(b->arena, double, p->steps->n);
    weft_draft d = weft_draft_new(b, &x.sets);
    weft_h2h_result r;

    weft_h2h_run(&problem, &rule, run, b->arena, &r);
    ride(&x, r.device, r.is_cyclic ? NULL : r.start_s, &d, start_s);
    weft_base_offer(b, &d, start_s);
    return weft_base_finish(b, plan, proof);
}

static weft_status solve_port(const weft_sharding *p, const weft_shard_options *o, weft_run *run,
                              weft_shards *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, (weft_h2h_rule){false, 0}, plan, proof);
}

static weft_status solve_repaired(const weft_sharding *p, const weft_shard_options *o,
                                  weft_run *run, weft_shards *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, (weft_h2h_rule){true, REPAIRED_GAIN}, plan, proof);
}

const weft_shard_solver weft_shard_h2h = {
    .name = "h2h",
    .summary = "baseline: the mapper H2H on single accelerators, as its public code decides",
    .solve = solve_port,
    .applies = weft_base_is_free};

const weft_shard_solver weft_shard_h2h_repaired = {
    .name = "h2h-repaired",
    .summary = "baseline: the mapper H2H on single accelerators, with valid timetables",
    .solve = solve_repaired,
    .applies = weft_base_is_free};
