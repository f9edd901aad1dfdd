/* SPDX-License-Identifier: MIT */
/* auto.c: solvers `exact` and `auto`: from the first plan to an optimal one, as far as time allows.
 *
 * 1. The best of the list schedulers is the first plan; paths and loads give the first bound.
 * 2. If memory limits it, solver `symmetry` looks for plans and a bound. Else equal devices are
 * reduced to those of use (symmetry.c).
 * 3. The problem becomes a subproblem without dominated edges. Its parts between barriers are searched
 *    from last to first (series.c): tails that know what every barrier costs, and a bound.
 * 4. The whole subproblem is searched with these tails (exact.c), for something better than the plan.
 * 5. Parts of many tasks are not closed by search: their bound comes from sections between barriers
 *    (bound_between_barriers.c).
 * 6. `auto`: while the gap is open, every other solver of the registry gets a turn, the plan is
 *    annealed by simulation (improve.c), and windows of it are searched again (window.c).
 * 7. Steps 3 and 4 are repeated with more states for each part and wider beams.
 * 8. `auto`: pieces of the plan move to devices beside them where that loses nothing (merge.c), if
 *    switches take time; before step 3, too.
 * 9. `auto`: with a limit of steps, `split` and `branch-bound` get as many as if they were alone.
 * 10. `auto`: while the gap is open and a limit of time or steps is not reached, the others get turns
 *    again, with other random numbers.
 *
 * `exact` leaves steps 6 and 8 to 10 out. The best plan and the largest bound are kept, whoever found them, so
 * the answer is never worse than that of a list scheduler. Under `overlap`, and with room for
 * activations, both are optimal unless a limit stops them. Under other transfer models the bounds
 * still hold, and plans are judged by the simulator. With a limit of steps instead of time the
 * answer is the same on every machine. */
#include "bound.h"
#include "calls_latency.h"
#include "first.h"
#include "improve.h"
#include "load.h"
#include "merge.h"
#include "placer.h"
#include "series.h"
#include "symmetry.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_PART_STATES = 4000, /* for each part between barriers */
    PART_GROWTH = 32,         /* from round to round: closed parts make the rest easy */
    FIRST_WHOLE_STATES = 60000,
    WHOLE_GROWTH = 16,
    MOST_ROUNDS = 8,
    LARGE_PART = 64, /* tasks between two barriers */
    MOST_PAST_LIMIT =
        20000,         /* tasks: certificates of larger problems take too long after the limit */
    MOST_FOR_ALL = 14, /* tasks of which all plans may be tried */
    MOST_FOR_PROGRAM =
        20, /* tasks: of more, programs with whole numbers take too long for a turn */
};

static const double CLOSED = 1e-10; /* relative gap that leaves nothing to do */
/* Of the time that is left after the first round: two more, before windows are worth it; then, if
 * the gap is still open, windows. Parts of many tasks are not closed by search: windows come at
 * once then, and take most of the time. */
static const double EXACT_SHARE = 0.45, WINDOW_SHARE = 0.5;
static const double STAGES_SHARE = 0.5; /* of what is left for merging */
static const double MERGE_SHARE = 0.9;  /* of the time, if switches or segments matter */
static const double LARGE_SHARE = 0.95, SECTIONS_SHARE = 0.3;
/* Of one of the others, in its first turn and later on. */
static const double FIRST_TURN = 0.03, LATER_TURN = 0.12;
static const double BETWEEN_SHARE = 0.3;    /* of plans between both goals */
static const double FIRST_SHARE = 0.5;      /* of the first round */
static const double BESIDE_SHARE = 0.15;    /* of exact searches that do not know all that counts */
static const double IMPROVE_SHARE = 0.25;   /* where exact searches do not know all that counts */
static const double SYMMETRY_SHARE = 0.8;   /* if memory limits */
static const double MOST_WHOLE_SENDS = 1e6; /* edges * devices^2 that are searched beyond that */
static const double CERTIFICATE_WORK = 1e7; /* so that anybody can check at least a part */

