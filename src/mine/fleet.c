/* SPDX-License-Identifier: MIT */
/* fleet.c: which designs the devices of a pipeline should have: what is asked, what is answered.
 *
 * 1. Designs within the limits are listed; seconds of all kinds of units on each (fleet_time.c).
 * 2. The stages that fit (fleet_space.c); the step on the reference, partitioned in the same way.
 * 3. One design for all devices (fleet_common.c); then, if asked for, one for each stage
 *    (fleet_stages.c), from there on: never worse.
 *
 * Values are those of events; bounds hold for all designs of the lattice within the limits, all
 * partitions, and the cuts of operators that were chosen on the reference design. */
#include <math.h>
#include <string.h>

#include "fleet.h"

enum { MOST_POINTS = 2000000 };

double weft_fleet_devices(const weft_fleet *f)
{
    return (double)f->width * f->replicas;
}

double weft_fleet_throughput(const weft_fleet_search *s, const double *step_s)
{
    double sum = 0, weights = 0;

    if (s->q->n_nets == 1)
        return (double)s->q->fleet.batch / step_s[0];
    for (int i = 0; i < s->q->n_nets; i++) {
        sum += s->q->net[i]->weight * log(s->reference_s[i] / step_s[i]);
        weights += s->q->net[i]->weight;
    }
    return exp(sum / weights);
}

double weft_fleet_metric(const weft_fleet_search *s, double throughput, double tdp_w)
{
    if (!(throughput >= s->least_throughput * (1 - 1e-12)))
        return 0;
    return s->q->metric == WEFT_METRIC_PER_TDP ? throughput / tdp_w : throughput;
}

const weft_fleet_time *weft_fleet_times_at(const weft_fleet_search *s, int net, int point)
{
    return s->time[net] + (int64_t)point * s->space[net].n_kinds;
}

void weft_fleet_loads(const weft_fleet_search *s, int net, int point, weft_fleet_load *load)
{
    const weft_fleet_space *x = &s->space[net];
    const weft_fleet_time *time = weft_fleet_times_at(s, net, point);

    for (int v = 0; v < x->n_variants; v++)
        load[v] = weft_fleet_load_of(x, &x->variant[v], time);
}

/* --- what is asked -----------------------------------------------------------------------------
 */

static weft_status check_fleet(const weft_fleet *f)
{
    if (f->n_stages < 1 || f->width < 1 || f->replicas < 1)
        return weft_fail(WEFT_E_INPUT,
                         "%d stages of %d replicas of %d devices: each must be at least 1",
                         f->n_stages, f->replicas, f->width);
    if (f->batch < 1 || f->microbatch < 1 || f->batch % (f->microbatch * f->replicas) != 0)
        return weft_fail(WEFT_E_INPUT,
                         "a batch of %lld samples cannot be divided into microbatches of %lld on "
                         "%d replicas",
                         (long long)f->batch, (long long)f->microbatch, f->replicas);
    if (f->recomputes == 0 || f->recomputes >> WEFT_N_RECOMPUTES)
        return weft_fail(WEFT_E_INPUT, "no way is allowed to keep results for backward");
    if (!(f->between.bytes_per_s > 0) || !(f->inside.bytes_per_s > 0) ||
        !(f->between.latency_s >= 0) || !(f->inside.latency_s >= 0))
        return weft_fail(WEFT_E_INPUT,
                         "links need a bandwidth above 0 and a latency of at least 0");
    return WEFT_OK;
}

static weft_status check(const weft_fleet_quest *q)
{
    if (q->n_nets < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    if (q->is_per_stage && q->n_nets > 1)
        return weft_fail(WEFT_E_INPUT,
                         "a design for each stage can be asked for one network only, "
                         "%d are given",
                         q->n_nets);
    if (!(q->limits.area_mm2 > 0) || !(q->limits.tdp_w > 0))
        return weft_fail(WEFT_E_INPUT, "the limits are %g mm2 and %g W, both must be positive",
                         q->limits.area_mm2, q->limits.tdp_w);
    if (!q->template_->has_power &&
        (q->metric == WEFT_METRIC_PER_TDP || q->limits.tdp_w < INFINITY))
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' says nothing of power: neither limit it "
                         "nor divide by it, or take another template",
                         q->template_->name);
    WEFT_TRY(weft_check_per_tdp(q->template_, q->metric));
    if (!(q->least_throughput >= 0) ||
        (q->metric == WEFT_METRIC_PER_TDP && q->least_throughput == 0))
        return weft_fail(WEFT_E_INPUT,
                         "the least throughput is %g of the reference, expected more than 0 with "
                         "throughput per TDP (the smallest designs would win), else at least 0",
                         q->least_throughput);
    for (int i = 0; i < q->n_nets; i++)
        if (!(q->net[i]->weight > 0))
            return weft_fail(WEFT_E_INPUT, "%s: the weight is %g, it must be positive",
                             q->net[i]->name, q->net[i]->weight);
    return check_fleet(&q->fleet);
}

