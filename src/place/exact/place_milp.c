/* SPDX-License-Identifier: MIT */
/* place_milp.c: the solver `milp`, an exact search by linear programming.
 *
 * 1. The list schedulers give a plan: the best by simulation. Its value as a subproblem, that is with
 *    transfers that do not wait for each other, is what the search must beat.
 * 2. The model of the problem (milp_schedule.c) is tightened; the relaxation bounds the latency.
 * The engine's solution of the model is a plan, and nothing more: what it says of a bound is not
 * used.
 * 3. The proof is our own. If the engine claims that nothing is better, the search over ideals
 *    (exact.c), with a limited number of states, looks for it, and proves the claim or finds the
 *    better plan. If it does not end, or nothing was claimed, branching on the model with bounds
 *    from duals (opt/milp_tree.c) goes on.
 * 4. The best of the plans by simulation is returned, with the largest bound. If all times are
 *    multiples of a common divisor, the least latency is one too, and the bound is raised to the
 *    next multiple: this turns a bound that is a little below the value into a proof.
 *
 * Exact where transfers overlap and weights are all that memory has to hold; else the bound is
 * still one, since the model is a relaxation then. Larger models than the options allow are not
 * searched: the plan of step 1 and the bound of the relaxation are the answer, and beyond
 * MOST_COLUMNS there is none. Latency only, and not where accelerators are called once an item: the
 * host then runs tasks side by side, which a subproblem does not. */
#include "first.h"
#include "milp_place.h"

#include <math.h>
#include <string.h>

typedef struct milp_options {
    int64_t nodes, pairs, rounds;
} milp_options;

static const weft_option milp_table[] = {
    {WEFT_INT(milp_options, nodes),  2000, 1, 1e9, "nodes of the search, if nothing else limits it",
     NULL,                                                                                                 NULL},
    {WEFT_INT(milp_options, pairs),  300,  1, 1e6, "pairs of tasks without fixed order, at most",
     NULL,                                                                                                 NULL},
    {WEFT_INT(milp_options, rounds), 6,    0, 100, "rounds of cuts before the search",               NULL, NULL},
    WEFT_OPTIONS_END,
};

static const double MOST_COLUMNS = 50000; /* of a model, as estimated before it is made */
static const double LEAST_QUANTUM = 1e-5; /* of the value: what engines can tell apart */
static const double ALMOST = 1e-6;        /* of a quantum */
static const double ENGINE_SHARE = 0.8;   /* of the time; the rest is for proofs */
static const double MET = 1e-9;           /* relative; closer is a proof (solve.c) */
enum { STATES_A_NODE = 50 };              /* of the search for a proof, for each node of `nodes` */

typedef struct search {
    const weft_problem *p;
    const milp_options *o;
    weft_run *run;
    weft_subproblem *x;
    weft_best best;
} search;

/* Columns of the model if every edge needs all of them. */
static double estimate(const weft_subproblem *x)
{
    double n = x->n_devices;

    return x->n_tasks * (n + 1) + x->n_edges * n * n;
}

/* What the plan to start from says to the model. */
static weft_milp_known known_of(const search *s)
{
    weft_arena *a = s->run->scratch;
    weft_milp_known k = {.upper = INFINITY, .most_pairs = (int)s->o->pairs};
    int *order = WEFT_NEW(a, int, s->x->n_tasks);
    double *start_s = WEFT_NEW(a, double, s->x->n_tasks);

    k.tighten.limit_s = weft_run_left_s(s->run);
    k.tighten.rounds = (int)s->o->rounds;
    k.tighten.stop = s->run->stop;
    if (!(s->best.value < INFINITY))
        return k;
    weft_subproblem_order(s->x, s->best.plan.start_s, order, a);
    k.upper = weft_subproblem_time(s->x, s->best.plan.device, order, start_s);
    k.device = s->best.plan.device;
    k.start_s = start_s;
    return k;
}

/* The bound, raised to the next multiple of what divides all times. */
static double rounded(const weft_subproblem *x, double bound)
{
    double quantum = weft_subproblem_quantum(x, LEAST_QUANTUM * bound);

    return quantum > 0 ? fmax(bound, quantum * ceil(bound / quantum - ALMOST)) : bound;
}

