/* SPDX-License-Identifier: MIT */
/* diff_mine.c: two searches for accelerators side by side: what was asked otherwise, what the
 * designs are made of, what they take of area and power, and what the networks make of them.
 *
 * More is better here, and a bound is what no design has more than. As for plans: of one problem
 * the smaller bound holds for both; of two, a value above the bound of the other problem proves
 * that no design for that one is as good. Two problems are the same if template, networks, metric,
 * limits and the fleet are. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"

/* What both kinds of designs have: of one device, and of the stages of a pipeline. */
typedef struct asked {
    const weft_template *t;
    weft_metric metric;
    const weft_limits *limits;
    double least_throughput;
    int n; /* networks */
    const char **name;
    double *batch, *weight;
    uint64_t *hash;
    const char *unit, *dtype, *optimizer;
} asked;

typedef struct mined {
    weft_differ *d;
    const weft_mine_report *one[2]; /* designs of one device, or NULL */
    const weft_fleet_report *fleet[2];
    asked q[2];
} mined;

/* --- what was asked -------------------------------------------------------------------------- */

static void make_room(asked *q, int n, weft_arena *a)
{
    q->n = n;
    q->name = WEFT_NEW(a, const char *, n + 1);
    q->batch = WEFT_NEW(a, double, n + 1);
    q->weight = WEFT_NEW(a, double, n + 1);
    q->hash = WEFT_NEW(a, uint64_t, n + 1);
}

static asked asked_one(const weft_mine_report *r, weft_arena *a)
{
    const weft_quest *x = r->quest;
    asked q = {.t = x->template_,
               .metric = x->metric,
               .limits = &x->limits,
               .least_throughput = x->least_throughput,
               .unit = weft_mine_unit(x),
               .dtype = r->dtype,
               .optimizer = r->optimizer};

    make_room(&q, x->n_workloads, a);
    for (int i = 0; i < q.n; i++) {
        q.name[i] = x->workload[i].name;
        q.batch[i] = x->workload[i].batch;
        q.weight[i] = x->workload[i].weight;
        q.hash[i] = x->workload[i].hash;
    }
    return q;
}

static asked asked_fleet(const weft_fleet_report *r, weft_arena *a)
{
    const weft_fleet_quest *x = r->quest;
    asked q = {.t = x->template_,
               .metric = x->metric,
               .limits = &x->limits,
               .least_throughput = x->least_throughput,
               .unit = weft_fleet_unit(x),
               .dtype = r->dtype,
               .optimizer = r->optimizer};

    make_room(&q, x->n_nets, a);
    for (int i = 0; i < q.n; i++) {
        q.name[i] = x->net[i]->name;
        q.batch[i] = (double)x->fleet.batch;
        q.weight[i] = x->net[i]->weight;
        q.hash[i] = x->net[i]->hash;
    }
    return q;
}

static const char *networks_text(const asked *q, weft_arena *a)
{
    const char *text = "";

    for (int i = 0; i < q->n; i++)
        text = weft_arena_print(a, "%s%s%s (batch %.6g%s)", text, i == 0 ? "" : ", ", q->name[i],
                                q->batch[i],
                                q->n > 1 ? weft_arena_print(a, ", weight %.4g", q->weight[i]) : "");
    return text;
}

static const char *number_text(weft_arena *a, double x, const char *unit)
{
    return x < INFINITY ? weft_arena_print(a, "%.6g%s%s", x, *unit ? " " : "", unit) : "none";
}

static void compare(mined *g, const char *name, double x, double y, const char *unit)
{
    if (fabs(x - y) > WEFT_SAME * fmax(fabs(x), fabs(y)) || (x < INFINITY) != (y < INFINITY))
        weft_differ_setting(g->d, name, number_text(g->d->a, x, unit),
                            number_text(g->d->a, y, unit));
}

