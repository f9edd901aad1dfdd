/* SPDX-License-Identifier: MIT */
/* The exact solvers against the optimum found by trying every plan, and against each other: values,
 * bounds and claims, with everything a problem can ask for; and relations that every optimum keeps.
 * A problem that fails is printed with the seed and traits that make it again. */
#include "brute.h"
#include "check.h"
#include "draw_small.h"
#include "fixtures.h"
#include "ops.h"
#include "place.h"

#include <stdio.h>

enum { N_OVERLAP = 5000, N_MODELS = 1000, N_RELATED = 150, SLOW_SHARE = 25 };

static const struct {
    const char *name;
    bool is_slow; /* compared on every SLOW_SHARE-th problem only */
} exact_solvers[] = {
    {"branch-bound", false},
    {"exact",        false},
    {"decompose",    false},
    {"symmetry",     false},
    {"auto",         true },
    {"milp",         true },
    {"z3",           true },
};
enum { N_EXACT = sizeof exact_solvers / sizeof *exact_solvers };

/* How often a solver was asked, and proved its value. */
typedef struct tally {
    int n_asked[N_EXACT], n_proved[N_EXACT];
} tally;

/* --- one problem ----------------------------------------------------------------------------- */

static bool is_below(double a, double b)
{
    return a <= b + 1e-9 * fabs(b);
}

static bool is_same(double a, double b)
{
    return a == b || (is_below(a, b) && is_below(b, a));
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* The problem as a person reads it: devices a task, then tensors with producer > readers. */
static void print_problem(const weft_problem *p, const char *what)
{
    print_error("%s: %d devices, transfers %s, host %d\n", what, p->n_devices,
                weft_transfer_name(p->transfer), p->host);
    for (int u = 0; u < p->n_tasks; u++) {
        print_error("  task %d pin %d colour %d:", u, p->pin[u], p->colocation[u]);
        for (int d = 0; d < p->n_devices; d++)
            print_error(" %g", weft_task_s(p, u, d));
        print_error("\n");
    }
    for (int t = 0; t < p->n_tensors; t++) {
        print_error("  %s %d amount %g memory %g%s >", p->is_weight[t] ? "weight" : "tensor",
                    p->producer[t], p->amount[t], p->memory[t], p->is_output[t] ? " output" : "");
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
            print_error(" %d", p->reader[i]);
        print_error("\n");
    }
    for (int k = 0; k < p->n_devices * p->n_devices; k++)
        print_error("  link %d > %d: %g s + %g s/B\n", k / p->n_devices, k % p->n_devices,
                    p->latency_s[k], p->second_per_byte[k]);
    for (int d = 0; d < p->n_devices; d++)
        print_error("  device %d: %g B\n", d, p->capacity[d]);
}

static weft_solution solve_in(const weft_solver *solver, const weft_problem *p, int64_t steps,
                              const weft_proof *bound, weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = steps};
    weft_solution s;
    weft_status status;

    run.scratch = weft_arena_new();
    status = weft_solve(solver, p, NULL, &run, bound, a, &s);
    weft_arena_free(run.scratch);
    if (status != WEFT_OK) {
        print_problem(p, solver->name);
        fail_msg("%s: %s", solver->name, weft_message());
    }
    return s;
}

/* What an answer must be, whoever gave it: NULL, or what is wrong with it. */
static const char *fault_of(const weft_problem *p, const weft_solution *s, double best,
                            weft_arena *a)
{
    weft_measures m;

    if (!(is_below(s->proof.bound, best)))
        return "its bound is above the optimum";
    if (s->proof.outcome == WEFT_INFEASIBLE)
        return isinf(best) ? NULL : "it says that there is no plan";
    if (!has_plan(s))
        return NULL;
    if (!is_below(best, s->proof.value))
        return "its value is below the optimum";
    if (s->proof.outcome == WEFT_OPTIMAL && !is_same(s->proof.value, best))
        return "it calls a value optimal that is not";
    if (weft_evaluate(p, (weft_plan *)&s->plan, a, &m) != WEFT_OK || m.over_device >= 0 ||
        weft_goal_value(p, &m) != s->proof.value)
        return "the simulator says something else";
    return NULL;
}

