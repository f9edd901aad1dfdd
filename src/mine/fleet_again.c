/* SPDX-License-Identifier: MIT */
/* fleet_again.c: what a plan of designs and stages is worth, from its decisions alone.
 *
 * 1. Designs, times and stages that fit are made as the search makes them (fleet.c); nothing is
 *    searched but the partition on the reference design, which throughputs are relative to.
 * 2. Every stage of the plan must be one of these, on a design within the limits; stages follow
 *    one another. Of the recomputations with which a stage fits it has the quickest.
 * 3. The step by events.
 *
 * The bound: every unit takes at least what it takes on the design that is quickest for its kind.
 * With l the sum of these, s stages take at least l / (1 - (1 - 1/m)^s) (train/pipe_bound.c), and m
 * times the largest unit; devices take at least the power of the least design. Valid for common
 * designs and for those of stages.
 *
 * Cost: times of all designs within the limits, and one plan. */
#include <math.h>
#include <string.h>

#include "fleet.h"
#include "space.h"

/* --- decisions ------------------------------------------------------------------------------- */

static int find_point(const weft_fleet_search *s, const weft_point *p)
{
    for (int i = 0; i < s->n_points; i++)
        if (memcmp(&s->point[i], p, sizeof *p) == 0)
            return i;
    return -1;
}

static int find_pair(const weft_fleet_space *x, int inner, int outer)
{
    for (int p = x->pair_at[inner]; p < x->pair_at[inner + 1]; p++)
        if (x->pair[p].outer == outer)
            return p;
    return -1;
}

static weft_status settle_stage(weft_fleet_search *s, int net, const weft_fleet_plan *plan, int i)
{
    const weft_fleet_space *x = &s->space[net];
    const weft_fleet_stage *stage = &plan->stage[i];
    const char *name = s->q->net[net]->name;
    int begin = i == 0 ? 0 : plan->stage[i - 1].last_cut, pair = -1;
    int point = find_point(s, &stage->point);

    if (stage->first_cut != begin ||
        (i + 1 == plan->n_stages) != (stage->last_cut == x->n_cuts - 1))
        return weft_fail(WEFT_E_INPUT,
                         "%s: stage %d lies between cuts %d and %d, expected it to begin at %d%s",
                         name, i, stage->first_cut, stage->last_cut, begin,
                         i + 1 == plan->n_stages ? " and to end at the last one" : "");
    if (stage->last_cut < x->n_cuts)
        pair = find_pair(x, stage->first_cut, stage->last_cut);
    if (pair < 0 || weft_fleet_variant_of(x, &x->pair[pair], x->n_stages - i) < 0)
        return weft_fail(
            WEFT_E_INPUT,
            "%s: stage %d, between cuts %d and %d, is none, or does not fit the memory "
            "of its devices",
            name, i, stage->first_cut, stage->last_cut);
    if (point < 0)
        return weft_fail(WEFT_E_INPUT, "%s: the design of stage %d is not within the limits", name,
                         i);
    if (net > 0 && point != s->best.point[i])
        return weft_fail(WEFT_E_INPUT,
                         "%s: stage %d has another design than that of the first network", name, i);
    s->best.cuts[net].pair[i] = pair;
    s->best.point[i] = point;
    return WEFT_OK;
}

static weft_status settle_designs(const weft_fleet_search *s)
{
    for (int i = 1; i < s->q->fleet.n_stages && !s->q->is_per_stage; i++)
        if (s->best.point[i] != s->best.point[0])
            return weft_fail(WEFT_E_INPUT,
                             "stage %d has another design than stage 0, expected one for all", i);
    return WEFT_OK;
}

static double step_of(weft_fleet_search *s, int net)
{
    const weft_fleet_space *x = &s->space[net];
    weft_fleet_load *load = WEFT_NEW(s->a, weft_fleet_load, x->n_stages);

    for (int i = 0; i < x->n_stages; i++) {
        const weft_fleet_pair *p = &x->pair[s->best.cuts[net].pair[i]];
        int v = weft_fleet_variant_of(x, p, x->n_stages - i);

        load[i] =
            weft_fleet_load_of(x, &x->variant[v], weft_fleet_times_at(s, net, s->best.point[i]));
    }
    return weft_fleet_step_s(x, &s->best.cuts[net], load, s->a);
}

