/* SPDX-License-Identifier: MIT */
/* Equal devices, chains of devices and the memory bound against branch and bound and against trying
 * every plan. */
#include "brute.h"
#include "check.h"
#include "fixtures.h"
#include "place.h"

#include "bound.h"
#include "series.h"
#include "symmetry.h"

enum { N_SERVERS = 160, N_LIMITED = 400, N_EQUAL = 600, MOST = 12 };

static bool is_below(double a, double b)
{
    return a <= b + 1e-9 * fabs(b);
}

/* --- equal blocks on equal servers ----------------------------------------------------------- */

/* n blocks in a chain, each with a weight of its own; servers of devices of several kinds. */
typedef struct design_pipeline {
    int n_blocks, n_servers, n_per, n_devices;
    double time_s[4], room[4]; /* by place in the server */
    double inside_s, between_s;
} design_pipeline;

static design_pipeline random_design_pipeline(uint64_t seed)
{
    weft_rng rng = weft_rng_seed(seed);
    design_pipeline f = {.n_servers = 1 + (int)weft_rng_below(&rng, 3)};

    f.n_per = 1 + (int)weft_rng_below(&rng, f.n_servers > 2 ? 2 : 3);
    f.n_devices = f.n_servers * f.n_per;
    f.n_blocks = 2 + (int)weft_rng_below(&rng, 5);
    for (int i = 0; i < f.n_per; i++) {
        bool is_equal = i > 0 && weft_rng_below(&rng, 2) == 0;

        f.time_s[i] = is_equal ? f.time_s[i - 1] : 1 + (double)weft_rng_below(&rng, 4);
        f.room[i] = is_equal ? f.room[i - 1] : 1 + (double)weft_rng_below(&rng, 3);
    }
    f.inside_s = 0.5 * (double)weft_rng_below(&rng, 4);
    f.between_s = f.inside_s + 0.5 * (double)weft_rng_below(&rng, 4);
    return f;
}

/* order[i]: which place of the fleet device i is. */
static weft_problem *design_pipeline_problem(const design_pipeline *f, const int *order)
{
    enum { T = 2 * MOST };
    char text[2 * MOST][16];
    const char *task_name[MOST], *device_name[MOST];
    double seconds[MOST * MOST], amount[T] = {0}, memory[T] = {0}, latency_s[MOST * MOST] = {0};
    double second_per_byte[MOST * MOST] = {0}, capacity[MOST];
    bool is_weight[T] = {false};
    int producer[T], reader_at[T + 1] = {0}, reader[T], n = 0, n_tensors = 0;
    weft_problem_spec s = {.name = "pipeline", .n_tasks = f->n_blocks, .n_devices = f->n_devices};
    weft_problem *p;

    for (int i = 0; i < f->n_blocks; i++) {
        snprintf(text[i], sizeof text[i], "b%d", i);
        task_name[i] = text[i];
        for (int d = 0; d < f->n_devices; d++)
            seconds[i * f->n_devices + d] = f->time_s[order[d] % f->n_per];
    }
    for (int d = 0; d < f->n_devices; d++) {
        snprintf(text[MOST + d], sizeof text[0], "d%d", d);
        device_name[d] = text[MOST + d];
        capacity[d] = f->room[order[d] % f->n_per];
        for (int e = 0; e < f->n_devices; e++) {
            bool is_inside = order[d] / f->n_per == order[e] / f->n_per;

            if (d != e)
                latency_s[d * f->n_devices + e] = is_inside ? f->inside_s : f->between_s;
        }
    }
    for (int i = 0; i < 2 * f->n_blocks - 1; i++) {
        is_weight[i] = i < f->n_blocks;
        memory[i] = is_weight[i] ? 1 : 0;
        producer[i] = is_weight[i] ? -1 : i - f->n_blocks;
        reader[n++] = is_weight[i] ? i : i - f->n_blocks + 1;
        reader_at[++n_tensors] = n;
    }
    s.n_tensors = n_tensors;
    s.task_name = task_name;
    s.device_name = device_name;
    s.seconds = seconds;
    s.amount = amount;
    s.memory = memory;
    s.is_weight = is_weight;
    s.producer = producer;
    s.reader_at = reader_at;
    s.reader = reader;
    s.latency_s = latency_s;
    s.second_per_byte = second_per_byte;
    s.capacity = capacity;
    s.host = -1;
    assert_int_equal(weft_problem_make(&s, &p), WEFT_OK);
    return p;
}