static void check_answer(const weft_problem *p, const char *name, const weft_solution *s,
                         double best, weft_arena *a)
{
    const char *fault = fault_of(p, s, best, a);

    if (fault == NULL)
        return;
    print_problem(p, name);
    fail_msg("%s: %s (value %.17g, bound %.17g by %s, optimum %.17g)", name, fault, s->proof.value,
             s->proof.bound, s->proof.method ? s->proof.method : "nothing", best);
}

static bool is_proved(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_INFEASIBLE;
}

/* What must be proved: everything by branch and bound; what its model says in full by Z3; by
 * `exact` every problem that has a plan and no limit of memory. */
static bool must_prove(const weft_problem *p, const char *name, double best)
{
    bool has_activations = false, is_limited = false;

    for (int t = 0; t < p->n_tensors; t++)
        has_activations |= !p->is_weight[t] && p->memory[t] > 0;
    for (int d = 0; d < p->n_devices; d++)
        is_limited |= p->capacity[d] < INFINITY;
    if (strcmp(name, "branch-bound") == 0)
        return true;
    if (p->transfer != WEFT_OVERLAP || (has_activations && is_limited))
        return false;
    return strcmp(name, "z3") == 0 || (strcmp(name, "exact") == 0 && isfinite(best));
}

/* Asks every exact solver that there is. Returns the optimum. */
static double check_problem(const weft_problem *p, bool is_slow_turn, tally *t)
{
    weft_arena *a = weft_arena_new();
    double best = brute_optimum(p, p->n_devices);

    for (int i = 0; i < N_EXACT; i++) {
        const weft_solver *solver = weft_place_find(exact_solvers[i].name);
        weft_solution s;

        if (solver == NULL || (exact_solvers[i].is_slow && !is_slow_turn))
            continue;
        s = solve_in(solver, p, 0, NULL, a);
        check_answer(p, solver->name, &s, best, a);
        t->n_asked[i]++;
        t->n_proved[i] += is_proved(&s);
        if (must_prove(p, solver->name, best) && !is_proved(&s)) {
            print_problem(p, solver->name);
            fail_msg("%s proves nothing: value %.17g, bound %.17g, optimum %.17g", solver->name,
                     s.proof.value, s.proof.bound, best);
        }
    }
    weft_arena_free(a);
    return best;
}

static void print_tally(const char *what, const tally *t)
{
    for (int i = 0; i < N_EXACT; i++) {
        if (t->n_asked[i] > 0)
            print_message("%s: %s asked %d times, %d proved\n", what, exact_solvers[i].name,
                          t->n_asked[i], t->n_proved[i]);
    }
}

/* Sizes: mostly 4 to 7 tasks, some 8; up to 3 devices. Small where every plan is simulated. */
static weft_problem *mixed_problem(uint64_t seed, unsigned traits)
{
    bool is_limited = (traits & (TRAIT_WEIGHTS | TRAIT_MEMORY)) != 0;
    int n_tasks = seed % 16 == 0 && !is_limited ? 8 : 2 + (int)(seed % (is_limited ? 5 : 6));

    return random_mixed_problem(seed, n_tasks, 1 + (int)(seed / 3 % 3), traits);
}

/* A third has no limit of memory, a third one for weights, a third one for all tensors. */
static unsigned traits_of(uint64_t seed)
{
    static const unsigned memory[3] = {0, TRAIT_WEIGHTS, TRAIT_MEMORY};
    weft_rng r = weft_rng_seed(seed * 77);
    unsigned others =
        (unsigned)weft_rng_below(&r, TRAITS) & ~(unsigned)(TRAIT_WEIGHTS | TRAIT_MEMORY);

    return others | memory[weft_rng_below(&r, 3)];
}

/* --- agreement ------------------------------------------------------------------------------- */

