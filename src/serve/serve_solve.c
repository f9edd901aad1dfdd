/* SPDX-License-Identifier: MIT */
/* serve_solve.c: the driver of solvers of serving, as solve.c; more is better here.
 *
 * 1. The solver returns ranges, perhaps a certificate. Its scratch memory is dropped.
 * 2. The plan is checked, then the simulator values it by an algorithm of its own. What a solver
 *    says that a plan is worth is never asked for.
 * 3. The certificate is proved anew, from what is in it. One that does not prove what it says is
 *    the solver's error. Only enumeration is taken at its word, and its bound is called a search.
 * 4. Value = bound is a proof that the plan is optimal; a bound below the value is an error. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

static const double EXACT = 1e-9; /* relative gap below which value and bound are the same */

static weft_serve_certificate copy_certificate(const weft_serve_certificate *c, weft_arena *a)
{
    weft_serve_certificate copy = *c;

    if (c->n_prices > 0)
        copy.price = weft_arena_copy(a, c->price, sizeof *c->price * (size_t)c->n_prices);
    return copy;
}

static weft_status settle(weft_proof *proof, double value, const char *solver)
{
    const weft_claim both[2] = {
        {.by = solver, .outcome = WEFT_BOUNDED, .value = value,        .bound = INFINITY      },
        {.by = solver, .outcome = WEFT_UNKNOWN, .bound = proof->bound, .method = proof->method}
    };

    WEFT_TRY(weft_cross_check(
        &(weft_contest){.n = 2, .claim = both, .is_max = true, .unit = "tokens/s"}));
    proof->value = value;
    proof->bound = fmax(proof->bound, value);
    proof->certified = fmax(proof->certified, value);
    proof->gap = (proof->bound - value) / value;
    proof->outcome = proof->gap <= EXACT ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

static weft_status take_bound(const weft_serve_solver *s, const weft_serve_problem *p,
                              weft_serve_solution *out)
{
    const weft_serve_certificate *c = &out->certificate;

    if (!weft_serve_refuted(p, c))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: the certificate of solver '%s' (%s) does not prove its "
                         "bound of %.17g tokens/s",
                         s->name, weft_serve_method_name((int)c->method), c->target);
    out->proof.bound = out->proof.certified = c->target;
    out->proof.method = weft_serve_method_name((int)c->method);
    return WEFT_OK;
}

static void drop_plan(weft_serve_solution *out)
{
    out->plan = (weft_serve_plan){0};
    out->proof.value = out->proof.gap = INFINITY;
}

static weft_status judge(const weft_serve_solver *s, const weft_serve_problem *p, weft_arena *a,
                         weft_serve_solution *out)
{
    weft_violation violation = {NULL};

    if (weft_serve_plan_check(p, &out->plan, &violation, 1, a) != 0)
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: solver '%s' returned a plan that is not legal: %s",
                         s->name, violation.what);
    WEFT_TRY(weft_serve_evaluate(p, &out->plan, a, &out->flow));
    if (out->flow.tokens_per_s > 0)
        return settle(&out->proof, out->flow.tokens_per_s, s->name);
    drop_plan(out);
    return WEFT_OK;
}

/* Why no plan passes anything. */
static const char *reason_of(const weft_serve_problem *p, weft_arena *a)
{
    int64_t layers = 0;

    for (int i = 0; i < p->n_nodes; i++)
        layers += p->most[i];
    if (layers < p->n_layers)
        return weft_arena_print(a, "the nodes can hold %lld layers together, the model has %d",
                                (long long)layers, p->n_layers);
    return "no placement lets tokens pass from the source through all layers to the sink";
}

static weft_status finish(const weft_serve_solver *s, const weft_serve_problem *p,
                          const weft_serve_found *found, weft_arena *a, weft_serve_solution *out)
{
    if (found->certificate.target < INFINITY)
        WEFT_TRY(take_bound(s, p, out));
    if (found->has_plan)
        WEFT_TRY(judge(s, p, a, out));
    if (found->is_complete && out->proof.outcome != WEFT_OPTIMAL) {
        out->proof.method = weft_serve_method_name(WEFT_SERVE_ENUMERATION);
        out->proof.bound = weft_has_plan(&out->proof) ? out->proof.value : 0;
        out->proof.outcome = weft_has_plan(&out->proof) ? WEFT_OPTIMAL : WEFT_INFEASIBLE;
        out->proof.gap = weft_has_plan(&out->proof) ? 0 : INFINITY;
    }
    if (weft_has_plan(&out->proof))
        return WEFT_OK;
    if (out->proof.bound <= 0)
        out->proof.outcome = WEFT_INFEASIBLE;
    out->proof.reason = out->proof.outcome == WEFT_INFEASIBLE
                            ? reason_of(p, a)
                            : "the search ended before it found a plan that passes anything";
    return WEFT_OK;
}

weft_status weft_serve_solve(const weft_serve_solver *s, const weft_serve_problem *p, weft_run *run,
                             weft_arena *a, weft_serve_solution *out)
{
    size_t mark = weft_arena_mark(run->scratch);
    weft_serve_found found = {.certificate.target = INFINITY};

    *out = (weft_serve_solution){
        .proof = {.outcome = WEFT_UNKNOWN, .bound = INFINITY, .certified = INFINITY}
    };
    drop_plan(out);
    run->begin_s = weft_wall_s();
    s->solve(p, run, &found);
    out->seconds = weft_wall_s() - run->begin_s;
    if (found.has_plan)
        out->plan = weft_serve_plan_copy(&found.plan, a);
    out->certificate = copy_certificate(&found.certificate, a);
    out->log = found.log;
    if (run->scratch != a)
        weft_arena_rewind(run->scratch, mark);
    return finish(s, p, &found, a, out);
}
