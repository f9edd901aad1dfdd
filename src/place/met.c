/* SPDX-License-Identifier: MIT */
/* met.c: minimum execution time.
 *
 * Tasks by number; each goes to the device that runs it fastest (the lower number on a tie), behind
 * what is there. Transfers and waiting are ignored when choosing.
 *
 * A baseline without guarantee. Time O(tasks * devices + tensors read).
 * Braun et al., J. Parallel and Distributed Computing 61(6), 2001. */
#include "list.h"

#include <math.h>

static weft_choice fastest(weft_list *l, int u, void *context)
{
    weft_choice best = {-1, 0};
    double least = INFINITY;

    (void)context;
    for (int d = 0; d < l->problem->n_devices; d++) {
        double length_s = weft_task_s(l->problem, u, d), start_s;

        if (!(length_s < least) || !weft_list_allows(l, u, d))
            continue;
        start_s = weft_list_append(l, u, d);
        if (start_s < INFINITY) {
            least = length_s;
            best = (weft_choice){d, start_s};
        }
    }
    return best;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    int *order = WEFT_NEW(run->scratch, int, p->n_tasks);
    weft_list_rule rule = {order, fastest, NULL};

    (void)options;
    for (int u = 0; u < p->n_tasks; u++)
        order[u] = u;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_met = {
    .name = "met",
    .summary = "each task on the device that runs it fastest, whatever the transfers",
    .solve = solve};
