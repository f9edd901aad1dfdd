/* SPDX-License-Identifier: MIT */
/* Baselines of sharding: legal and repeatable plans on several networks and machines, relations
 * that hold between them, and the parts they are made of. The driver simulates and checks every
 * plan: a violation of a rule is an error of weft_shard_solve. */
#include "check.h"
#include "model.h"

#include "baseline.h"
#include "h2h.h"
#include "shard.h"

#include <stdlib.h>

/* --- problems -------------------------------------------------------------------------------- */

typedef struct problem {
    weft_model *model;
    weft_platform *platform;
    weft_shard_problem *sharding;
} problem;

static void open_on(problem *p, const char *model, weft_platform *platform,
                    weft_shard_constraints constraints)
{
    weft_model_options options = {0};

    p->platform = platform;
    CHECK_OK(weft_model_open(model, &options, &p->model));
    CHECK_OK(weft_shard_problem_new(p->model->graph, platform, &constraints, &p->sharding));
}

static void open_problem(problem *p, const char *model, const char *preset,
                         weft_shard_constraints constraints)
{
    weft_platform *platform;

    CHECK_OK(weft_platform_open(preset, &platform));
    open_on(p, model, platform, constraints);
}

static void close_problem(problem *p)
{
    weft_shard_problem_free(p->sharding);
    weft_platform_free(p->platform);
    weft_model_free(p->model);
}

/* Six accelerators of two designs: two linked by a fast link each, all around a switch. */
static weft_platform *small_platform(const char *memory, bool hides)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(
        a,
        "schema: weft.platform/1\nname: six\nhost: cpu\noverlap: %s\n"
        "devices:\n"
        "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 64GB/s}\n"
        "  - name: acc\n    count: 6\n    memory: %s\n    designs:\n"
        "      - {name: tiled, model: tiled, Tm: 64, Tn: 7, Tr: 7, Tc: 14, port_in: 16,\n"
        "         port_weight: 16, port_out: 16, clock: 200MHz, memory_bandwidth: 64GB/s}\n"
        "      - {name: systolic, model: systolic, rows: 11, cols: 13, vec: 8, dataflow: simd,\n"
        "         clock: 200MHz, memory_bandwidth: 64GB/s}\n"
        "links:\n"
        "  - {between: [acc0, acc3], bandwidth: 4GB/s, latency: 1us}\n"
        "  - {between: [acc1, acc4], bandwidth: 4GB/s, latency: 1us}\n"
        "  - {star: {center: cpu, to: [acc]}, bandwidth: 1GB/s, latency: 2us}\n",
        hides ? "true" : "false", memory);
    weft_platform *p;

    CHECK_OK(weft_platform_parse(text, strlen(text), "six.yaml", &p));
    weft_arena_free(a);
    return p;
}

/* --- runs ------------------------------------------------------------------------------------ */

typedef struct solved {
    weft_arena *arena;
    weft_shard_solution s;
} solved;

static bool has_plan(const solved *x)
{
    return x->s.proof.outcome == WEFT_OPTIMAL || x->s.proof.outcome == WEFT_BOUNDED;
}

static solved solve(const problem *p, const char *name, int64_t seed, int64_t steps)
{
    weft_run run = {.seed = seed, .n_threads = 1, .limit_s = INFINITY, .steps = steps};
    solved x = {.arena = weft_arena_new()};

    run.scratch = weft_arena_new();
    assert_non_null(weft_shard_find(name));
    CHECK_OK(weft_shard_solve(weft_shard_find(name), p->sharding, NULL, &run, x.arena, &x.s));
    weft_arena_free(run.scratch);
    return x;
}

static double value_s(const problem *p, const char *name, int64_t seed, int64_t steps)
{
    solved x = solve(p, name, seed, steps);
    double value = x.s.proof.value;

    weft_arena_free(x.arena);
    return value;
}

static void check_same(const solved *x, const solved *y)
{
    CHECK_INT(x->s.proof.outcome, y->s.proof.outcome);
    CHECK(!has_plan(x) || x->s.proof.value == y->s.proof.value);
    CHECK_INT(x->s.plan.n_sets, y->s.plan.n_sets);
    for (int i = 0; i < x->s.plan.n_sets; i++) {
        const weft_device_set *a = &x->s.plan.set[i], *b = &y->s.plan.set[i];

        CHECK(a->n == b->n && a->design == b->design);
        CHECK(memcmp(a->member, b->member, (size_t)a->n * sizeof(int)) == 0);
    }
    for (int u = 0; u < x->s.plan.n_steps; u++) {
        const weft_split *a = &x->s.plan.split[u], *b = &y->s.plan.split[u];

        CHECK_INT(x->s.plan.set_of[u], y->s.plan.set_of[u]);
        CHECK(x->s.plan.start_s[u] == y->s.plan.start_s[u]);
        CHECK(a->shared == b->shared && a->is_scattered == b->is_scattered);
        CHECK(memcmp(a->factor, b->factor, sizeof a->factor) == 0);
    }
}

