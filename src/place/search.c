/* SPDX-License-Identifier: MIT */
/* search.c: solver `exact`.
 *
 * 1. The best of the list schedulers is the first plan.
 * 2. The problem becomes a piece without dominated edges; its parts between barriers are solved
 * from last to first (series.c): tails that know what every barrier costs, and a bound.
 * 3. The whole piece is searched with these tails (exact.c), for something better than the plan.
 *
 * Under `overlap` and with enough memory for activations the answer is optimal unless a limit of
 * time, steps or memory stops the search; then its bound still holds. Under other transfer models
 * the bound holds too, and the plan is judged by the simulator. */
#include "first.h"
#include "series.h"

#include <math.h>

static const int64_t PART_STATES = 200000;

static void use_schedule(const weft_answer *r, weft_plan *plan)
{
    for (int u = 0; u < plan->n_tasks; u++) {
        plan->device[u] = r->device[u];
        plan->start_s[u] = r->start_s[u];
    }
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_arena *a = run->scratch;
    weft_domain m = weft_domain_new(p, a);
    weft_best best = weft_best_new(p, a);
    weft_piece *x;
    weft_series series;
    weft_answer r;
    weft_effort e = {.run = run, .most_states = run->steps};
    weft_plan found = weft_plan_new(p->n_tasks, a);

    (void)options;
    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (m.is_empty || p->ask.goal != WEFT_LATENCY || p->n_devices > WEFT_PIECE_DEVICES)
        return WEFT_OK;
    WEFT_TRY(weft_best_first(&best, p, run));
    x = weft_piece_thin(weft_piece_of(&m, a), a);
    series = weft_series_tails(x, &(weft_series_effort){best.value, PART_STATES, 0, run}, a);
    x->tail_s = series.tail_s;
    e.upper = best.value;
    e.lower = series.bound;
    r = weft_piece_solve(x, &e, a);
    if (r.device != NULL) {
        use_schedule(&r, &found);
        weft_best_try(&best, p, &found, a);
    }
    proof->bound = fmax(series.bound, r.bound);
    proof->bound = fmin(proof->bound, best.value);
    proof->method = "search";
    if (best.value < INFINITY) {
        for (int u = 0; u < p->n_tasks; u++) {
            plan->device[u] = best.plan.device[u];
            plan->start_s[u] = best.plan.start_s[u];
        }
        proof->outcome = WEFT_BOUNDED;
    }
    return WEFT_OK;
}

const weft_solver weft_place_exact = {
    .name = "exact",
    .summary = "search of all schedules by dynamic programming, decomposed at barriers",
    .solve = solve,
};
