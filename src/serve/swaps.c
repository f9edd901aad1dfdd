/* SPDX-License-Identifier: MIT */
/* swaps.c: which node of a class takes which place in a plan. Lanes know no links; nodes of a class
 * differ in nothing else. Annealing on the flow swaps the ranges of two nodes of a class. */
#include "serve_search.h"

#include <math.h>

static const double HOT = 0.03, COLD = 0.0005; /* parts of the target */

static void swap_ranges(weft_serve_plan *plan, int u, int v)
{
    int start = plan->start[u], end = plan->end[u];

    plan->start[u] = plan->start[v];
    plan->end[u] = plan->end[v];
    plan->start[v] = start;
    plan->end[v] = end;
}

static bool is_same_range(const weft_serve_plan *plan, int u, int v)
{
    return plan->start[u] == plan->start[v] && plan->end[u] == plan->end[v];
}

double weft_serve_swaps(const weft_serve_problem *p, weft_dinic *d, double target, weft_rng *rng,
                        int64_t steps, const weft_run *run, weft_serve_plan *plan)
{
    double now = weft_dinic_flow(d, plan), cooling = pow(COLD / HOT, 1.0 / (double)steps);
    double heat = HOT * target;

    for (int64_t i = 0; i < steps && now < target * (1 - 1e-9); i++, heat *= cooling) {
        int u = weft_rng_below(rng, p->n_nodes), v = weft_rng_below(rng, p->n_nodes);
        double then;

        if (i % 1024 == 0 && weft_run_is_over(run))
            break;
        if (p->class_of[u] != p->class_of[v] || is_same_range(plan, u, v))
            continue;
        swap_ranges(plan, u, v);
        then = weft_dinic_flow(d, plan);
        if (then >= now || weft_rng_real(rng) < exp((then - now) / heat))
            now = then;
        else
            swap_ranges(plan, u, v);
    }
    return now;
}