static void list_fleets(mined *g)
{
    const weft_fleet_quest *x = g->fleet[0]->quest, *y = g->fleet[1]->quest;

    weft_differ_setting(g->d, "designs", x->is_per_stage ? "one for each stage" : "one for all",
                        y->is_per_stage ? "one for each stage" : "one for all");
    compare(g, "stages", x->fleet.n_stages, y->fleet.n_stages, "");
    compare(g, "tensor width", x->fleet.width, y->fleet.width, "");
    compare(g, "replicas", x->fleet.replicas, y->fleet.replicas, "");
    compare(g, "microbatch", (double)x->fleet.microbatch, (double)y->fleet.microbatch, "samples");
    compare(g, "recomputation allowed (bits)", x->fleet.recomputes, y->fleet.recomputes, "");
    compare(g, "bandwidth inside", x->fleet.inside.bytes_per_s, y->fleet.inside.bytes_per_s, "B/s");
    compare(g, "bandwidth between", x->fleet.between.bytes_per_s, y->fleet.between.bytes_per_s,
            "B/s");
}

static void list_asks(mined *g)
{
    const asked *x = &g->q[0], *y = &g->q[1];
    weft_differ *d = g->d;

    weft_differ_setting(d, "networks", networks_text(x, d->a), networks_text(y, d->a));
    weft_differ_setting(d, "metric", x->metric == WEFT_METRIC_PER_TDP ? "per TDP" : "throughput",
                        y->metric == WEFT_METRIC_PER_TDP ? "per TDP" : "throughput");
    compare(g, "most area", x->limits->area_mm2, y->limits->area_mm2, "mm2");
    compare(g, "most power", x->limits->tdp_w, y->limits->tdp_w, "W");
    compare(g, "memory of a device", x->t->hbm_bytes, y->t->hbm_bytes, "B");
    compare(g, "least throughput", x->least_throughput, y->least_throughput, "x");
    weft_differ_setting(d, "element type", x->dtype, y->dtype);
    weft_differ_setting(d, "optimizer", x->optimizer, y->optimizer);
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        compare(g, weft_arena_print(d->a, "template %s", x->t->constant[i].name),
                x->t->constant[i].value, y->t->constant[i].value, "");
    if (g->fleet[0] != NULL)
        list_fleets(g);
}

