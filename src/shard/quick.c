/* SPDX-License-Identifier: MIT */
/* quick.c: the first plans of a search, from baselines that take no time worth speaking of. So
 * there is a plan when time is short, and the answer is never worse than theirs. */
#include "baseline.h"
#include "search.h"

/* Not all who propose plans look at stretches: plans that break them are passed over. */
static bool keeps_stretches(const weft_shard_problem *p, const weft_shard_plan *plan, weft_arena *a)
{
    return !p->constraints.is_contiguous || weft_shard_plan_check(p, plan, NULL, 0, a) == 0;
}

weft_status weft_search_consider(weft_search *s, const weft_shard_plan *plan)
{
    weft_arena *scratch = weft_arena_new();
    weft_shard_plan copy = weft_shard_plan_copy(plan, scratch);
    weft_shard_plan_measures m;
    weft_status status = weft_shard_plan_evaluate(s->p, &copy, scratch, &m);

    if (status == WEFT_OK && m.over_device < 0 && m.latency_s < s->value &&
        keeps_stretches(s->p, &copy, scratch)) {
        s->value = m.latency_s;
        s->plan = weft_shard_plan_copy(&copy, s->a);
        if (s->run->progress)
            s->run->progress(s->run->context, s->value, s->bound);
    }
    weft_arena_free(scratch);
    return status;
}

weft_status weft_search_quick(weft_search *s, const weft_shard_options *o)
{
    static const weft_shard_solver *const quick[] = {&weft_shard_longest_group,
                                                     &weft_shard_longest_all, &weft_shard_herald,
                                                     &weft_shard_h2h_repaired, &weft_shard_streams};

    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        weft_run run = *s->run;
        weft_shard_plan plan;
        weft_proof proof = {.outcome = WEFT_UNKNOWN};
        weft_status status;

        if (quick[i]->applies != NULL && !quick[i]->applies(s->p))
            continue;
        run.scratch = weft_arena_new();
        run.progress = NULL;
        run.steps = 1000;
        status = quick[i]->solve(s->p, o, &run, &plan, &proof);
        if (status == WEFT_OK && proof.outcome == WEFT_BOUNDED)
            status = weft_search_consider(s, &plan);
        weft_arena_free(run.scratch);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}
