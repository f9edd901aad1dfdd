/* SPDX-License-Identifier: MIT */
/* The search for sharded plans against every plan there is (brute_shards.c): its value is the
 * least, its bounds are below, whatever is asked for and however short it is cut. And what must
 * hold without knowing the optimum: for exchanged accelerators, faster links, one more accelerator,
 * other solvers, several threads. */
#include "check.h"
#include "place.h"

#include "brute_shards.h"
#include "draw_small.h"
#include "executor_build.h"
#include "search.h"
#include "shard_plan.h"

static const double EXACT = 1e-9; /* relative */

/* --- instances ------------------------------------------------------------------------------- */

typedef struct instance {
    uint64_t seed;
    weft_graph *graph;
    weft_platform *platform;
    weft_shard_problem *sharding;
    weft_arena *a;
} instance;

static instance open_instance(uint64_t seed, weft_graph *g, const small_machine *m,
                              weft_shard_constraints constraints)
{
    instance x = {.seed = seed, .graph = g, .platform = small_platform(m), .a = weft_arena_new()};

    CHECK_OK(weft_shard_problem_new(g, x.platform, &constraints, &x.sharding));
    return x;
}

/* All but the network. */
static void close_machine(instance *x)
{
    weft_shard_problem_free(x->sharding);
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
    static const weft_shard_options none = {.placer = NULL};
    weft_shard_options placing = {.placer = weft_place_find("auto")};
    weft_shard_solution out;

    run.seed = 1;
    run.n_threads = run.n_threads > 0 ? run.n_threads : 1;
    run.limit_s = INFINITY;
    run.scratch = weft_arena_new();
    if (weft_shard_solve(weft_shard_find(solver), x->sharding,
                         x->sharding->constraints.is_concurrent ? &placing : &none, &run, x->a,
                         &out) != WEFT_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)x->seed, solver, weft_message());
    weft_arena_free(run.scratch);
    return out;
}

static weft_shard_solution solve(const instance *x, const char *solver)
{
    return solve_with(x, solver, (weft_run){0});
}

static bool has_plan(const weft_shard_solution *s)
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
    weft_shard_plan plan = weft_shard_plan_copy(&b->plan, x->a);
    weft_shard_plan_measures m;
    weft_violation violation;

    CHECK_OK(weft_shard_plan_evaluate(x->sharding, &plan, x->a, &m));
    check_near(x, "the simulated value of the best plan", m.latency_s, b->value);
    CHECK_INT(weft_shard_plan_check(x->sharding, &plan, &violation, 1, x->a), 0);
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
    weft_search_start(&s, x->sharding, &run);
    weft_search_begin(&s);
    check_at_most(x, "the bound of all configurations", weft_search_bound_to_go(&s, scratch),
                  optimum);
    s.configs = weft_configurations_new(x->sharding, 1, s.is_memory_free, s.a);
    weft_tables_fill(s.tables, s.configs);
    *n_partial += !s.configs->is_complete;
    CHECK_OK(weft_search_run(&s));
    check_at_most(x, "the bound of a selection", s.bound, optimum);
    check_at_most(x, "the optimum", optimum, s.value);
    weft_arena_free(scratch);
    weft_arena_free(run.scratch);
}

typedef struct variant {
    weft_shard_constraints constraints;
    bool hides;
    int most_steps, n_accelerators, n_kinds; /* 0: drawn */
    bool has_sharing; /* curves, shared resources and contention, by the seed */
} variant;

static small_machine draw_machine(weft_rng *r, const variant *v, uint64_t seed)
{
    int n = v->n_accelerators > 0 ? v->n_accelerators : 2 + (int)(seed % 2);
    int n_kinds = v->n_kinds > 0 ? v->n_kinds : 1 + (weft_rng_below(r, 4) == 0);
    small_machine m = small_draw_machine(r, n, n_kinds, 2);

    m.hides = v->hides;
    if (v->has_sharing) {
        m.has_curves = seed % 2 == 0;
        m.is_contend = seed % 5 == 0;
        m.has_trees = seed % 3 == 0;
        m.n_sharing = 2 + (int)(seed / 2 % 2);
    }
    return m;
}

static instance draw_instance(uint64_t seed, const variant *v)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g = small_network(&r, (small_family)(seed / 2 % SMALL_FAMILIES), 2, v->most_steps);
    small_machine m = draw_machine(&r, v, seed);

    return open_instance(seed, g, &m, v->constraints);
}

