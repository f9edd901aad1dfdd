/* SPDX-License-Identifier: MIT */
/* design_pipeline_check.c: is a plan of designs and stages legal, and what is it worth?
 *
 * 1. Stages follow one another from the first cut to the last, keep results in a way that is
 *    allowed, and have designs within the limits.
 * 2. The simulator says what they take and hold (design_pipeline_sim.c), from these decisions alone;
 *    each must fit the memory.
 * 3. Throughputs relative to the reference need its partition, which is searched for again.
 *
 * The bound: every block takes at least what it takes on the design that is quickest for its kind.
 * With l the sum of these, s stages take at least l / (1 - (1 - 1/m)^s) (train/pipe_bound.c), and m
 * times the largest block; devices take at least the power of the least design. Valid for common
 * designs and for those of stages.
 *
 * Cost: times of all designs within the limits, and one plan. */
#include <math.h>
#include <string.h>

#include "design_pipeline.h"

/* --- rules ----------------------------------------------------------------------------------- */

static weft_status check_stage(const weft_design_pipeline_objective *q, int net,
                               const weft_design_pipeline_found *found, int i)
{
    const weft_design_pipeline_plan *plan = &found->plan[net];
    const weft_design_pipeline_stage *stage = &plan->stage[i];
    const weft_blocks *u = &q->net[net]->blocks;
    const char *name = q->net[net]->name;
    int begin = i == 0 ? 0 : plan->stage[i - 1].last_cut;

    if (stage->first_cut != begin ||
        (i + 1 == plan->n_stages) != (stage->last_cut == u->n_cuts - 1))
        return weft_fail(WEFT_E_INPUT,
                         "%s: stage %d lies between cuts %d and %d, expected it to begin at %d%s",
                         name, i, stage->first_cut, stage->last_cut, begin,
                         i + 1 == plan->n_stages ? " and to end at the last one" : "");
    if (stage->last_cut >= u->n_cuts || stage->last_cut <= begin ||
        !weft_cut_within(u, begin, stage->last_cut) ||
        !(q->design_pipeline.recomputes >> stage->recompute & 1))
        return weft_fail(WEFT_E_INPUT,
                         "%s: stage %d, between cuts %d and %d, is none, or keeps results in a way "
                         "that is not allowed",
                         name, i, stage->first_cut, stage->last_cut);
    if (!weft_point_fits(q->template_, &stage->point, &q->limits))
        return weft_fail(WEFT_E_INPUT, "%s: the design of stage %d is not within the limits", name,
                         i);
    if (memcmp(&stage->point, &found->plan[0].stage[i].point, sizeof stage->point) != 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s: stage %d has another design than that of the first network", name, i);
    if (!q->is_per_stage && memcmp(&stage->point, &plan->stage[0].point, sizeof stage->point) != 0)
        return weft_fail(WEFT_E_INPUT,
                         "stage %d has another design than stage 0, expected one for all", i);
    return WEFT_OK;
}

static weft_status check_plans(const weft_design_pipeline_objective *q,
                               const weft_design_pipeline_found *found)
{
    for (int i = 0; i < q->n_nets; i++)
        for (int k = 0; k < found->plan[i].n_stages; k++)
            WEFT_TRY(check_stage(q, i, found, k));
    return WEFT_OK;
}

/* What only the simulator says. */
static weft_status check_judged(const weft_pipeline_search *s,
                                const weft_design_pipeline_found *found)
{
    for (int i = 0; i < s->q->n_nets; i++)
        for (int k = 0; k < found->plan[i].n_stages; k++)
            if (found->plan[i].stage[k].memory_bytes > s->q->template_->hbm_bytes * (1 + 1e-9))
                return weft_fail(
                    WEFT_E_INPUT,
                    "%s: stage %d holds %.12g bytes: it does not fit the memory of its devices",
                    s->q->net[i]->name, k, found->plan[i].stage[k].memory_bytes);
    if (!(found->value > 0))
        return weft_fail(WEFT_E_INPUT, "the throughput is %.12g, below the least one, %.12g",
                         found->throughput, s->least_throughput);
    return WEFT_OK;
}

/* --- bound ----------------------------------------------------------------------------------- */

static double floor_s(const weft_pipeline_search *s, int net)
{
    const weft_stage_space *x = &s->space[net];
    double *least = WEFT_NEW(s->a, double, x->n_kinds + 1);

    for (int k = 0; k < x->n_kinds; k++)
        least[k] = INFINITY;
    for (int p = 0; p < s->n_points; p++)
        for (int k = 0; k < x->n_kinds; k++)
            least[k] = fmin(least[k], weft_pipeline_least_load_s(
                                          x->design_pipeline, weft_block_times_at(s, net, p) + k));
    return weft_pipeline_floor_s(x, least);
}

static double top_of(const weft_pipeline_search *s)
{
    double *step_s = WEFT_NEW(s->a, double, s->q->n_nets), tdp_w = INFINITY;

    for (int i = 0; i < s->q->n_nets; i++)
        step_s[i] = floor_s(s, i);
    for (int p = 0; p < s->n_points; p++)
        tdp_w = fmin(tdp_w, s->tdp_w[p]);
    return weft_pipeline_metric(s, weft_pipeline_throughput(s, step_s),
                                weft_pipeline_devices(&s->q->design_pipeline) *
                                    s->q->design_pipeline.n_stages * tdp_w);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Before anything is made that grows with the number of stages. */
static weft_status check_stages(const weft_design_pipeline_objective *q)
{
    for (int i = 0; i < q->n_nets; i++)
        if (q->design_pipeline.n_stages > q->net[i]->blocks.n_blocks)
            return weft_fail(WEFT_E_INPUT, "%s has %d parts that can be stages, fewer than %d",
                             q->net[i]->name, q->net[i]->blocks.n_blocks,
                             q->design_pipeline.n_stages);
    return WEFT_OK;
}

/* The plan, judged, and what no plan exceeds. */
static weft_status measure(weft_pipeline_search *s, weft_arena *a,
                           weft_design_pipeline_found *found, double *top)
{
    weft_design_pipeline_plan *plan =
        weft_arena_copy(a, found->plan, (size_t)s->q->n_nets * sizeof *plan);

    WEFT_TRY(check_stages(s->q));
    WEFT_TRY(weft_pipeline_prepare(s));
    WEFT_TRY(check_plans(s->q, found));
    WEFT_TRY(weft_pipeline_judge(s, plan, a, found));
    WEFT_TRY(check_judged(s, found));
    found->reference_throughput = weft_pipeline_throughput(s, s->reference_s);
    found->n_feasible = s->n_points;
    found->gap = found->bound / found->value - 1;
    *top = top_of(s);
    return WEFT_OK;
}

weft_status weft_design_pipeline_measure(const weft_design_pipeline_objective *q, weft_arena *a,
                                         weft_design_pipeline_found *plan, double *top)
{
    weft_pipeline_search s = {.q = q, .a = weft_arena_new()};
    weft_status status = measure(&s, a, plan, top);

    weft_arena_free(s.a);
    return status;
}
