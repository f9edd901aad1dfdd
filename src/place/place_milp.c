/* SPDX-License-Identifier: MIT */
/* place_milp.c: the solver `milp`, an exact search by linear programming.
 *
 * 1. The list schedulers give a plan: the best by simulation. Its value as a piece, that is with
 *    transfers that do not wait for each other, is what the search must beat.
 * 2. The model of the problem (milp_schedule.c) is tightened and solved, starting from that plan.
 * 3. The better of both plans by simulation is returned, with the bound of the search. If all
 *    times are multiples of a common divisor, the least latency is one too, and the bound is
 *    raised to the next multiple: this turns a search that ended into a proof without rounding.
 *
 * Exact where transfers overlap and weights are all that memory has to hold; else the bound is
 * still one, since the model is a relaxation then. Larger models than the options allow are not
 * searched: the plan of step 1 and the bound of the relaxation are the answer, and beyond
 * MOST_COLUMNS there is none. Latency only. */
#include "milp_place.h"

#include <math.h>

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

typedef struct search {
    const weft_problem *p;
    const milp_options *o;
    weft_run *run;
    weft_piece *x;
    weft_plan plan; /* the best so far */
    double value;   /* of it, by simulation; INFINITY: none */
} search;

/* --- the plan to start from ------------------------------------------------------------------ */

/* Keeps a plan if it is the best so far and fits the memories. */
static weft_status offer(search *s, const weft_plan *plan)
{
    weft_arena *a = s->run->scratch;
    weft_plan copy = weft_plan_new(plan->n_tasks, a);
    weft_measures measures;
    double value;

    for (int u = 0; u < plan->n_tasks; u++) {
        copy.device[u] = plan->device[u];
        copy.start_s[u] = plan->start_s[u];
    }
    WEFT_TRY(weft_evaluate(s->p, &copy, a, &measures));
    value = weft_goal_value(s->p, &measures);
    if (measures.over_device < 0 && value < s->value) {
        s->value = value;
        s->plan = copy;
    }
    return WEFT_OK;
}

static weft_status find_start(search *s)
{
    static const weft_solver *const quick[] = {&weft_place_single, &weft_place_met,
                                               &weft_place_greedy, &weft_place_heft,
                                               &weft_place_peft,   &weft_place_lookahead};

    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        weft_plan plan = weft_plan_new(s->p->n_tasks, s->run->scratch);
        weft_proof proof = {.outcome = WEFT_UNKNOWN};

        WEFT_TRY(quick[i]->solve(s->p, NULL, s->run, &plan, &proof));
        if (proof.outcome == WEFT_BOUNDED)
            WEFT_TRY(offer(s, &plan));
    }
    return WEFT_OK;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Columns of the model if every edge needs all of them. */
static double estimate(const weft_piece *x)
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
    if (!(s->value < INFINITY))
        return k;
    weft_piece_order(s->x, s->plan.start_s, order, a);
    k.upper = weft_piece_time(s->x, s->plan.device, order, start_s);
    k.device = s->plan.device;
    k.start_s = start_s;
    return k;
}

/* The bound, raised to the next multiple of what divides all times. */
static double rounded(const weft_piece *x, double bound)
{
    double quantum = weft_piece_quantum(x, LEAST_QUANTUM * bound);

    return quantum > 0 ? fmax(bound, quantum * ceil(bound / quantum - ALMOST)) : bound;
}

static weft_status run_model(search *s, const weft_milp *m, const weft_milp_columns *columns,
                             weft_milp_result *result)
{
    weft_milp_options o = {.limit_s = weft_run_left_s(s->run),
                           .seed = s->run->seed,
                           .least_value = -INFINITY,
                           .stop = s->run->stop};
    weft_plan plan = weft_plan_new(s->p->n_tasks, s->run->scratch);

    o.most_nodes = s->run->steps;
    if (o.most_nodes == 0 && !(o.limit_s < INFINITY))
        o.most_nodes = s->o->nodes;
    WEFT_TRY(weft_milp_solve(m, NULL, &o, s->run->scratch, result));
    if (result->x == NULL)
        return WEFT_OK;
    weft_milp_schedule_decode(s->x, columns, result->x, s->run->scratch, plan.device, plan.start_s);
    return offer(s, &plan);
}

/* Fills bound and method; the plan may get better on the way. */
static weft_status find_bound(search *s, weft_proof *proof)
{
    weft_milp_known k = known_of(s);
    weft_milp_columns columns;
    weft_milp *m = weft_milp_schedule_new(s->x, &k, s->run->scratch, &columns);
    weft_milp_result result = {.outcome = WEFT_MILP_UNKNOWN, .bound = -INFINITY};
    weft_status status = WEFT_OK;

    proof->method = "lp";
    proof->bound = columns.bound;
    if (!columns.is_empty && !columns.is_partial)
        status = run_model(s, m, &columns, &result);
    if (result.outcome == WEFT_MILP_INFEASIBLE)
        columns.is_empty = true;
    if (result.bound * columns.unit_s > proof->bound && !columns.is_empty) {
        proof->method = "milp";
        proof->bound = result.bound * columns.unit_s;
    }
    if (columns.is_empty && !(k.upper < INFINITY))
        proof->outcome = WEFT_INFEASIBLE;
    weft_milp_free(m);
    proof->bound = rounded(s->x, proof->bound);
    return status;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain domain = weft_domain_new(p, run->scratch);
    search s = {.p = p, .o = options, .run = run, .value = INFINITY};

    proof->outcome = domain.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (domain.is_empty || p->ask.goal != WEFT_LATENCY || p->n_devices > WEFT_PIECE_DEVICES)
        return WEFT_OK;
    s.x = weft_piece_of(&domain, run->scratch);
    if (estimate(s.x) > MOST_COLUMNS)
        return WEFT_OK;
    WEFT_TRY(find_start(&s));
    WEFT_TRY(find_bound(&s, proof));
    if (!(s.value < INFINITY))
        return WEFT_OK;
    proof->outcome = WEFT_BOUNDED;
    for (int u = 0; u < p->n_tasks; u++) {
        plan->device[u] = s.plan.device[u];
        plan->start_s[u] = s.plan.start_s[u];
    }
    return WEFT_OK;
}

const weft_solver weft_place_milp = {
    .name = "milp",
    .summary = "exact for small problems, by linear programming",
    .options = milp_table,
    .options_size = sizeof(milp_options),
    .solve = solve,
};