/* --- all of them ----------------------------------------------------------------------------- */

static const char *const baselines[] = {"longest-group", "longest-all",  "uniform",
                                        "random",        "ga",           "herald",
                                        "h2h",           "h2h-repaired", "streams"};
enum { N_BASELINES = (int)(sizeof baselines / sizeof *baselines), FEW = 60 };

/* Every baseline has a plan, which is worth what the simulator says, and finds it again. */
static void check_all(const char *model, const char *preset, weft_shard_constraints constraints,
                      bool are_equal)
{
    problem p;

    open_problem(&p, model, preset, constraints);
    for (int i = 0; i < N_BASELINES; i++) {
        solved x = solve(&p, baselines[i], 3, FEW), y = solve(&p, baselines[i], 3, FEW);
        bool is_single = i >= 5; /* on single accelerators */

        if (are_equal ? !(is_single && constraints.is_contiguous) : is_single)
            CHECK(has_plan(&x));
        if (is_single && constraints.is_contiguous)
            CHECK(!has_plan(&x)); /* their plans need not be stretches */
        CHECK(!has_plan(&x) || (x.s.proof.value > 0 && x.s.proof.value >= x.s.proof.bound));
        CHECK(has_plan(&x) || x.s.proof.value == INFINITY);
        check_same(&x, &y);
        weft_arena_free(x.arena);
        weft_arena_free(y.arena);
    }
    close_problem(&p);
}

TEST(all_have_plans_on_equal_accelerators)
{
    const weft_shard_constraints constraints[] = {
        {0}, {.is_concurrent = true}, {.is_contiguous = true}, {.has_no_sharing = true}};

    for (int i = 0; i < 4; i++) {
        check_all("alexnet", "f1-2x4", constraints[i], true);
        check_all("gpt2:layers=1,hidden=64,heads=4,seq=32,vocab=100", "f1-2x4", constraints[i],
                  true);
    }
    check_all("resnet18", "f1-2x4", constraints[0], true);
    check_all("inception_v3", "f1-2x4", constraints[1], true);
    check_all("mobilenet_v2", "dgx-a100", constraints[0], true);
}

TEST(single_accelerators_have_plans_on_unequal_ones)
{
    check_all("casia_surf", "h2h-12", (weft_shard_constraints){.is_concurrent = true}, false);
    check_all("facebagnet", "h2h-12", (weft_shard_constraints){.is_concurrent = true}, false);
    check_all("facebagnet", "h2h-12", (weft_shard_constraints){0}, false);
}

TEST(summaries_are_lines)
{
    for (int i = 0; i < weft_shard_count(); i++) {
        const weft_shard_solver *s = weft_shard_at(i);

        CHECK(weft_shard_find(s->name) == s);
        CHECK(strlen(s->summary) > 10 && strchr(s->summary, '\n') == NULL);
    }
    assert_null(weft_shard_find("no-such-solver"));
}

/* --- relations ------------------------------------------------------------------------------- */

TEST(more_search_is_never_worse)
{
    static const char *const model[] = {"alexnet", "resnet18", "squeezenet1_1"};

    for (int i = 0; i < 3; i++) {
        problem p;

        open_problem(&p, model[i], "f1-2x4", (weft_shard_constraints){0});
        for (int64_t seed = 1; seed <= 2; seed++) {
            double start_s = value_s(&p, "ga", seed, 1), ga_s = value_s(&p, "ga", seed, 2000);
            double few_s = value_s(&p, "random", seed, 10);

            /* it starts from the two longest axes on all accelerators */
            CHECK_NEAR(start_s, value_s(&p, "longest-all", seed, 0));
            CHECK(ga_s < start_s * 0.9);
            CHECK(value_s(&p, "random", seed, 100) <= few_s);
            CHECK(ga_s < few_s);
        }
        close_problem(&p);
    }
}

