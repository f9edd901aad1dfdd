/* SPDX-License-Identifier: MIT */
/* greedy.c: earliest finish in order of number.
 *
 * Tasks by number; each goes behind what is on the device where it finishes first. For throughput
 * it goes to the device whose load would be least with it. The lower number wins a tie.
 *
 * A baseline without guarantee. Time O(tensors read * devices). */
#include "list.h"

/* Loads of the devices for throughput, NULL for latency. */
static weft_choice earliest(weft_list *l, int u, void *context)
{
    double *load_s = context;
    weft_choice best = weft_list_behind(l, u, load_s);

    if (load_s != NULL && best.device >= 0)
        load_s[best.device] += weft_task_s(l->problem, u, best.device);
    return best;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    weft_list_rule rule = {NULL, earliest, NULL};

    (void)options;
    if (p->constraints.goal == WEFT_THROUGHPUT)
        rule.context = WEFT_NEW(run->scratch, double, p->n_devices);
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_greedy = {
    .name = "greedy",
    .summary = "tasks in topological order, each on the device where it finishes first",
    .solve = solve};
