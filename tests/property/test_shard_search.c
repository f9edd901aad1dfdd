/* SPDX-License-Identifier: MIT */
/* The search for sharded plans against every plan there is (brute_shards.c): its value is the
 * least, its bounds are below, whatever is asked for and however short it is cut. And what must
 * hold without knowing the optimum: for exchanged accelerators, faster links, one more accelerator,
 * other solvers, several threads. */
#include "check.h"
#include "weft/place.h"

#include "brute_shards.h"
#include "draw_small.h"
#include "executor_build.h"
#include "search.h"

static const double EXACT = 1e-9; /* relative */

/* --- instances ------------------------------------------------------------------------------- */

typedef struct instance {
    uint64_t seed;
    weft_graph *graph;
    weft_platform *platform;
    weft_sharding *sharding;
    weft_arena *a;
} instance;

static instance open_instance(uint64_t seed, weft_graph *g, const small_machine *m,
                              weft_shard_ask ask)
{
    instance x = {.seed = seed, .graph = g, .platform = small_platform(m), .a = weft_arena_new()};

    CHECK_OK(weft_sharding_new(g, x.platform, &ask, &x.sharding));
    return x;
}

/* All but the network. */
static void close_machine(instance *x)
{
    weft_sharding_free(x->sharding);
    weft_platform_free(x->platform);
    weft_arena_free(x->a);
}

static void close_instance(instance *x)
{
    close_machine(x);
    weft_graph_free(x->graph);
}

static weft_shard_solution solve_with(const instance *x, const char *solver, weft_run run)
{
    static const weft_shard_options none = {NULL};
    weft_shard_options placing = {weft_place_find("auto")};
    weft_shard_solution out;

    run.seed = 1;
    run.n_threads = run.n_threads > 0 ? run.n_threads : 1;
    run.limit_s = INFINITY;
    run.scratch = weft_arena_new();
    if (weft_shard_solve(weft_shard_find(solver), x->sharding,
                         x->sharding->ask.is_concurrent ? &placing : &none, &run, x->a,
                         &out) != WEFT_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)x->seed, solver, weft_message());
    weft_arena_free(run.scratch);
    return out;
}

static weft_shard_solution solve(const instance *x, const char *solver)
{
    return solve_with(x, solver, (weft_run){0});
}

__attribute__((unused)) static bool has_plan(const weft_shard_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static void check_near(const instance *x, const char *what, double value, double expected)
{
    if (!(fabs(value - expected) <= EXACT * fabs(expected)))
        fail_msg("seed %llu: %s is %.17g, expected %.17g", (unsigned long long)x->seed, what, value,
                 expected);
}

static void check_at_most(const instance *x, const char *what, double value, double most)
{
    if (!(value <= most * (1 + EXACT)))
        fail_msg("seed %llu: %s is %.17g, expected at most %.17g", (unsigned long long)x->seed,
                 what, value, most);
}

/* The simulator gives the oracle's plan the oracle's value, and no rule is broken. */
static void check_oracle(const instance *x, const brute_shards_answer *b)
{
    weft_shards plan = weft_shards_copy(&b->plan, x->a);
    weft_shards_measures m;
    weft_breach breach;

    CHECK_OK(weft_shards_evaluate(x->sharding, &plan, x->a, &m));
    check_near(x, "the simulated value of the best plan", m.latency_s, b->value);
    CHECK_INT(weft_shards_check(x->sharding, &plan, &breach, 1, x->a), 0);
}

/* --- one after the other, without limits: the optimum ---------------------------------------- */

/* Bounds without search, of searches cut short, and of a list of configurations that is not
 * complete; *n_partial counts the last. */
static void check_bounds(const instance *x, double optimum, int *n_partial)
{
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_arena *scratch = weft_arena_new();
    weft_search s = {0};
    weft_proof floor;

    run.begin_s = weft_wall_s();
    weft_shard_bound(x->sharding, x->a, &floor);
    check_at_most(x, "the floor", floor.bound, optimum);
    for (int64_t steps = 1; steps <= 2; steps++) {
        weft_shard_solution cut = solve_with(x, "auto", (weft_run){.steps = steps});

        check_at_most(x, "the bound of a run cut short", cut.proof.bound, optimum);
        check_at_most(x, "the optimum", optimum, cut.proof.value);
    }
    weft_search_begin(&s, x->sharding, &run);
    check_at_most(x, "the bound of all configurations", weft_search_reach(&s, scratch), optimum);
    s.setups = weft_setups_new(x->sharding, 1, s.is_roomy, s.a);
    weft_tables_fill(s.tables, s.setups);
    *n_partial += !s.setups->is_complete;
    CHECK_OK(weft_search_run(&s));
    check_at_most(x, "the bound of a selection", s.bound, optimum);
    check_at_most(x, "the optimum", optimum, s.value);
    weft_arena_free(scratch);
    weft_arena_free(run.scratch);
}

typedef struct variant {
    weft_shard_ask ask;
    bool hides;
    int most_steps, n_accelerators, n_kinds; /* 0: drawn */
} variant;

static small_machine draw_machine(weft_rng *r, const variant *v, uint64_t seed)
{
    int n = v->n_accelerators > 0 ? v->n_accelerators : 2 + (int)(seed % 2);
    int n_kinds = v->n_kinds > 0 ? v->n_kinds : 1 + (weft_rng_below(r, 4) == 0);
    small_machine m = small_draw_machine(r, n, n_kinds, 2);

    m.hides = v->hides;
    return m;
}

static instance draw_instance(uint64_t seed, const variant *v)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g =
        small_network(&r, (small_family)(seed / 2 % SMALL_FAMILIES), 2, v->most_steps);
    small_machine m = draw_machine(&r, v, seed);

    return open_instance(seed, g, &m, v->ask);
}

