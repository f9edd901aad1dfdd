/* SPDX-License-Identifier: MIT */
/* front.c: the front of latency and throughput.
 *
 * 1. Mappings of least period, and a search for plans (tradeoff.c) for latency and for the period.
 * 2. The period of the fastest plan and the least period enclose the front. Between them the limit
 *    of the period falls in equal ratios; under each the search looks for the least latency, from
 *    all points found so far.
 *
 * 3. Points that gain less than 1 % of throughput over their neighbour of less latency are left
 * out.
 *
 * All points are simulated plans that are checked like any solver's. Deterministic. */
#include "tradeoff.h"

#include <math.h>

enum { N_LIMITS = 6 };
static const double LEAST_GAIN = 0.01;

static void sweep(const weft_domain *m, const weft_candidates *found, weft_run *run,
                  weft_front *front)
{
    weft_problem limited = *m->problem;
    weft_domain domain = *m;
    int64_t evaluations = weft_tradeoff_evaluations(m->problem, run);
    double first_s, last_s;

    domain.problem = &limited;
    limited.constraints.goal = WEFT_LATENCY;
    if (weft_tradeoff_search(&domain, found, evaluations, run, front) || front->n < 2)
        return;
    first_s = front->at[0].period_s;
    last_s = front->at[front->n - 1].period_s;
    for (int i = 1; i <= N_LIMITS && !weft_run_is_over(run); i++) {
        limited.constraints.most_period_s = first_s * pow(last_s / first_s, (double)i / N_LIMITS);
        weft_tradeoff_search(&domain, found, evaluations / N_LIMITS, run, front);
    }
}

/* Leaves out points that gain less than 1 % throughput over the one before; the last one stays. */
static void thin(weft_front *f)
{
    int n = 0;

    for (int i = 0; i < f->n; i++)
        if (i == 0 || i == f->n - 1 || f->at[i].period_s < f->at[n - 1].period_s * (1 - LEAST_GAIN))
            f->at[n++] = f->at[i];
    f->n = n;
}

/* A last look, as the driver takes it. */
static bool is_legal(const weft_problem *p, weft_tradeoff *x, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    weft_violation violation;
    weft_measures m;
    bool is_ok = weft_evaluate(p, &x->plan, a, &m) == WEFT_OK && m.over_device < 0 &&
                 weft_constraints_allow(&p->constraints, m.makespan_s, m.period_s) &&
                 weft_plan_check(p, &x->plan, &violation, 1, a) == 0;

    x->latency_s = m.makespan_s;
    x->period_s = m.period_s;
    weft_arena_rewind(a, mark);
    return is_ok;
}

weft_status weft_place_front(const weft_problem *p, weft_run *run, weft_arena *a,
                             const weft_tradeoff **out, int *n)
{
    weft_domain m = weft_domain_new(p, run->scratch);
    weft_candidates found = weft_candidates_new(p->n_tasks, run->scratch);
    weft_front front = weft_front_new(a); /* not scratch: that is rewound */
    weft_proof bound = {.outcome = WEFT_UNKNOWN};
    int n_kept = 0;

    *n = 0;
    *out = NULL;
    if (m.is_empty)
        return WEFT_OK;
    weft_load_bound(&m, run->scratch, &bound);
    weft_load_candidates(&m, &bound, run, &found);
    sweep(&m, &found, run, &front);
    for (int i = 0; i < front.n; i++)
        if (is_legal(p, &front.at[i], run->scratch))
            front.at[n_kept++] = front.at[i];
    front.n = n_kept;
    thin(&front);
    *n = front.n;
    *out = front.at;
    return WEFT_OK;
}