typedef struct search {
    const weft_problem *problem;
    weft_run *run;
    weft_arena *a;
    weft_best best;
    weft_proved proved;
    double grain_s;     /* values are multiples of it; 0: of nothing */
    int64_t steps_left; /* INT64_MAX: no limit */
    weft_subproblem *subproblem;
    const int *real;  /* [devices of the subproblem] devices of the problem */
    bool has_windows; /* `auto` */
    bool are_parts_closed;
    int n_largest; /* tasks of the largest part */
} search;

static bool is_over(const search *s)
{
    return s->proved.is_impossible || s->proved.bound >= s->best.value * (1 - CLOSED) ||
           s->steps_left <= 0 || weft_run_is_over(s->run);
}

static void take_bound(search *s, double found_s)
{
    weft_proved_take(&s->proved, weft_grain_up(s->grain_s, found_s), s->best.value);
}

static void tell(const search *s)
{
    if (s->run->progress != NULL)
        s->run->progress(s->run->context, s->best.value, s->proved.bound);
}

static void spend(search *s, int64_t steps)
{
    if (s->steps_left < INT64_MAX)
        s->steps_left -= steps;
}

static int64_t states_for(const search *s, int64_t wanted)
{
    return wanted < s->steps_left ? wanted : s->steps_left;
}

/* --- the rounds ------------------------------------------------------------------------------ */

/* Tails and bound from the parts; true if all of them are closed. */
static bool search_parts(search *s, int64_t most_states)
{
    weft_series_effort e = {s->proved.bound, states_for(s, most_states), s->steps_left, s->run};
    weft_series r = weft_series_tails(s->subproblem, &e, s->a);

    spend(s, r.n_states + 1);
    take_bound(s, r.bound);
    s->subproblem->tail_s = r.tail_s;
    s->n_largest = r.n_largest;
    return r.n_open == 0;
}

static void take_schedule(search *s, const weft_answer *r)
{
    weft_plan plan = weft_plan_new(s->problem->n_tasks, s->a);

    for (int u = 0; u < plan.n_tasks; u++)
        plan.device[u] = s->real[r->device[u]];
    memcpy(plan.start_s, r->start_s, sizeof *plan.start_s * (size_t)plan.n_tasks);
    weft_best_try(&s->best, s->problem, &plan, s->a);
    if (s->has_windows && weft_segments_breach(s->problem, plan.device, s->a) != NULL)
        weft_merge_repair(&s->best, s->problem, &plan, s->run);
}

/* The whole subproblem; true if the search was complete. */
static bool search_whole(search *s, int64_t most_states)
{
    weft_effort e = {.upper = s->best.value,
                     .lower = s->proved.bound,
                     .most_states = states_for(s, most_states),
                     .run = s->run};
    weft_answer r = weft_subproblem_solve(s->subproblem, &e, s->a);
    bool is_none = r.is_closed && r.device == NULL && !(e.upper < INFINITY);

    spend(s, r.n_states + 1);
    if (r.device != NULL)
        take_schedule(s, &r);
    take_bound(s, is_none ? INFINITY : r.bound);
    return r.is_closed;
}

/* The plan and the bound of another solver in its turn-th turn, with so many steps (0: no limit). One
 * whose library is not on this machine has nothing to say. */
static weft_status ask(search *s, const weft_solver *other, weft_run run, int turn, int64_t steps)
{
    weft_status status;
    weft_plan plan = weft_plan_new(s->problem->n_tasks, s->a);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};
    void *options = weft_arena_alloc(s->a, other->options_size);

    if (other->options != NULL)
        weft_options_default(other->options, options);
    run.scratch = weft_arena_new();
    run.seed += turn;
    run.progress = NULL; /* of one who does not know the best so far */
    run.steps = steps;
    status = other->solve(s->problem, options, &run, &plan, &proof);
    if (status == WEFT_OK && proof.outcome == WEFT_BOUNDED)
        weft_best_try(&s->best, s->problem, &plan, s->a);
    if (status == WEFT_OK && (proof.method != NULL || proof.outcome == WEFT_INFEASIBLE))
        take_bound(s, proof.outcome == WEFT_INFEASIBLE ? INFINITY : proof.bound);
    weft_arena_free(run.scratch);
    tell(s);
    return status == WEFT_E_SYSTEM ? WEFT_OK : status;
}

