/* SPDX-License-Identifier: MIT */
/* greedy.c: earliest finish in order of number.
 *
 * Tasks by number; each goes behind what is on the device where it finishes first. For throughput
 * it goes to the device whose load would be least with it. The lower number wins a tie.
 *
 * A baseline without guarantee. Time O(tensors read * devices). */
#include "list.h"

#include <math.h>

/* Loads of the devices for throughput, NULL for latency. */
static weft_choice earliest(weft_list *l, int u, void *context)
{
    double *load_s = context, least = INFINITY;
    weft_choice best = {-1, 0};

    for (int d = 0; d < l->problem->n_devices; d++) {
        double start_s, score;

        if (!weft_list_allows(l, u, d))
            continue;
        start_s = weft_list_append(l, u, d);
        if (!(start_s < INFINITY))
            continue;
        score = (load_s == NULL ? start_s : load_s[d]) + weft_task_s(l->problem, u, d);
        if (score < least) {
            least = score;
            best = (weft_choice){d, start_s};
        }
    }
    if (load_s != NULL && best.device >= 0)
        load_s[best.device] = least;
    return best;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    int *order = WEFT_NEW(run->scratch, int, p->n_tasks);
    weft_list_rule rule = {order, earliest, NULL};

    (void)options;
    if (p->ask.goal == WEFT_THROUGHPUT)
        rule.context = WEFT_NEW(run->scratch, double, p->n_devices);
    for (int u = 0; u < p->n_tasks; u++)
        order[u] = u;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_greedy = {
    .name = "greedy", .summary = "tasks by number, each where it finishes first", .solve = solve};
