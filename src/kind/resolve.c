/* SPDX-License-Identifier: MIT */
/* resolve.c: the problem of a plan, solved again for another machine.
 *
 * 1. The text of the machine is read as a platform file (or a file of tasks) is: nothing but the
 *    text differs from what a user gets who edits the file.
 * 2. The problem is solved as the command that made the plan does it.
 * 3. The old plan, by the names of tasks and devices, is checked and simulated there. If it is
 *    better than the bound allows, one of the two is wrong (cross.c). */
#include "resolve.h"
#include "check.h"
#include "upgrade.h"

#include <math.h>
#include <string.h>

static weft_run run_of(const weft_run *like)
{
    return (weft_run){.seed = like->seed,
                      .n_threads = 1,
                      .limit_s = like->limit_s,
                      .steps = like->steps,
                      .stop = like->stop};
}

/* The value of the old plan there; NAN: it does not run. */
static double kept_value(const weft_check_result *v, const weft_opened *p, weft_arena *a)
{
    const weft_kind *k = v->kind;
    void *solution = weft_arena_alloc(a, k->solution_size);
    weft_wrongs w = weft_wrongs_new(a);
    weft_violation violation;

    if (!k->decide(&v->file, p, &w, solution) || k->evaluate(p, solution, a) != WEFT_OK)
        return NAN;
    k->refuse(p, solution, &w);
    if (w.n > 0 || k->violations(p, solution, &violation, 1, a) > 0)
        return NAN;
    return k->value(p, solution);
}

/* The old plan is that of the file. */
static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const weft_check_result *v = context;

    return i == 1 ? weft_doc_copy(v->file.doc, a) : NULL;
}

static weft_status solve_again(const weft_resolve_request *q, weft_arena *a, weft_resolved *out)
{
    const weft_kind *k = q->plan->kind;
    void *solution = weft_arena_alloc(a, k->solution_size);
    weft_run run = run_of(q->run);
    weft_opened p;
    weft_status status;

    WEFT_TRY(k->open(q->plan->request, q->machine, a, &p));
    run.scratch = weft_arena_new();
    status = k->solve(&p, q->solver, &run, NULL, a, solution);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = *k->proof(solution);
        out->kept = kept_value(q->plan, &p, a);
    }
    k->close(p.of_kind);
    return status;
}

weft_status weft_resolve(const weft_resolve_request *q, weft_arena *a, weft_resolved *out)
{
    weft_claim claim[2];

    *out = (weft_resolved){.kept = NAN};
    WEFT_TRY(solve_again(q, a, out));
    claim[0] = weft_claim_of(q->solver, &out->proof);
    claim[1] = weft_claim_plan("the plan that is explained", out->kept, 0);
    return weft_cross_check(&(weft_contest){
        .n = 2, .claim = claim, .machine = q->machine, .plan = plan_of, .context = q->plan});
}

bool weft_resolved_has_plan(const weft_resolved *o)
{
    return weft_has_plan(&o->proof);
}

weft_status weft_resolve_solver(const weft_check_result *v, const char *name)
{
    if (weft_kind_has_solver(v->kind, name))
        return WEFT_OK;
    return weft_fail(
        WEFT_E_INPUT,
        "the plan was made by '%s', which is no solver: say with --solver which one is "
        "to solve again (see: weft list solvers)",
        name);
}