TEST(trying_every_plan_is_as_the_simulator_says)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(2000); seed++) {
        weft_problem *p = random_mixed_problem(
            seed, 8, 3, traits_of(seed) & (TRAIT_SKIPS - 1) & ~(unsigned)TRAIT_PINS);
        weft_arena *a = weft_arena_new();
        weft_plan plan = weft_plan_new(8, a);
        weft_rng r = weft_rng_seed(seed);
        weft_measures m;
        int order[8], n = 0;

        for (unsigned done = 0; n < 8;) { /* any topological order */
            int u = weft_rng_below(&r, 8);
            bool is_ready = !(done >> u & 1);

            for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
                is_ready &= done >> p->pred[i] & 1;
            if (!is_ready)
                continue;
            done |= 1U << u;
            order[n++] = u;
        }
        for (int i = 0; i < 8; i++) {
            do
                plan.device[order[i]] = weft_rng_below(&r, 3);
            while (isinf(weft_task_s(p, order[i], plan.device[order[i]])));
            plan.start_s[order[i]] = i;
        }
        CHECK_OK(weft_evaluate(p, &plan, a, &m));
        CHECK(brute_latency(p, plan.device, order) == m.makespan_s);
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(known_optima_are_proved)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        weft_problem *p = fixture_tasks(fixture_all[i].text);
        weft_arena *a = weft_arena_new();

        for (int k = 0; k < N_EXACT; k++) {
            const weft_solver *solver = weft_place_find(exact_solvers[k].name);
            weft_solution s;

            if (solver == NULL)
                continue;
            s = solve_in(solver, p, 0, NULL, a);
            check_answer(p, solver->name, &s, fixture_all[i].optimum_s, a);
            CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(solvers_agree_with_trying_every_plan)
{
    tally t = {{0}, {0}};
    int n_plans = 0;

    for (uint64_t seed = 1; seed <= N_MANY(N_OVERLAP); seed++) {
        weft_problem *p = mixed_problem(seed, traits_of(seed));

        n_plans += isfinite(check_problem(p, seed % SLOW_SHARE == 0, &t));
        weft_problem_free(p);
    }
    print_tally("overlap", &t);
    CHECK(n_plans > N_MANY(N_OVERLAP) / 2 && n_plans < N_MANY(N_OVERLAP)); /* both kinds occur */
}

/* Under contend and block most solvers only have a bound, which must hold, and no right to call
 * anything optimal that is not. */
TEST(no_transfer_model_breaks_a_claim)
{
    tally t = {{0}, {0}};

    for (uint64_t seed = 1; seed <= N_MANY(N_MODELS); seed++) {
        int n_tasks = 2 + (int)(seed % 5);
        weft_problem *p =
            random_mixed_problem(seed, n_tasks, 2 + (int)(seed / 5 % 2), traits_of(seed));

        p->transfer = seed % 2 ? WEFT_CONTEND : WEFT_BLOCK;
        check_problem(p, seed % SLOW_SHARE == 0, &t);
        weft_problem_free(p);
    }
    print_tally("contend and block", &t);
}

/* Links of some pairs take longer for messages of some sizes. */
static void add_curves(weft_problem *p, weft_rng *r)
{
    static const double bytes[] =
        {
            0.5, 2, 3, 20
    },
                        seconds[2][4] = {{1, 1, 4, 9}, {0, 6, 6, 20}};
    static const weft_link_curve curve[2] = {
        {4, bytes, seconds[0]},
        {4, bytes, seconds[1]}
    };
    int n = p->n_devices * p->n_devices;
    uint64_t *curves = WEFT_NEW(p->arena, uint64_t, n);

    for (int k = 0; k < n; k++)
        curves[k] = (uint64_t)weft_rng_below(r, 4);
    p->curve = curve;
    p->curves = curves;
}

/* Some pairs share a resource: one more link on their routes. */
static void add_shared(weft_problem *p, weft_rng *r)
{
    int n = p->n_devices * p->n_devices, n_route = 0;
    int *at = WEFT_NEW(p->arena, int, n + 1), *route = WEFT_NEW(p->arena, int, 2 * n + 2);
    const char **name = WEFT_NEW(p->arena, const char *, p->n_links + 1);

    for (int k = 0; k < n; k++) {
        for (int i = p->route_at[k]; i < p->route_at[k + 1]; i++)
            route[n_route++] = p->route[i];
        if (p->route_at[k + 1] > p->route_at[k] && weft_rng_below(r, 3) > 0)
            route[n_route++] = p->n_links;
        at[k + 1] = n_route;
    }
    for (int i = 0; i < p->n_links; i++)
        name[i] = p->link_name[i];
    name[p->n_links++] = "card";
    p->link_name = name;
    p->route_at = at;
    p->route = route;
}

TEST(curves_and_shared_links_break_no_claim)
{
    tally t = {{0}, {0}};

    for (uint64_t seed = 1; seed <= N_MANY(N_MODELS); seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_problem *p = random_mixed_problem(seed, 2 + (int)(seed % 5), 2 + (int)(seed / 5 % 2),
                                               traits_of(seed));

        if (seed % 3 != 0)
            add_curves(p, &r);
        if (seed % 2 == 0) {
            p->transfer = WEFT_CONTEND;
            add_shared(p, &r);
        }
        check_problem(p, seed % SLOW_SHARE == 0, &t);
        weft_problem_free(p);
    }
    print_tally("curves and shared links", &t);
}

/* A network whose operators are fused into kernels on a small machine, with curves, a shared bus and
 * links that contend in turn; false: it has too many tasks to try all plans. */
static bool check_fused(uint64_t seed, tally *t, int *n_joined)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 5);
    small_machine m = small_draw_machine(&r, 2, 1 + (int)(seed / 2 % 2), 1);
    weft_platform *platform;
    weft_costs *costs;
    weft_problem *p;
    bool is_small;

    m.has_host |= seed % 2 == 0;
    m.has_curves = seed % 4 < 2;
    m.n_sharing = seed % 3 == 0 ? 2 : 0;
    m.is_contend = m.n_sharing > 0 || seed % 5 == 0;
    weft_graph_fuse(g, true);
    platform = small_platform(&m);
    CHECK_OK(weft_costs_new(g, platform, &costs));
    CHECK_OK(weft_problem_new(g, costs, platform, &(weft_constraints){.goal = WEFT_LATENCY}, &p));
    is_small = p->n_tasks <= 6 && p->n_devices <= 3;
    for (int u = 0; is_small && u < p->n_tasks; u++)
        for (int v = 0; v < u; v++)
            *n_joined += p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v];
    if (is_small)
        check_problem(p, seed % SLOW_SHARE == 0, t);
    weft_problem_free(p);
    weft_costs_free(costs);
    weft_platform_free(platform);
    weft_graph_free(g);
    return is_small;
}

