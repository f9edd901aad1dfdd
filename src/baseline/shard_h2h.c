/* SPDX-License-Identifier: MIT */
/* shard_h2h.c: the solvers `h2h` and `h2h-repaired`: the mapper H2H (h2h.c) on single accelerators.
 * A re-implementation; its decisions come from its own costs, its value from the simulator.
 *
 * 1. Layers and streams: baseline_layers.c.
 * 2. Costs are those of H2H: tiled designs for convolutions, rooflines for products; devices and
 *    layers that it does not know cost what weft says. Half of a memory may hold pinned weights.
 *    Elements have 32 bits, all transfers go to the host.
 * 3. Order: layers by their starts as soon as possible; if the port's orders form a cycle, steps in
 *    their own order.
 *
 * No guarantee, and H2H knows no limit of memory for weights that are not pinned: its plan may not
 * fit. Source: see h2h.c. */
#include "baseline_layers.h"
#include "h2h.h"

#include <math.h>

static const double PINNED_SHARE = 0.5;
static const double REPAIRED_GAIN = 1e-9; /* of the latency: more than rounding */

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
        *out = (weft_h2h_device){.gop_per_s = weft_design_peak_flops(d) / 1e9,
                                 .clock_mhz = 1, /* a port as wide as the memory is fast */
                                 .port_bits = 8 * v[WEFT_P_BANDWIDTH] / 1e6};
        return true;
    }
    return false;
}

static double layer_s(const weft_layers *x, int u, int set, const weft_h2h_layer *l)
{
    const weft_device_set *t = &x->sets.device_set[set];
    double s = weft_split_compute_s(weft_baseline_split(x->base, u, t, 0));
    weft_h2h_device d;

    if (!(s < INFINITY) || l->m == 0 ||
        !device_of(weft_device_set_design(x->base->problem, t), l->kind, &d))
        return s;
    return weft_h2h_compute_s(l, &d);
}

static void price_layers(const weft_layers *x, weft_h2h_layer *layer, weft_h2h_data *data,
                         double *compute_s)
{
    const weft_steps *s = x->base->problem->steps;

    for (int i = 0; i < x->n; i++) {
        int u = x->step_of[i], l = x->rank[u];
        weft_nest nest;

        weft_layers_nest(s, u, &nest);
        describe(s, u, &nest, &layer[l], &data[l]);
        layer[l].stream = x->stream[u];
        layer[l].place = x->place[u];
        for (int d = 0; d < x->sets.n; d++)
            compute_s[l * x->sets.n + d] = layer_s(x, u, d, &layer[l]);
    }
}

static weft_h2h new_problem(const weft_layers *x)
{
    weft_arena *a = x->base->arena;
    weft_h2h_layer *layer = WEFT_NEW(a, weft_h2h_layer, x->n);
    weft_h2h_data *data = WEFT_NEW(a, weft_h2h_data, x->n);
    double *compute_s = WEFT_NEW(a, double, x->n * x->sets.n);
    double *bits_per_s = WEFT_NEW(a, double, x->sets.n);
    int64_t *room = WEFT_NEW(a, int64_t, x->sets.n);

    price_layers(x, layer, data, compute_s);
    for (int d = 0; d < x->sets.n; d++) {
        weft_h2h_device memory = {
            .memory_bytes = weft_device_set_memory(x->base->problem, &x->sets.device_set[d]),
            .pinned_share = PINNED_SHARE};

        bits_per_s[d] = 8 * x->sets.host[d].bytes_per_s;
        room[d] = weft_h2h_room(&memory);
    }
    return (weft_h2h){x->n,       x->sets.n, layer,     data,       x->pred_at, x->pred,
                      x->succ_at, x->succ,   compute_s, bits_per_s, room};
}

/* Has every layer a device that runs it, as it is configured? Mapping would not end without. */
static bool is_offered_everywhere(const weft_h2h *p)
{
    for (int l = 0; l < p->n_layers; l++) {
        bool is_offered = false;

        for (int d = 0; d < p->n_devices; d++)
            is_offered |= p->compute_s[l * p->n_devices + d] < INFINITY;
        if (!is_offered)
            return false;
    }
    return true;
}

static weft_status solve(const weft_shard_problem *p, weft_run *run, weft_h2h_rule rule,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    weft_layers x = weft_layers_new(b);
    weft_h2h problem = new_problem(&x);
    double *start_s = WEFT_NEW(b->arena, double, p->steps->n);
    weft_draft d = weft_draft_new(b, &x.sets);
    weft_h2h_result r;

    if (!is_offered_everywhere(&problem))
        return weft_baseline_finish(b, plan, proof);
    weft_h2h_run(&problem, &rule, run, b->arena, &r);
    weft_layers_ride(&x, r.device, r.is_cyclic ? NULL : r.start_s, &d, start_s);
    weft_baseline_offer(b, &d, start_s);
    return weft_baseline_finish(b, plan, proof);
}

static weft_status solve_port(const weft_shard_problem *p, const weft_shard_options *o,
                              weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, (weft_h2h_rule){false, 0}, plan, proof);
}

static weft_status solve_repaired(const weft_shard_problem *p, const weft_shard_options *o,
                                  weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, (weft_h2h_rule){true, REPAIRED_GAIN}, plan, proof);
}

const weft_shard_solver weft_shard_h2h = {
    .name = "h2h",
    .summary = "baseline: the H2H mapper on single accelerators, as in its public code",
    .solve = solve_port,
    .applies = weft_baseline_is_free};

const weft_shard_solver weft_shard_h2h_repaired = {
    .name = "h2h-repaired",
    .summary = "baseline: the H2H mapper on single accelerators, with valid timetables",
    .solve = solve_repaired,
    .applies = weft_baseline_is_free};
