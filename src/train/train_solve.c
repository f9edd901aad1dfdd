/* SPDX-License-Identifier: MIT */
/* train_solve.c: the driver of solvers of training plans, as solve.c.
 *
 * 1. The solver returns decisions, perhaps a bound. Its scratch memory is dropped.
 * 2. The plan is checked, then simulated: its value is the simulator's. A plan that exceeds a
 *    memory is dropped: the outcome is unknown, the reason says by how much. Any other violation is
 *    the solver's error and is reported as such.
 * 3. The larger of the solver's bound and the floor (weft_train_bound) is kept; what is certified
 *    is the floor, which anybody can compute again. Value = bound is a proof that the plan is
 *    optimal; a bound above the value is an error, never a result.
 *
 * Without a plan, value and gap are INFINITY and the plan is empty. */
#include <math.h>
#include <string.h>

#include "train.h"
#include "train_plan.h"

static void drop_plan(weft_train_solution *out)
{
    out->plan = (weft_train_plan){0};
    out->proof.value = out->proof.gap = INFINITY;
}

static bool has_plan(const weft_train_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static const char *memory_reason(const weft_train_problem *p, const weft_train_plan *plan,
                                 const weft_train_measures *m, weft_arena *a)
{
    int i = m->over_stage;
    char peak[32], has[32], over[32];

    weft_format_bytes(m->stage_peak_bytes[i], peak);
    weft_format_bytes(m->stage_room_bytes[i], has);
    weft_format_bytes(m->stage_peak_bytes[i] - m->stage_room_bytes[i], over);
    return weft_arena_print(
        a, "the best attempt needs %s in stage %d on devices of '%s', which have %s: %s too much",
        peak, i + 1, p->cluster->classes[plan->stage[i].part[0].class_id].kind, has, over);
}

static weft_status judge(const weft_train_solver *s, const weft_train_problem *p, weft_arena *a,
                         weft_train_solution *out)
{
    weft_violation violation = {NULL};

    if (weft_train_plan_check(p, &out->plan, &violation, 1, a) != 0)
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: solver '%s' returned a plan that is not legal: %s",
                         s->name, violation.what);
    if (weft_train_plan_evaluate(p, &out->plan, a, &out->measures) != WEFT_OK) {
        weft_fail_in(WEFT_E_INTERNAL, s->name);
        return weft_fail_in(WEFT_E_INTERNAL, "internal error: the plan of a solver cannot run");
    }
    if (out->measures.over_stage >= 0) {
        out->proof.reason = memory_reason(p, &out->plan, &out->measures, a);
        out->proof.outcome = WEFT_UNKNOWN;
        drop_plan(out);
        return WEFT_OK;
    }
    return weft_proof_settle(&out->proof, out->measures.step_s, s->name);
}

weft_status weft_train_solve(const weft_train_solver *s, const weft_train_problem *p, weft_run *run,
                             weft_arena *a, weft_train_solution *out)
{
    size_t mark = weft_arena_mark(run->scratch);
    weft_train_bound_parts floor;
    weft_proof bound;
    weft_status status;

    *out = (weft_train_solution){.measures.over_stage = -1};
    out->proof.outcome = WEFT_UNKNOWN;
    run->begin_s = weft_wall_s(); /* the floor takes its time, too */
    weft_train_bound(p, a, &bound, &floor);
    status = s->solve(p, run, &out->plan, &out->proof, &out->log);
    out->seconds = weft_wall_s() - run->begin_s;
    if (status == WEFT_OK && out->proof.reason != NULL)
        out->proof.reason = weft_arena_text(a, out->proof.reason, strlen(out->proof.reason));
    if (status == WEFT_OK && has_plan(out))
        out->plan = weft_train_plan_copy(&out->plan, a); /* it may lie in scratch memory */
    if (run->scratch != a)
        weft_arena_rewind(run->scratch, mark);
    WEFT_TRY(status);
    floor.pipeline_s = out->log.floor.pipeline_s;
    out->log.floor = floor;
    weft_proof_take_bound(&out->proof, &bound);
    if (has_plan(out))
        return judge(s, p, a, out);
    drop_plan(out);
    return WEFT_OK;
}
