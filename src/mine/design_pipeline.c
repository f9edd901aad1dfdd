/* SPDX-License-Identifier: MIT */
/* design_pipeline.c: which designs the devices of a pipeline should have: what is asked, what is answered.
 *
 * 1. Designs within the limits are listed; seconds of all kinds of units on each (design_pipeline_time.c).
 * 2. The stages that fit (design_pipeline_space.c); the step on the reference, partitioned in the same way.
 * 3. One design for all devices (design_pipeline_common.c); then, if asked for, one for each stage
 *    (design_pipeline_stages.c), from there on: never worse.
 *
 * Values are those of the simulator (design_pipeline_sim.c); bounds hold for all designs of the
 * lattice within the limits, all partitions, and the cuts of operators that were chosen on the
 * reference design. */
#include <math.h>
#include <string.h>

#include "design_pipeline.h"
#include "train_lowered.h"

enum { MOST_POINTS = 2000000 };

double weft_pipeline_devices(const weft_design_pipeline *f)
{
    return (double)f->width * f->replicas;
}

double weft_pipeline_throughput(const weft_pipeline_search *s, const double *step_s)
{
    double sum = 0, weights = 0;

    if (s->q->n_nets == 1)
        return (double)s->q->design_pipeline.batch / step_s[0];
    for (int i = 0; i < s->q->n_nets; i++) {
        sum += s->q->net[i]->weight * log(s->reference_s[i] / step_s[i]);
        weights += s->q->net[i]->weight;
    }
    return exp(sum / weights);
}

double weft_pipeline_metric(const weft_pipeline_search *s, double throughput, double tdp_w)
{
    if (!(throughput >= s->least_throughput * (1 - 1e-12)))
        return 0;
    return s->q->metric == WEFT_METRIC_PER_TDP ? throughput / tdp_w : throughput;
}

const weft_block_time *weft_block_times_at(const weft_pipeline_search *s, int net, int point)
{
    return s->time[net] + (int64_t)point * s->space[net].n_kinds;
}

void weft_stage_loads(const weft_pipeline_search *s, int net, int point, weft_stage_load *load)
{
    const weft_stage_space *x = &s->space[net];
    const weft_block_time *time = weft_block_times_at(s, net, point);

    for (int v = 0; v < x->n_variants; v++)
        load[v] = weft_stage_load_of(x, &x->variant[v], time);
}

/* --- what is asked --------------------------------------------------------------------------- */

static weft_status check_design_pipeline(const weft_design_pipeline *f)
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
    if (f->batch / (f->microbatch * f->replicas) > WEFT_MOST_TRAIN_JOBS / 5 / f->n_stages)
        return weft_fail(WEFT_E_INPUT,
                         "%lld microbatches on %d stages are more than can be simulated: larger "
                         "microbatches are needed",
                         (long long)(f->batch / (f->microbatch * f->replicas)), f->n_stages);
    if (f->recomputes == 0 || f->recomputes >> WEFT_N_RECOMPUTES)
        return weft_fail(WEFT_E_INPUT, "no way is allowed to keep results for backward");
    if (!(f->between.bytes_per_s > 0) || !(f->inside.bytes_per_s > 0) ||
        !(f->between.latency_s >= 0) || !(f->inside.latency_s >= 0))
        return weft_fail(WEFT_E_INPUT,
                         "links need a bandwidth above 0 and a latency of at least 0");
    return WEFT_OK;
}

