/* SPDX-License-Identifier: MIT */
/* single.c: everything on one device.
 *
 * 1. A device is a candidate if it is in the domain of every task.
 * 2. Each candidate's plan, tasks by number, is simulated; the best one whose memory suffices wins,
 *    the lower number on a tie.
 *
 * The best plan of its kind, unless time is up before all were tried; no guarantee against plans on
 * several devices. Time: one simulation a device. */
#include "list.h"

#include <math.h>

static void put_all(weft_plan *plan, int d)
{
    for (int u = 0; u < plan->n_tasks; u++) {
        plan->device[u] = d;
        plan->start_s[u] = u;
    }
}

/* Value of the whole on d; INFINITY if its memory does not suffice. */
static weft_status value_on(const weft_problem *p, int d, weft_arena *a, double *value)
{
    size_t mark = weft_arena_mark(a);
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    weft_measures measures;
    weft_status status;

    put_all(&plan, d);
    status = weft_evaluate(p, &plan, a, &measures);
    if (status == WEFT_OK)
        *value = measures.over_device >= 0 ? INFINITY : weft_goal_value(p, &measures);
    weft_arena_rewind(a, mark);
    return status;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain m = weft_domain_new(p, run->scratch);
    double least = INFINITY;

    (void)options;
    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    for (int d = 0; d < p->n_devices; d++) {
        double value = INFINITY;

        if (!weft_domain_has_all(&m, d) || (least < INFINITY && weft_run_is_over(run)))
            continue;
        WEFT_TRY(value_on(p, d, run->scratch, &value));
        if (value < least) {
            least = value;
            put_all(plan, d);
            proof->outcome = WEFT_BOUNDED;
        }
    }
    return WEFT_OK;
}

const weft_solver weft_place_single = {
    .name = "single", .summary = "all tasks on the best single device", .solve = solve};