/* With a share of what is left. */
static weft_status try_again(search *s, const weft_solver *other, double share, int turn)
{
    int64_t steps = s->steps_left < INT64_MAX ? (int64_t)(share * (double)s->steps_left) + 1 : 0;

    WEFT_TRY(ask(s, other, weft_run_share(s->run, share), turn, steps));
    spend(s, steps);
    return WEFT_OK;
}

/* A limit of steps is one of each search: two quick ones get all of it where the gap is still open,
 * so that neither finds more alone than `auto` does. */
static weft_status try_with_all_steps(search *s)
{
    static const weft_solver *const quick[] = {&weft_place_split, &weft_place_branch_bound};

    for (int i = 0; i < 2 && s->has_windows && s->run->steps > 0; i++)
        if (!s->proved.is_impossible && s->proved.bound < s->best.value * (1 - CLOSED) &&
            !weft_run_is_over(s->run) && weft_solver_applies(quick[i], s->problem))
            WEFT_TRY(ask(s, quick[i], *s->run, 0, s->run->steps));
    return WEFT_OK;
}

static weft_status try_solver(search *s, const weft_solver *other, double share)
{
    return try_again(s, other, share, 0);
}

/* Is there an end to what is tried again and again? */
static bool is_limited(const search *s)
{
    return s->steps_left < INT64_MAX || s->run->limit_s < INFINITY;
}

/* A turn for every solver that `auto` is not made of. */
static weft_status try_others(search *s, double share, int turn)
{
    static const weft_solver *const others[] = {&weft_place_branch_bound, &weft_place_anneal,
                                                &weft_place_genetic,      &weft_place_random,
                                                &weft_place_milp,         &weft_place_split};

    for (size_t i = 0; i < sizeof others / sizeof *others && !is_over(s); i++) {
        bool is_program = others[i] == &weft_place_milp; /* slow, with no other random numbers */

        if ((!is_program ||
             (turn == 0 && s->run->steps == 0 && s->problem->n_tasks <= MOST_FOR_PROGRAM)) &&
            weft_solver_applies(others[i], s->problem))
            WEFT_TRY(try_again(s, others[i], share, turn));
    }
    return WEFT_OK;
}

/* A share of what is left for annealing of the best plan by simulation. */
static void improve(search *s, double share, int turn)
{
    weft_run run = weft_run_share(s->run, share);

    if (is_over(s))
        return;
    run.scratch = weft_arena_new();
    run.seed += turn;
    run.steps = s->steps_left < INT64_MAX ? (int64_t)(share * (double)s->steps_left) + 1 : 0;
    weft_improve(&s->best, s->problem, &run);
    weft_arena_free(run.scratch);
    spend(s, run.steps);
    tell(s);
}

/* Do exact searches know all that makes a plan worth what it is? */
static bool is_plain(const search *s)
{
    const weft_problem *p = s->problem;

    return p->transfer == WEFT_OVERLAP && s->subproblem->n_weights == 0 && p->switch_s == NULL &&
           !p->constraints.is_contiguous && !weft_segments_matter(&p->constraints);
}

/* A share of what is left for a bound from barrier to barrier. */
static void search_sections(search *s, double share)
{
    weft_run run = weft_run_share(s->run, share);
    weft_between_barriers_effort e = {s->best.value, FIRST_PART_STATES, INT64_MAX, &run};
    int64_t steps;

    if (s->steps_left < INT64_MAX)
        e.most_steps = (int64_t)(share * (double)s->steps_left) + 1;
    take_bound(s, weft_between_barriers_bound(s->subproblem, &e, &steps));
    spend(s, steps);
    tell(s);
}