static weft_status settle(weft_fleet_search *s, const weft_fleet_found *plan)
{
    s->best.tdp_w = 0;
    for (int i = 0; i < s->q->n_nets; i++) {
        for (int k = 0; k < plan->plan[i].n_stages; k++)
            WEFT_TRY(settle_stage(s, i, &plan->plan[i], k));
        s->best.step_s[i] = step_of(s, i);
        s->best.bound_s[i] = plan->plan[i].bound_s;
    }
    WEFT_TRY(settle_designs(s));
    for (int i = 0; i < s->q->fleet.n_stages; i++)
        s->best.tdp_w += weft_fleet_devices(&s->q->fleet) * s->tdp_w[s->best.point[i]];
    s->best.throughput = weft_fleet_throughput(s, s->best.step_s);
    s->best.value = weft_fleet_metric(s, s->best.throughput, s->best.tdp_w);
    if (!(s->best.value > 0))
        return weft_fail(WEFT_E_INPUT, "the throughput is %.12g, below the least one, %.12g",
                         s->best.throughput, s->least_throughput);
    return WEFT_OK;
}

/* --- bound ----------------------------------------------------------------------------------- */

/* The least forward, backward and recomputation of a kind on any design. */
static double least_load_s(const weft_fleet_search *s, int net, int kind, int recompute)
{
    double least = INFINITY;

    for (int p = 0; p < s->n_points; p++) {
        const weft_fleet_time *t = weft_fleet_times_at(s, net, p) + kind;

        least = fmin(least, t->forward_s + t->backward_s + t->again_s[recompute]);
    }
    return least;
}

static double floor_s(const weft_fleet_search *s, int net)
{
    const weft_fleet_space *x = &s->space[net];
    const weft_unit_work *w = &x->net->work;
    double *least = WEFT_NEW(s->a, double, w->n_kinds + 1), all_s = 0, most_s = 0;
    int r = 0;

    while (!(x->fleet->recomputes >> r & 1))
        r++;
    for (int k = 0; k < w->n_kinds; k++)
        least[k] = least_load_s(s, net, k, r);
    for (int u = 0; u < x->net->units.n_units; u++) {
        all_s += least[w->kind_of[u]];
        most_s = fmax(most_s, least[w->kind_of[u]]);
    }
    return fmax(weft_pipe_fill_s(all_s, x->n_microbatches, x->n_stages),
                (double)x->n_microbatches * most_s);
}

static double top_of(const weft_fleet_search *s)
{
    double *step_s = WEFT_NEW(s->a, double, s->q->n_nets), tdp_w = INFINITY;

    for (int i = 0; i < s->q->n_nets; i++)
        step_s[i] = floor_s(s, i);
    for (int p = 0; p < s->n_points; p++)
        tdp_w = fmin(tdp_w, s->tdp_w[p]);
    return weft_fleet_metric(s, weft_fleet_throughput(s, step_s),
                             weft_fleet_devices(&s->q->fleet) * s->q->fleet.n_stages * tdp_w);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Before anything is made that grows with the number of stages. */
static weft_status check_stages(const weft_fleet_quest *q)
{
    for (int i = 0; i < q->n_nets; i++)
        if (q->fleet.n_stages > q->net[i]->units.n_units)
            return weft_fail(WEFT_E_INPUT, "%s has %d parts that can be stages, fewer than %d",
                             q->net[i]->name, q->net[i]->units.n_units, q->fleet.n_stages);
    return WEFT_OK;
}

weft_status weft_fleet_measure(const weft_fleet_quest *q, weft_arena *a, weft_fleet_found *plan,
                               double *top)
{
    weft_fleet_search s = {.q = q, .a = weft_arena_new()};
    weft_fleet_found claimed = *plan;
    weft_status status = check_stages(q);

    if (status == WEFT_OK)
        status = weft_fleet_prepare(&s);
    if (status == WEFT_OK)
        status = settle(&s, plan);
    if (status == WEFT_OK) {
        weft_fleet_answer(&s, a, plan);
        *top = top_of(&s);
        plan->outcome = claimed.outcome;
        plan->bound = claimed.bound;
        plan->gap = claimed.bound / plan->value - 1;
        plan->n_partitioned = claimed.n_partitioned;
        plan->n_plans = claimed.n_plans;
    }
    weft_arena_free(s.a);
    return status;
}
