/* SPDX-License-Identifier: MIT */
/* solve.c: the driver of solvers.
 *
 * 1. The solver returns devices and an order, perhaps a bound. Its scratch memory is dropped.
 * 2. The plan is simulated: its starts and its value are the simulator's.
 * 3. A plan that exceeds a memory is dropped: the outcome is unknown, the measures tell which.
 *    Every other rule is checked; a breach is the solver's error and is reported as such.
 * 4. The larger of the solver's bound and the caller's is kept, and the stronger certificates.
 *    Value = bound is a proof that the plan is optimal; a bound above the value is an error, never
 *    a result.
 *
 * Without a plan, value and gap are INFINITY and the plan is empty. */
#define _POSIX_C_SOURCE 200809L
#include "weft/solve.h"

#include <math.h>
#include <time.h>

static const double EXACT = 1e-9; /* relative gap below which value and bound are the same */

static double wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double weft_run_left_s(const weft_run *run)
{
    if (run->stop != NULL && *run->stop)
        return 0;
    return run->limit_s < INFINITY ? fmax(0, run->begin_s + run->limit_s - wall_s()) : INFINITY;
}

/* Certificates may lie in scratch memory or belong to the caller: the solution gets its own. */
static weft_proof copy_proof(const weft_proof *proof, int n_devices, weft_arena *a)
{
    weft_proof copy = *proof;

    if (proof->n_path > 0)
        copy.path = weft_arena_copy(a, proof->path, sizeof *proof->path * (size_t)proof->n_path);
    if (proof->price != NULL)
        copy.price = weft_arena_copy(a, proof->price, sizeof *proof->price * (size_t)n_devices);
    return copy;
}

/* Keeps outcome. The larger bound is taken with its method; certificates come from the proof that
 * certifies more, or from that of the bound if there is no difference. */
static void take_bound(weft_proof *proof, const weft_proof *other)
{
    weft_proof mine = *proof;
    bool is_larger = other->bound > mine.bound || mine.method == NULL;

    if (other->certified > mine.certified || (is_larger && other->certified == mine.certified))
        *proof = *other;
    proof->bound = is_larger ? other->bound : mine.bound;
    proof->method = is_larger ? other->method : mine.method;
    proof->outcome = mine.outcome;
}

static const void *options_or_defaults(const weft_solver *s, const void *options, weft_arena *a)
{
    void *defaults;

    if (options != NULL || s->options == NULL)
        return options;
    defaults = weft_arena_alloc(a, s->options_size);
    weft_options_default(s->options, defaults);
    return defaults;
}

static weft_status run_solver(const weft_solver *s, const weft_problem *p, const void *options,
                              weft_run *run, weft_solution *out)
{
    weft_status status;

    run->begin_s = wall_s();
    status = s->solve(p, options, run, &out->plan, &out->proof);
    out->seconds = wall_s() - run->begin_s;
    return status;
}

static void drop_plan(weft_solution *out)
{
    out->plan = (weft_plan){0};
    out->proof.value = out->proof.gap = INFINITY;
}

/* The simulator and the rules want numbers of devices and comparable starts. */
static weft_status check_decisions(const weft_solver *s, const weft_problem *p,
                                   const weft_plan *plan)
{
    for (int u = 0; u < p->n_tasks; u++) {
        if (plan->device[u] < 0 || plan->device[u] >= p->n_devices)
            return weft_fail(WEFT_E_INTERNAL,
                             "internal error: solver '%s' put task '%s' on device %d of %d",
                             s->name, p->task_name[u], plan->device[u], p->n_devices);
        if (!isfinite(plan->start_s[u]))
            return weft_fail(WEFT_E_INTERNAL,
                             "internal error: solver '%s' starts task '%s' at %g seconds", s->name,
                             p->task_name[u], plan->start_s[u]);
    }
    return WEFT_OK;
}

static weft_status check_rules(const weft_solver *s, const weft_problem *p, const weft_plan *plan,
                               weft_arena *a)
{
    weft_breach breach = {NULL};

    if (weft_plan_check(p, plan, &breach, 1, a) == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_INTERNAL,
                     "internal error: solver '%s' returned a plan that is not legal: %s", s->name,
                     breach.what);
}

static weft_status fill_proof(const weft_solver *s, const weft_problem *p, weft_solution *out)
{
    weft_proof *proof = &out->proof;
    double value = weft_goal_value(p, &out->measures);

    if (proof->bound > value * (1 + EXACT))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: the plan of solver '%s' takes %.17g seconds, less than "
                         "the lower bound %.17g by '%s'",
                         s->name, value, proof->bound,
                         proof->method == NULL ? "none" : proof->method);
    proof->value = value;
    proof->bound = fmin(proof->bound, value);
    proof->certified = fmin(proof->certified, proof->bound);
    proof->gap = value > 0 ? (value - proof->bound) / value : 0;
    proof->outcome = proof->gap <= EXACT ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

static weft_status judge(const weft_solver *s, const weft_problem *p, weft_arena *a,
                         weft_solution *out)
{
    WEFT_TRY(check_decisions(s, p, &out->plan));
    if (weft_evaluate(p, &out->plan, a, &out->measures) != WEFT_OK) {
        weft_fail_in(WEFT_E_INTERNAL, s->name);
        return weft_fail_in(WEFT_E_INTERNAL, "internal error: the plan of a solver cannot run");
    }
    if (out->measures.over_device >= 0) {
        drop_plan(out);
        out->proof.outcome = WEFT_UNKNOWN;
        return WEFT_OK;
    }
    WEFT_TRY(check_rules(s, p, &out->plan, a));
    return fill_proof(s, p, out);
}

weft_status weft_solve(const weft_solver *s, const weft_problem *p, const void *options,
                       weft_run *run, const weft_proof *bound, weft_arena *a, weft_solution *out)
{
    size_t mark = weft_arena_mark(run->scratch);
    weft_status status;

    *out = (weft_solution){.plan = weft_plan_new(p->n_tasks, a), .measures.over_device = -1};
    out->proof.outcome = WEFT_UNKNOWN;
    options = options_or_defaults(s, options, a);
    status = run_solver(s, p, options, run, out);
    if (status == WEFT_OK) {
        if (bound != NULL)
            take_bound(&out->proof, bound);
        out->proof = copy_proof(&out->proof, p->n_devices, a);
    }
    if (run->scratch != a)
        weft_arena_rewind(run->scratch, mark);
    WEFT_TRY(status);
    if (out->proof.outcome == WEFT_OPTIMAL || out->proof.outcome == WEFT_BOUNDED)
        return judge(s, p, a, out);
    if (bound != NULL && bound->outcome == WEFT_INFEASIBLE)
        out->proof.outcome = WEFT_INFEASIBLE;
    drop_plan(out);
    return WEFT_OK;
}