/* How often plans have this and that: tests of random instances must meet them. */
typedef struct tally {
    int n, n_several_sets, n_shared, n_parted, n_partial;
} tally;

static void count_plan(const weft_shard_plan *s, tally *t)
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
    return t;
}

TEST(auto_is_the_optimum)
{
    tally t = check_optima(&(variant){.most_steps = 4}, 1, N_MANY(700));

    CHECK(!IS_THOROUGH || (t.n_parted > t.n / 4 && t.n_several_sets > t.n / 20 && t.n_shared > 0));
    CHECK(t.n_partial > t.n / 4);
}

TEST(auto_is_the_optimum_without_shared_shards)
{
    tally t = check_optima(&(variant){.most_steps = 4, .constraints.has_no_sharing = true}, 10001,
                           N_DRAWN(200));

    CHECK(t.n_shared == 0);
    CHECK(!IS_THOROUGH || t.n_parted > t.n / 4);
}

TEST(auto_is_the_optimum_with_hidden_communication)
{
    tally t = check_optima(&(variant){.most_steps = 4, .hides = true}, 20001, N_DRAWN(200));

    CHECK(!IS_THOROUGH || (t.n_parted > t.n / 4 && t.n_shared > 0));
}

TEST(auto_is_the_optimum_in_stretches)
{
    variant few = {.most_steps = 4, .constraints.is_contiguous = true};
    variant four = {
        .most_steps = 4, .constraints.is_contiguous = true, .n_accelerators = 4, .n_kinds = 2};
    tally t = check_optima(&few, 30001, N_DRAWN(200)), u = check_optima(&four, 40001, N_DRAWN(50));

    CHECK(!IS_THOROUGH || (t.n_parted > t.n / 4 && t.n_several_sets + u.n_several_sets > 0));
}

TEST(auto_is_the_optimum_with_shared_resources_and_curves)
{
    variant any = {.most_steps = 4, .has_sharing = true};
    variant four = {.most_steps = 3, .has_sharing = true, .n_accelerators = 4, .n_kinds = 1};
    tally t = check_optima(&any, 70001, N_DRAWN(300)), u = check_optima(&four, 80001, N_DRAWN(40));

    CHECK(!IS_THOROUGH || t.n_parted + u.n_parted > t.n / 4);
}

/* Three equal accelerators with a design for convolutions and one for pools, links all alike. */
static small_machine three_equal(bool hides)
{
    small_machine m = {
        .n = 3, .n_designs = {2, 1},
             .hides = hides
    };

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
        x = i % 2 == 0 ? build_plain_conv(&m, x, 4, 3, 1)
                       : build_pool_of(&m, "MaxPool", x, 3, 1, 1);
    return build_finish(&m, x);
}

/* Stretches of one kind of set, another, and the first again need two sets of one kind. */
TEST(stretches_use_two_sets_of_one_kind)
{
    small_machine m = three_equal(false);
    instance x =
        open_instance(0, alternating(3), &m, (weft_shard_constraints){.is_contiguous = true});
    brute_shards_answer b = brute_shards(x.sharding, false, x.a);
    weft_shard_solution s = solve(&x, "auto");

    CHECK(b.plan.n_sets == 3 && b.plan.set_of[0] != b.plan.set_of[2]);
    CHECK_INT(b.plan.set[b.plan.set_of[0]].design, b.plan.set[b.plan.set_of[2]].design);
    check_near(&x, "the value of auto", s.proof.value, b.value);
    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    close_instance(&x);
}

/* --- memory that binds ----------------------------------------------------------------------- */

static double weights_of(const weft_graph *g)
{
    double bytes = 0;

    for (int i = 0; i < g->n_tensors; i++)
        bytes += g->tensor[i].kind == WEFT_WEIGHT ? (double)g->tensor[i].bytes : 0;
    return bytes;
}

typedef struct memory_tally {
    int n, n_binding, n_proved, n_best, n_missed, n_none;
} memory_tally;