/* --- designs -----------------------------------------------------------------------------------
 */

static weft_status list_points(weft_fleet_search *s)
{
    const weft_template *t = s->q->template_;
    int64_t n = weft_template_points(t);
    WEFT_VEC(weft_point) list = {0};

    for (int64_t i = 0; i < n; i++) {
        weft_point p = weft_point_at(t, i);

        if (weft_point_area_mm2(t, &p) > s->q->limits.area_mm2 ||
            (t->has_power && weft_point_tdp_w(t, &p) > s->q->limits.tdp_w))
            continue;
        WEFT_PUSH(s->a, list, p);
        if (list.n > MOST_POINTS)
            return weft_fail(WEFT_E_INPUT,
                             "the template '%s' has more than %d designs within the limits: too "
                             "many for clusters; fewer sizes are needed",
                             t->name, (int)MOST_POINTS);
    }
    s->n_points = list.n;
    WEFT_PUSH(s->a, list, s->q->reference);
    s->point = list.at;
    s->tdp_w = WEFT_NEW(s->a, double, list.n);
    for (int i = 0; i < list.n; i++)
        s->tdp_w[i] = weft_point_tdp_w(t, &s->point[i]);
    return WEFT_OK;
}

/* --- networks ----------------------------------------------------------------------------------
 */

static weft_status add_net(weft_fleet_search *s, int i)
{
    const weft_fleet_net *net = s->q->net[i];

    if (!weft_fleet_space_new(&s->q->fleet, net, s->q->template_->hbm_bytes, s->a, &s->space[i]))
        return weft_fail(WEFT_E_INPUT, "'%s' has too many possible stages: larger units are needed",
                         net->name);
    s->desk[i] = weft_fleet_desk_new(&s->space[i], s->a);
    s->time[i] = weft_fleet_times(s->q->template_, &net->work, s->n_points + 1, s->point, s->a);
    return WEFT_OK;
}

static void add_reference(weft_fleet_search *s)
{
    for (int i = 0; i < s->q->n_nets; i++) {
        weft_fleet_load *load = WEFT_NEW(s->a, weft_fleet_load, s->space[i].n_variants + 1);
        weft_fleet_cuts cuts = weft_fleet_cuts_new(&s->space[i], s->a);
        double bound_s;

        weft_fleet_loads(s, i, s->n_points, load);
        s->reference_s[i] = weft_fleet_partition(&s->desk[i], load, &cuts, &bound_s, &s->n_plans);
    }
    s->least_throughput =
        s->q->least_throughput * (s->q->n_nets > 1 ? 1 : weft_fleet_throughput(s, s->reference_s));
}

weft_status weft_fleet_prepare(weft_fleet_search *s)
{
    int n = s->q->n_nets, n_stages = s->q->fleet.n_stages;

    WEFT_TRY(check(s->q));
    WEFT_TRY(list_points(s));
    s->space = WEFT_NEW(s->a, weft_fleet_space, n);
    s->desk = WEFT_NEW(s->a, weft_fleet_desk, n);
    s->time = WEFT_NEW(s->a, weft_fleet_time *, n);
    s->reference_s = WEFT_NEW(s->a, double, n);
    s->best.cuts = WEFT_NEW(s->a, weft_fleet_cuts, n);
    s->best.step_s = WEFT_NEW(s->a, double, n);
    s->best.bound_s = WEFT_NEW(s->a, double, n);
    s->best.point = WEFT_NEW(s->a, int, n_stages);
    for (int i = 0; i < n; i++) {
        WEFT_TRY(add_net(s, i));
        s->best.cuts[i] = weft_fleet_cuts_new(&s->space[i], s->a);
    }
    add_reference(s);
    return WEFT_OK;
}

/* --- what is answered --------------------------------------------------------------------------
 */