/* One accelerator is among the sets of `uniform`: with the best of all designs. */
TEST(uniform_is_at_least_as_good_as_one_accelerator)
{
    static const char *const model[] = {"alexnet", "vgg16", "squeezenet1_1"};

    for (int i = 0; i < 3; i++) {
        problem p;
        solved x, y;

        open_problem(&p, model[i], "f1-2x4", (weft_shard_constraints){0});
        x = solve(&p, "uniform", 1, 0);
        y = solve(&p, "h2h-repaired", 1, 0);
        CHECK_INT(x.s.plan.n_sets, 1);
        if (y.s.plan.n_sets == 1)
            CHECK(x.s.proof.value <= y.s.proof.value * (1 + 1e-12));
        CHECK(x.s.proof.value <= value_s(&p, "random", 1, 200));
        weft_arena_free(x.arena);
        weft_arena_free(y.arena);
        close_problem(&p);
    }
}

/* Three streams and a tail: several accelerators work side by side. */
TEST(h2h_uses_several_accelerators)
{
    problem p;
    solved port, repaired;

    open_problem(&p, "casia_surf", "h2h-12", (weft_shard_constraints){.is_concurrent = true});
    port = solve(&p, "h2h", 1, 0);
    repaired = solve(&p, "h2h-repaired", 1, 0);
    CHECK(port.s.plan.n_sets > 1 && repaired.s.plan.n_sets > 1);
    CHECK(repaired.s.proof.value < port.s.proof.value);
    CHECK(repaired.s.proof.value < value_s(&p, "longest-all", 1, 0)); /* one accelerator */
    CHECK(value_s(&p, "streams", 1, 0) < repaired.s.proof.value);
    weft_arena_free(port.arena);
    weft_arena_free(repaired.arena);
    close_problem(&p);
}

/* 244 MB of weights: no accelerator holds them all, six together do. */
TEST(weights_that_do_not_fit_are_a_reason)
{
    const char *const whole[] = {"h2h", "h2h-repaired"};
    const char *const cut[] = {"longest-all", "uniform", "ga"};
    problem p;

    open_on(&p, "alexnet", small_platform("100MB", false), (weft_shard_constraints){0});
    for (int i = 0; i < 2; i++) {
        solved x = solve(&p, whole[i], 1, 0);

        CHECK_INT(x.s.proof.outcome, WEFT_UNKNOWN);
        assert_non_null(x.s.proof.reason);
        CHECK(strstr(x.s.proof.reason, "100 MB") != NULL); /* what an accelerator has */
        weft_arena_free(x.arena);
    }
    for (int i = 0; i < 3; i++) {
        solved x = solve(&p, cut[i], 1, 500);

        CHECK(has_plan(&x));
        CHECK(x.s.measures.over_device < 0);
        weft_arena_free(x.arena);
    }
    close_problem(&p);
    open_on(&p, "alexnet", small_platform("10MB", false), (weft_shard_constraints){0});
    for (int i = 0; i < N_BASELINES; i++) {
        solved x = solve(&p, baselines[i], 1, FEW);

        CHECK_INT(x.s.proof.outcome, WEFT_UNKNOWN);
        CHECK(strlen(x.s.proof.reason) > 10);
        weft_arena_free(x.arena);
    }
    close_problem(&p);
}

/* --- parts ----------------------------------------------------------------------------------- */