/* What auto says of an instance whose best plan that fits is known. */
static void check_limited(const instance *x, const brute_shards_answer *b, memory_tally *t)
{
    weft_shard_solution s = solve(x, "auto"), cut = solve_with(x, "auto", (weft_run){.steps = 1});

    check_at_most(x, "the bound of auto", s.proof.bound, b->value);
    check_at_most(x, "the bound of a run cut short", cut.proof.bound, b->value);
    check_at_most(x, "the optimum", b->value, s.proof.value);
    if (has_plan(&s)) { /* the driver has checked rules and memory */
        CHECK(s.measures.over_device < 0);
        t->n_proved += s.proof.outcome == WEFT_OPTIMAL;
        t->n_best += s.proof.value <= b->value * (1 + EXACT);
    } else {
        CHECK(s.proof.reason != NULL);
        t->n_missed += b->value < INFINITY;
    }
    if (s.proof.outcome == WEFT_INFEASIBLE)
        CHECK(b->value == INFINITY);
}

/* A machine whose memories hold between a third and all of weights and live tensors. */
static void check_memory(uint64_t seed, memory_tally *t)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 3);
    small_machine m = draw_machine(&r, &(variant){0}, seed);
    double all = weights_of(g) + (double)weft_graph_peak_bytes(g);
    weft_shard_constraints constraints = {.is_contiguous = seed % 5 == 4};
    instance roomy, x;
    brute_shards_answer any, b;

    m.hides = seed % 5 == 3;
    roomy = open_instance(seed, g, &m, constraints);
    any = brute_shards(roomy.sharding, false, roomy.a);
    close_machine(&roomy);
    m.memory_bytes[0] = floor(all * (0.3 + 0.9 * weft_rng_real(&r)));
    m.memory_bytes[1] = floor(all * (0.3 + 0.9 * weft_rng_real(&r)));
    x = open_instance(seed, g, &m, constraints);
    b = brute_shards(x.sharding, true, x.a);
    t->n++;
    t->n_none += b.value == INFINITY;
    if (b.value < INFINITY)
        check_oracle(&x, &b);
    if (b.value > any.value * (1 + EXACT) && b.value < INFINITY)
        t->n_binding++;
    check_limited(&x, &b, t);
    close_instance(&x);
}

TEST(bounds_hold_where_memory_binds)
{
    memory_tally t = {0};

    for (uint64_t seed = 50001; seed < 50001 + N_MANY(200); seed++)
        check_memory(seed, &t);
    print_message("memory: of %d it binds in %d, none fits in %d; proved %d, best %d, missed %d\n",
                  t.n, t.n_binding, t.n_none, t.n_proved, t.n_best, t.n_missed);
    CHECK(t.n_binding > t.n / 10 && t.n_proved > t.n / 4);
}

/* --- what must hold without knowing the optimum ---------------------------------------------- */

static double value_on(uint64_t seed, weft_graph *g, const small_machine *m,
                       weft_shard_constraints constraints)
{
    instance x = open_instance(seed, g, m, constraints);
    weft_shard_solution s = solve(&x, "auto");

    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    close_machine(&x);
    return s.proof.value;
}

/* All links `factor` times as fast. */
static small_machine faster(const small_machine *m, double factor)
{
    small_machine out = *m;

    for (int i = 0; i < m->n; i++) {
        out.host[i] *= factor;
        for (int k = 0; k < m->n; k++)
            out.link[i][k] *= factor;
    }
    out.latency_s /= factor;
    out.host_latency_s /= factor;
    return out;
}

/* One more accelerator of the last kind; others do not route through it. */
static small_machine larger(const small_machine *m, weft_rng *r)
{
    small_machine out = *m;

    out.kind[m->n] = m->kind[m->n - 1];
    out.host[m->n] = m->host[weft_rng_below(r, m->n)];
    for (int i = 0; i < m->n; i++)
        out.link[i][m->n] = m->link[0][1];
    out.n++;
    return out;
}

TEST(machines_that_are_the_same_or_better)
{
    const weft_shard_constraints constraints = {0};

    for (uint64_t seed = 60001; seed < 60001 + N_DRAWN(150); seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 6);
        small_machine m = draw_machine(&r, &(variant){.n_accelerators = 3}, seed);
        small_machine swapped = m, other = small_exchange(&m, 0, 1), more = larger(&m, &r);
        small_machine fast = faster(&m, 3);
        instance x = open_instance(seed, g, &m, constraints);
        weft_shard_solution s = solve(&x, "auto");

        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        swapped.is_swapped = true;
        check_near(&x, "the value with other names", value_on(seed, g, &swapped, constraints),
                   s.proof.value);
        if (m.kind[0] == m.kind[1])
            check_near(&x, "the value with exchanged accelerators",
                       value_on(seed, g, &other, constraints), s.proof.value);
        check_at_most(&x, "the value with faster links", value_on(seed, g, &fast, constraints),
                      s.proof.value);
        check_at_most(&x, "the value with one more accelerator",
                      value_on(seed, g, &more, constraints), s.proof.value);
        close_instance(&x);
    }
}

