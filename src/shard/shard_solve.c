/* SPDX-License-Identifier: MIT */
/* shard_solve.c: the driver of solvers of sharded networks, as solve.c.
 *
 * 1. The solver returns sets, designs, splits and an order, perhaps a bound. Its scratch memory is
 *    dropped.
 * 2. The plan is simulated: its starts and its value are the simulator's.
 * 3. A plan that exceeds a memory is dropped: the outcome is unknown, the reason says by how much.
 *    Every other rule is checked; a violation is the solver's error and is reported as such.
 * 4. The larger of the solver's bound and the floor (weft_shard_bound) is kept; what is certified
 * is the floor, which anybody can compute again. Value = bound is a proof that the plan is optimal;
 *    a bound above the value is an error, never a result.
 *
 * Without a plan, value and gap are INFINITY and the plan is empty. */
#include <math.h>
#include <string.h>

#include "shard.h"

static void drop_plan(weft_shard_solution *out)
{
    out->plan = (weft_shard_plan){0};
    out->proof.value = out->proof.gap = INFINITY;
}

static const char *memory_reason(const weft_shard_problem *p, const weft_shard_plan_measures *m,
                                 weft_arena *a)
{
    int d = m->over_device;
    const weft_device *device = &p->platform->device[d];
    char peak[32], has[32], over[32];

    weft_format_bytes(m->peak_bytes[d], peak);
    weft_format_bytes(device->memory_bytes, has);
    weft_format_bytes(m->peak_bytes[d] - device->memory_bytes, over);
    return weft_arena_print(a, "the best attempt needs %s on '%s', which has %s: %s too much", peak,
                            device->name, has, over);
}

static weft_status check_rules(const weft_shard_solver *s, const weft_shard_problem *p,
                               const weft_shard_plan *plan, weft_arena *a)
{
    weft_violation violation = {NULL};

    if (weft_shard_plan_check(p, plan, &violation, 1, a) == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_INTERNAL,
                     "internal error: solver '%s' returned a plan that is not legal: %s", s->name,
                     violation.what);
}

static weft_status judge(const weft_shard_solver *s, const weft_shard_problem *p, weft_arena *a,
                         weft_shard_solution *out)
{
    if (weft_shard_plan_evaluate(p, &out->plan, a, &out->measures) != WEFT_OK) {
        weft_fail_in(WEFT_E_INTERNAL, s->name);
        return weft_fail_in(WEFT_E_INTERNAL, "internal error: the plan of a solver cannot run");
    }
    if (out->measures.over_device >= 0) {
        out->proof.reason = memory_reason(p, &out->measures, a);
        out->proof.outcome = WEFT_UNKNOWN;
        drop_plan(out);
        return WEFT_OK;
    }
    WEFT_TRY(check_rules(s, p, &out->plan, a));
    return weft_proof_settle(&out->proof, out->measures.latency_s, s->name);
}

static weft_status run_solver(const weft_shard_solver *s, const weft_shard_problem *p,
                              const weft_shard_options *o, weft_run *run, weft_shard_solution *out)
{
    static const weft_shard_options none = {.placer = NULL};
    weft_status status;

    status = s->solve(p, o != NULL ? o : &none, run, &out->plan, &out->proof);
    out->seconds = weft_wall_s() - run->begin_s;
    return status;
}

weft_status weft_shard_solve(const weft_shard_solver *s, const weft_shard_problem *p,
                             const weft_shard_options *o, weft_run *run, weft_arena *a,
                             weft_shard_solution *out)
{
    size_t mark = weft_arena_mark(run->scratch);
    weft_status status = WEFT_OK;
    weft_proof floor;

    *out = (weft_shard_solution){.measures.over_device = -1};
    out->proof.outcome = WEFT_UNKNOWN;
    run->begin_s = weft_wall_s(); /* the floor takes its time, too */
    if (o != NULL && o->floor != NULL)
        floor = *o->floor;
    else
        weft_shard_bound(p, a, &floor);
    if (s->applies == NULL || s->applies(p))
        status = run_solver(s, p, o, run, out);
    if (status == WEFT_OK && out->proof.reason != NULL)
        out->proof.reason = weft_arena_word(a, out->proof.reason);
    if (status == WEFT_OK && weft_has_plan(&out->proof))
        out->plan = weft_shard_plan_copy(&out->plan, a); /* it may lie in scratch memory */
    if (run->scratch != a)
        weft_arena_rewind(run->scratch, mark);
    WEFT_TRY(status);
    weft_proof_take_bound(&out->proof, &floor);
    if (weft_has_plan(&out->proof))
        return judge(s, p, a, out);
    drop_plan(out);
    return WEFT_OK;
}
