/* SPDX-License-Identifier: MIT */
/* Relations that hold for every problem: bound <= optimum <= value, plans keep all restrictions,
 * scaled costs scale the result, one more device never hurts, the same seed gives the same plan.
 * The optimum is found by trying every plan. */
#include "brute.h"
#include "check.h"
#include "fixtures.h"
#include "place.h"

enum { MOST_TASKS = 7, N_PROBLEMS = 1200, N_LISTS = 8, SEARCH_SHARE = 20, STEPS = 100 };

/* --- shorthands ------------------------------------------------------------------------------ */

static bool is_below(double a, double b)
{
    return a <= b * (1 + 1e-9);
}

static weft_problem *small_problem(uint64_t seed)
{
    int n_tasks = 2 + (int)(seed % (MOST_TASKS - 1)), n_devices = 1 + (int)(seed / 7 % 3);

    return random_problem(seed, n_tasks, n_devices);
}

/* Pins and colours on top, drawn so that pins are supported. */
static void restrict_tasks(weft_problem *p, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    int *pin = WEFT_NEW(p->arena, int, p->n_tasks),
        *colocation = WEFT_NEW(p->arena, int, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        int d = weft_rng_below(&r, p->n_devices);

        pin[u] = weft_rng_below(&r, 4) == 0 && isfinite(weft_task_s(p, u, d)) ? d : -1;
        colocation[u] = weft_rng_below(&r, 3) == 0 ? weft_rng_below(&r, 2) : -1;
    }
    p->pin = pin;
    p->colocation = colocation;
}

/* The answer of solver i; the bound may be NULL. Searches are cut short: test_exact sees them end.
 */
static weft_solution solve(const weft_problem *p, int i, int64_t seed, const weft_proof *bound,
                           weft_arena *a)
{
    weft_run run = {.seed = seed, .n_threads = 1, .limit_s = INFINITY, .steps = STEPS};
    weft_solution s;

    run.scratch = weft_arena_new();
    CHECK_OK(weft_solve(weft_place_at(i), p, NULL, &run, bound, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

/* List schedulers always, searches now and then; milp, the last, has tests of its own. */
static int n_solvers(uint64_t seed)
{
    return seed % SEARCH_SHARE == 0 ? weft_place_count() - 1 : N_LISTS;
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* The weights of a random problem have one reader each, so they add up. */
static double weight_bytes(const weft_problem *p, int u)
{
    double bytes = 0;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        bytes += p->is_weight[p->arg[i]] ? p->memory[p->arg[i]] : 0;
    return bytes;
}

static void check_restrictions(const weft_problem *p, const weft_plan *plan)
{
    double held_bytes[8] = {0};

    for (int u = 0; u < p->n_tasks; u++) {
        int d = plan->device[u];

        CHECK(isfinite(weft_task_s(p, u, d)));
        CHECK(p->pin[u] < 0 || p->pin[u] == d);
        for (int v = 0; v < u; v++)
            CHECK(p->colocation[u] < 0 || p->colocation[u] != p->colocation[v] ||
                  plan->device[v] == d);
        held_bytes[d] += weight_bytes(p, u);
    }
    for (int d = 0; d < p->n_devices; d++)
        CHECK(held_bytes[d] <= p->capacity[d]);
}

/* bound <= optimum <= value for every solver; no plan where there is none. */
static void check_order(const weft_problem *p, uint64_t seed)
{
    weft_arena *a = weft_arena_new();
    double best = brute_optimum(p, p->n_devices);
    weft_proof bound;

    weft_place_bound(p, a, &bound);
    CHECK(is_below(bound.bound, best));
    CHECK(bound.outcome != WEFT_INFEASIBLE || isinf(best));
    for (int i = 0; i < n_solvers(seed); i++) {
        weft_solution s = solve(p, i, 1, &bound, a);

        if (has_plan(&s)) {
            CHECK(is_below(best, s.proof.value));
            CHECK(s.proof.outcome != WEFT_OPTIMAL || is_below(s.proof.value, best));
            CHECK(is_below(s.proof.bound, best));
            CHECK(s.proof.certified <= s.proof.bound);
            check_restrictions(p, &s.plan);
        }
        CHECK(s.proof.outcome != WEFT_INFEASIBLE || isinf(best));
    }
    weft_arena_free(a);
}

/* --- relations ------------------------------------------------------------------------------- */

TEST(bound_optimum_and_values_keep_their_order)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = small_problem(seed);

        check_order(p, seed);
        weft_problem_free(p);
    }
}

TEST(periods_keep_their_order_too)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = small_problem(seed);

        p->constraints.goal = WEFT_THROUGHPUT;
        check_order(p, seed);
        weft_problem_free(p);
    }
}