TEST(no_other_solver_is_better)
{
    static const variant of[] = {
        {.most_steps = 6                    },
        { .most_steps = 6,                      .hides = true},
        { .most_steps = 6,  .constraints.is_contiguous = true},
        { .most_steps = 6, .constraints.has_no_sharing = true}
    };
    int n_plans = 0, n_worse = 0;

    for (uint64_t seed = 70001; seed < 70001 + N_DRAWN(60); seed++) {
        instance x = draw_instance(seed, &of[seed % 4]);
        weft_shard_solution best = solve(&x, "auto");

        CHECK_INT(best.proof.outcome, WEFT_OPTIMAL);
        for (int i = 0; i < weft_shard_count(); i++) {
            weft_shard_solution s =
                solve_with(&x, weft_shard_at(i)->name, (weft_run){.steps = 300});

            if (!has_plan(&s))
                continue;
            check_at_most(&x, "the value of auto", best.proof.value, s.proof.value);
            n_plans++;
            n_worse += s.proof.value > best.proof.value * 1.01;
        }
        close_instance(&x);
    }
    CHECK(n_plans > N_DRAWN(60) * 4 && n_worse > n_plans / 10);
}

/* --- the same answer again ------------------------------------------------------------------- */

/* The plan and what is proved, as a file would hold it. */
static const char *bytes_of(const instance *x, const weft_shard_solution *s)
{
    weft_plan_origin origin = {.model = "m", .platform = "p", .solver = "auto"};

    if (!has_plan(s))
        return weft_outcome_name(s->proof.outcome);
    return weft_doc_json(
        weft_shard_plan_doc(x->sharding, &s->plan, &s->proof, &origin,
                            weft_shard_plan_measures_doc(x->sharding, &s->measures, x->a), x->a),
        2, x->a);
}

TEST(threads_and_repetition_change_nothing)
{
    variant of[4];

    memset(of, 0, sizeof of);
    for (int i = 0; i < 4; i++)
        of[i].most_steps = 6;
    of[1].constraints.is_contiguous = true;
    of[2].constraints.is_concurrent = true;
    of[3].n_accelerators = 4;
    of[3].n_kinds = 2;
    for (uint64_t seed = 80001; seed < 80001 + N_DRAWN(80); seed++) {
        weft_rng r = weft_rng_seed(seed);
        const variant *v = &of[seed % 4];
        weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, v->most_steps);
        small_machine m = draw_machine(&r, v, seed);
        instance x;

        if (seed % 8 < 4) /* memory binds */
            m.memory_bytes[0] = m.memory_bytes[1] =
                floor(weights_of(g) * 0.7 + (double)weft_graph_peak_bytes(g));
        x = open_instance(seed, g, &m, v->constraints);
        for (int64_t steps = 0; steps <= 9; steps += 3) {
            weft_shard_solution one = solve_with(&x, "auto", (weft_run){.steps = steps});
            weft_shard_solution two = solve_with(&x, "auto", (weft_run){.steps = steps});
            weft_shard_solution three =
                solve_with(&x, "auto", (weft_run){.steps = steps, .n_threads = 3});

            CHECK_TEXT(bytes_of(&x, &one), bytes_of(&x, &two));
            CHECK_TEXT(bytes_of(&x, &one), bytes_of(&x, &three));
        }
        close_instance(&x);
    }
}

/* --- side by side ---------------------------------------------------------------------------- */

/* Two or three accelerators that are all different: kinds of one. */
static small_machine all_different(weft_rng *r)
{
    small_machine m = small_draw_machine(r, 2, 2, 1);

    m.kind[0] = 0;
    m.kind[1] = 1;
    return m;
}