static weft_status check(const weft_design_pipeline_objective *q)
{
    if (q->n_nets < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    if (q->is_per_stage && q->n_nets > 1)
        return weft_fail(WEFT_E_INPUT,
                         "a design for each stage can be asked for one network only, "
                         "%d are given",
                         q->n_nets);
    WEFT_TRY(weft_mine_limits_check(q->template_, &q->limits, q->metric, q->least_throughput));
    for (int i = 0; i < q->n_nets; i++)
        if (!(q->net[i]->weight > 0))
            return weft_fail(WEFT_E_INPUT, "%s: the weight is %g, it must be positive",
                             q->net[i]->name, q->net[i]->weight);
    return check_design_pipeline(&q->design_pipeline);
}

/* --- designs --------------------------------------------------------------------------------- */

static weft_status list_points(weft_pipeline_search *s)
{
    const weft_template *t = s->q->template_;
    int64_t n = weft_template_points(t);
    WEFT_VEC(weft_design_point) list = {0};

    for (int64_t i = 0; i < n; i++) {
        weft_design_point p = weft_point_at(t, i);

        if (!weft_point_fits(t, &p, &s->q->limits))
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
        s->tdp_w[i] = weft_design_point_tdp_w(t, &s->point[i]);
    return WEFT_OK;
}

/* --- networks -------------------------------------------------------------------------------- */

static weft_status add_net(weft_pipeline_search *s, int i)
{
    const weft_design_pipeline_net *net = s->q->net[i];

    if (!weft_stage_space_new(&s->q->design_pipeline, net, s->q->template_->hbm_bytes, s->a,
                              &s->space[i]))
        return weft_fail(WEFT_E_INPUT, "'%s' has too many possible stages: larger units are needed",
                         net->name);
    s->work[i] = weft_partitioner_new(&s->space[i], s->a);
    s->time[i] = weft_block_times(s->q->template_, &net->work, s->n_points + 1, s->point, s->a);
    return WEFT_OK;
}

static void add_reference(weft_pipeline_search *s)
{
    for (int i = 0; i < s->q->n_nets; i++) {
        weft_stage_load *load = WEFT_NEW(s->a, weft_stage_load, s->space[i].n_variants + 1);
        weft_partition cuts = weft_partition_new(&s->space[i], s->a);
        double bound_s;

        weft_stage_loads(s, i, s->n_points, load);
        s->reference_s[i] = weft_partition_find(&s->work[i], load, &cuts, &bound_s, &s->n_plans);
    }
    s->least_throughput = s->q->least_throughput *
                          (s->q->n_nets > 1 ? 1 : weft_pipeline_throughput(s, s->reference_s));
}

weft_status weft_pipeline_prepare(weft_pipeline_search *s)
{
    int n = s->q->n_nets, n_stages = s->q->design_pipeline.n_stages;

    WEFT_TRY(check(s->q));
    WEFT_TRY(list_points(s));
    s->space = WEFT_NEW(s->a, weft_stage_space, n);
    s->work = WEFT_NEW(s->a, weft_partitioner, n);
    s->time = WEFT_NEW(s->a, weft_block_time *, n);
    s->reference_s = WEFT_NEW(s->a, double, n);
    s->best.cuts = WEFT_NEW(s->a, weft_partition, n);
    s->best.step_s = WEFT_NEW(s->a, double, n);
    s->best.bound_s = WEFT_NEW(s->a, double, n);
    s->best.point = WEFT_NEW(s->a, int, n_stages);
    for (int i = 0; i < n; i++) {
        WEFT_TRY(add_net(s, i));
        s->best.cuts[i] = weft_partition_new(&s->space[i], s->a);
    }
    add_reference(s);
    return WEFT_OK;
}

/* --- what is answered ------------------------------------------------------------------------ */

/* The decisions of the best plan of a network. */
static weft_design_pipeline_plan plan_of(const weft_pipeline_search *s, int net, weft_arena *a)
{
    const weft_stage_space *x = &s->space[net];
    weft_design_pipeline_stage *stage = WEFT_NEW(a, weft_design_pipeline_stage, x->n_stages);

    for (int i = 0; i < x->n_stages; i++) {
        const weft_cut_pair *p = &x->pair[s->best.cuts[net].pair[i]];
        int v = weft_stage_variant_of(x, p, x->n_stages - i);

        stage[i] =
            (weft_design_pipeline_stage){.point = s->point[s->best.point[i]],
                                         .first_cut = p->inner,
                                         .last_cut = p->outer,
                                         .recompute = (weft_recompute)x->variant[v].recompute};
    }
    return (weft_design_pipeline_plan){
        .n_stages = x->n_stages, .stage = stage, .bound_s = s->best.bound_s[net]};
}

weft_status weft_pipeline_judge(const weft_pipeline_search *s, weft_design_pipeline_plan *plan,
                                weft_arena *a, weft_design_pipeline_found *out)
{
    const weft_design_pipeline_objective *q = s->q;
    double *step_s = WEFT_NEW(a, double, q->n_nets);

    for (int i = 0; i < q->n_nets; i++) {
        WEFT_TRY(weft_pipeline_simulate(q->template_, &q->design_pipeline, q->net[i], a, &plan[i]));
        step_s[i] = plan[i].step_s;
    }
    out->plan = plan;
    out->tdp_w = 0;
    for (int i = 0; i < plan[0].n_stages; i++)
        out->tdp_w += weft_pipeline_devices(&q->design_pipeline) * plan[0].stage[i].tdp_w;
    out->throughput = weft_pipeline_throughput(s, step_s);
    out->value = weft_pipeline_metric(s, out->throughput, out->tdp_w);
    return WEFT_OK;
}

static const char *reason_of(const weft_pipeline_search *s, weft_arena *a)
{
    const weft_design_pipeline *f = &s->q->design_pipeline;

    if (s->n_points == 0)
        return "no design is within the limits";
    for (int i = 0; i < s->q->n_nets; i++) {
        if (f->n_stages > s->q->net[i]->blocks.n_blocks)
            return weft_arena_print(a, "%s has %d parts that can be stages, fewer than %d stages",
                                    s->q->net[i]->name, s->q->net[i]->blocks.n_blocks, f->n_stages);
        if (!(s->reference_s[i] < INFINITY))
            return weft_arena_print(a, "%s does not fit the memory of %d stages of %d devices",
                                    s->q->net[i]->name, f->n_stages, f->width);
    }
    return "no design reaches the least throughput";
}

static weft_status answer(const weft_pipeline_search *s, weft_arena *a,
                          weft_design_pipeline_found *out)
{
    weft_design_pipeline_plan *plan;

    *out = (weft_design_pipeline_found){
        .bound = s->bound,
        .reference_throughput = weft_pipeline_throughput(s, s->reference_s),
        .n_feasible = s->n_points,
        .n_partitioned = s->n_partitioned,
        .n_plans = s->n_plans,
    };
    if (!(s->best.value > 0)) {
        out->outcome = s->bound > 0 ? WEFT_UNKNOWN : WEFT_INFEASIBLE;
        out->reason = s->bound > 0 ? "no plan was found" : reason_of(s, a);
        out->gap = INFINITY;
        return WEFT_OK;
    }
    plan = WEFT_NEW(a, weft_design_pipeline_plan, s->q->n_nets);
    for (int i = 0; i < s->q->n_nets; i++)
        plan[i] = plan_of(s, i, a);
    WEFT_TRY(weft_pipeline_judge(s, plan, a, out));
    out->bound = fmax(out->bound, out->value);
    out->gap = out->bound / out->value - 1;
    out->outcome = out->gap <= 2e-9 ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

static bool has_plans(const weft_pipeline_search *s)
{
    for (int i = 0; i < s->q->n_nets; i++)
        if (!(s->reference_s[i] < INFINITY))
            return false; /* whether stages fit does not depend on designs */
    return s->n_points > 0;
}

weft_status weft_mine_cluster(const weft_design_pipeline_objective *q, weft_run *run, weft_arena *a,
                              weft_design_pipeline_found *out)
{
    weft_pipeline_search s = {.q = q, .run = run, .a = weft_arena_new()};
    weft_status status;

    run->begin_s = weft_wall_s();
    status = weft_pipeline_prepare(&s);
    if (status == WEFT_OK) {
        if (has_plans(&s))
            weft_pipeline_common(&s);
        if (has_plans(&s) && q->is_per_stage)
            weft_pipeline_stages(&s);
        status = answer(&s, a, out);
    }
    weft_arena_free(s.a);
    return status;
}
