/* SPDX-License-Identifier: MIT */
/* place_choices.c: weft place with more to decide than where tasks run: the batch of a stream, or
 * the shares of a batch (kind/choices.h).
 *
 * Choices are solved one after the other, those with the best bound first, with equal parts of what
 * is left of the limit. A choice whose bound is no better than the best plan needs no search. The
 * answer is the best plan; its bound is the least of all. */
#include "choices.h"
#include "command.h"
#include "own.h"

#include <math.h>

static const double SEARCH_SHARE = 0.8; /* of the limit; the rest is for what stands beside */
static const double LEAST_AGAIN = 0.05; /* of the limit, for one more search of a choice */

typedef struct attempt {
    weft_batching choice;
    weft_request request;
    weft_opened problem;
    weft_proof floor;
    weft_made made;      /* solution NULL: not searched */
    double value, bound; /* of an item: a sample, or the batch */
    double samples;      /* that value and bound of the problem are of */
    const char *stopped;
    bool is_open;
} attempt;

typedef struct choosing {
    const weft_make *m;
    const weft_request *request;
    weft_arena *a;
    int n;
    attempt *at; /* [n] by floor, the best first */
    int best;    /* of the plans; -1: there is none */
} choosing;

/* --- the choices ----------------------------------------------------------------------------- */

static weft_status open_attempt(choosing *c, attempt *t)
{
    const weft_kind *k = c->m->kind;

    t->request = weft_batching_request(c->request, &t->choice);
    t->samples = weft_batching_scale(c->request, &(weft_batching){.batch = 1}, &t->choice);
    WEFT_TRY(k->open(&t->request, NULL, c->a, &t->problem));
    t->is_open = true;
    weft_place_bound(((const weft_case *)t->problem.of_kind)->problem, c->a, &t->floor);
    t->bound = t->floor.outcome == WEFT_INFEASIBLE ? INFINITY : t->floor.bound / t->samples;
    t->value = INFINITY;
    return WEFT_OK;
}

/* Stable, so that the order is that of the choices where bounds are equal. */
static void sort_attempts(choosing *c)
{
    for (int i = 1; i < c->n; i++) {
        attempt t = c->at[i];
        int k = i;

        for (; k > 0 && c->at[k - 1].bound > t.bound; k--)
            c->at[k] = c->at[k - 1];
        c->at[k] = t;
    }
}

static weft_status open_all(choosing *c, int n_devices)
{
    const weft_batching *choice = weft_choices_of(c->request, n_devices, c->a, &c->n);

    c->at = WEFT_NEW(c->a, attempt, c->n);
    c->best = -1;
    for (int i = 0; i < c->n; i++) {
        c->at[i].choice = choice[i];
        WEFT_TRY(open_attempt(c, &c->at[i]));
    }
    sort_attempts(c);
    return WEFT_OK;
}

static void close_all(const choosing *c)
{
    for (int i = 0; i < c->n && c->at != NULL; i++)
        if (c->at[i].is_open)
            c->m->kind->close(c->at[i].problem.of_kind);
}

/* --- the search ------------------------------------------------------------------------------ */

/* An equal part of what is left for those that are. */
static weft_run part_of(const choosing *c, const weft_run *run, int n_left)
{
    weft_run part = *run;

    part.begin_s = weft_wall_s();
    if (run->limit_s < INFINITY)
        part.limit_s =
            fmax(0, SEARCH_SHARE * run->limit_s - (part.begin_s - run->begin_s)) / n_left;
    if (run->steps > 0)
        part.steps = run->steps / c->n + 1;
    return part;
}

/* Keeps the better plan and the better bound of all searches of a choice. */
static void keep(choosing *c, int i, const weft_made *found)
{
    const weft_kind *k = c->m->kind;
    attempt *t = &c->at[i];
    const weft_proof *proof = k->proof(found->solution);
    double value = weft_has_plan(proof) ? proof->value / t->samples : INFINITY;

    t->bound =
        proof->outcome == WEFT_INFEASIBLE ? INFINITY : fmax(t->bound, proof->bound / t->samples);
    t->stopped = proof->stopped;
    if (t->made.solution != NULL && !(value < t->value))
        return;
    t->made = *found;
    t->made.has_plan = weft_has_plan(proof);
    t->value = value;
    if (t->made.has_plan && (c->best < 0 || value < c->at[c->best].value))
        c->best = i;
}

static weft_status search_attempt(choosing *c, int i, const weft_run *part)
{
    attempt *t = &c->at[i];
    weft_made found = {0};

    WEFT_TRY(weft_make_solve(c->m->kind, &t->problem, c->m->solver, &t->floor, part, c->a, &found));
    keep(c, i, &found);
    return WEFT_OK;
}

static bool may_win(const choosing *c, int i)
{
    return c->best < 0 || c->at[i].bound < c->at[c->best].value * (1 - 1e-9);
}

/* The choice that holds the bound down; -1: none does. */
static int weakest(const choosing *c)
{
    int i = -1;

    for (int k = 0; k < c->n; k++)
        if (may_win(c, k) && (i < 0 || c->at[k].bound < c->at[i].bound))
            i = k;
    return i;
}

