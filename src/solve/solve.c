/* SPDX-License-Identifier: MIT */
/* solve.c: the driver of solvers.
 *
 * 1. The solver returns devices and an order, perhaps a bound. Its scratch memory is dropped.
 * 2. The plan is simulated: its starts and its value are the simulator's.
 * 3. A plan that exceeds a memory, or a limit of latency or period, is dropped: the outcome is
 *    unknown, the reason says by how much. Every other rule is checked; a violation is the solver's
 *    error and is reported as such.
 * 4. The larger of the solver's bound and the caller's is kept, and the stronger certificates.
 *    Value = bound is a proof that the plan is optimal; a bound above the value is an error, never
 *    a result.
 *
 * Without a plan, value and gap are INFINITY and the plan is empty. */
#define _POSIX_C_SOURCE 200809L
#include "solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double SAME = 1e-10; /* relative, of bounds that differ by rounding only */
static const double EXACT = 1e-9; /* relative gap below which value and bound are the same */

double weft_run_left_s(const weft_run *run)
{
    if (run->stop != NULL && *run->stop)
        return 0;
    return run->limit_s < INFINITY ? fmax(0, run->begin_s + run->limit_s - weft_wall_s())
                                   : INFINITY;
}

double weft_bound_larger(double bound, double found)
{
    assert(isfinite(bound) && isfinite(found));
    return isfinite(found) && found > bound ? found : bound;
}

bool weft_solver_searches(const weft_solver *s, const weft_problem *p, const char *method)
{
    bool is_latency = p->constraints.goal == WEFT_LATENCY, is_calls = p->transfer == WEFT_CALLS;
    unsigned what = !is_calls    ? is_latency ? WEFT_FOR_LATENCY : WEFT_FOR_THROUGHPUT
                    : is_latency ? 0
                                 : WEFT_FOR_CALLS;

    for (int i = 0; method != NULL && s->searches != NULL && s->searches[i].name != NULL; i++)
        if (strcmp(method, s->searches[i].name) == 0 && (s->searches[i].what & what) != 0)
            return true;
    return false;
}

/* Certificates may lie in scratch memory or belong to the caller: the solution gets its own. */
static weft_proof copy_proof(const weft_proof *proof, int n_devices, weft_arena *a)
{
    weft_proof copy = *proof;

    if (proof->n_path > 0)
        copy.path = weft_arena_copy(a, proof->path, sizeof *proof->path * (size_t)proof->n_path);
    if (proof->price != NULL)
        copy.price = weft_arena_copy(a, proof->price, sizeof *proof->price * (size_t)n_devices);
    if (proof->reason != NULL)
        copy.reason = weft_arena_word(a, proof->reason);
    return copy;
}

/* A plan that its solver made itself may lie in scratch memory. */
static weft_plan copy_plan(const weft_plan *plan, weft_arena *a)
{
    weft_plan copy = *plan;
    size_t n = (size_t)plan->n_tasks * (size_t)plan->n_variants;

    copy.device = weft_arena_copy(a, plan->device, n * sizeof *plan->device);
    copy.start_s = weft_arena_copy(a, plan->start_s, n * sizeof *plan->start_s);
    copy.share = weft_arena_copy(a, plan->share, (size_t)plan->n_variants * sizeof *plan->share);
    return copy;
}

/* Keeps outcome. The larger bound is taken with its method; certificates come from the proof that
 * certifies more, or from that of the bound if there is no difference. */