TEST(fused_kernels_break_no_claim)
{
    tally t = {{0}, {0}};
    int n_checked = 0, n_joined = 0;

    for (uint64_t seed = 1; seed <= N_MANY(300); seed++)
        n_checked += check_fused(seed, &t, &n_joined);
    CHECK(n_checked > (int)N_MANY(60) && n_joined > n_checked / 10);
    print_tally("fused kernels", &t);
}

/* All members of the registry, whatever they are: none claims what is not so. */
TEST(nobody_claims_too_much)
{
    for (uint64_t seed = 1; seed <= N_MANY(200); seed++) {
        weft_problem *p = mixed_problem(seed, traits_of(seed + 7));
        weft_arena *a = weft_arena_new();
        double best;
        weft_proof bound;

        p->constraints.goal = seed % 4 == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        if (seed % 3 == 0) {
            weft_rng r = weft_rng_seed(seed);

            add_curves(p, &r);
            add_shared(p, &r);
            p->transfer = seed % 2 == 0 ? WEFT_CONTEND : WEFT_OVERLAP;
        }
        best = brute_optimum(p, p->n_devices);
        weft_place_bound(p, a, &bound);
        CHECK(is_below(bound.bound, best));
        for (int i = 0; i < weft_place_count(); i++) {
            weft_solution s = solve_in(weft_place_at(i), p, 500, &bound, a);

            check_answer(p, weft_place_at(i)->name, &s, best, a);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* Beyond the reach of trying everything, the engines confirm each other. */
TEST(engines_agree_on_larger_problems)
{
    int n_both = 0;

    for (uint64_t seed = 1; seed <= N_MANY(40); seed++) {
        weft_problem *p = random_mixed_problem(seed, 9 + (int)(seed % 6), 2 + (int)(seed % 2),
                                               traits_of(seed) & ~(unsigned)TRAIT_MEMORY);
        weft_arena *a = weft_arena_new();
        double best = NAN;

        for (int i = 0; i < N_EXACT; i++) {
            const weft_solver *solver = weft_place_find(exact_solvers[i].name);
            weft_solution s;

            if (solver == NULL)
                continue;
            s = solve_in(solver, p, 0, NULL, a);
            if (!is_proved(&s))
                continue;
            n_both += !isnan(best);
            best = isnan(best) ? has_plan(&s) ? s.proof.value : INFINITY : best;
            check_answer(p, solver->name, &s, best, a);
            CHECK(has_plan(&s) == isfinite(best));
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    print_message("beyond brute force: %d proofs confirmed by another engine\n", n_both);
    CHECK(n_both >= N_MANY(30) || weft_place_find("z3") == NULL);
}

/* --- limits ---------------------------------------------------------------------------------- */

/* A search that is cut short has a bound that holds, the same every time, and no worse for more
 * steps in the end. */
TEST(a_search_cut_short_keeps_its_promises)
{
    const weft_solver *solver = weft_place_find("branch-bound");
    int n_between = 0;

    for (uint64_t seed = 1; seed <= N_MANY(150); seed++) {
        weft_problem *p = random_mixed_problem(seed, 6, 3, traits_of(seed) & ~(unsigned)TRAIT_PINS);
        weft_arena *a = weft_arena_new();
        double best = brute_optimum(p, p->n_devices);
        weft_proof bound;

        weft_place_bound(p, a, &bound);
        for (int64_t steps = 1; steps <= 4096; steps *= 4) {
            weft_solution s = solve_in(solver, p, steps, NULL, a);
            weft_solution again = solve_in(solver, p, steps, NULL, a);

            check_answer(p, "branch-bound, cut short", &s, best, a);
            CHECK(s.proof.bound == again.proof.bound && s.proof.value == again.proof.value);
            CHECK(is_below(fmin(bound.bound, s.proof.value), s.proof.bound));
            n_between += !is_proved(&s) && s.proof.bound > bound.bound * (1 + 1e-9);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_between > 0); /* open branches do raise the bound */
}

/* Parts that no search closes have a bound that holds, the same every time. Engines for linear
 * programs raise it above what needs no search. */
TEST(large_parts_keep_their_promises)
{
    const weft_solver *solver = weft_place_find("auto");
    int n_raised = 0, n = IS_THOROUGH ? 8 : 1;

    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        weft_problem *p = random_problem(seed, 80, 3);
        weft_arena *a = weft_arena_new();
        weft_solution s = solve_in(solver, p, 60000, NULL, a);
        weft_solution again = solve_in(solver, p, 60000, NULL, a);
        weft_proof bound;

        weft_place_bound(p, a, &bound);
        CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED);
        CHECK(is_below(s.proof.bound, s.proof.value));
        CHECK(s.proof.bound == again.proof.bound && s.proof.value == again.proof.value);
        CHECK(memcmp(s.plan.device, again.plan.device, sizeof(int) * 80) == 0);
        CHECK(is_below(bound.bound, s.proof.bound));
        n_raised += s.proof.bound > bound.bound * 1.01;
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(!IS_THOROUGH || n_raised > n / 4);
}

static weft_solution stopped(const char *name, const weft_problem *p, weft_run run, weft_arena *a)
{
    weft_solution s;

    run.scratch = weft_arena_new();
    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, NULL, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

TEST(limits_of_time_and_the_user_are_met)
{
    static const char *const names[] = {"branch-bound", "z3"};
    weft_problem *p = random_problem(5, 60, 3); /* too many tasks for a proof */
    weft_arena *a = weft_arena_new();
    volatile sig_atomic_t stop = 1;

    for (int i = 0; i < 2; i++) {
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = 0.2};
        weft_run at_once = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .stop = &stop};
        weft_solution s;

        if (weft_place_find(names[i]) == NULL)
            continue;
        s = stopped(names[i], p, run, a);
        CHECK(s.proof.outcome == WEFT_BOUNDED && s.seconds < 2);
        s = stopped(names[i], p, at_once, a);
        CHECK(s.proof.outcome == WEFT_BOUNDED && s.seconds < 1);
    }
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- relations between optima ---------------------------------------------------------------- */

/* The optimum by branch and bound; INFINITY if there is none. It must be proved. */
static double optimum(const weft_problem *p)
{
    weft_arena *a = weft_arena_new();
    weft_solution s = solve_in(weft_place_find("branch-bound"), p, 0, NULL, a);
    double value = has_plan(&s) ? s.proof.value : INFINITY;

    CHECK(is_proved(&s));
    weft_arena_free(a);
    return value;
}

static const double *scaled(weft_arena *a, const double *from, int n, double factor)
{
    double *to = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        to[i] = from[i] * factor;
    return to;
}

TEST(scaled_times_scale_the_optimum)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_RELATED); seed++) {
        weft_problem *p =
            random_mixed_problem(seed, 9, 3, traits_of(seed) & ~(unsigned)TRAIT_MEMORY);
        double before = optimum(p), factor = seed % 2 ? 8 : 0.3;

        p->seconds = scaled(p->arena, p->seconds, p->n_tasks * 3, factor);
        p->latency_s = scaled(p->arena, p->latency_s, 9, factor);
        p->second_per_byte = scaled(p->arena, p->second_per_byte, 9, factor);
        CHECK(is_same(optimum(p), factor * before));
        weft_problem_free(p);
    }
}

/* The problem with its devices picked anew: device k of the result is pick[k]. */
static weft_problem *with_devices(const weft_problem *p, const int *pick, int n)
{
    weft_arena *a = weft_arena_new();
    double *seconds = WEFT_NEW(a, double, p->n_tasks *n), *latency_s = WEFT_NEW(a, double, n *n);
    double *second_per_byte = WEFT_NEW(a, double, n *n), *capacity = WEFT_NEW(a, double, n);
    const char **name = WEFT_NEW(a, const char *, n);
    weft_problem_spec spec = {.name = "picked", .n_tasks = p->n_tasks, .n_devices = n, .host = -1};
    weft_problem *out = NULL;

    for (int k = 0; k < n; k++) {
        name[k] = p->device_name[pick[k]];
        capacity[k] = p->capacity[pick[k]];
        for (int u = 0; u < p->n_tasks; u++)
            seconds[u * n + k] = weft_task_s(p, u, pick[k]);
        for (int l = 0; l < n; l++) {
            latency_s[k * n + l] = p->latency_s[pick[k] * p->n_devices + pick[l]];
            second_per_byte[k * n + l] = p->second_per_byte[pick[k] * p->n_devices + pick[l]];
        }
        if (p->host == pick[k])
            spec.host = k;
    }
    spec.n_tensors = p->n_tensors;
    spec.task_name = p->task_name;
    spec.device_name = name;
    spec.seconds = seconds;
    spec.amount = p->amount;
    spec.memory = p->memory;
    spec.is_weight = p->is_weight;
    spec.is_output = p->is_output;
    spec.producer = p->producer;
    spec.reader_at = p->reader_at;
    spec.reader = p->reader;
    spec.latency_s = latency_s;
    spec.second_per_byte = second_per_byte;
    spec.capacity = capacity;
    CHECK_OK(weft_problem_make(&spec, &out));
    weft_arena_free(a);
    return out;
}

/* Without colours and pins, which the copy does not keep. */
static weft_problem *free_problem(uint64_t seed, int n_tasks, int n_devices, unsigned without)
{
    return random_mixed_problem(seed, n_tasks, n_devices,
                                traits_of(seed) & ~(without | TRAIT_PINS | TRAIT_COLOURS));
}

static bool are_supported(const weft_problem *p)
{
    for (int u = 0; u < p->n_tasks; u++) {
        if (isinf(weft_task_s(p, u, 0)) && isinf(weft_task_s(p, u, 1)))
            return false;
    }
    return true;
}

TEST(one_more_device_never_hurts)
{
    static const int pick[] = {0, 1};
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_RELATED); seed++) {
        weft_problem *p = free_problem(seed, 8, 3, TRAIT_HOST | TRAIT_MEMORY);

        if (are_supported(p)) {
            weft_problem *less = with_devices(p, pick, 2);

            CHECK(optimum(p) <= optimum(less));
            weft_problem_free(less);
            n++;
        }
        weft_problem_free(p);
    }
    CHECK(n > N_DRAWN(N_RELATED) / 2);
}

