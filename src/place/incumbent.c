/* SPDX-License-Identifier: MIT */
/* incumbent.c: the best plan that a search knows.
 *
 * 1. A plan that is offered is copied and simulated: the order of its starts counts, not the
 *    starts.
 * 2. It is legal if no memory is exceeded and if latency and period keep the limits that the
 *    problem sets. Devices and colours are the business of whoever offers it.
 * 3. A legal plan that is better than the one kept replaces it; on a tie the first stays.
 *
 * A search begins with the best plan of the list schedulers. Time: a simulation an offer. */
#include "incumbent.h"

#include <math.h>
#include <string.h>

weft_incumbent weft_incumbent_new(const weft_problem *p, weft_run *run, weft_plan *plan)
{
    return (weft_incumbent){.problem = p, .run = run, .value = INFINITY, .plan = plan};
}

static void copy_plan(const weft_plan *from, weft_plan *to)
{
    size_t n = (size_t)from->n_tasks;

    memcpy(to->device, from->device, n * sizeof *to->device);
    memcpy(to->start_s, from->start_s, n * sizeof *to->start_s);
}

static bool is_legal(const weft_problem *p, const weft_measures *m)
{
    return m->over_device < 0 &&
           (p->ask.most_latency_s <= 0 || m->makespan_s <= p->ask.most_latency_s) &&
           (p->ask.most_period_s <= 0 || m->period_s <= p->ask.most_period_s);
}

weft_status weft_incumbent_offer(weft_incumbent *b, const weft_plan *plan, double *value)
{
    weft_arena *a = b->run->scratch;
    size_t mark = weft_arena_mark(a);
    weft_plan trial = weft_plan_new(plan->n_tasks, a);
    weft_measures measures;
    weft_status status;

    copy_plan(plan, &trial);
    status = weft_evaluate(b->problem, &trial, a, &measures);
    if (status == WEFT_OK) {
        *value = weft_goal_value(b->problem, &measures);
        if (is_legal(b->problem, &measures) && *value < b->value) {
            b->value = *value;
            b->has_plan = true;
            copy_plan(plan, b->plan);
        }
    }
    weft_arena_rewind(a, mark);
    return status;
}

weft_status weft_incumbent_begin(weft_incumbent *b)
{
    static const weft_solver *const cheap[] = {&weft_place_single, &weft_place_met,
                                               &weft_place_greedy, &weft_place_heft,
                                               &weft_place_cpop,   &weft_place_peft};

    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++) {
        size_t mark = weft_arena_mark(b->run->scratch);
        weft_plan plan = weft_plan_new(b->problem->n_tasks, b->run->scratch);
        weft_proof proof = {.outcome = WEFT_UNKNOWN};
        double value;

        WEFT_TRY(cheap[i]->solve(b->problem, NULL, b->run, &plan, &proof));
        if (proof.outcome == WEFT_BOUNDED)
            WEFT_TRY(weft_incumbent_offer(b, &plan, &value));
        weft_arena_rewind(b->run->scratch, mark);
    }
    return WEFT_OK;
}
