/* SPDX-License-Identifier: MIT */
/* first.c: the best of the list schedulers, judged by simulation. What every search starts from. */
#include "first.h"

#include <math.h>
#include <string.h>

enum {
    MOST_FOR_LOOKAHEAD = 3000, /* tasks; it is quadratic in the number of readers */
    N_ALWAYS = 2, /* of the list: a run that is over has the better of these, at least */
};

weft_best weft_best_new(const weft_problem *p, weft_arena *a)
{
    return (weft_best){weft_plan_new(p->n_tasks, a), INFINITY, a};
}

void weft_plan_copy(weft_plan *to, const weft_plan *from)
{
    memcpy(to->device, from->device, sizeof *to->device * (size_t)to->n_tasks);
    memcpy(to->start_s, from->start_s, sizeof *to->start_s * (size_t)to->n_tasks);
}

static bool is_within(const weft_problem *p, const weft_measures *m)
{
    const double slack = 1 + 1e-9;

    return m->over_device < 0 &&
           (p->constraints.most_latency_s <= 0 ||
            m->makespan_s <= p->constraints.most_latency_s * slack) &&
           (p->constraints.most_period_s <= 0 ||
            m->period_s <= p->constraints.most_period_s * slack);
}

double weft_best_try(weft_best *b, const weft_problem *p, weft_plan *plan, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    weft_measures m;
    double value = INFINITY;

    if (weft_evaluate(p, plan, scratch, &m) == WEFT_OK && is_within(p, &m) &&
        weft_plan_check(p, plan, NULL, 0, scratch) == 0)
        value = weft_goal_value(p, &m);
    if (value < b->value) {
        b->value = value;
        weft_plan_copy(&b->plan, plan);
    }
    weft_arena_rewind(scratch, mark);
    return value;
}

void weft_best_answer(const weft_best *b, weft_plan *plan, weft_proof *proof)
{
    if (!(b->value < INFINITY))
        return;
    weft_plan_copy(plan, &b->plan);
    proof->outcome = WEFT_BOUNDED;
}

weft_run weft_run_share(const weft_run *run, double share)
{
    weft_run part = *run;

    if (part.limit_s < INFINITY)
        part.limit_s -= (1 - share) * weft_run_left_s(run);
    return part;
}

void weft_proved_take(weft_proved *known, double found_s, double value)
{
    if (found_s == INFINITY && value == INFINITY)
        known->is_impossible = true;
    else
        known->bound = weft_bound_larger(known->bound, found_s);
}

weft_status weft_best_first(weft_best *b, const weft_problem *p, weft_run *run)
{
    const weft_solver *const list[] = {&weft_place_single,   &weft_place_heft, &weft_place_met,
                                       &weft_place_greedy,   &weft_place_cpop, &weft_place_peft,
                                       &weft_place_lookahead};
    weft_arena *scratch = weft_arena_new();
    weft_status status = WEFT_OK;

    for (size_t i = 0; i < sizeof list / sizeof *list && status == WEFT_OK; i++) {
        size_t mark = weft_arena_mark(scratch);
        weft_plan plan = weft_plan_new(p->n_tasks, scratch);
        weft_proof proof = {.outcome = WEFT_UNKNOWN};
        weft_run inner = *run;

        if ((list[i] == &weft_place_lookahead && p->n_tasks > MOST_FOR_LOOKAHEAD) ||
            (i >= N_ALWAYS && b->value < INFINITY && weft_run_is_over(run)))
            continue;
        inner.scratch = scratch;
        status = list[i]->solve(p, NULL, &inner, &plan, &proof);
        if (status == WEFT_OK && proof.outcome == WEFT_BOUNDED)
            weft_best_try(b, p, &plan, scratch);
        weft_arena_rewind(scratch, mark);
    }
    weft_arena_free(scratch);
    if (status == WEFT_OK)
        weft_best_parts(b, p, run);
    return status;
}