static void take_bound(weft_proof *proof, const weft_proof *other)
{
    weft_proof mine = *proof;
    bool is_certified = other->certified >= mine.certified &&
                        mine.bound <= other->bound * (1 + SAME); /* a search adds nothing */
    bool is_larger = other->bound > mine.bound || mine.method == NULL || is_certified;

    if (other->certified > mine.certified || (is_larger && other->certified == mine.certified))
        *proof = *other;
    proof->bound = is_larger ? other->bound : mine.bound;
    proof->method = is_larger ? other->method : mine.method;
    proof->outcome = mine.outcome;
    proof->reason = mine.reason;
    proof->grain_s = fmax(mine.grain_s, other->grain_s);
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

/* A solver proves a finite bound, or that there is no plan. */
static weft_status check_bound(const weft_solver *s, const weft_proof *proof)
{
    if (isfinite(proof->bound) || (proof->outcome == WEFT_INFEASIBLE && proof->bound > 0))
        return WEFT_OK;
    return weft_fail(WEFT_E_INTERNAL, "internal error: solver '%s' proves a bound of %g seconds",
                     s->name, proof->bound);
}

static weft_status run_solver(const weft_solver *s, const weft_problem *p, const void *options,
                              weft_run *run, weft_solution *out)
{
    weft_status status;

    run->begin_s = weft_wall_s();
    run->is_exhausted = run->is_used_up = false;
    status = s->solve(p, options, run, &out->plan, &out->proof);
    out->seconds = weft_wall_s() - run->begin_s;
    return status == WEFT_OK ? check_bound(s, &out->proof) : status;
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
    int n_variants = plan->n_variants > 1 ? plan->n_variants : 1;

    for (int i = 0; i < p->n_tasks * n_variants; i++) {
        const char *task = p->task_name[i % p->n_tasks];

        if (plan->device[i] < 0 || plan->device[i] >= p->n_devices)
            return weft_fail(WEFT_E_INTERNAL,
                             "internal error: solver '%s' put task '%s' on device %d of %d",
                             s->name, task, plan->device[i], p->n_devices);
        if (!isfinite(plan->start_s[i]))
            return weft_fail(WEFT_E_INTERNAL,
                             "internal error: solver '%s' starts task '%s' at %g seconds", s->name,
                             task, plan->start_s[i]);
    }
    return WEFT_OK;
}

static weft_status check_rules(const weft_solver *s, const weft_problem *p, const weft_plan *plan,
                               weft_arena *a)
{
    weft_violation violation = {NULL};

    if (weft_plan_check(p, plan, &violation, 1, a) == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_INTERNAL,
                     "internal error: solver '%s' returned a plan that is not legal: %s", s->name,
                     violation.what);
}

weft_status weft_proof_settle(weft_proof *proof, double value, const char *solver)
{
    const weft_claim both[2] = {
        weft_claim_plan(solver, value, 0),
        {.by = solver, .outcome = WEFT_UNKNOWN, .bound = proof->bound, .method = proof->method}
    };

    if (isnan(value) || isnan(proof->bound))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: the plan of solver '%s' takes %g seconds, its bound is "
                         "%g: expected numbers",
                         solver, value, proof->bound);
    WEFT_TRY(weft_cross_check(&(weft_contest){.n = 2, .claim = both}));
    proof->value = value;
    proof->bound = fmin(proof->bound, value);
    proof->certified = fmin(proof->certified, proof->bound);
    if (proof->certified == proof->bound && proof->certified_by != NULL)
        proof->method = proof->certified_by; /* no search is needed to see it */
    proof->gap = value > 0 ? (value - proof->bound) / value : 0;
    proof->outcome = proof->gap <= EXACT ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

weft_status weft_proof_settle_most(weft_proof *proof, double value, const char *unit,
                                   const char *solver)
{
    const weft_claim both[2] = {
        {.by = solver, .outcome = WEFT_BOUNDED, .value = value,        .bound = INFINITY      },
        {.by = solver, .outcome = WEFT_UNKNOWN, .bound = proof->bound, .method = proof->method}
    };

    if (!(value > 0) || isnan(proof->bound))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: the plan of solver '%s' is worth %g %s, its bound is %g: "
                         "expected numbers",
                         solver, value, unit, proof->bound);
    WEFT_TRY(
        weft_cross_check(&(weft_contest){.n = 2, .claim = both, .is_max = true, .unit = unit}));
    proof->value = value;
    proof->bound = fmax(proof->bound, value);
    proof->certified = fmax(proof->certified, value);
    proof->gap = (proof->bound - value) / value;
    proof->outcome = proof->gap <= EXACT ? WEFT_OPTIMAL : WEFT_BOUNDED;
    return WEFT_OK;
}

