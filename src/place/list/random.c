/* SPDX-License-Identifier: MIT */
/* random.c: a random legal plan.
 *
 * 1. Each task draws a priority; of the ready tasks the one of highest priority comes first, so
 *    every topological order can come out.
 * 2. Each task draws one of the devices it may go to, and is put behind what is there.
 *
 * The yardstick that every other solver must beat. The seed alone decides the plan. Time
 * O(tasks log tasks + tensors read * devices). */
#include "list.h"

#include <math.h>

/* Draws among the devices left without storing them: the n-th replaces with probability 1 / n. */
static weft_choice any(weft_list *l, int u, void *context)
{
    weft_rng *rng = context;
    weft_choice drawn = {-1, 0};
    int n = 0;

    for (int d = 0; d < l->problem->n_devices; d++) {
        double start_s;

        if (!weft_list_allows(l, u, d))
            continue;
        start_s = weft_list_append(l, u, d);
        if (start_s < INFINITY && weft_rng_below(rng, ++n) == 0)
            drawn = (weft_choice){d, start_s};
    }
    return drawn;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    weft_rng rng = weft_rng_seed((uint64_t)run->seed);
    double *priority = WEFT_NEW(run->scratch, double, p->n_tasks);
    weft_list_rule rule = {priority, any, &rng};

    (void)options;
    for (int u = 0; u < p->n_tasks; u++)
        priority[u] = weft_rng_real(&rng);
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_random = {
    .name = "random", .summary = "a random device for each task (seeded)", .solve = solve};
