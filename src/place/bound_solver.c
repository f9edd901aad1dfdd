/* SPDX-License-Identifier: MIT */
/* bound_solver.c: what can be proved without search.
 *
 * 1. The plans of the quick list schedulers are simulated; the best one that fits is the plan.
 * 2. weft_place_bound_more with its value as the upper end.
 *
 * The plan is no better than those heuristics make it; the bound is the point. Where propagation or
 * shaving reach the value, the plan is proved optimal. Time: that of the schedulers and a fixed
 * amount of work, or as much as the limit in seconds or in steps allows. */
#include "bound.h"

#include <math.h>
#include <string.h>

static const double USUAL_WORK = 3e8, MOST_WORK = 4e9; /* the latter with a limit in seconds */
static const double WORK_PER_SECOND = 1e8;

static const weft_solver *const quick[] = {&weft_place_single, &weft_place_met, &weft_place_greedy,
                                           &weft_place_heft,   &weft_place_cpop, &weft_place_peft};

/* Keeps the plan of s if it fits and is better than the best so far. */
static weft_status try_solver(const weft_solver *s, const weft_problem *p, weft_run *run,
                              weft_plan *best, double *value)
{
    weft_plan plan = weft_plan_new(p->n_tasks, run->scratch);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};
    weft_measures measures;
    double trial;

    WEFT_TRY(s->solve(p, NULL, run, &plan, &proof));
    if (proof.outcome != WEFT_BOUNDED && proof.outcome != WEFT_OPTIMAL)
        return WEFT_OK;
    WEFT_TRY(weft_evaluate(p, &plan, run->scratch, &measures));
    trial = weft_goal_value(p, &measures);
    if (measures.over_device >= 0 || !(trial < *value))
        return WEFT_OK;
    *value = trial;
    memcpy(best->device, plan.device, sizeof *plan.device * (size_t)p->n_tasks);
    memcpy(best->start_s, plan.start_s, sizeof *plan.start_s * (size_t)p->n_tasks);
    return WEFT_OK;
}

static double work_of(const weft_run *run)
{
    if (run->steps > 0)
        return (double)run->steps;
    return run->limit_s < INFINITY ? fmin(MOST_WORK, run->limit_s * WORK_PER_SECOND) : USUAL_WORK;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    double value = INFINITY;

    (void)options;
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        size_t mark = weft_arena_mark(run->scratch);
        weft_status status = try_solver(quick[i], p, run, plan, &value);

        weft_arena_rewind(run->scratch, mark);
        WEFT_TRY(status);
    }
    weft_place_bound_more(p, value, work_of(run), run->scratch, proof);
    if (value < INFINITY)
        proof->outcome = WEFT_BOUNDED;
    else if (proof->outcome != WEFT_INFEASIBLE)
        proof->outcome = WEFT_UNKNOWN;
    return WEFT_OK;
}

const weft_solver weft_place_bounder = {
    "bound", "the strongest bound without search, beside the best plan of the quick schedulers",
    NULL, 0, solve};
