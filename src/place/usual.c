/* SPDX-License-Identifier: MIT */
/* usual.c: what every answer is set beside: the best single device, and HEFT. */
#include "weft/place.h"

#include <math.h>

static weft_status solve(const char *name, const weft_problem *p, const weft_proof *bound,
                         weft_arena *a, weft_solution *out)
{
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_status status = weft_solve(weft_place_find(name), p, NULL, &run, bound, a, out);

    weft_arena_free(run.scratch);
    return status;
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

weft_status weft_place_usual(const weft_problem *p, const weft_proof *bound, weft_arena *a,
                             weft_usual *out)
{
    weft_problem free = *p; /* one device alone, whether it keeps the limits or not */
    weft_proof reach = *bound;
    weft_solution single, heft;

    *out = (weft_usual){.single_s = NAN, .heft_s = NAN};
    free.ask = (weft_ask){.goal = p->ask.goal, .is_calls = p->ask.is_calls};
    if (reach.reason != NULL && reach.bound < INFINITY)
        reach.outcome = WEFT_UNKNOWN;
    WEFT_TRY(solve("single", &free, &reach, a, &single));
    if (has_plan(&single)) {
        out->single_s = single.proof.value;
        out->single = p->device_name[single.plan.device[0]];
    }
    WEFT_TRY(solve("heft", &free, &reach, a, &heft));
    if (has_plan(&heft))
        out->heft_s = heft.proof.value;
    return WEFT_OK;
}