/* Takes a bound that is larger than the one so far; certificates stay with what they prove. */
static void raise_bound(const search *s, weft_proof *proof, double bound, const char *method)
{
    bound = rounded(s->x, bound);
    if (bound > proof->bound) {
        proof->bound = bound;
        proof->method = method;
    }
}

/* The limits of a run for nodes of a search. */
static weft_milp_options limits_of(const search *s)
{
    weft_milp_options o = {
        .limit_s = weft_run_left_s(s->run), .seed = s->run->seed, .stop = s->run->stop};

    o.most_nodes = s->run->steps;
    if (o.most_nodes == 0 && !(o.limit_s < INFINITY))
        o.most_nodes = s->o->nodes;
    return o;
}

static void try_solution(search *s, const weft_milp_columns *columns, const double *x)
{
    weft_plan plan = weft_plan_new(s->p->n_tasks, s->run->scratch);

    if (x == NULL)
        return;
    weft_milp_schedule_decode(s->x, columns, x, s->run->scratch, plan.device, plan.start_s);
    weft_best_try(&s->best, s->p, &plan, s->run->scratch);
}

/* Is the bound that of the best plan already? */
static bool is_met(const search *s, const weft_proof *proof)
{
    return proof->bound >= s->best.value * (1 - MET);
}

/* Looks for anything better than the best plan, or shows that there is nothing: true. Without a
 * plan that proves the engine's claim that there is none. */
static bool prove_by_states(search *s, const weft_milp_result *claim, weft_proof *proof)
{
    int64_t nodes = s->run->steps > 0 ? s->run->steps : s->o->nodes;
    weft_effort e = {.upper = INFINITY, .run = s->run};
    weft_plan plan = {.n_tasks = s->p->n_tasks, .n_variants = 1};
    weft_answer found;

    e.most_states = nodes < INT64_MAX / STATES_A_NODE ? nodes * STATES_A_NODE : INT64_MAX;
    if (s->best.value < INFINITY)
        e.upper = s->best.value;
    found = weft_subproblem_solve(s->x, &e, s->run->scratch);
    if (found.device != NULL) {
        plan.device = found.device;
        plan.start_s = found.start_s;
        weft_best_try(&s->best, s->p, &plan, s->run->scratch);
    } else if (found.is_closed && !(e.upper < INFINITY)) {
        if (claim->x == NULL)
            proof->outcome = WEFT_INFEASIBLE;
        return claim->x == NULL;
    }
    raise_bound(s, proof, found.bound, "milp");
    return found.is_closed;
}

/* Branches on the model of what is not longer than the best plan. */
static weft_status prove_by_model(search *s, weft_proof *proof)
{
    weft_milp_known k = known_of(s);
    weft_milp_columns columns;
    weft_milp *m = weft_milp_schedule_new(s->x, &k, s->run->scratch, &columns);
    weft_milp_options o = limits_of(s);
    weft_milp_result r = {.outcome = WEFT_MILP_UNKNOWN, .bound = -INFINITY};
    weft_status status = WEFT_OK;

    o.part = WEFT_MILP_PROVE;
    raise_bound(s, proof, columns.bound, "lp");
    if (!columns.is_empty)
        status = weft_milp_solve(m, &o, s->run->scratch, &r);
    try_solution(s, &columns, r.x);
    if (columns.is_empty || r.outcome == WEFT_MILP_INFEASIBLE) {
        if (!(k.upper < INFINITY))
            proof->outcome = WEFT_INFEASIBLE;
    } else {
        raise_bound(s, proof, r.bound * columns.unit_s, "milp");
    }
    weft_milp_free(m);
    return status;
}

/* Solves the model for a plan, then proves what can be proved. */
static weft_status search_model(search *s, const weft_milp *m, const weft_milp_columns *columns,
                                weft_proof *proof)
{
    weft_milp_options o = limits_of(s);
    weft_milp_result r;
    bool is_closed = false;

    o.limit_s *= ENGINE_SHARE;
    o.part = WEFT_MILP_FIND;
    WEFT_TRY(weft_milp_solve(m, &o, s->run->scratch, &r));
    try_solution(s, columns, r.x);
    if (r.is_claimed && !is_met(s, proof) && !weft_run_is_over(s->run))
        is_closed = prove_by_states(s, &r, proof);
    if (is_closed || is_met(s, proof) || weft_run_is_over(s->run))
        return WEFT_OK;
    return prove_by_model(s, proof);
}

