/* SPDX-License-Identifier: MIT */
/* reference.c: what every answer is set beside: the best single device, HEFT, and of throughput
 * replicas of the whole network. */
#include "place.h"

#include <math.h>

typedef struct asking {
    const weft_problem *problem;
    const weft_proof *bound;
    const weft_run *run; /* NULL: no limit */
    weft_arena *arena;
} asking;

static bool is_over(const asking *q)
{
    return q->run != NULL && weft_run_is_over(q->run);
}

/* True if there is a plan, and it is what the solver finds without a limit. */
static weft_status solve(const asking *q, const char *name, weft_solution *out, bool *is_known)
{
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_status status;

    if (q->run != NULL) {
        run.limit_s = weft_run_left_s(q->run);
        run.stop = q->run->stop;
    }
    status = weft_solve(weft_place_find(name), q->problem, NULL, &run, q->bound, q->arena, out);
    *is_known = !is_over(q) && weft_has_plan(&out->proof);
    weft_arena_free(run.scratch);
    return status;
}

/* Streams only, and not where states stay on one device or the host calls accelerators. */
static weft_status set_replicas(const asking *q, weft_problem *free, weft_reference *out)
{
    weft_solution replicas;
    weft_proof bound; /* of mixes */
    asking mixed = *q;
    bool is_known;

    if (free->constraints.goal != WEFT_THROUGHPUT || free->transfer == WEFT_CALLS ||
        free->is_state != NULL || is_over(q))
        return WEFT_OK;
    free->constraints.is_mixed = true;
    weft_place_bound(free, q->arena, &bound);
    mixed.bound = &bound;
    WEFT_TRY(solve(&mixed, "replicas", &replicas, &is_known));
    if (is_known) {
        out->replicas_s = replicas.proof.value;
        out->n_replicas = replicas.plan.n_variants;
    }
    return WEFT_OK;
}

weft_status weft_place_reference(const weft_problem *p, const weft_proof *bound,
                                 const weft_run *run, weft_arena *a, weft_reference *out)
{
    weft_problem free = *p; /* one device alone, whether it keeps the limits or not */
    weft_proof reach = *bound;
    asking q = {&free, &reach, run, a};
    weft_solution single, heft;
    bool is_known;

    *out = (weft_reference){.single_s = NAN, .heft_s = NAN, .replicas_s = NAN};
    free.constraints =
        (weft_constraints){.goal = p->constraints.goal, .is_calls = p->constraints.is_calls};
    if (reach.reason != NULL && reach.bound < INFINITY)
        reach.outcome = WEFT_UNKNOWN;
    if (is_over(&q))
        return WEFT_OK;
    WEFT_TRY(solve(&q, "single", &single, &is_known));
    if (is_known) {
        out->single_s = single.proof.value;
        out->single = p->device_name[single.plan.device[0]];
    }
    if (is_over(&q))
        return WEFT_OK;
    WEFT_TRY(solve(&q, "heft", &heft, &is_known));
    if (is_known)
        out->heft_s = heft.proof.value;
    return set_replicas(&q, &free, out);
}