static weft_fleet_stage stage_of(const weft_fleet_search *s, int net, int i)
{
    const weft_fleet_space *x = &s->space[net];
    const weft_fleet_pair *p = &x->pair[s->best.cuts[net].pair[i]];
    const weft_fleet_variant *v = &x->variant[weft_fleet_variant_of(x, p, x->n_stages - i)];
    int point = s->best.point[i];
    weft_fleet_load l = weft_fleet_load_of(x, v, weft_fleet_times_at(s, net, point));
    int64_t in_flight = weft_in_flight(WEFT_ONE_F_ONE_B, x->n_stages, i, x->n_microbatches, 1);

    return (weft_fleet_stage){
        .point = s->point[point],
        .first_cut = p->inner,
        .last_cut = p->outer,
        .recompute = (weft_recompute)v->recompute,
        .forward_s = l.forward_s,
        .backward_s = l.backward_s,
        .send_s = x->send_s[p->outer],
        .return_s = x->return_s[p->outer],
        .sync_s = p->sync_s,
        .update_s = l.update_s,
        .memory_bytes = weft_fleet_memory(x, p->inner, p->outer, v->recompute, in_flight),
        .tdp_w = s->tdp_w[point],
    };
}

static weft_fleet_plan plan_of(const weft_fleet_search *s, int net, weft_arena *a)
{
    int n = s->q->fleet.n_stages;
    weft_fleet_stage *stage = WEFT_NEW(a, weft_fleet_stage, n);

    for (int i = 0; i < n; i++)
        stage[i] = stage_of(s, net, i);
    return (weft_fleet_plan){n, stage, s->best.step_s[net], s->best.bound_s[net],
                             (double)s->q->fleet.batch / s->best.step_s[net]};
}

static const char *reason_of(const weft_fleet_search *s, weft_arena *a)
{
    const weft_fleet *f = &s->q->fleet;

    if (s->n_points == 0)
        return "no design is within the limits";
    for (int i = 0; i < s->q->n_nets; i++) {
        if (f->n_stages > s->q->net[i]->units.n_units)
            return weft_arena_print(a, "%s has %d parts that can be stages, fewer than %d stages",
                                    s->q->net[i]->name, s->q->net[i]->units.n_units, f->n_stages);
        if (!(s->reference_s[i] < INFINITY))
            return weft_arena_print(a, "%s does not fit the memory of %d stages of %d devices",
                                    s->q->net[i]->name, f->n_stages, f->width);
    }
    return "no design reaches the least throughput";
}

void weft_fleet_answer(const weft_fleet_search *s, weft_arena *a, weft_fleet_found *out)
{
    weft_fleet_plan *plan;

    *out = (weft_fleet_found){
        .value = s->best.value,
        .throughput = s->best.throughput,
        .tdp_w = s->best.tdp_w,
        .bound = fmax(s->bound, s->best.value),
        .reference_throughput = weft_fleet_throughput(s, s->reference_s),
        .n_feasible = s->n_points,
        .n_partitioned = s->n_partitioned,
        .n_plans = s->n_plans,
    };
    if (!(s->best.value > 0)) {
        out->outcome = s->bound > 0 ? WEFT_UNKNOWN : WEFT_INFEASIBLE;
        out->reason = s->bound > 0 ? "no plan was found" : reason_of(s, a);
        out->gap = INFINITY;
        return;
    }
    out->gap = out->bound / out->value - 1;
    out->outcome = out->gap <= 2e-9 ? WEFT_OPTIMAL : WEFT_BOUNDED;
    plan = WEFT_NEW(a, weft_fleet_plan, s->q->n_nets);
    for (int i = 0; i < s->q->n_nets; i++)
        plan[i] = plan_of(s, i, a);
    out->plan = plan;
}

static bool has_plans(const weft_fleet_search *s)
{
    for (int i = 0; i < s->q->n_nets; i++)
        if (!(s->reference_s[i] < INFINITY))
            return false; /* whether stages fit does not depend on designs */
    return s->n_points > 0;
}

weft_status weft_mine_cluster(const weft_fleet_quest *q, weft_run *run, weft_arena *a,
                              weft_fleet_found *out)
{
    weft_fleet_search s = {.q = q, .run = run, .a = weft_arena_new()};
    weft_status status;

    run->begin_s = weft_wall_s();
    status = weft_fleet_prepare(&s);
    if (status == WEFT_OK) {
        if (has_plans(&s))
            weft_fleet_common(&s);
        if (has_plans(&s) && q->is_per_stage)
            weft_fleet_stages(&s);
        weft_fleet_answer(&s, a, out);
    }
    weft_arena_free(s.a);
    return status;
}
