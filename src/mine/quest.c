/* SPDX-License-Identifier: MIT */
/* quest.c: what is asked, and what a design is worth.
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

#include "assay.h"

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

weft_status weft_check_per_tdp(const weft_template *t, weft_metric metric)
{
    weft_point least = {{0}};

    if (metric != WEFT_METRIC_PER_TDP || !t->has_power || weft_point_tdp_w(t, &least) > 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "the template '%s' has designs that take no power: throughput per TDP is not "
                     "limited",
                     t->name);
}

weft_status weft_quest_check(const weft_quest *q)
{
    const weft_template *t = q->template_;

    if (q->n_workloads < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    for (int i = 0; i < q->n_workloads; i++)
        WEFT_TRY(check_workload(t, &q->workload[i]));
    if (!(q->limits.area_mm2 > 0) || !(q->limits.tdp_w > 0))
        return weft_fail(WEFT_E_INPUT, "the limits are %g mm2 and %g W, both must be positive",
                         q->limits.area_mm2, q->limits.tdp_w);
    if (!t->has_power && (q->metric == WEFT_METRIC_PER_TDP || q->limits.tdp_w < INFINITY))
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' says nothing of power: neither limit it nor divide by "
                         "it, or take another template",
                         t->name);
    WEFT_TRY(weft_check_per_tdp(t, q->metric));
    if (!(q->least_throughput >= 0) ||
        (q->metric == WEFT_METRIC_PER_TDP && q->least_throughput == 0))
        return weft_fail(WEFT_E_INPUT,
                         "the least throughput is %g of the reference, expected more than 0 with "
                         "throughput per TDP (the smallest designs would win), else at least 0",
                         q->least_throughput);
    return WEFT_OK;
}

double weft_quest_throughput(const weft_quest *q, const double *step_s)
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

double weft_assay_metric(const weft_assay *s, double throughput, double tdp_w)
{
    if (!(throughput >= s->least))
        return 0;
    return s->quest.metric == WEFT_METRIC_PER_TDP ? throughput / tdp_w : throughput;
}

double weft_assay_metric_top(const weft_assay *s, double throughput, double tdp_w)
{
    bool is_rounded = throughput < s->least && throughput * (1 + WEFT_ASSAY_EXACT) >= s->least;

    return weft_assay_metric(s, is_rounded ? s->least : throughput, tdp_w);
}

double weft_quest_value(const weft_quest *q, int thread, const weft_point *p)
{
    const weft_template *t = q->template_;
    weft_arena *a = weft_arena_new();
    double *step_s = WEFT_NEW(a, double, q->n_workloads), value;
    weft_assay s = {.quest = *q};

    s.least = q->least_throughput * weft_quest_throughput(q, q->reference_s);
    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = q->workload[i].timer->step_s(q->workload[i].mill[thread], p);
    value = weft_assay_fits(&s, p)
                ? weft_assay_metric(&s, weft_quest_throughput(q, step_s), weft_point_tdp_w(t, p))
                : 0;
    weft_arena_free(a);
    return value;
}

int64_t weft_quest_feasible(const weft_quest *q)
{
    int64_t n_points = weft_template_points(q->template_), n = 0;
    weft_assay s = {.quest = *q};

    for (int64_t i = 0; i < n_points && n_points <= WEFT_ASSAY_LISTED; i++) {
        weft_point p = weft_point_at(q->template_, i);

        n += weft_assay_fits(&s, &p);
    }
    return n;
}

double weft_quest_top(const weft_quest *q)
{
    const weft_template *t = q->template_;
    weft_arena *a = weft_arena_new();
    double *step_s = WEFT_NEW(a, double, q->n_workloads), top;
    weft_space_box all = {{{0}}, {{0}}};
    bool is_empty = false;
    weft_assay s = {.quest = *q};

    for (int k = 0; k < WEFT_N_KNOBS; k++)
        all.hi.at[k] = (uint16_t)(t->n_sizes[k] - 1);
    for (int i = 0; i < q->n_workloads; i++) {
        step_s[i] = q->workload[i].timer->box_s(q->workload[i].mill[0], &all, &q->limits);
        is_empty |= !(step_s[i] < INFINITY);
    }
    top = is_empty ? 0
                   : weft_assay_metric_top(&s, weft_quest_throughput(q, step_s),
                                           weft_point_tdp_w(t, &all.lo));
    weft_arena_free(a);
    return top;
}