TEST(side_by_side_on_different_accelerators_is_the_optimum)
{
    int n_both = 0;

    for (uint64_t seed = 90001; seed < 90001 + N_DRAWN(100); seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 5);
        small_machine m = all_different(&r);
        instance x = open_instance(seed, g, &m, (weft_shard_constraints){.is_concurrent = true});
        brute_shards_answer b = brute_shards(x.sharding, false, x.a);
        weft_shard_solution s = solve(&x, "auto");
        tally t = {0};

        check_oracle(&x, &b);
        check_near(&x, "the value of auto", s.proof.value, b.value);
        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        count_plan(&b.plan, &t);
        n_both += t.n_several_sets;
        close_instance(&x);
    }
    CHECK(n_both > N_DRAWN(100) / 10);
}

/* Sets and splits besides: a heuristic with bounds. */
TEST(side_by_side_is_between_bound_and_other_plans)
{
    int n_best = 0, n_optimal = 0, n = N_DRAWN(150);

    for (uint64_t seed = 95001; seed < 95001 + (uint64_t)n; seed++) {
        instance x =
            draw_instance(seed, &(variant){.most_steps = 3, .constraints.is_concurrent = true});
        brute_shards_answer b = brute_shards(x.sharding, false, x.a);
        weft_shard_solution s = solve(&x, "auto");
        weft_proof floor;

        weft_shard_bound(x.sharding, x.a, &floor);
        check_oracle(&x, &b);
        check_at_most(&x, "the floor", floor.bound, b.value);
        check_at_most(&x, "the bound of auto", s.proof.bound, b.value);
        check_at_most(&x, "the optimum", b.value, s.proof.value);
        n_best += s.proof.value <= b.value * (1 + EXACT);
        n_optimal += s.proof.outcome == WEFT_OPTIMAL;
        close_instance(&x);
    }
    print_message("side by side: of %d, %d best, %d proved\n", n, n_best, n_optimal);
    CHECK(n_best > n / 2);
}

/* Transfers of sets side by side over one bus (or, under contend, one link) follow each other there. */
static void check_capacity(const instance *x, const weft_shard_solution *s)
{
    weft_shard_plan copy = weft_shard_plan_copy(&s->plan, x->a), *plan = &copy;
    const weft_platform *f = x->platform;
    weft_shard_plan_measures m;
    weft_shard_plan_costs costs;
    weft_split_cost *mode = WEFT_NEW(x->a, weft_split_cost, plan->n_steps);
    weft_users u = weft_users_new(f, true, x->a);
    double *held_s = WEFT_NEW(x->a, double, u.n_shared + 1);
    weft_violation v;

    CHECK_OK(weft_shard_plan_evaluate(x->sharding, plan, x->a, &m));
    CHECK(m.latency_s == s->proof.value); /* its own starts change nothing */
    CHECK(memcmp(plan->start_s, s->plan.start_s, sizeof *plan->start_s * (size_t)plan->n_steps) ==
          0);
    CHECK_INT(weft_shard_plan_form(x->sharding, plan, &v, 1, x->a, mode), 0);
    costs = weft_shard_plan_costs_of(x->sharding, plan, mode, x->a);
    for (int i = 0; i < costs.n_moves; i++) {
        const weft_move *move = &costs.move[i];
        const weft_device_set *to = weft_device_set_of(plan, move->step), *from = NULL;
        double bytes = move->held_bytes;

        if (move->operand < 0) {
            from = to;
            to = NULL;
            bytes = weft_result_bytes(x->sharding->steps, move->step, move->result,
                                      &plan->split[move->step], NULL);
        } else if (move->source >= 0) {
            from = weft_device_set_of(plan, move->source);
        }
        if (!(move->seconds > 0) || from == to)
            continue;
        weft_users_clear(&u);
        for (int k = 0; k < (to != NULL ? to->n : from->n); k++)
            weft_users_receive(&u,
                               from != NULL && to != NULL ? from->member
                               : to == NULL               ? &from->member[k]
                                                          : &f->host,
                               from != NULL && to != NULL ? from->n : 1,
                               to != NULL ? to->member[k] : f->host, bytes);
        for (int k = 0; k < u.n_shared; k++)
            held_s[k] += u.bytes[k] / weft_users_capacity(&u, k);
    }
    for (int k = 0; k < u.n_shared; k++)
        check_at_most(x, "what is shared", held_s[k], m.latency_s * (1 + 1e-9));
}