/* How often plans have this and that: tests of random instances must meet them. */
typedef struct tally {
    int n, n_several_sets, n_shared, n_parted, n_partial;
} tally;

static void count_plan(const weft_shards *s, tally *t)
{
    bool is_shared = false, is_parted = false, is_other = false;

    for (int v = 0; v < s->n_steps; v++) {
        is_shared |= s->split[v].shared >= 0;
        is_parted |= s->split[v].n > 1;
        is_other |= s->set_of[v] != s->set_of[0];
    }
    t->n++;
    t->n_shared += is_shared;
    t->n_parted += is_parted;
    t->n_several_sets += is_other;
}

static tally check_optima(const variant *v, uint64_t first, int n)
{
    tally t = {0};

    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
        instance x = draw_instance(seed, v);
        brute_shards_answer b = brute_shards(x.sharding, false, x.a);
        weft_shard_solution s = solve(&x, "auto");

        CHECK(b.value > 0 && b.value < INFINITY);
        check_oracle(&x, &b);
        check_near(&x, "the value of auto", s.proof.value, b.value);
        check_near(&x, "the bound of auto", s.proof.bound, b.value);
        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        if (seed % 4 < 2)
            check_bounds(&x, b.value, &t.n_partial);
        count_plan(&b.plan, &t);
        close_instance(&x);
    }
    print_message("n %d sets %d shared %d parted %d partial %d\n", t.n, t.n_several_sets, t.n_shared, t.n_parted, t.n_partial);
    return t;
}

TEST(auto_is_the_optimum)
{
    tally t = check_optima(&(variant){.most_steps = 4}, 1, N_DRAWN(700));

    CHECK(t.n_parted > t.n / 4 && t.n_several_sets > t.n / 20 && t.n_shared > 0);
    CHECK(t.n_partial > t.n / 4);
}

TEST(auto_is_the_optimum_without_shared_shards)
{
    tally t = check_optima(&(variant){.most_steps = 4, .ask.has_no_sharing = true}, 10001,
                           N_DRAWN(200));

    CHECK(t.n_parted > t.n / 4 && t.n_shared == 0);
}

TEST(auto_is_the_optimum_with_hidden_communication)
{
    tally t = check_optima(&(variant){.most_steps = 4, .hides = true}, 20001, N_DRAWN(200));

    CHECK(t.n_parted > t.n / 4 && t.n_shared > 0);
}

TEST(auto_is_the_optimum_in_stretches)
{
    variant few = {.most_steps = 4, .ask.is_contiguous = true};
    variant four = {.most_steps = 4, .ask.is_contiguous = true, .n_accelerators = 4, .n_kinds = 2};
    tally t = check_optima(&few, 30001, N_DRAWN(200)), u = check_optima(&four, 40001, N_DRAWN(50));

    CHECK(t.n_parted > t.n / 4 && t.n_several_sets + u.n_several_sets > 0);
}

/* Three equal accelerators with a design for convolutions and one for pools, links all alike. */
static small_machine three_equal(bool hides)
{
    small_machine m = {.n = 3, .n_designs = {2, 1}, .hides = hides};

    for (int d = 0; d < 2; d++)
        m.design[0][d] = (small_design){.flops_per_s = 1e7,
                                        .bytes_per_s = 1e10,
                                        .tensor = d == 0 ? 1 : 0.001,
                                        .reduce = d == 0 ? 0.001 : 1};
    for (int i = 0; i < 3; i++)
        for (int k = i + 1; k < 3; k++)
            m.link[i][k] = 1e8;
    return m;
}

/* Convolution, pool, convolution, as long as it is asked for. */
static weft_graph *alternating(int n)
{
    weft_rng r = weft_rng_seed(7);
    build_net m = build_begin(&r);
    int x = build_input(&m, DIMS(1, 4, 7, 7));

    for (int i = 0; i < n; i++)
        x = i % 2 == 0 ? build_plain_conv(&m, x, 4, 3, 1) : build_pool_of(&m, "MaxPool", x, 3, 1, 1);
    return build_finish(&m, x);
}

/* Stretches of one kind of set, another, and the first again need two sets of one kind. */
TEST(stretches_use_two_sets_of_one_kind)
{
    small_machine m = three_equal(false);
    instance x = open_instance(0, alternating(3), &m, (weft_shard_ask){.is_contiguous = true});
    brute_shards_answer b = brute_shards(x.sharding, false, x.a);
    weft_shard_solution s = solve(&x, "auto");

    CHECK(b.plan.n_sets == 3 && b.plan.set_of[0] != b.plan.set_of[2]);
    CHECK_INT(b.plan.set[b.plan.set_of[0]].design, b.plan.set[b.plan.set_of[2]].design);
    check_near(&x, "the value of auto", s.proof.value, b.value);
    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    close_instance(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_the_optimum),
        cmocka_unit_test(auto_is_the_optimum_without_shared_shards),
        cmocka_unit_test(auto_is_the_optimum_with_hidden_communication),
        cmocka_unit_test(auto_is_the_optimum_in_stretches),
        cmocka_unit_test(stretches_use_two_sets_of_one_kind),
    };

    return RUN_TESTS(tests);
}