/* The lemma by trying all counts of blocks on devices. */
static double count_all(const design_pipeline *f, int *n_on, int d, int left)
{
    double best = INFINITY;

    if (d == f->n_devices) {
        double sum = 0;
        int n_used = 0, n_servers = 0;

        for (int i = 0; i < f->n_devices; i++) {
            bool is_first = n_on[i] > 0;

            for (int j = i - i % f->n_per; j < i; j++)
                is_first &= n_on[j] == 0;
            sum += n_on[i] * f->time_s[i % f->n_per];
            n_used += n_on[i] > 0;
            n_servers += is_first;
        }
        return left > 0 ? INFINITY
                        : sum + f->inside_s * (n_used - n_servers) + f->between_s * (n_servers - 1);
    }
    for (n_on[d] = 0; n_on[d] <= left && n_on[d] <= (int)f->room[d % f->n_per]; n_on[d]++)
        best = fmin(best, count_all(f, n_on, d + 1, left - n_on[d]));
    return best;
}

static double chain_value(const weft_problem *p, bool *is_best)
{
    weft_arena *a = weft_arena_new();
    weft_domain m = weft_domain_new(p, a);
    weft_symmetry o = weft_symmetry_of(&m, a);
    weft_effort e = {.upper = INFINITY};
    weft_chain_plan chain = weft_symmetry_chain(&m, &o, p->capacity, &e, a);
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    weft_measures measures;

    if (chain.value < INFINITY) { /* the estimate is what the simulator says */
        for (int u = 0; u < p->n_tasks; u++) {
            plan.device[u] = chain.device[u];
            plan.start_s[u] = u;
        }
        assert_int_equal(weft_evaluate(p, &plan, a, &measures), WEFT_OK);
        assert_int_equal(weft_plan_check(p, &plan, NULL, 0, a), 0);
        assert_true(fabs(measures.makespan_s - chain.value) <= 1e-9 * chain.value);
    }
    *is_best = chain.is_best;
    weft_arena_free(a);
    return chain.value;
}

static weft_solution solve(const char *name, const weft_problem *p, weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 200000};
    weft_solution s;

    run.scratch = weft_arena_new();
    assert_int_equal(weft_solve(weft_place_find(name), p, NULL, &run, NULL, a, &s), WEFT_OK);
    weft_arena_free(run.scratch);
    return s;
}

static void chains_of_equal_blocks_are_best(void **state)
{
    int n_plans = 0, n_swapped = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_SERVERS; seed++) {
        design_pipeline f = random_design_pipeline(seed);
        int n_on[MOST], order[MOST];
        double best = count_all(&f, n_on, 0, f.n_blocks);
        weft_rng rng = weft_rng_seed(seed);
        bool is_best;

        for (int d = 0; d < f.n_devices; d++)
            order[d] = d;
        for (int round = 0; round < 2; round++) {
            weft_problem *p = design_pipeline_problem(&f, order);
            weft_arena *a = weft_arena_new();
            weft_solution s = solve("branch-bound", p, a), symmetry = solve("symmetry", p, a);
            double value = chain_value(p, &is_best);

            assert_true(is_best);
            assert_true(value == best || fabs(value - best) <= 1e-9 * best);
            if (best < INFINITY) {
                if (s.proof.outcome == WEFT_OPTIMAL)
                    assert_true(fabs(s.proof.value - best) <= 1e-9 * best);
                assert_true(fabs(symmetry.proof.value - best) <= 1e-9 * best);
                assert_true(is_below(symmetry.proof.bound, best));
                n_plans++;
            } else {
                assert_true(s.proof.outcome == WEFT_INFEASIBLE || s.proof.outcome == WEFT_UNKNOWN);
                assert_true(symmetry.proof.outcome != WEFT_BOUNDED &&
                            symmetry.proof.outcome != WEFT_OPTIMAL);
            }
            weft_arena_free(a);
            weft_problem_free(p);
            for (int d = f.n_devices - 1; d > 0; d--) { /* then with devices in another order */
                int e = (int)weft_rng_below(&rng, d + 1), swapped = order[d];

                n_swapped += d != e;
                order[d] = order[e];
                order[e] = swapped;
            }
        }
    }
    assert_true(n_plans > N_SERVERS && n_swapped > 0);
}

/* --- symmetry -------------------------------------------------------------------------------- */