void weft_proof_take_bound(weft_proof *proof, const weft_proof *floor)
{
    if (!(proof->bound > floor->bound) || proof->method == NULL) {
        proof->bound = floor->bound;
        proof->method = floor->method;
    }
    proof->certified = floor->certified;
    proof->certified_by = floor->certified_by;
    proof->again = floor->again;
    proof->grain_s = fmax(proof->grain_s, floor->grain_s);
}

/* Limits are met, not used up: solvers look ahead. */
static const double NEARLY = 0.02;

const char *weft_why_stopped(const weft_run *run, weft_outcome outcome)
{
    if (outcome == WEFT_OPTIMAL || outcome == WEFT_INFEASIBLE)
        return "proved";
    if (run->stop != NULL && *run->stop)
        return "interrupted";
    if (run->limit_s < INFINITY &&
        (run->is_used_up || weft_run_left_s(run) <= NEARLY * run->limit_s))
        return "time limit";
    return run->steps > 0 && !run->is_exhausted ? "steps" : "search exhausted";
}

/* --- why a plan is dropped ------------------------------------------------------------------- */

/* Bytes of weights that task u reads; all of them, also those that others read too. */
static double weights_of(const weft_problem *p, int u)
{
    double bytes = 0;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        if (p->is_weight[p->arg[i]])
            bytes += p->memory[p->arg[i]];
    return bytes;
}

/* "; most by 'fc6' (411 MB), 'fc7' (67 MB)": the tasks on device d with the most weights, or "". */
static const char *largest_on(const weft_problem *p, const weft_plan *plan, int d, weft_arena *a)
{
    enum { N_SHOWN = 3 };
    const char *text = "";
    int shown[N_SHOWN] = {-1, -1, -1};
    char bytes[32];

    for (int i = 0; i < N_SHOWN; i++) {
        int best = -1;

        for (int u = 0; u < p->n_tasks; u++) {
            bool is_here = false;

            for (int w = 0; w < plan->n_variants; w++)
                is_here |= plan->device[(size_t)w * (size_t)p->n_tasks + (size_t)u] == d;
            if (is_here && u != shown[0] && u != shown[1] && weights_of(p, u) > 0 &&
                (best < 0 || weights_of(p, u) > weights_of(p, best)))
                best = u;
        }
        if (best < 0)
            break;
        shown[i] = best;
        text = weft_arena_print(a, "%s%s'%s' (%s)", text, i == 0 ? "; most weights by " : ", ",
                                p->task_name[best], weft_format_bytes(weights_of(p, best), bytes));
    }
    return text;
}

static const char *memory_reason(const weft_problem *p, const weft_plan *plan,
                                 const weft_measures *m, weft_arena *a)
{
    int d = m->over_device;
    char peak[32], has[32], over[32];

    weft_format_bytes(m->peak_bytes[d], peak);
    weft_format_bytes(p->capacity[d], has);
    weft_format_bytes(m->peak_bytes[d] - p->capacity[d], over);
    return weft_arena_print(a, "the best attempt needs %s on '%s', which has %s: %s too much%s",
                            peak, p->device_name[d], has, over, largest_on(p, plan, d, a));
}

static const char *limit_reason(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    const weft_constraints *constraints = &p->constraints;
    char is[48], most[48];

    if (!weft_constraints_allow(constraints, m->makespan_s, 0))
        return weft_arena_print(
            a, "the best attempt takes %s, the deadline is %s",
            weft_unit_print(m->makespan_s, WEFT_UNIT_SECONDS, is),
            weft_unit_print(constraints->most_latency_s, WEFT_UNIT_SECONDS, most));
    return weft_arena_print(a, "the best attempt makes %s items/s, at least %s are asked for",
                            weft_format_count(1 / m->period_s, is),
                            weft_format_count(1 / constraints->most_period_s, most));
}

/* Few solvers know of segments and pipeline stages. */
static const char *loop_reason(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    int n_variants = plan->n_variants > 1 ? plan->n_variants : 1;

    for (int w = 0; w < n_variants; w++) {
        const int *device = plan->device + (size_t)w * (size_t)p->n_tasks;
        const char *breach = weft_segments_breach(p, device, a);
        int d = p->constraints.is_contiguous ? weft_plan_loop(p, device, a) : -1;

        if (breach != NULL)
            return weft_arena_print(a, "the best attempt is no plan: %s", breach);
        if (d >= 0)
            return weft_arena_print(a,
                                    "the best attempt has no pipeline stages: what '%s' makes "
                                    "comes back to it by way of other devices",
                                    p->device_name[d]);
    }
    return NULL;
}

