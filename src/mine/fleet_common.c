/* SPDX-License-Identifier: MIT */
/* fleet_common.c: one design for all devices, with a proof.
 *
 * A certified sweep (methods 6.1) in which the partition is made anew for each design.
 * 1. Every design gets a bound U of the metric by its work: with l the seconds of all units, s
 *    stages take at least l / (1 - (1 - 1/m)^s) (train/pipe_bound.c), and m times its largest unit.
 * 2. By falling U, ties by number: the bound U2 over all partitions (fleet_plan.c). Above the best
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

#include "fleet.h"
#include "space.h"

enum { DIVE = 20000 }; /* steps for one design and network */
static const double EXACT = 1e-9;

typedef struct candidate {
    double top;
    int point;
} candidate;

static int by_top(const void *x, const void *y)
{
    const candidate *a = x, *b = y;

    if (a->top != b->top)
        return a->top > b->top ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

/* Step 1, of one network. */
static double floor_s(const weft_fleet_search *s, int net, int point)
{
    const weft_fleet_space *x = &s->space[net];
    const weft_fleet_time *time = weft_fleet_times_at(s, net, point);
    const weft_unit_work *w = &x->net->work;
    int r = 0;
    double all_s = 0, most_s = 0;

    while (!(x->fleet->recomputes >> r & 1))
        r++;
    for (int q = 0; q < x->net->units.n_units; q++) {
        const weft_fleet_time *t = &time[w->kind_of[q]];
        double l = t->forward_s + t->backward_s + t->again_s[r];

        all_s += l;
        most_s = fmax(most_s, l);
    }
    return fmax(weft_pipe_fill_s(all_s, x->n_microbatches, x->n_stages),
                (double)x->n_microbatches * most_s);
}

static double power_of(const weft_fleet_search *s, int point)
{
    return weft_fleet_devices(&s->q->fleet) * s->q->fleet.n_stages * s->tdp_w[point];
}

/* Scratch of one design. */
typedef struct look {
    weft_fleet_load **load; /* [n_nets][n_variants] */
    double *step_s, *bound_s;
    weft_fleet_cuts *cuts;
} look;

static look new_look(weft_fleet_search *s)
{
    int n = s->q->n_nets;
    look k = {WEFT_NEW(s->a, weft_fleet_load *, n), WEFT_NEW(s->a, double, n),
              WEFT_NEW(s->a, double, n), WEFT_NEW(s->a, weft_fleet_cuts, n)};

    for (int i = 0; i < n; i++) {
        k.load[i] = WEFT_NEW(s->a, weft_fleet_load, s->space[i].n_variants + 1);
        k.cuts[i] = weft_fleet_cuts_new(&s->space[i], s->a);
    }
    return k;
}

static void keep(weft_fleet_search *s, const look *k, int point, double throughput, double value)
{
    weft_fleet_best *b = &s->best;

    if (value <= b->value)
        return;
    b->value = value;
    b->throughput = throughput;
    b->tdp_w = power_of(s, point);
    for (int i = 0; i < s->q->n_nets; i++) {
        memcpy(b->cuts[i].pair, k->cuts[i].pair,
               (size_t)s->q->fleet.n_stages * sizeof *b->cuts[i].pair);
        b->step_s[i] = k->step_s[i];
        b->bound_s[i] = k->bound_s[i];
    }
    for (int i = 0; i < s->q->fleet.n_stages; i++)
        b->point[i] = point;
}

/* Steps 2 on one design; the bound of its value. */
static double try_point(weft_fleet_search *s, look *k, int point)
{
    int n = s->q->n_nets;
    double power_w = power_of(s, point), top, throughput;
    bool is_closed = true;

    s->n_partitioned++;
    for (int i = 0; i < n; i++) {
        weft_fleet_loads(s, i, point, k->load[i]);
        k->bound_s[i] = weft_fleet_bound_s(&s->desk[i], k->load[i], NULL);
    }
    top = weft_fleet_metric(s, weft_fleet_throughput(s, k->bound_s), power_w);
    if (top <= s->best.value * (1 + EXACT))
        return 0;
    for (int i = 0; i < n; i++) {
        k->step_s[i] =
            weft_fleet_partition(&s->desk[i], k->load[i], &k->cuts[i], &k->bound_s[i], &s->n_plans);
        if (!weft_fleet_close(&s->desk[i], k->load[i], DIVE, &k->cuts[i], &k->step_s[i],
                              &s->n_plans))
            is_closed = false;
        else
            k->bound_s[i] = k->step_s[i] * (1 - EXACT);
    }
    throughput = weft_fleet_throughput(s, k->step_s);
    keep(s, k, point, throughput, weft_fleet_metric(s, throughput, power_w));
    return is_closed ? 0 : weft_fleet_metric(s, weft_fleet_throughput(s, k->bound_s), power_w);
}

static candidate *rank_all(weft_fleet_search *s)
{
    candidate *c = WEFT_NEW(s->a, candidate, s->n_points + 1);
    double *step_s = WEFT_NEW(s->a, double, s->q->n_nets);

    for (int p = 0; p < s->n_points; p++) {
        for (int i = 0; i < s->q->n_nets; i++)
            step_s[i] = floor_s(s, i, p);
        c[p] =
            (candidate){weft_fleet_metric(s, weft_fleet_throughput(s, step_s), power_of(s, p)), p};
    }
    qsort(c, (size_t)s->n_points, sizeof *c, by_top);
    return c;
}

void weft_fleet_common(weft_fleet_search *s)
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