TEST(the_names_of_devices_do_not_matter)
{
    static const int pick[][3] = {
        {0, 2, 1},
        {2, 0, 1},
        {1, 0, 2},
        {2, 1, 0}
    };

    for (uint64_t seed = 1; seed <= N_DRAWN(N_RELATED); seed++) {
        weft_problem *p = free_problem(seed, seed % 3 ? 8 : 5, 3, seed % 3 ? TRAIT_MEMORY : 0);
        weft_problem *q = with_devices(p, pick[seed % 4], 3);

        CHECK(is_same(optimum(p), optimum(q)));
        weft_problem_free(p);
        weft_problem_free(q);
    }
}

/* Every edge turned around, the links as well. Each edge is a tensor of its own, without memory. */
static weft_problem *turned(const weft_problem *p, bool is_turned)
{
    int n = p->n_tasks, n_edges = 0, n_devices = p->n_devices;
    weft_arena *a = weft_arena_new();
    int *producer = WEFT_NEW(a, int, p->reader_at[p->n_tensors]);
    int *reader = WEFT_NEW(a, int, p->reader_at[p->n_tensors]);
    int *reader_at = WEFT_NEW(a, int, p->reader_at[p->n_tensors] + 1);
    double *amount = WEFT_NEW(a, double, p->reader_at[p->n_tensors]);
    double *seconds = WEFT_NEW(a, double, n *n_devices);
    double *latency_s = WEFT_NEW(a, double, n_devices *n_devices);
    double *second_per_byte = WEFT_NEW(a, double, n_devices *n_devices);
    weft_problem_spec spec = {.name = "turned", .n_tasks = n, .n_devices = n_devices, .host = -1};
    weft_problem *out = NULL;

    for (int t = 0; t < p->n_tensors; t++) {
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
            int from = p->producer[t], to = p->reader[i];

            if (from < 0)
                continue;
            producer[n_edges] = is_turned ? n - 1 - to : from;
            reader[n_edges] = is_turned ? n - 1 - from : to;
            amount[n_edges] = p->amount[t];
            n_edges++;
            reader_at[n_edges] = n_edges;
        }
    }
    for (int u = 0; u < n; u++) {
        for (int d = 0; d < n_devices; d++)
            seconds[(is_turned ? n - 1 - u : u) * n_devices + d] = weft_task_s(p, u, d);
    }
    for (int k = 0; k < n_devices * n_devices; k++) {
        int from = k / n_devices, to = k % n_devices;
        int other = is_turned ? to * n_devices + from : k;

        latency_s[k] = p->latency_s[other];
        second_per_byte[k] = p->second_per_byte[other];
    }
    spec.n_tensors = n_edges;
    spec.task_name = p->task_name;
    spec.device_name = p->device_name;
    spec.seconds = seconds;
    spec.amount = amount;
    spec.producer = producer;
    spec.reader_at = reader_at;
    spec.reader = reader;
    spec.latency_s = latency_s;
    spec.second_per_byte = second_per_byte;
    CHECK_OK(weft_problem_make(&spec, &out));
    weft_arena_free(a);
    return out;
}

