/* SPDX-License-Identifier: MIT */
/* train_registry.c: the solvers of training plans by number and by name, from the simplest to the
 * most elaborate; and the two that only differ in effort. A new one is a file and a row. */
#include <math.h>
#include <string.h>

#include "infeasibility.h"
#include "pipe_solve.h"

/* The second where blocks may have several devices: how operators are cut over them is an input
 * (block_choose.c), and what is proved is proved for these cuts. */
static const char method[] = "pipeline search";
static const char cut_method[] = "pipeline search, tensor cuts fixed by the network";

bool weft_train_method_is_search(const char *name)
{
    return name != NULL && (strcmp(name, method) == 0 || strcmp(name, cut_method) == 0);
}

const char *weft_train_search_method(const weft_train_problem *p)
{
    for (int i = 0; i < p->n_variants; i++)
        if (weft_train_search_method(p->variant[i]) == cut_method)
            return cut_method;
    for (int i = 0; i < p->cluster->n_classes * p->n_widths * p->n_shares; i++) {
        int width = p->width[i / p->n_shares % p->n_widths];

        if (p->cost[i] != NULL && width > 1 && weft_counts_allow(&p->constraints.tp, width) &&
            (p->constraints.most_width == 0 || width <= p->constraints.most_width))
            return cut_method;
    }
    return method;
}

/* The variant that divides most. */
static const weft_train_problem *most_saving(const weft_train_problem *p)
{
    return weft_train_variant_at(p, weft_train_n_variants(p) - 1);
}

static weft_status run_search(const weft_train_problem *p, weft_run *run,
                              const weft_pipe_effort *effort, weft_train_plan *plan,
                              weft_proof *proof, weft_train_log *log)
{
    weft_pipe_result r;

    weft_pipe_search_all(p, run, effort, run->scratch, &r);
    log->n_stages_tried = r.n_stages_tried;
    log->n_plans_tried = r.n_plans_tried;
    log->floor.pipeline_s = r.bound_s < INFINITY ? r.bound_s : 0;
    proof->bound = r.bound_s < INFINITY ? r.bound_s : 0;
    proof->method = weft_train_search_method(p);
    if (r.value_s < INFINITY) {
        *plan = r.plan;
        proof->outcome = WEFT_BOUNDED;
    } else if (r.bound_s < INFINITY) {
        proof->outcome = WEFT_UNKNOWN;
        proof->reason = "the search ended before it found a plan";
    } else {
        proof->outcome = WEFT_INFEASIBLE;
        proof->reason = weft_pipe_infeasibility(most_saving(p), run, run->scratch);
    }
    return WEFT_OK;
}

/* Seconds of a plan that fits; INFINITY: it does not. */
static double value_of(const weft_train_problem *p, const weft_train_plan *plan,
                       weft_arena *scratch)
{
    weft_train_measures m;

    if (weft_train_plan_evaluate(p, plan, scratch, &m) != WEFT_OK || m.over_stage >= 0)
        return INFINITY;
    return m.step_s;
}

/* A search that is not through may not have seen what is found where devices count as equal: a
 * plan of the same space. */
static weft_status try_equal(const weft_train_problem *p, weft_run *run, double value_s,
                             weft_train_plan *plan, weft_proof *proof, weft_train_log *log)
{
    weft_train_log more = {0};
    weft_proof other = {.outcome = WEFT_UNKNOWN};
    weft_train_plan equal;
    double equal_s;

    WEFT_TRY(weft_train_equal.solve(p, run, &equal, &other, &more));
    log->n_stages_tried += more.n_stages_tried;
    log->n_plans_tried += more.n_plans_tried;
    equal_s = other.outcome == WEFT_BOUNDED ? value_of(p, &equal, run->scratch) : INFINITY;
    if (!(equal_s < value_s))
        return WEFT_OK;
    *plan = equal;
    proof->outcome = WEFT_BOUNDED;
    proof->reason = NULL;
    proof->bound = fmin(proof->bound, equal_s);
    log->floor.pipeline_s = proof->bound;
    return WEFT_OK;
}

static weft_status solve_auto(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                              weft_proof *proof, weft_train_log *log)
{
    weft_pipe_effort effort = {.steps = run->steps};
    double value_s = INFINITY;

    WEFT_TRY(run_search(p, run, &effort, plan, proof, log));
    if (proof->outcome == WEFT_BOUNDED)
        value_s = value_of(p, plan, run->scratch);
    if (p->cluster->n_classes < 2 || proof->outcome == WEFT_INFEASIBLE ||
        proof->bound >= value_s * (1 - 1e-9))
        return WEFT_OK;
    return try_equal(p, run, value_s, plan, proof, log);
}

static weft_status solve_dp(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                            weft_proof *proof, weft_train_log *log)
{
    enum { STEPS = 1000000 }; /* fast, whatever the problem */
    weft_pipe_effort effort = {.steps = run->steps > 0 ? run->steps : STEPS, .is_first = true};

    return run_search(p, run, &effort, plan, proof, log);
}

const weft_train_solver weft_train_dp = {
    .name = "dp",
    .summary = "the first plans of the dynamic program, with its bounds",
    .solve = solve_dp,
    .search = weft_train_search_method,
};

const weft_train_solver weft_train_auto = {
    .name = "auto",
    .summary = "exact search over all plans with pipeline bounds; proves its answer",
    .solve = solve_auto,
    .search = weft_train_search_method,
};

static const weft_train_solver *const solvers[] = {
    &weft_train_equal, &weft_train_dp, &weft_train_auto, NULL, /* the end */
};

int weft_train_count(void)
{
    return (int)(sizeof solvers / sizeof *solvers) - 1;
}

const weft_train_solver *weft_train_at(int i)
{
    return solvers[i];
}

const weft_train_solver *weft_train_find(const char *name)
{
    for (int i = 0; solvers[i] != NULL; i++)
        if (strcmp(solvers[i]->name, name) == 0)
            return solvers[i];
    return NULL;
}