static bool is_large(const search *s)
{
    return s->n_largest > LARGE_PART;
}

/* Parts, then the whole; true if the search was complete. Large open parts need better plans and
 * bounds first. */
static bool run_round(search *s, int round)
{
    int64_t part_states = FIRST_PART_STATES, whole_states = FIRST_WHOLE_STATES;

    for (int i = 0; i < round; i++) {
        part_states *= PART_GROWTH;
        whole_states *= WHOLE_GROWTH;
    }
    if (!s->are_parts_closed)
        s->are_parts_closed = search_parts(s, part_states);
    tell(s);
    if (is_over(s) || (round == 0 && s->has_windows && !s->are_parts_closed && is_large(s)))
        return false;
    return search_whole(s, s->are_parts_closed ? INT64_MAX : whole_states);
}

/* Rounds first .. last with a share of what is left. */
static bool run_rounds_within(search *s, double share, int first, int last)
{
    weft_run *whole = s->run, limited = weft_run_share(whole, share);
    int64_t left = s->steps_left;
    bool is_closed = false;

    if (left < INT64_MAX)
        s->steps_left = (int64_t)(share * (double)left);
    left -= s->steps_left;
    s->run = &limited;
    for (int round = first; round <= last && !is_closed && !is_over(s); round++)
        is_closed = run_round(s, round);
    s->run = whole;
    spend(s, -left);
    return is_closed;
}

/* What `auto` does between the first round and the last ones; true if the search was complete. */
static weft_status run_between(search *s, bool *is_closed)
{
    if (is_plain(s) && !is_large(s)) /* likely to end it */
        *is_closed = run_rounds_within(s, EXACT_SHARE, 1, 2);
    if (is_limited(s) && !*is_closed && !is_over(s)) {
        WEFT_TRY(try_others(s, FIRST_TURN, 0));
        improve(s, is_plain(s) ? FIRST_TURN : IMPROVE_SHARE, 0);
    }
    if (!is_plain(s) && !is_large(s) && !is_over(s))
        *is_closed = run_rounds_within(s, BESIDE_SHARE, 1, 2);
    tell(s);
    if (!*is_closed && !is_over(s))
        WEFT_TRY(try_solver(s, &weft_place_split, is_large(s) ? LARGE_SHARE : WINDOW_SHARE));
    return WEFT_OK;
}

static weft_status run_rounds(search *s)
{
    double share = s->has_windows && is_limited(s) && !is_plain(s) ? BESIDE_SHARE : 1;
    bool is_closed;

    s->are_parts_closed = false;
    is_closed = run_rounds_within(s, s->has_windows ? fmin(FIRST_SHARE, share) : 1, 0, 0);
    if (is_large(s) && !is_closed && !is_over(s))
        search_sections(s, SECTIONS_SHARE);
    if (s->has_windows && !is_closed && !is_over(s))
        WEFT_TRY(run_between(s, &is_closed));
    for (int round = 1; round < MOST_ROUNDS && !is_closed && !is_over(s); round++) {
        is_closed = run_rounds_within(s, share, round, round);
        tell(s);
    }
    return WEFT_OK;
}

/* --- the solvers ----------------------------------------------------------------------------- */

/* The bound with the best certificates that a little work gives; above them, that of the search. */
static void write_bound(search *s, weft_proof *proof)
{
    if (s->problem->n_tasks <= MOST_PAST_LIMIT || !weft_run_is_over(s->run))
        weft_bound_raise(s->problem, s->best.value, CERTIFICATE_WORK, proof);
    if (s->proved.bound > proof->bound * (1 + CLOSED)) {
        proof->grain_s = fmax(proof->grain_s, s->grain_s);
        proof->bound = s->proved.bound;
        proof->method = "search";
    }
}

