/* SPDX-License-Identifier: MIT */
/* bound_solver.c: what can be proved without search.
 *
 * 1. The best of the list schedulers by simulation (first.c) is the plan.
 * 2. weft_place_bound_more with its value as the upper end.
 *
 * The plan is no better than those heuristics make it; the bound is the point. Where propagation or
 * shaving reach the value, the plan is proved optimal. Time: that of the schedulers and a fixed
 * amount of work, or as much as the limit in seconds or in steps allows. */
#include "bound.h"
#include "first.h"

#include <math.h>

static const double USUAL_WORK = 3e8, MOST_WORK = 4e9; /* the latter with a limit in seconds */
static const double WORK_PER_SECOND = 1e8;

static double work_of(const weft_run *run)
{
    if (run->steps > 0)
        return (double)run->steps;
    return run->limit_s < INFINITY ? fmin(MOST_WORK, run->limit_s * WORK_PER_SECOND) : USUAL_WORK;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_best best = weft_best_new(p, run->scratch);

    (void)options;
    WEFT_TRY(weft_best_first(&best, p, run));
    weft_place_bound_more(p, best.value, work_of(run), run->scratch, proof);
    if (proof->outcome != WEFT_INFEASIBLE)
        proof->outcome = WEFT_UNKNOWN;
    weft_best_answer(&best, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_bounder = {
    .name = "bound",
    .summary = "the strongest bound without search, and the best plan of the list schedulers",
    .solve = solve};
