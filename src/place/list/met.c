/* SPDX-License-Identifier: MIT */
/* met.c: minimum execution time.
 *
 * Tasks by number; each goes to the device that runs it fastest (the lower number on a tie), behind
 * what is there. Transfers and waiting are ignored when choosing.
 *
 * A baseline without guarantee. Time O(tasks * devices + tensors read).
 * Braun et al., J. Parallel and Distributed Computing 61(6), 2001. */
#include "list.h"

static weft_choice fastest(weft_list *l, int u, void *context)
{
    return weft_list_behind(l, u, context);
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    weft_list_rule rule = {NULL, fastest, WEFT_NEW(run->scratch, double, p->n_devices)};

    (void)options;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_met = {
    .name = "met",
    .summary = "each task on the device that runs it fastest, ignoring transfers",
    .solve = solve};