static bool is_same_problem(const mined *g)
{
    const asked *x = &g->q[0], *y = &g->q[1];

    if (x->t->hash != y->t->hash || x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++)
        if (x->hash[i] != y->hash[i])
            return false;
    /* Everything else that counts is listed by now; solver and seed do not count. */
    for (int i = 0; i < g->d->settings.n; i++)
        if (strcmp(g->d->settings.at[i].name, "solver") != 0 &&
            strcmp(g->d->settings.at[i].name, "seed") != 0)
            return false;
    return true;
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *worth(const mined *g, int side, double value)
{
    return weft_arena_print(g->d->a, "%.4g %s", value, g->q[side].unit);
}

static const char *name_of(int side)
{
    return side == 0 ? "A" : "B";
}

static const char *claim_of(mined *g)
{
    weft_diff *o = g->d->out;
    double bound = fmin(o->bound[0], o->bound[1]), best = fmax(o->value[0], o->value[1]);
    int other = 1 - o->better;

    if (o->is_same_problem) {
        o->is_proved = best >= bound * (1 - WEFT_SAME);
        if (o->is_proved)
            return weft_arena_print(
                g->d->a, "Both are for the same problem, and no design is better%s%s: proved.",
                o->better < 0 ? "" : " than ", o->better < 0 ? "" : name_of(o->better));
        return bound < INFINITY
                   ? weft_arena_print(g->d->a,
                                      "Both are for the same problem, so each bound holds for "
                                      "both: no design has more than %s.",
                                      worth(g, 0, bound))
                   : "Both are for the same problem; no bound is known.";
    }
    if (o->better < 0)
        return "Their problems differ; which of them allows the better design is not proved.";
    o->is_proved = o->value[o->better] > o->bound[other] * (1 + WEFT_SAME);
    if (o->is_proved)
        return weft_arena_print(g->d->a,
                                "Their problems differ. Proved: no design for the problem of %s is "
                                "as good as %s; none has more than %s.",
                                name_of(other), name_of(o->better),
                                worth(g, other, o->bound[other]));
    return weft_arena_print(g->d->a,
                            "Their problems differ. Which allows the better design is not proved: "
                            "for the problem of %s there may be one of %s.",
                            name_of(other),
                            o->bound[other] < INFINITY ? worth(g, other, o->bound[other])
                                                       : "any worth");
}

static void set_values(mined *g)
{
    weft_diff *o = g->d->out;

    for (int s = 0; s < 2; s++) {
        weft_proof *proof = WEFT_NEW(g->d->a, weft_proof, 1);

        proof->outcome = g->one[s] ? g->one[s]->found->outcome : g->fleet[s]->found->outcome;
        proof->value = g->one[s] ? g->one[s]->found->value : g->fleet[s]->found->value;
        proof->bound = g->one[s] ? g->one[s]->found->bound : g->fleet[s]->found->bound;
        proof->gap = proof->bound < INFINITY ? proof->bound / proof->value - 1 : NAN;
        proof->method = g->d->side[s].origin->solver;
        o->proof[s] = proof;
        o->value[s] = proof->value;
        o->bound[s] = proof->bound;
    }
    o->is_comparable = strcmp(g->q[0].unit, g->q[1].unit) == 0;
    o->better = -1;
    o->ratio = NAN;
    if (!o->is_comparable) {
        o->claim = "The metrics differ, so the values are of different things.";
        return;
    }
    o->ratio = o->value[1] / o->value[0];
    if (fabs(o->value[0] - o->value[1]) > WEFT_SAME * fmax(o->value[0], o->value[1]))
        o->better = o->value[0] > o->value[1] ? 0 : 1;
    o->claim = claim_of(g);
}

/* --- designs --------------------------------------------------------------------------------- */

static const char *knob_text(const mined *g, int side, const weft_point *p, weft_knob k)
{
    double size = weft_knob_size(g->q[side].t, p, k);

    return k == WEFT_KNOB_BUFFER
               ? weft_unit_print(size, WEFT_UNIT_BYTES, WEFT_NEW(g->d->a, char, 48))
               : weft_arena_print(g->d->a, "%.0f", size);
}

static const char *point_text(const mined *g, int side, const weft_point *p)
{
    return weft_point_print(g->q[side].t, p, WEFT_NEW(g->d->a, char, 96));
}

static void list_knobs(mined *g)
{
    const weft_point *x = &g->one[0]->found->point, *y = &g->one[1]->found->point;

    weft_differ_decision(g->d, "design", point_text(g, 0, x), point_text(g, 1, y));
    for (int k = 0; k < WEFT_N_KNOBS; k++)
        weft_differ_decision(g->d, weft_knob_name((weft_knob)k), knob_text(g, 0, x, (weft_knob)k),
                             knob_text(g, 1, y, (weft_knob)k));
}

static const char *stage_text(const mined *g, int side, int i)
{
    const weft_fleet_plan *p = &g->fleet[side]->found->plan[0];

    if (i >= p->n_stages)
        return NULL;
    return weft_arena_print(g->d->a, "%d units on %s, computed again: %s",
                            weft_fleet_stage_units(g->fleet[side]->quest->net[0], &p->stage[i]),
                            point_text(g, side, &p->stage[i].point),
                            weft_recompute_name(p->stage[i].recompute));
}

static int stages_of(const mined *g, int side)
{
    return g->fleet[side]->found->plan[0].n_stages;
}

static void list_stages(mined *g)
{
    int most = stages_of(g, 0) > stages_of(g, 1) ? stages_of(g, 0) : stages_of(g, 1);

    for (int i = 0; i < most; i++) {
        weft_diff_place place = weft_diff_nowhere(weft_arena_print(g->d->a, "stage %d", i));

        weft_differ_decision(g->d, place.name, stage_text(g, 0, i), stage_text(g, 1, i));
        for (int s = 0; s < 2; s++) {
            const weft_fleet_stage *x = &g->fleet[s]->found->plan[0].stage[i];

            if (i >= stages_of(g, s))
                continue;
            place.forward_s[s] = x->forward_s;
            place.backward_s[s] = x->backward_s;
            place.peak_bytes[s] = x->memory_bytes;
        }
        WEFT_PUSH(g->d->a, g->d->places, place);
    }
}

/* A step of each network; of networks that both have, beside each other. */
static void list_networks(mined *g)
{
    weft_match m = weft_match_names(g->q[0].name, g->q[0].n, g->q[1].name, g->q[1].n, g->d->a);

    for (int k = 0; k < m.n; k++) {
        weft_diff_place place = weft_diff_nowhere(m.name[k]);

        for (int s = 0; s < 2; s++)
            if (m.of[s][k] >= 0) {
                place.busy_s[s] = g->one[s]->figure[m.of[s][k]].step_s;
                place.peak_bytes[s] = g->one[s]->figure[m.of[s][k]].memory_bytes;
            }
        WEFT_PUSH(g->d->a, g->d->places, place);
    }
}

static void list_figures(mined *g)
{
    weft_diff_figure throughput = {
        "throughput", "throughput", "1/s", {NAN, NAN}
    };
    weft_diff_figure area = {
        "area", "area", "mm2", {NAN, NAN}
    };
    weft_diff_figure power = {
        "tdp", "power", "W", {NAN, NAN}
    };
    weft_diff_figure step = {
        "step", "step", "s", {NAN, NAN}
    };

    for (int s = 0; s < 2; s++) {
        const weft_template *t = g->q[s].t;

        throughput.value[s] =
            g->one[s] ? g->one[s]->found->throughput : g->fleet[s]->found->throughput;
        if (g->q[s].n > 1)
            throughput.unit = "x";
        if (g->one[s] != NULL) {
            area.value[s] = weft_point_area_mm2(t, &g->one[s]->found->point);
            power.value[s] = t->has_power ? weft_point_tdp_w(t, &g->one[s]->found->point) : NAN;
        } else {
            power.value[s] = t->has_power ? g->fleet[s]->found->tdp_w : NAN;
            step.value[s] = g->fleet[s]->found->plan[0].step_s;
        }
    }
    weft_differ_figure(g->d, throughput);
    if (g->one[0] != NULL)
        weft_differ_figure(g->d, area);
    else
        weft_differ_figure(g->d, step);
    weft_differ_figure(g->d, power);
}

void weft_differ_mine(weft_differ *d)
{
    mined g = {.d = d};
    weft_diff *o = d->out;

    for (int s = 0; s < 2; s++) {
        g.one[s] = d->side[s].mine;
        g.fleet[s] = d->side[s].fleet;
        g.q[s] = g.one[s] ? asked_one(g.one[s], d->a) : asked_fleet(g.fleet[s], d->a);
    }
    o->kind = g.one[0] ? "mine" : "fleet";
    o->item = "network";
    o->is_max = true;
    o->unit = g.q[0].unit;
    o->value_name = strcmp(g.q[0].unit, g.q[1].unit) != 0  ? "value"
                    : g.q[0].metric == WEFT_METRIC_PER_TDP ? "per TDP"
                                                           : "throughput";
    list_asks(&g);
    o->is_same_problem = is_same_problem(&g);
    set_values(&g);
    if (g.one[0] != NULL) {
        list_knobs(&g);
        list_networks(&g);
    } else {
        list_stages(&g);
    }
    list_figures(&g);
}