static void servers_change_places(void **state)
{
    design_pipeline f = {
        .n_blocks = 4,
        .n_servers = 3,
        .n_per = 3,
        .n_devices = 9,
        .time_s = {1, 1, 5},
        .room = {2, 2, 9},
        .inside_s = 1,
        .between_s = 2
    };
    int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    weft_problem *p = design_pipeline_problem(&f, order);
    weft_arena *a = weft_arena_new();
    weft_domain m = weft_domain_new(p, a);
    weft_symmetry o = weft_symmetry_of(&m, a);

    (void)state;
    assert_int_equal(o.n_classes, 6); /* two of the first kind, one of the second, three times */
    assert_int_equal(o.kind_at[0], o.kind_at[1]);
    assert_int_not_equal(o.kind_at[1], o.kind_at[2]);
    assert_int_not_equal(o.kind_at[0], o.kind_at[3]);
    assert_int_equal(o.n_swaps, 6); /* each pair of servers, found from both kinds */
    for (int i = 0; i < o.n_swaps; i++) {
        const int *to = o.swap + i * o.n_classes;

        assert_int_equal(to[o.kind_at[0]] == o.kind_at[3], to[o.kind_at[2]] == o.kind_at[5]);
    }
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- bounds ---------------------------------------------------------------------------------- */

static void the_memory_bound_holds(void **state)
{
    int n_gains = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_LIMITED; seed++) {
        int n_tasks = 3 + (int)(seed % 4), n_devices = 2 + (int)(seed % 2);
        weft_problem *p = seed % 4 == 3 ? random_mixed_problem(seed, n_tasks, n_devices,
                                                               TRAIT_WEIGHTS | TRAIT_SKIPS)
                                        : random_limited_problem(seed, n_tasks, n_devices);
        weft_arena *a = weft_arena_new();
        weft_proof cheap = {.outcome = WEFT_UNKNOWN};
        double best = brute_optimum(p, n_devices), bound = weft_bound_again(p, "memory");

        weft_place_bound(p, a, &cheap);
        if (!is_below(bound, best))
            fail_msg("seed %d: memory bound %.17g above the optimum %.17g", (int)seed, bound, best);
        n_gains += bound > cheap.bound * (1 + 1e-9) && best < INFINITY;
        weft_arena_free(a);
        weft_problem_free(p);
    }
    assert_true(n_gains > 0);
}

/* The bound of a network that has to change devices, as the solver asks for it. */
static double hops_bound(const weft_problem *p, weft_arena *a)
{
    weft_domain m = weft_domain_new(p, a);
    const weft_subproblem *x = weft_subproblem_of(&m, a);
    weft_reduced r = weft_subproblem_reduce(x, a);
    weft_series_effort e = {.part_states = 1000, .most_states = 100000};
    weft_tails tails = {.kind = r.kind};

    if (r.subproblem == NULL) {
        int *kind = WEFT_NEW(a, int, p->n_devices);

        for (int d = 0; d < p->n_devices; d++)
            kind[d] = d;
        tails.kind = kind;
        r.subproblem = weft_subproblem_thin(x, a);
        r.subproblem->n_weights = 0;
    }
    e.run = &(weft_run){.limit_s = INFINITY, .begin_s = weft_wall_s()};
    r.subproblem->tail_s = weft_series_tails(r.subproblem, &e, a).tail_s;
    tails.subproblem = r.subproblem;
    return weft_device_chain_bound(x, &tails, a);
}

static void the_bound_of_hops_holds(void **state)
{
    int n_gains = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_LIMITED; seed++) {
        int n_tasks = 3 + (int)(seed % 4), n_devices = 2 + (int)(seed % 2);
        unsigned traits = TRAIT_WEIGHTS | TRAIT_SKIPS | (seed % 2 ? TRAIT_EQUAL : 0);
        weft_problem *p = seed % 4 != 3 ? random_mixed_problem(seed, n_tasks, n_devices, traits)
                                        : random_limited_problem(seed, n_tasks, n_devices);
        weft_arena *a = weft_arena_new();
        weft_proof cheap = {.outcome = WEFT_UNKNOWN};
        double best = brute_optimum(p, n_devices), bound = hops_bound(p, a);

        weft_place_bound(p, a, &cheap);
        if (!is_below(bound, best))
            fail_msg("seed %d: bound of hops %.17g above the optimum %.17g", (int)seed, bound,
                     best);
        n_gains += bound > cheap.bound * (1 + 1e-9) && best < INFINITY;
        weft_arena_free(a);
        weft_problem_free(p);
    }
    assert_true(n_gains > 0);
}

/* Fewer equal devices have the same optimum, wherever the reduction says so. */
static void reduced_problems_have_the_same_optimum(void **state)
{
    int n_reduced = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_EQUAL; seed++) {
        unsigned traits = TRAIT_EQUAL | (seed % 2 ? TRAIT_SKIPS : 0) | (seed % 3 ? 0 : TRAIT_ZERO) |
                          (seed % 5 ? 0 : TRAIT_LONE);
        weft_problem *p = random_mixed_problem(seed, 3 + (int)(seed % 4), 4, traits);
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_reduced r = weft_subproblem_reduce(weft_subproblem_of(&m, a), a);

        if (r.subproblem != NULL) {
            double best = brute_optimum(p, 4);

            assert_true(r.is_exact && r.subproblem->n_devices < 4);
            assert_true(fabs(brute_optimum(p, r.subproblem->n_devices) - best) <= 1e-9 * best);
            n_reduced++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    assert_true(n_reduced > N_EQUAL / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_equal_blocks_are_best),
        cmocka_unit_test(servers_change_places),
        cmocka_unit_test(the_memory_bound_holds),
        cmocka_unit_test(the_bound_of_hops_holds),
        cmocka_unit_test(reduced_problems_have_the_same_optimum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