TEST(restricted_problems_keep_their_order)
{
    int n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = small_problem(seed);
        weft_arena *a = weft_arena_new();
        weft_solution s;

        restrict_tasks(p, seed);
        check_order(p, seed);
        s = solve(p, 3, 1, NULL, a);
        CHECK(has_plan(&s) == isfinite(brute_optimum(p, p->n_devices))); /* memory does not limit */
        n_plans += has_plan(&s);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_plans > N_DRAWN(N_PROBLEMS) / 4);
}

TEST(limited_memory_keeps_the_order)
{
    int n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        int n_tasks = 2 + (int)(seed % (MOST_TASKS - 1)), n_devices = 2 + (int)(seed % 2);
        weft_problem *p = random_limited_problem(seed, n_tasks, n_devices);
        weft_arena *a = weft_arena_new();
        weft_solution s = solve(p, 3, 1, NULL, a);

        check_order(p, seed);
        n_plans += has_plan(&s);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_plans > N_DRAWN(N_PROBLEMS) / 4);
}

TEST(every_transfer_model_respects_the_bounds)
{
    weft_arena *a = weft_arena_new();

    for (uint64_t seed = 1; seed <= 600; seed++) {
        weft_problem *p = random_problem(seed, 12, 3);
        size_t mark = weft_arena_mark(a);
        weft_proof bound;

        p->transfer = seed % 2 ? WEFT_CONTEND : WEFT_BLOCK;
        p->constraints.goal = seed % 4 < 2 ? WEFT_LATENCY : WEFT_THROUGHPUT;
        weft_place_bound(p, a, &bound);
        for (int i = 0; i < n_solvers(seed); i++) {
            weft_solution s = solve(p, i, 1, &bound, a);

            CHECK(!has_plan(&s) || bound.bound <= s.proof.value * (1 + 1e-9));
        }
        weft_arena_rewind(a, mark);
        weft_problem_free(p);
    }
    weft_arena_free(a);
}

TEST(certificates_give_their_bounds_again)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = random_problem(seed, 2 + (int)(seed % 20), 1 + (int)(seed % 4));
        weft_arena *a = weft_arena_new();
        weft_proof bound;
        double again;

        p->constraints.goal = seed % 5 ? WEFT_LATENCY : WEFT_THROUGHPUT;
        weft_place_bound(p, a, &bound);
        if (bound.price == NULL)
            again = weft_path_bound_of(p, bound.path, bound.n_path);
        else
            again = weft_load_bound_of(p, bound.price);
        CHECK_NEAR(weft_grain_up(bound.grain_s, again), bound.bound);
        CHECK(bound.grain_s == 0 || bound.grain_s == weft_problem_grain_s(p));
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* The certificates of strong bounds; raised by 1 %, they are refused. */
TEST(strong_certificates_give_their_bounds_again)
{
    int n_refuted = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_problem *p = random_problem(seed, 2 + (int)(seed % 8), 1 + (int)(seed % 4));
        weft_arena *a = weft_arena_new();
        weft_proof more, less;

        weft_place_bound(p, a, &less);
        weft_place_bound_more(p, INFINITY, 1e8, a, &more);
        CHECK(more.bound >= less.bound);
        CHECK(more.certified == more.bound);
        if (more.refuted_s > 0) {
            n_refuted++;
            CHECK(weft_refuted_again(p, more.refuted_s, more.is_shaved));
            CHECK(!weft_refuted_again(p, more.refuted_s * 1.01, more.is_shaved));
        }
        CHECK(more.again == NULL ||
              weft_grain_up(more.grain_s, weft_bound_again(p, more.again)) == more.bound);
        CHECK(weft_bound_again(p, "nothing") == 0);
        p->constraints.goal = WEFT_THROUGHPUT; /* a limit of a makespan says nothing of periods */
        CHECK(!weft_refuted_again(p, 1e-3, false));
        p->constraints.goal = WEFT_LATENCY;
        p->constraints.is_calls = true; /* nor of accelerators that are called once */
        CHECK(!weft_refuted_again(p, 1e-3, false));
        CHECK(weft_bound_again(p, "body") == 0);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_refuted > 100);
}

