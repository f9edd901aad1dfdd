/* SPDX-License-Identifier: MIT */
/* design_pipeline_common.c: one design for all devices, with a proof.
 *
 * A certified sweep (sweep.c) in which the partition is made anew for each design.
 * 1. Every design gets a bound U of the metric by its work: with l the seconds of all units, s
 *    stages take at least l / (1 - (1 - 1/m)^s) (train/pipe_bound.c), and m times its largest unit.
 * 2. By falling U, ties by number: the bound U2 over all partitions (design_pipeline_plan.c). Above the best
 *    value, a partition is made, run by events, and improved depth first for so many steps.
 * 3. It ends at the first U that is not above the best value.
 *
 * Guarantee: no design has more than the largest of the best value and the U2 of designs whose
 * partitions were not searched to the end. If there is none above the best, it is optimal.
 *
 * Cost: O(kinds) for U, O(pairs * stages) for U2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "design_pipeline.h"
#include "order.h"

enum { DIVE = 20000 }; /* steps for one design and network */
static const double EXACT = 1e-9;

typedef struct candidate {
    double top;
    int point;
} candidate;

static int by_top(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return weft_order((double[]){-x->top, x->point}, (double[]){-y->top, y->point}, 2);
}

/* Step 1, of one network. */
static double floor_s(const weft_pipeline_search *s, int net, int point, double *load_s)
{
    const weft_stage_space *x = &s->space[net];

    for (int k = 0; k < x->n_kinds; k++)
        load_s[k] =
            weft_pipeline_least_load_s(x->design_pipeline, weft_block_times_at(s, net, point) + k);
    return weft_pipeline_floor_s(x, load_s);
}

static double power_of(const weft_pipeline_search *s, int point)
{
    return weft_pipeline_devices(&s->q->design_pipeline) * s->q->design_pipeline.n_stages *
           s->tdp_w[point];
}

/* Scratch of one design. */
typedef struct look {
    weft_stage_load **load; /* [n_nets][n_variants] */
    double *step_s, *bound_s;
    weft_partition *cuts;
} look;

static look new_look(weft_pipeline_search *s)
{
    int n = s->q->n_nets;
    look k = {WEFT_NEW(s->a, weft_stage_load *, n), WEFT_NEW(s->a, double, n),
              WEFT_NEW(s->a, double, n), WEFT_NEW(s->a, weft_partition, n)};

    for (int i = 0; i < n; i++) {
        k.load[i] = WEFT_NEW(s->a, weft_stage_load, s->space[i].n_variants + 1);
        k.cuts[i] = weft_partition_new(&s->space[i], s->a);
    }
    return k;
}

static void keep(weft_pipeline_search *s, const look *k, int point, double throughput, double value)
{
    weft_pipeline_best *b = &s->best;

    if (value <= b->value)
        return;
    b->value = value;
    b->throughput = throughput;
    b->tdp_w = power_of(s, point);
    for (int i = 0; i < s->q->n_nets; i++) {
        memcpy(b->cuts[i].pair, k->cuts[i].pair,
               (size_t)s->q->design_pipeline.n_stages * sizeof *b->cuts[i].pair);
        b->step_s[i] = k->step_s[i];
        b->bound_s[i] = k->bound_s[i];
    }
    for (int i = 0; i < s->q->design_pipeline.n_stages; i++)
        b->point[i] = point;
}

/* Steps 2 on one design; the bound of its value. */
static double try_point(weft_pipeline_search *s, look *k, int point)
{
    int n = s->q->n_nets;
    double power_w = power_of(s, point), top, throughput;
    bool is_closed = true;

    s->n_partitioned++;
    for (int i = 0; i < n; i++) {
        weft_stage_loads(s, i, point, k->load[i]);
        k->bound_s[i] = weft_partition_bound_s(&s->work[i], k->load[i], NULL);
    }
    top = weft_pipeline_metric(s, weft_pipeline_throughput(s, k->bound_s), power_w);
    if (top <= s->best.value * (1 + EXACT))
        return 0;
    for (int i = 0; i < n; i++) {
        k->step_s[i] =
            weft_partition_find(&s->work[i], k->load[i], &k->cuts[i], &k->bound_s[i], &s->n_plans);
        if (!weft_partition_close(&s->work[i], k->load[i], DIVE, &k->cuts[i], &k->step_s[i],
                                  &s->n_plans))
            is_closed = false;
        else
            k->bound_s[i] = k->step_s[i] * (1 - EXACT);
    }
    throughput = weft_pipeline_throughput(s, k->step_s);
    keep(s, k, point, throughput, weft_pipeline_metric(s, throughput, power_w));
    return is_closed ? 0
                     : weft_pipeline_metric(s, weft_pipeline_throughput(s, k->bound_s), power_w);
}

static candidate *rank_all(weft_pipeline_search *s)
{
    candidate *c = WEFT_NEW(s->a, candidate, s->n_points + 1);
    double *step_s = WEFT_NEW(s->a, double, s->q->n_nets), *load_s;
    int n_kinds = 0;

    for (int i = 0; i < s->q->n_nets; i++)
        n_kinds = s->space[i].n_kinds > n_kinds ? s->space[i].n_kinds : n_kinds;
    load_s = WEFT_NEW(s->a, double, n_kinds + 1);
    for (int p = 0; p < s->n_points; p++) {
        for (int i = 0; i < s->q->n_nets; i++)
            step_s[i] = floor_s(s, i, p, load_s);
        c[p] = (candidate){
            weft_pipeline_metric(s, weft_pipeline_throughput(s, step_s), power_of(s, p)), p};
    }
    qsort(c, (size_t)s->n_points, sizeof *c, by_top);
    return c;
}

void weft_pipeline_common(weft_pipeline_search *s)
{
    candidate *c = rank_all(s);
    look k = new_look(s);
    int at = 0;

    s->bound = 0;
    for (; at < s->n_points && c[at].top > s->best.value * (1 + EXACT); at++) {
        if (weft_run_is_over(s->run))
            break;
        s->bound = fmax(s->bound, try_point(s, &k, c[at].point));
        if (s->run->progress != NULL)
            s->run->progress(s->run->context, s->best.value, fmax(s->best.value, c[at].top));
    }
    if (at < s->n_points && c[at].top > s->best.value * (1 + EXACT))
        s->bound = fmax(s->bound, c[at].top);
    s->bound = fmax(s->bound, s->best.value);
}
