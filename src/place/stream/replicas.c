/* SPDX-License-Identifier: MIT */
/* replicas.c: the whole network on each device that holds it, items shared out among them (data
 * parallel): a baseline of throughput, and what most people run. */
#include "mix.h"

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain m = weft_domain_new(p, run->scratch);

    (void)options;
    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    return m.is_empty ? WEFT_OK : weft_replicas_solve(&m, run, plan, proof);
}

static bool applies(const weft_problem *p)
{
    return p->transfer != WEFT_CALLS && p->constraints.goal == WEFT_THROUGHPUT &&
           p->constraints.is_mixed;
}

const weft_solver weft_place_replicas = {
    .name = "replicas",
    .summary = "throughput with --mix: the whole network on every device that holds it",
    .solve = solve,
    .applies = applies,
};