/* Fills bound and method; the plan may get better on the way. */
static weft_status find_bound(search *s, weft_proof *proof)
{
    weft_milp_known k = known_of(s);
    weft_milp_columns columns;
    weft_milp *m = weft_milp_schedule_new(s->x, &k, s->run->scratch, &columns);
    weft_status status = WEFT_OK;

    raise_bound(s, proof, columns.bound, "lp");
    if (columns.is_empty && !(k.upper < INFINITY))
        proof->outcome = WEFT_INFEASIBLE;
    if (!columns.is_empty && !columns.is_partial)
        status = search_model(s, m, &columns, proof);
    weft_milp_free(m);
    return status;
}

/* The subproblem of a problem that the model can hold; NULL: too large. */
static weft_subproblem *subproblem_of(const weft_domain *m, weft_arena *a)
{
    weft_subproblem *x;

    if (m->problem->n_devices > WEFT_SUBPROBLEM_DEVICES)
        return NULL;
    x = weft_subproblem_of(m, a);
    return estimate(x) > MOST_COLUMNS ? NULL : x;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain domain = weft_domain_new(p, run->scratch);
    search s = {.p = p, .o = options, .run = run};

    weft_place_bound(p, run->scratch, proof);
    if (proof->outcome == WEFT_INFEASIBLE || !weft_is_schedule(p))
        return WEFT_OK;
    s.x = subproblem_of(&domain, run->scratch);
    if (s.x == NULL)
        return WEFT_OK;
    s.best = weft_best_new(p, run->scratch);
    WEFT_TRY(weft_best_first(&s.best, p, run));
    WEFT_TRY(find_bound(&s, proof));
    weft_best_answer(&s.best, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_milp = {
    .name = "milp",
    .summary = "mixed integer program; exact for small problems",
    .options = milp_table,
    .options_size = sizeof(milp_options),
    .solve = solve,
    .applies = weft_is_schedule,
    .searches =
        (const weft_search_method[]){{"lp", WEFT_FOR_LATENCY}, {"milp", WEFT_FOR_LATENCY}, {0}},
};

/* --- the model as a file --------------------------------------------------------------------- */

static weft_status write_model(const weft_problem *p, weft_run *run, const char *path)
{
    weft_domain domain = weft_domain_new(p, run->scratch);
    milp_options options;
    search s = {.p = p, .o = &options, .run = run};
    weft_milp_columns columns;
    weft_milp_known known;
    weft_milp *m;
    weft_status status;

    weft_options_default(milp_table, &options);
    options.pairs = 0; /* all of them */
    s.x = domain.is_empty ? NULL : subproblem_of(&domain, run->scratch);
    if (s.x == NULL)
        return weft_fail(WEFT_E_INPUT, "%s: the model is not written: %s", path,
                         domain.is_empty ? "a task has no device it could run on"
                                         : "the problem is too large for it");
    s.best = weft_best_new(p, run->scratch);
    WEFT_TRY(weft_best_first(&s.best, p, run));
    known = known_of(&s);
    m = weft_milp_schedule_new(s.x, &known, run->scratch, &columns);
    status = columns.is_empty
                 ? weft_fail(WEFT_E_INPUT, "%s: the model is not written: there is no plan", path)
                 : weft_milp_write(m, path);
    weft_milp_free(m);
    return status;
}

weft_status weft_place_write_model(const weft_problem *p, const char *path)
{
    weft_run run = {.n_threads = 1, .limit_s = INFINITY};
    weft_status status;

    if (!weft_is_schedule(p))
        return weft_fail(WEFT_E_INPUT, "%s: only the model for latency can be written", path);
    run.scratch = weft_arena_new();
    status = write_model(p, &run, path);
    weft_arena_free(run.scratch);
    return status;
}