/* Equal devices first: fewer of them are enough if memory is. Where they are not, or where the
 * fewer ones are linked better than the real ones, the whole problem is searched after, unless it
 * is too large for that. */
static weft_status search_subproblems(search *s, const weft_domain *m)
{
    const weft_subproblem *whole = weft_subproblem_of(m, s->a);
    weft_reduced r = weft_subproblem_reduce(whole, s->a);
    double n_sends = (double)whole->n_edges * whole->n_devices * whole->n_devices;
    int *all = WEFT_NEW(s->a, int, whole->n_devices);

    if (whole->n_weights > 0)
        WEFT_TRY(try_solver(s, &weft_place_symmetry, SYMMETRY_SHARE));
    if (r.subproblem != NULL && !r.is_memory_aside) {
        s->subproblem = r.subproblem;
        s->real = r.device;
        WEFT_TRY(run_rounds(s));
    }
    if (is_over(s) || (r.subproblem != NULL && r.is_exact && !r.is_memory_aside) ||
        (r.subproblem != NULL && n_sends > MOST_WHOLE_SENDS))
        return WEFT_OK;
    for (int d = 0; d < whole->n_devices; d++)
        all[d] = d;
    s->subproblem = weft_subproblem_thin(whole, s->a);
    s->real = all;
    s->are_parts_closed = false;
    return run_rounds(s);
}

static weft_status search_latency(search *s, weft_proof *proof)
{
    weft_domain m = weft_domain_new(s->problem, s->a);

    weft_place_bound(s->problem, s->a, proof);
    if (proof->outcome == WEFT_INFEASIBLE)
        return WEFT_OK;
    take_bound(s, proof->bound);
    WEFT_TRY(weft_best_first(&s->best, s->problem, s->run));
    if (s->has_windows)
        WEFT_TRY(weft_merge_best(&s->best, s->problem, s->run));
    tell(s);
    if (s->problem->n_devices <= WEFT_SUBPROBLEM_DEVICES && !is_over(s))
        WEFT_TRY(search_subproblems(s, &m));
    /* schedules may need more memory for activations than there is: then plans are tried one by one
     */
    if (s->has_windows && s->problem->n_tasks <= MOST_FOR_ALL && !is_over(s))
        WEFT_TRY(try_solver(s, &weft_place_branch_bound, 1));
    WEFT_TRY(try_with_all_steps(s));
    for (int turn = 1; s->has_windows && is_limited(s) && !is_over(s); turn++) {
        improve(s, IMPROVE_SHARE, turn);
        WEFT_TRY(try_others(s, LATER_TURN, turn));
    }
    if (s->proved.is_impossible) {
        proof->outcome = WEFT_INFEASIBLE;
        proof->bound = INFINITY;
        proof->method = "search";
        return WEFT_OK;
    }
    write_bound(s, proof);
    return WEFT_OK;
}

/* With a least throughput, plans between both goals (tradeoff.c) are candidates too. */
static weft_status search_between(search *s)
{
    weft_run run = weft_run_share(s->run, BETWEEN_SHARE);
    weft_plan plan = weft_plan_new(s->problem->n_tasks, s->a);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};

    WEFT_TRY(weft_load_solve(s->problem, &run, &plan, &proof));
    if (proof.outcome == WEFT_BOUNDED)
        weft_best_try(&s->best, s->problem, &plan, s->a);
    return WEFT_OK;
}