static void check_sizes(const char *preset, const int *size, int n)
{
    weft_run run = {.limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_candidates c;
    problem p;

    open_problem(&p, "alexnet", preset, (weft_shard_constraints){0});
    c = weft_baseline_candidates(weft_baseline_new(p.sharding, &run));
    CHECK_INT(c.n, n);
    for (int i = 0; i < n; i++) {
        CHECK_INT(c.device_set[i].n, size[i]);
        CHECK(c.parent[i] < i);
        for (int j = 0; c.parent[i] >= 0 && j < c.device_set[i].n; j++) {
            const weft_device_set *whole = &c.device_set[c.parent[i]];
            bool is_in = false;

            for (int k = 0; k < whole->n; k++)
                is_in = is_in || whole->member[k] == c.device_set[i].member[j];
            CHECK(is_in);
        }
    }
    close_problem(&p);
    weft_arena_free(run.scratch);
}

TEST(candidates_follow_the_links)
{
    static const int f1[] = {8, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};
    weft_run run = {.limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_candidates c;
    problem p;

    check_sizes("f1-2x4", f1, 15);
    open_on(&p, "alexnet", small_platform("1GB", false), (weft_shard_constraints){0});
    c = weft_baseline_candidates(weft_baseline_new(p.sharding, &run));
    /* all; the two pairs with fast links, and two alone; the pairs apart */
    CHECK_INT(c.n, 1 + 4 + 4);
    CHECK(c.device_set[1].n == 2 && c.device_set[1].member[0] == 1 &&
          c.device_set[1].member[1] == 4);
    CHECK(c.device_set[2].n == 2 && c.device_set[2].member[0] == 2 &&
          c.device_set[2].member[1] == 5);
    CHECK(c.device_set[3].n == 1 && c.device_set[4].n == 1);
    close_problem(&p);
    weft_arena_free(run.scratch);
}

static void draw(weft_baseline *b, weft_rng *r, weft_draft *d)
{
    for (int u = 0; u < b->problem->steps->n; u++) {
        d->set_of[u] = weft_rng_below(r, d->sets->n);
        d->choice[u] =
            weft_rng_below(r, weft_baseline_splits(b, u, d->sets->device_set[d->set_of[u]].n)->n);
    }
}

/* Look-ups give what the simulator finds. */
static void check_sums(const char *model, bool hides, bool is_concurrent, int n_draws)
{
    static const weft_device_set device_set[] = {
        {.n = 3, .member = {1, 4, 2}, .design = 1},
        {.n = 1, .member = {3},       .design = 0},
        {.n = 2, .member = {5, 6},    .design = 1}
    };
    weft_run run = {.limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_rng r = weft_rng_seed(11);
    weft_baseline_sets sets;
    weft_draft d;
    weft_baseline *b;
    problem p;

    open_on(&p, model, small_platform("100GB", hides),
            (weft_shard_constraints){.is_concurrent = is_concurrent});
    b = weft_baseline_new(p.sharding, &run);
    sets = weft_baseline_sets_new(b, device_set, 3);
    d = weft_draft_new(b, &sets);
    for (int i = 0; i < n_draws; i++) {
        double sum_s;

        draw(b, &r, &d);
        sum_s = weft_baseline_latency(b, &d, NULL);
        b->best_s = INFINITY;
        CHECK(weft_baseline_offer(b, &d, NULL));
        CHECK(fabs(sum_s - b->best_s) <= 1e-9 * sum_s);
    }
    close_problem(&p);
    weft_arena_free(run.scratch);
}

TEST(sums_are_what_the_simulator_finds)
{
    check_sums("alexnet", false, false, 20);
    check_sums("alexnet", true, false, 20);
    check_sums("resnet18", true, false, 10);
    check_sums("gpt2:layers=1,hidden=64,heads=4,seq=32,vocab=100", true, false, 10);
    check_sums("casia_surf", false, true, 10);
    check_sums("casia_surf", true, true, 10);
    check_sums("resnet18", false, true, 10);
    check_sums("resnet18", true, true, 10);
    check_sums("inception_v3", true, true, 4);
}

/* --- H2H on random networks ------------------------------------------------------------------ */

enum { MOST_LAYERS = 12, MOST_DEVICES = 3, N_RANDOM = 300 };

typedef struct drawn {
    weft_h2h p;
    weft_h2h_layer layer[MOST_LAYERS];
    weft_h2h_data data[MOST_LAYERS];
    int pred_at[MOST_LAYERS + 1], pred[2 * MOST_LAYERS];
    int succ_at[MOST_LAYERS + 1], succ[2 * MOST_LAYERS];
    double compute_s[MOST_LAYERS * MOST_DEVICES], bits_per_s[MOST_DEVICES];
    int64_t room[MOST_DEVICES];
} drawn;

/* Two streams; layers of the first may read one of the second. Small whole numbers: sums exact. */
static void draw_h2h(drawn *x, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    int n = 2 + weft_rng_below(&r, MOST_LAYERS - 1), second = 1 + weft_rng_below(&r, n - 1);
    bool reads[MOST_LAYERS][MOST_LAYERS] = {{false}};
    int n_devices = 1 + weft_rng_below(&r, MOST_DEVICES), at = 0, to = 0;

    for (int l = 0; l < n; l++) {
        int stream = l >= second;

        x->layer[l] = (weft_h2h_layer){.kind = (weft_h2h_kind)(2 * weft_rng_below(&r, 2)),
                                       .stream = stream,
                                       .place = l - stream * second + 1};
        x->data[l] = (weft_h2h_data){1000 * weft_rng_below(&r, 6), weft_rng_below(&r, 9000),
                                     weft_rng_below(&r, 9000)};
        for (int d = 0; d < n_devices; d++)
            x->compute_s[l * n_devices + d] = 1 + weft_rng_below(&r, 4000);
        if (l != 0 && l != second)
            reads[l][l - 1] = true;
        if (l < second && weft_rng_below(&r, 4) == 0)
            reads[l][second + weft_rng_below(&r, n - second)] = true;
    }
    for (int l = 0; l < n; l++) {
        x->pred_at[l] = at;
        x->succ_at[l] = to;
        for (int k = 0; k < n; k++) {
            if (reads[l][k])
                x->pred[at++] = k;
            if (reads[k][l])
                x->succ[to++] = k;
        }
    }
    x->pred_at[n] = at;
    x->succ_at[n] = to;
    for (int d = 0; d < n_devices; d++) {
        x->bits_per_s[d] = 32;
        x->room[d] = weft_rng_below(&r, 12);
    }
    x->p = (weft_h2h){n,          n_devices, x->layer,     x->data,       x->pred_at, x->pred,
                      x->succ_at, x->succ,   x->compute_s, x->bits_per_s, x->room};
}

/* The least weights that are not pinned on one device, of all choices. */
static double least_unpinned(const drawn *x)
{
    double best = INFINITY;

    for (unsigned chosen = 0; chosen < 1u << x->p.n_layers; chosen++) {
        int64_t pinned = 0, rest = 0;

        for (int l = 0; l < x->p.n_layers; l++)
            *(chosen >> l & 1 ? &pinned : &rest) += x->data[l].weights;
        if (pinned <= 1000 * x->room[0])
            best = fmin(best, (double)rest);
    }
    return best;
}

static void check_h2h(const drawn *x, const weft_h2h_result *r, bool is_repaired)
{
    CHECK(r->after_s[1] <= r->after_s[0]);
    CHECK(r->after_s[3] <= r->after_s[2]);
    if (is_repaired) {
        CHECK(r->after_s[2] <= r->after_s[1]);
        CHECK(!r->is_cyclic && r->retimed_s == r->after_s[3]);
    }
    for (int l = 0; l < x->p.n_layers && !r->is_cyclic; l++) {
        double end_s = r->start_s[l] + x->compute_s[l * x->p.n_devices + r->device[l]];

        CHECK(end_s <= r->retimed_s);
        for (int i = x->succ_at[l]; i < x->succ_at[l + 1]; i++)
            CHECK(r->start_s[x->succ[i]] >= end_s);
        for (int o = 0; o < x->p.n_layers; o++)
            CHECK(o == l || r->device[o] != r->device[l] || r->start_s[o] >= end_s ||
                  r->start_s[o] < r->start_s[l]);
    }
}

TEST(h2h_keeps_its_order_on_random_networks)
{
    weft_run run = {.limit_s = INFINITY};
    int n_moves = 0, n_single = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_RANDOM); seed++) {
        drawn x;

        draw_h2h(&x, seed);
        for (int is_repaired = 0; is_repaired < 2; is_repaired++) {
            weft_arena *a = weft_arena_new();
            weft_h2h_result r;
            double all_s = 0;

            weft_h2h_run(&x.p, &(weft_h2h_rule){is_repaired, 0}, &run, a, &r);
            check_h2h(&x, &r, is_repaired);
            n_moves += r.n_moves;
            for (int l = 0; l < x.p.n_layers; l++)
                all_s += x.compute_s[l * x.p.n_devices] + (double)x.data[l].input +
                         (double)x.data[l].output;
            if (x.p.n_devices == 1) { /* one after the other; the fullest knapsack */
                CHECK_NEAR(r.after_s[1], all_s + least_unpinned(&x));
                n_single++;
            }
            weft_arena_free(a);
        }
    }
    CHECK(n_moves >= N_DRAWN(N_RANDOM) / 5);
    CHECK(n_single >= N_DRAWN(N_RANDOM) / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_plans_on_equal_accelerators),
        cmocka_unit_test(single_accelerators_have_plans_on_unequal_ones),
        cmocka_unit_test(summaries_are_lines),
        cmocka_unit_test(more_search_is_never_worse),
        cmocka_unit_test(uniform_is_at_least_as_good_as_one_accelerator),
        cmocka_unit_test(h2h_uses_several_accelerators),
        cmocka_unit_test(weights_that_do_not_fit_are_a_reason),
        cmocka_unit_test(candidates_follow_the_links),
        cmocka_unit_test(sums_are_what_the_simulator_finds),
        cmocka_unit_test(h2h_keeps_its_order_on_random_networks),
    };

    return RUN_TESTS(tests);
}