TEST(time_may_run_backwards)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_RELATED); seed++) {
        weft_problem *p = free_problem(seed, 9, 3, TRAIT_HOST | TRAIT_WEIGHTS | TRAIT_MEMORY);
        weft_problem *forwards = turned(p, false), *backwards = turned(p, true);
        double value = optimum(forwards);

        CHECK(is_same(optimum(backwards), value));
        CHECK(is_same(optimum(p), value)); /* a tensor an edge: nothing is sent later for it */
        weft_problem_free(p);
        weft_problem_free(forwards);
        weft_problem_free(backwards);
    }
}

static double optimum_of(const char *text)
{
    weft_problem *p = fixture_tasks(text);
    double value = optimum(p);

    CHECK_NEAR(value, brute_optimum(p, p->n_devices));
    weft_problem_free(p);
    return value;
}

TEST(a_doubled_edge_changes_nothing)
{
    double once = optimum_of("4 6/3 9/7 2/5 5; 0-1:3 0-2:4 1-3:2 2-3:6");

    CHECK_NEAR(optimum_of("4 6/3 9/7 2/5 5; 0-1:3 0-2:4 1-3:2 2-3:6 2-3:6 0-1:1"), once);
    CHECK_NEAR(optimum_of("4 6/3 9/7 2/5 5; 0-1:3 0-2:4 1-3:2 2-3:6 0-3:0"), once); /* transitive */
}