static weft_status solve(const weft_problem *p, bool has_windows, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    search s = {.problem = p,
                .run = run,
                .a = run->scratch,
                .best = weft_best_new(p, run->scratch),
                .grain_s = weft_problem_grain_s(p),
                .steps_left = run->steps > 0 ? run->steps : INT64_MAX,
                .has_windows = has_windows};

    proof->outcome = WEFT_UNKNOWN;
    if (p->transfer ==
        WEFT_CALLS) /* the host runs tasks side by side: subproblems are no relaxation */
        return weft_place_calls.solve(p, NULL, run, plan, proof);
    if (p->constraints.goal != WEFT_LATENCY)
        return has_windows ? weft_load_solve(p, run, plan, proof) : WEFT_OK;
    if (p->constraints.most_period_s > 0)
        WEFT_TRY(search_between(&s));
    WEFT_TRY(search_latency(&s, proof));
    weft_best_answer(&s.best, plan, proof);
    run->is_exhausted = s.steps_left > 0;
    return WEFT_OK;
}

static weft_status solve_exact(const weft_problem *p, const void *options, weft_run *run,
                               weft_plan *plan, weft_proof *proof)
{
    (void)options;
    return solve(p, false, run, plan, proof);
}

/* For throughput with switches: pipeline stages have few of them. */
static weft_status try_stages(weft_best *best, const weft_problem *p, weft_run *run)
{
    weft_problem staged = *p;
    weft_run part = weft_run_share(run, STAGES_SHARE);
    weft_plan plan = weft_plan_new(p->n_tasks, run->scratch);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};

    if (p->constraints.goal != WEFT_THROUGHPUT || p->transfer == WEFT_CALLS ||
        p->constraints.is_contiguous)
        return WEFT_OK;
    staged.constraints.is_contiguous = true;
    staged.constraints.is_mixed = false;
    WEFT_TRY(weft_load_solve(&staged, &part, &plan, &proof));
    if (proof.outcome == WEFT_BOUNDED && plan.n_variants == 1)
        weft_best_try(best, p, &plan, run->scratch);
    return WEFT_OK;
}

/* The plan with fewer switches where that loses nothing; where segments or stages are asked for and
 * no plan has them, plans that are made to. */
static weft_status merge(const weft_problem *p, weft_run *run, weft_plan *plan, weft_proof *proof)
{
    weft_best best;

    if (!weft_merge_matters(p) || proof->outcome == WEFT_INFEASIBLE || plan->n_variants > 1)
        return WEFT_OK;
    best = weft_best_new(p, run->scratch);
    if (proof->outcome == WEFT_BOUNDED && !(weft_best_try(&best, p, plan, run->scratch) < INFINITY))
        weft_merge_repair(&best, p, plan, run);
    WEFT_TRY(try_stages(&best, p, run));
    WEFT_TRY(weft_merge_best(&best, p, run));
    weft_best_answer(&best, plan, proof);
    return WEFT_OK;
}

static weft_status solve_auto(const weft_problem *p, const void *options, weft_run *run,
                              weft_plan *plan, weft_proof *proof)
{
    weft_run main = weft_merge_matters(p) ? weft_run_share(run, MERGE_SHARE) : *run;

    (void)options;
    WEFT_TRY(solve(p, true, &main, plan, proof));
    run->is_exhausted = main.is_exhausted;
    run->is_used_up = weft_run_is_over(&main);
    return merge(p, run, plan, proof);
}

const weft_solver weft_place_exact = {
    .name = "exact",
    .summary = "exact search by dynamic programming over schedules, decomposed at barriers",
    .solve = solve_exact,
    .searches =
        (const weft_search_method[]){
                                     {"search", WEFT_FOR_LATENCY}, {"ideals", WEFT_FOR_CALLS}, {"cut", WEFT_FOR_CALLS}, {0}},
};

const weft_solver weft_place_auto = {
    .name = "auto",
    .summary = "runs the solvers that apply: the best plan and the best bound within the limit",
    .solve = solve_auto,
    .searches = (const weft_search_method[]){{"search", WEFT_FOR_LATENCY | WEFT_FOR_THROUGHPUT},
                                             {"milp", WEFT_FOR_THROUGHPUT},
                                             {"ideals", WEFT_FOR_CALLS},
                                             {"cut", WEFT_FOR_CALLS},
                                             {0}},
};