/* With what transfers share: the simulator alone knows the value of a plan. */
TEST(side_by_side_with_shared_resources_is_between_bound_and_other_plans)
{
    int n_best = 0, n_longer = 0, n = N_DRAWN(100);

    for (uint64_t seed = 97001; seed < 97001 + (uint64_t)n; seed++) {
        instance x = draw_instance(seed, &(variant){.most_steps = 3,
                                                    .n_kinds = 1 + (int)(seed % 2),
                                                    .constraints.is_concurrent = true,
                                                    .has_sharing = true});
        brute_shards_answer free = brute_shards(x.sharding, false, x.a);
        brute_shards_answer b = brute_shards_simulated(x.sharding, false, 3000, x.a);
        weft_shard_solution s = solve(&x, "auto");
        weft_proof floor;

        weft_shard_bound(x.sharding, x.a, &floor);
        check_at_most(&x, "the optimum of links of their own", free.value, s.proof.value);
        check_capacity(&x, &s);
        if (b.n_plans <= 3000) {
            check_at_most(&x, "the optimum of links of their own", free.value, b.value);
            check_at_most(&x, "the floor", floor.bound, b.value);
            check_at_most(&x, "the bound of auto", s.proof.bound, b.value);
            check_at_most(&x, "the optimum", b.value, s.proof.value);
            n_best += s.proof.value <= b.value * (1 + EXACT);
            n_longer += b.value > free.value * (1 + EXACT);
        }
        close_instance(&x);
    }
    print_message("side by side and shared: of %d, %d best, %d longer\n", n, n_best, n_longer);
    CHECK(n_best > n / 4 && n_longer > n / 20);
}

/* Two branches of equal work on two equal accelerators: each runs one. */
TEST(side_by_side_uses_two_sets_of_one_kind)
{
    weft_rng r = weft_rng_seed(3);
    build_net net = build_begin(&r);
    int x0 = build_input(&net, DIMS(1, 5, 9, 9));
    small_machine m = {
        .n = 2, .n_designs = {1, 1},
             .latency_s = 1e-3
    };
    instance x;
    weft_shard_solution s;
    brute_shards_answer b;

    m.design[0][0] =
        (small_design){.flops_per_s = 1e7, .bytes_per_s = 1e10, .tensor = 1, .reduce = 1};
    m.link[0][1] = 1e6;
    weft_net_output(net.net, build_plain_conv(&net, build_plain_conv(&net, x0, 5, 3, 1), 5, 3, 1));
    x = open_instance(
        0, build_finish(&net, build_plain_conv(&net, build_plain_conv(&net, x0, 5, 3, 1), 5, 3, 1)),
        &m, (weft_shard_constraints){.is_concurrent = true});
    b = brute_shards(x.sharding, false, x.a);
    s = solve(&x, "auto");
    CHECK(b.plan.n_sets == 2);
    check_near(&x, "the value of auto", s.proof.value, b.value);
    close_instance(&x);
}

/* --- shared shards --------------------------------------------------------------------------- */

/* A group of f1-2x4: four accelerators with one of its designs, and the host. */
static weft_platform *one_group(double memory_bytes)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(
        a,
        "schema: weft.platform/1\nname: f1-4\nhost: cpu\ndevices:\n"
        "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 64GB/s}\n"
        "  - name: fpga\n    count: 4\n    memory: %.17gB\n    designs:\n"
        "      - {name: systolic, model: systolic, rows: 11, cols: 13, vec: 8, dataflow: simd,\n"
        "         clock: 200MHz, memory_bandwidth: 64GB/s}\n"
        "links:\n  - {all: [fpga], bandwidth: 8Gbit/s}\n"
        "  - {star: {center: cpu, to: [fpga]}, bandwidth: 2Gbit/s}\n",
        memory_bytes);
    weft_platform *p;

    CHECK_OK(weft_platform_parse(text, strlen(text), "f1-4.yaml", &p));
    weft_arena_free(a);
    return p;
}

/* Convolutions of 64 channels on pictures of 28 x 28: 147 kB of weights each, 201 kB of results. */
static weft_graph *wide_chain(int n)
{
    weft_rng r = weft_rng_seed(1);
    build_net m = build_begin(&r);
    int x = build_input(&m, DIMS(1, 64, 28, 28));

    for (int i = 0; i < n; i++)
        x = build_conv_of(&m, x,
                          (build_conv_options){.out = 64,
                                               .kernel = 3,
                                               .stride = 1,
                                               .groups = 1,
                                               .dilation = 1,
                                               .is_padded = true});
    return build_finish(&m, x);
}