/* What is left of the time goes to the choices that hold the bound down, a half each. */
static weft_status search_all(choosing *c, const weft_run *run)
{
    for (int i = 0; i < c->n; i++)
        if (may_win(c, i)) {
            weft_run part = part_of(c, run, c->n - i);

            WEFT_TRY(search_attempt(c, i, &part));
        }
    for (int k = 0; k < c->n && run->limit_s < INFINITY && weakest(c) >= 0; k++) {
        weft_run part = part_of(c, run, 2);

        if (part.limit_s < LEAST_AGAIN * run->limit_s)
            break;
        WEFT_TRY(search_attempt(c, weakest(c), &part));
    }
    return WEFT_OK;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* The bound of the plan becomes one over all choices: what cheap bounds prove can be found again,
 * the rest is the search of the solver. */
static void prove_all(const choosing *c, weft_proof *proof)
{
    const attempt *best = &c->at[c->best];
    const weft_problem *p = ((const weft_case *)best->problem.of_kind)->problem;
    const weft_solver *by = weft_place_find(c->m->solver);
    double bound = INFINITY, certified = INFINITY;

    for (int i = 0; i < c->n; i++) {
        const attempt *t = &c->at[i];
        double floor = t->floor.outcome == WEFT_INFEASIBLE ? INFINITY : t->floor.bound;

        bound = fmin(bound, t->bound * best->samples);
        certified =
            fmin(certified, floor * weft_batching_scale(c->request, &t->choice, &best->choice));
    }
    *proof = (weft_proof){.value = proof->value,
                          .method = WEFT_CHOICES,
                          .certified_by = WEFT_CHOICES,
                          .again = WEFT_CHOICES,
                          .stopped = weakest(c) < 0 ? "proved" : c->at[weakest(c)].stopped};
    proof->certified = fmin(certified, proof->value);
    proof->bound = proof->certified;
    if (bound > certified * (1 + 1e-10) && by != NULL && weft_solver_searches(by, p, "search")) {
        proof->bound = fmin(bound, proof->value);
        proof->method = "search";
    }
    proof->gap = proof->value > 0 ? (proof->value - proof->bound) / proof->value : 0;
    proof->outcome = proof->gap <= 1e-9 ? WEFT_OPTIMAL : WEFT_BOUNDED;
}

/* Without any plan: is there proof that no choice has one? */
static void prove_none(const choosing *c, weft_proof *proof)
{
    double bound = INFINITY;

    for (int i = 0; i < c->n; i++)
        bound = fmin(bound, c->at[i].bound);
    if (isfinite(bound) && proof->outcome == WEFT_INFEASIBLE)
        proof->outcome = WEFT_UNKNOWN;
}

static void report_choices(const choosing *c, weft_report *r)
{
    weft_report_choice *row = WEFT_NEW(c->a, weft_report_choice, c->n);
    int n = 0;
    const weft_batching *choice =
        weft_choices_of(c->request, c->at[0].problem.platform->n_devices, c->a, &n);

    for (int i = 0; i < n; i++) /* as they were named, not as they were tried */
        for (int k = 0; k < n; k++) {
            const attempt *t = &c->at[k];

            if (weft_batching_is_same(&t->choice, &choice[i]))
                row[i] =
                    (weft_report_choice){weft_batching_name(&t->choice, c->a),
                                         t->made.has_plan ? t->value : NAN, t->bound, k == c->best};
        }
    r->n_choices = n;
    r->choice = row;
}

static weft_status show(choosing *c, const weft_run *run, weft_watch *watch, int *code)
{
    attempt *t = &c->at[c->best < 0 ? 0 : c->best];
    weft_make m = *c->m;
    weft_run beside = *run;
    weft_plan_origin origin;
    weft_proof bound;
    weft_proof *proof = m.kind->proof(t->made.solution);

    m.options = &t->request.options;
    origin = weft_make_origin(&m, &t->problem);
    if (weft_own_is(m.solver))
        origin.solver = weft_own_name(m.solver, c->a);
    t->made.kind = m.kind;
    t->made.problem = &t->problem;
    t->made.origin = &origin;
    t->made.report = weft_arena_alloc(c->a, m.kind->report_size);
    if (c->best >= 0)
        prove_all(c, proof);
    else
        prove_none(c, proof);
    beside.begin_s = weft_wall_s();
    WEFT_TRY(m.kind->report_begin(&t->problem, &origin, &beside, c->a, t->made.report, &bound));
    WEFT_TRY(m.kind->report_end(&t->problem, t->made.solution, run, c->a, t->made.report));
    report_choices(c, t->made.report);
    weft_budget_wipe(watch);
    WEFT_TRY(weft_make_cross_check(&(weft_answers){m.kind, &t->problem, t->made.report, &origin, 1,
                                                   &t->made.solution, &m.solver},
                                   c->a));
    return weft_make_show(&m, &t->made, c->a, code);
}

static weft_status choose(choosing *c, int n_devices, const weft_run *run, weft_watch *watch,
                          int *code)
{
    WEFT_TRY(open_all(c, n_devices));
    WEFT_TRY(weft_make_check_solver(c->m->kind, &c->at[0].problem, c->m->solver, c->a));
    WEFT_TRY(search_all(c, run));
    return show(c, run, watch, code);
}

weft_status weft_choices_plan(const weft_make *m, weft_request *r, weft_arena *a, int *code)
{
    choosing c = {.m = m, .request = r, .a = a};
    weft_watch watch = {0};
    weft_platform *platform;
    weft_run run;
    weft_status status;
    int n_devices;

    WEFT_TRY(weft_platform_open(r->platform, &platform));
    n_devices = platform->n_devices;
    weft_platform_free(platform);
    if (r->constraints.batches.n == 0 && !r->constraints.splits_batch)
        WEFT_TRY(weft_choices_any_batch(r));
    WEFT_TRY(weft_budget_read(m->effort, m->kind->limit, &watch, &run));
    run.begin_s = weft_wall_s();
    status = choose(&c, n_devices, &run, &watch, code);
    close_all(&c);
    weft_budget_end(&watch);
    return status;
}