TEST(small_cases_by_hand)
{
    CHECK_NEAR(optimum_of("5 3 4"), 3.0);                    /* one task: its fastest device */
    CHECK_NEAR(optimum_of("5/3/4; 0-1:9 0-2:9"), 12.0);      /* one device: the sum */
    CHECK_NEAR(optimum_of("5 5/5 5/5 5/5 5"), 10.0);         /* no edges: two rounds */
    CHECK_NEAR(optimum_of("6 6/2 2/2 2/2 2"), 6.0);          /* one long beside three short */
    CHECK_NEAR(optimum_of("1 9/9 1; 0-1:3"), 1.0 + 3 + 1);   /* sending pays */
    CHECK_NEAR(optimum_of("1 9/9 1; 0-1:20"), 1.0 + 9);      /* sending does not pay */
    CHECK_NEAR(optimum_of("2 x/x 3; 0-1:4"), 2.0 + 4 + 3);   /* sending must be */
    CHECK_NEAR(optimum_of("0 0/0 0/4 4; 0-1:2 1-2:2"), 4.0); /* no length, no waiting */
    /* a barrier that is no cut (placement.md, 4.2): a on P1, the rest on P2 would be 1+10+...; all
     * of a, v on P1, then 10 for the tensor of a beside 1 for that of v, then b: 1+10+1 = 12 */
    CHECK_NEAR(optimum_of("1 99/1 99/99 1; 0-1:10 0-2:10 1-2:1"), 12.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trying_every_plan_is_as_the_simulator_says),
        cmocka_unit_test(known_optima_are_proved),
        cmocka_unit_test(solvers_agree_with_trying_every_plan),
        cmocka_unit_test(no_transfer_model_breaks_a_claim),
        cmocka_unit_test(curves_and_shared_links_break_no_claim),
        cmocka_unit_test(fused_kernels_break_no_claim),
        cmocka_unit_test(nobody_claims_too_much),
        cmocka_unit_test(engines_agree_on_larger_problems),
        cmocka_unit_test(a_search_cut_short_keeps_its_promises),
        cmocka_unit_test(large_parts_keep_their_promises),
        cmocka_unit_test(limits_of_time_and_the_user_are_met),
        cmocka_unit_test(scaled_times_scale_the_optimum),
        cmocka_unit_test(one_more_device_never_hurts),
        cmocka_unit_test(the_names_of_devices_do_not_matter),
        cmocka_unit_test(time_may_run_backwards),
        cmocka_unit_test(a_doubled_edge_changes_nothing),
        cmocka_unit_test(small_cases_by_hand),
    };

    return RUN_TESTS(tests);
}
