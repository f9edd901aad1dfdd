/* SPDX-License-Identifier: MIT */
/* objective.c: what is asked, and what a design is worth.
 *
 *   throughput of one workload    batch / step
 *   of several                    geometric mean, or least, of step(reference) / step: shares of
 *                                 the reference's throughput, so that the fastest network does
 *                                 not decide alone
 *   metric                        throughput, or throughput / TDP with a least throughput
 *
 * All of them fall when a step gets longer: lower bounds of the steps give upper bounds of the
 * metric, of single designs and, with the power of the lower corner, of boxes. */
#include <math.h>

#include "evaluator.h"

static weft_status check_workload(const weft_template *t, const weft_workload *w)
{
    char needs[32], has[32];

    if (!(w->batch > 0) || !(w->weight > 0))
        return weft_fail(WEFT_E_INPUT, "%s: batch is %g, weight is %g, both must be positive",
                         w->name, w->batch, w->weight);
    if (w->memory_bytes > t->hbm_bytes)
        return weft_fail(WEFT_E_INPUT,
                         "%s: training holds at least %s, the template '%s' has %s of memory",
                         w->name, weft_format_bytes(w->memory_bytes, needs), t->name,
                         weft_format_bytes(t->hbm_bytes, has));
    return WEFT_OK;
}

weft_status weft_mine_limits_check(const weft_template *t, const weft_limits *l, weft_metric metric,
                                   double least_throughput)
{
    weft_design_point least = {{0}};
    bool is_per_tdp = metric == WEFT_METRIC_PER_TDP;

    if (!(l->area_mm2 > 0) || !(l->tdp_w > 0))
        return weft_fail(WEFT_E_INPUT, "the limits are %g mm2 and %g W, both must be positive",
                         l->area_mm2, l->tdp_w);
    if (!t->has_power && (is_per_tdp || l->tdp_w < INFINITY))
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' says nothing of power: neither limit it nor divide by "
                         "it, or take another template",
                         t->name);
    if (is_per_tdp && !(weft_design_point_tdp_w(t, &least) > 0))
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' has designs that take no power: throughput per TDP is "
                         "not limited",
                         t->name);
    if (!(least_throughput >= 0) || (is_per_tdp && least_throughput == 0))
        return weft_fail(WEFT_E_INPUT,
                         "the least throughput is %g of the reference, expected more than 0 with "
                         "throughput per TDP (the smallest designs would win), else at least 0",
                         least_throughput);
    return WEFT_OK;
}

weft_status weft_objective_check(const weft_objective *q)
{
    if (q->n_workloads < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    for (int i = 0; i < q->n_workloads; i++)
        WEFT_TRY(check_workload(q->template_, &q->workload[i]));
    return weft_mine_limits_check(q->template_, &q->limits, q->metric, q->least_throughput);
}

double weft_objective_throughput(const weft_objective *q, const double *step_s)
{
    double sum = 0, weights = 0, worst = INFINITY;

    if (q->n_workloads == 1)
        return q->workload[0].batch / step_s[0];
    for (int i = 0; i < q->n_workloads; i++) {
        double share = q->reference_s[i] / step_s[i];

        worst = fmin(worst, share);
        sum += q->workload[i].weight * log(share);
        weights += q->workload[i].weight;
    }
    return q->blend == WEFT_BLEND_WORST ? worst : exp(sum / weights);
}

double weft_evaluator_metric(const weft_evaluator *s, double throughput, double tdp_w)
{
    if (!(throughput >= s->least))
        return 0;
    return s->objective.metric == WEFT_METRIC_PER_TDP ? throughput / tdp_w : throughput;
}

double weft_evaluator_metric_top(const weft_evaluator *s, double throughput, double tdp_w)
{
    bool is_rounded = throughput < s->least && throughput * (1 + WEFT_EVALUATOR_EXACT) >= s->least;

    return weft_evaluator_metric(s, is_rounded ? s->least : throughput, tdp_w);
}

double weft_objective_value(const weft_objective *q, int thread, const weft_design_point *p)
{
    const weft_template *t = q->template_;
    weft_arena *a = weft_arena_new();
    double *step_s = WEFT_NEW(a, double, q->n_workloads), value;
    weft_evaluator s = {.objective = *q};

    s.least = q->least_throughput * weft_objective_throughput(q, q->reference_s);
    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = q->workload[i].timer->seconds[WEFT_GAUGE_STEP](q->workload[i].eval[thread], p);
    value = weft_point_fits(t, p, &q->limits)
                ? weft_evaluator_metric(&s, weft_objective_throughput(q, step_s),
                                        weft_design_point_tdp_w(t, p))
                : 0;
    weft_arena_free(a);
    return value;
}

int64_t weft_objective_feasible(const weft_objective *q)
{
    int64_t n_points = weft_template_points(q->template_), n = 0;

    for (int64_t i = 0; i < n_points && n_points <= WEFT_EVALUATOR_LISTED; i++) {
        weft_design_point p = weft_point_at(q->template_, i);

        n += weft_point_fits(q->template_, &p, &q->limits);
    }
    return n;
}

double weft_objective_top(const weft_objective *q)
{
    weft_run run = {.n_threads = 1};
    weft_evaluator s = {.objective = *q, .run = &run, .arena = weft_arena_new()};
    double top;

    s.objective.ranks = NULL; /* others do not ask */
    top = weft_evaluator_root_top(&s);
    weft_arena_free(s.arena);
    return top;
}