static instance open_group(weft_graph *g, double memory_bytes, bool has_no_sharing)
{
    instance x = {.graph = g, .platform = one_group(memory_bytes), .a = weft_arena_new()};
    weft_shard_constraints constraints = {.has_no_sharing = has_no_sharing};

    CHECK_OK(weft_shard_problem_new(g, x.platform, &constraints, &x.sharding));
    return x;
}

/* The value of auto, and whether its plan has shards that rotate. */
static double value_in_group(weft_graph *g, double memory_bytes, bool has_no_sharing, bool *rotates)
{
    instance x = open_group(g, memory_bytes, has_no_sharing);
    weft_shard_solution s = solve(&x, "auto");
    tally t = {0};

    CHECK(has_plan(&s));
    count_plan(&s.plan, &t);
    *rotates = t.n_shared > 0;
    close_machine(&x);
    return s.proof.value;
}

/* The same of the best plan there is. */
static double best_in_group(weft_graph *g, double memory_bytes, bool has_no_sharing, bool *rotates)
{
    instance x = open_group(g, memory_bytes, has_no_sharing);
    brute_shards_answer b = brute_shards(x.sharding, true, x.a);
    tally t = {0};

    count_plan(&b.plan, &t);
    *rotates = t.n_shared > 0;
    close_machine(&x);
    return b.value;
}

/* Pictures cut by rows, columns or input channels leave all weights, or half of them, on every
 * member, and little moves between steps: the fastest plan if memory is ample. No shards rotate in
 * it, and it is the same if they may not. With less memory than that, some steps must store a
 * smaller part of their weights: cut by output channels, which moves larger parts of pictures
 * between steps, or cut as before with weights that go round, which are smaller. */
TEST(shared_shards_pay_where_memory_binds)
{
    weft_graph *two = wide_chain(2), *six = wide_chain(6);
    double ample = 1e9, tight = 1.1 * weights_of(two), tight_six = 0.6 * weights_of(six);
    bool rotates, rotates_not;
    double with, without, ample_s;

    ample_s = best_in_group(two, ample, false, &rotates);
    CHECK(!rotates);
    with = best_in_group(two, tight, false, &rotates);
    without = best_in_group(two, tight, true, &rotates_not);
    CHECK(rotates && !rotates_not && with > ample_s * 1.001 && with < without * 0.999);
    /* still less: nothing fits without them */
    with = best_in_group(two, weights_of(two), false, &rotates);
    without = best_in_group(two, weights_of(two), true, &rotates_not);
    CHECK(rotates && with < INFINITY && without == INFINITY);

    ample_s = value_in_group(six, ample, false, &rotates);
    CHECK(!rotates);
    with = value_in_group(six, tight_six, false, &rotates);
    without = value_in_group(six, tight_six, true, &rotates_not);
    CHECK(rotates && !rotates_not && with > ample_s * 1.001 && with < without * 0.999);
    weft_graph_free(two);
    weft_graph_free(six);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_the_optimum),
        cmocka_unit_test(auto_is_the_optimum_without_shared_shards),
        cmocka_unit_test(auto_is_the_optimum_with_hidden_communication),
        cmocka_unit_test(auto_is_the_optimum_in_stretches),
        cmocka_unit_test(auto_is_the_optimum_with_shared_resources_and_curves),
        cmocka_unit_test(stretches_use_two_sets_of_one_kind),
        cmocka_unit_test(bounds_hold_where_memory_binds),
        cmocka_unit_test(machines_that_are_the_same_or_better),
        cmocka_unit_test(no_other_solver_is_better),
        cmocka_unit_test(threads_and_repetition_change_nothing),
        cmocka_unit_test(side_by_side_on_different_accelerators_is_the_optimum),
        cmocka_unit_test(side_by_side_is_between_bound_and_other_plans),
        cmocka_unit_test(side_by_side_with_shared_resources_is_between_bound_and_other_plans),
        cmocka_unit_test(side_by_side_uses_two_sets_of_one_kind),
        cmocka_unit_test(shared_shards_pay_where_memory_binds),
    };

    return RUN_TESTS(tests);
}