/* A way drawn at random, and prices drawn at random, prove something true. */
TEST(any_certificate_is_valid)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = small_problem(seed);
        weft_rng r = weft_rng_seed(seed);
        int path[MOST_TASKS], n = 0, u = weft_rng_below(&r, p->n_tasks);
        double best = brute_optimum(p, p->n_devices), price[3], sum = 0;

        for (int n_next = 1; n_next > 0;) {
            path[n++] = u;
            n_next = p->succ_at[u + 1] - p->succ_at[u];
            if (n_next > 0)
                u = p->succ[p->succ_at[u] + weft_rng_below(&r, n_next)];
        }
        for (int d = 0; d < p->n_devices; d++)
            sum += price[d] = weft_rng_real(&r) + 0.001;
        for (int d = 0; d < p->n_devices; d++)
            price[d] /= sum;
        CHECK(is_below(weft_path_bound_of(p, path, n), best));
        CHECK(weft_path_bound_of(p, path, n) > 0);
        CHECK(is_below(weft_load_bound_of(p, price), best));
        CHECK(weft_load_bound_of(p, price) > 0);
        weft_problem_free(p);
    }
}

static const double *scaled(weft_arena *a, const double *from, int n, double factor)
{
    double *to = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        to[i] = from[i] * factor;
    return to;
}

TEST(scaled_costs_scale_values_and_bounds)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_problem *p = random_problem(seed, 10, 3), *q = random_problem(seed, 10, 3);
        weft_arena *a = weft_arena_new();
        weft_proof bound, bound4;

        q->seconds = scaled(q->arena, p->seconds, p->n_tasks * p->n_devices, 4);
        q->latency_s = scaled(q->arena, p->latency_s, p->n_devices * p->n_devices, 4);
        q->second_per_byte = scaled(q->arena, p->second_per_byte, p->n_devices * p->n_devices, 4);
        weft_place_bound(p, a, &bound);
        weft_place_bound(q, a, &bound4);
        CHECK_NEAR(bound4.bound, 4 * bound.bound);
        for (int i = 0; i < n_solvers(seed); i++) {
            weft_solution s = solve(p, i, 1, &bound, a), t = solve(q, i, 1, &bound4, a);

            bool is_searched = strcmp(weft_place_at(i)->name, "auto") == 0; /* not free of scale */

            CHECK_INT(has_plan(&s), has_plan(&t));
            CHECK(!has_plan(&s) || t.proof.value == 4 * s.proof.value || /* a power of 2: exact */
                  (is_searched &&
                   (s.proof.outcome != WEFT_OPTIMAL || t.proof.outcome != WEFT_OPTIMAL)));
        }
        weft_arena_free(a);
        weft_problem_free(p);
        weft_problem_free(q);
    }
}

TEST(one_more_device_never_hurts_the_optimum)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        weft_problem *p = random_problem(seed, 2 + (int)(seed % 5), 3);

        CHECK(brute_optimum(p, 3) <= brute_optimum(p, 2));
        CHECK(brute_optimum(p, 2) <= brute_optimum(p, 1));
        weft_problem_free(p);
    }
}