/* The reason why the simulated plan does not count; NULL: it does. */
static const char *refusal(const weft_problem *p, const weft_solution *s, weft_arena *a)
{
    const weft_measures *m = &s->measures;

    if (m->over_device >= 0)
        return memory_reason(p, &s->plan, m, a);
    if (!weft_constraints_allow(&p->constraints, m->makespan_s, m->period_s))
        return limit_reason(p, m, a);
    return loop_reason(p, &s->plan, a);
}

/* A bound that was rounded up says that all values are multiples of the grain: this one, too. */
static weft_status check_grain(const weft_solver *s, const weft_proof *proof, double value)
{
    if (!(proof->grain_s > 0) || weft_grain_divides(proof->grain_s, value))
        return WEFT_OK;
    return weft_fail(WEFT_E_INTERNAL,
                     "internal error: the plan of solver '%s' takes %.17g seconds, no multiple of "
                     "%.17g as its bound says",
                     s->name, value, proof->grain_s);
}

static weft_status judge(const weft_solver *s, const weft_problem *p, weft_arena *a,
                         weft_solution *out)
{
    WEFT_TRY(check_decisions(s, p, &out->plan));
    if (weft_evaluate(p, &out->plan, a, &out->measures) != WEFT_OK) {
        weft_fail_in(WEFT_E_INTERNAL, s->name);
        return weft_fail_in(WEFT_E_INTERNAL, "internal error: the plan of a solver cannot run");
    }
    out->proof.reason = refusal(p, out, a);
    if (out->proof.reason != NULL) {
        drop_plan(out);
        out->proof.outcome = WEFT_UNKNOWN;
        return WEFT_OK;
    }
    WEFT_TRY(check_rules(s, p, &out->plan, a));
    WEFT_TRY(check_grain(s, &out->proof, weft_goal_value(p, &out->measures)));
    return weft_proof_settle(&out->proof, weft_goal_value(p, &out->measures), s->name);
}

weft_status weft_solve(const weft_solver *s, const weft_problem *p, const void *options,
                       weft_run *run, const weft_proof *bound, weft_arena *a, weft_solution *out)
{
    size_t mark = weft_arena_mark(run->scratch);
    weft_status status;
    const char *stopped;
    const int *room;

    *out = (weft_solution){.plan = weft_plan_new(p->n_tasks, a), .measures.over_device = -1};
    out->proof.outcome = WEFT_UNKNOWN;
    room = out->plan.device;
    options = options_or_defaults(s, options, a);
    status = weft_solver_applies(s, p) ? run_solver(s, p, options, run, out) : WEFT_OK;
    if (status == WEFT_OK) {
        if (bound != NULL)
            take_bound(&out->proof, bound);
        weft_proof_round(&out->proof, weft_problem_grain_s(p));
        out->proof = copy_proof(&out->proof, p->n_devices, a);
        if (out->plan.device != room)
            out->plan = copy_plan(&out->plan, a);
    }
    if (run->scratch != a)
        weft_arena_rewind(run->scratch, mark);
    WEFT_TRY(status);
    stopped = s->searches != NULL ? weft_why_stopped(run, WEFT_UNKNOWN) : NULL;
    if (weft_has_plan(&out->proof))
        WEFT_TRY(judge(s, p, a, out));
    else
        drop_plan(out);
    out->proof.stopped = out->proof.outcome == WEFT_OPTIMAL ? "proved" : stopped;
    if (out->plan.n_tasks == 0 && bound != NULL && bound->outcome == WEFT_INFEASIBLE) {
        out->proof.outcome = WEFT_INFEASIBLE;
        out->proof.reason = copy_proof(bound, p->n_devices, a).reason;
    }
    if (out->proof.outcome == WEFT_INFEASIBLE)
        out->proof.stopped = "proved";
    return WEFT_OK;
}