TEST(one_device_takes_the_sum_of_all_times)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_problem *p = random_problem(seed, 1 + (int)(seed % 30), 1);
        weft_arena *a = weft_arena_new();
        double sum_s = 0;
        weft_proof bound;

        for (int u = 0; u < p->n_tasks; u++)
            sum_s += weft_task_s(p, u, 0);
        weft_place_bound(p, a, &bound);
        for (int i = 0; i < n_solvers(seed); i++) {
            weft_solution s = solve(p, i, (int64_t)seed, &bound, a);

            if (!weft_solver_applies(weft_place_at(i), p))
                continue;
            CHECK_NEAR(s.proof.value, sum_s);
            CHECK_INT(s.proof.outcome, WEFT_OPTIMAL); /* the load bound is the sum as well */
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

static bool is_same_plan(const weft_solution *s, const weft_solution *t)
{
    size_t n = (size_t)s->plan.n_tasks;

    return s->plan.n_tasks == t->plan.n_tasks && n > 0 &&
           memcmp(s->plan.device, t->plan.device, n * sizeof(int)) == 0 &&
           memcmp(s->plan.start_s, t->plan.start_s, n * sizeof(double)) == 0;
}

TEST(the_seed_alone_decides)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        weft_problem *p = random_problem(seed, 40, 3);
        weft_arena *a = weft_arena_new();

        for (int i = 1; i < n_solvers(seed); i++) {
            bool is_random = strcmp(weft_place_at(i)->name, "random") == 0;
            bool is_drawn = is_random || strcmp(weft_place_at(i)->name, "split") == 0 ||
                            strcmp(weft_place_at(i)->name, "genetic") == 0 ||
                            strcmp(weft_place_at(i)->name, "anneal") == 0 ||
                            strcmp(weft_place_at(i)->name, "auto") == 0; /* asks these, too */
            weft_solution s = solve(p, i, 5, NULL, a), t = solve(p, i, 5, NULL, a);
            weft_solution other = solve(p, i, 6, NULL, a);

            if (!weft_solver_applies(weft_place_at(i), p))
                continue;
            CHECK(is_same_plan(&s, &t));
            CHECK(is_drawn || is_same_plan(&s, &other));
            CHECK(!is_random || !is_same_plan(&s, &other));
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* Heuristics promise nothing for one problem, but on the whole they beat chance by far. */
TEST(heuristics_stage_times_chance_on_the_whole)
{
    double log_ratio[8] = {0};
    int n = 0;

    for (uint64_t seed = 1; seed <= 200; seed++, n++) {
        weft_problem *p = random_problem(seed, 30, 3);
        weft_arena *a = weft_arena_new();
        double by_chance = solve(p, 7, 1, NULL, a).proof.value;

        for (int i = 2; i < 7; i++) /* greedy, heft, cpop, peft, lookahead */
            log_ratio[i] += log(solve(p, i, 1, NULL, a).proof.value / by_chance);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    for (int i = 2; i < 7; i++)
        CHECK(exp(log_ratio[i] / n) < 0.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_optimum_and_values_keep_their_order),
        cmocka_unit_test(periods_keep_their_order_too),
        cmocka_unit_test(restricted_problems_keep_their_order),
        cmocka_unit_test(limited_memory_keeps_the_order),
        cmocka_unit_test(every_transfer_model_respects_the_bounds),
        cmocka_unit_test(certificates_give_their_bounds_again),
        cmocka_unit_test(strong_certificates_give_their_bounds_again),
        cmocka_unit_test(any_certificate_is_valid),
        cmocka_unit_test(scaled_costs_scale_values_and_bounds),
        cmocka_unit_test(one_more_device_never_hurts_the_optimum),
        cmocka_unit_test(one_device_takes_the_sum_of_all_times),
        cmocka_unit_test(the_seed_alone_decides),
        cmocka_unit_test(heuristics_stage_times_chance_on_the_whole),
    };

    return RUN_TESTS(tests);
}
