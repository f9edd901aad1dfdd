/* SPDX-License-Identifier: MIT */
/* What solvers of training claim, on random small problems: every solver against every other's
 * bound and against all plans of the space (brute_train.c), and relations between problems: faster,
 * wider, larger or freer is never worse, times scale, names do not matter.
 *
 * The long form, about 3,000 problems: WEFT_LONG_TESTS=1 test_train_oracle. */
#include "brute_train.h"
#include "check.h"
#include "draw_training.h"
#include "kind.h"

#include <stdlib.h>

static const double rounding = 2e-9;

typedef struct counts {
    int n_problems, n_solved, n_optimal, n_infeasible, n_brute, n_relations, n_inside;
} counts;

static int n_of(int few, int many)
{
    return getenv("WEFT_LONG_TESTS") != NULL ? many : N_DRAWN(few);
}

static weft_train_solution solve(const char *name, const weft_train_problem *p, int64_t steps,
                                 weft_arena *a)
{
    weft_run run = {.limit_s = INFINITY, .steps = steps, .scratch = a};
    weft_train_solution s;

    CHECK_OK(weft_train_solve(weft_train_find(name), p, &run, a, &s));
    return s;
}

static bool has_plan(const weft_train_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* --- every solver against every other -------------------------------------------------------- */

enum { MOST_SOLVERS = 8 };

static void compare_two(uint64_t seed, int i, int k, const weft_train_solution *x,
                        const weft_train_solution *y)
{
    const char *one = weft_train_at(i)->name, *other = weft_train_at(k)->name;

    if (!has_plan(x))
        return;
    if (y->proof.outcome == WEFT_INFEASIBLE)
        fail_msg("seed %llu: %s has a plan of %.12g s, %s says that there is none",
                 (unsigned long long)seed, one, x->proof.value, other);
    if (x->proof.value < y->proof.bound * (1 - rounding))
        fail_msg("seed %llu: %s has a plan of %.12g s, %s a bound of %.12g s",
                 (unsigned long long)seed, one, x->proof.value, other, y->proof.bound);
}

/* Returns the solution of auto. */
static weft_train_solution compare_solvers(uint64_t seed, const weft_train_problem *p,
                                           int64_t steps, weft_arena *a, counts *t)
{
    weft_train_solution s[MOST_SOLVERS], best = {0};
    int n = weft_train_count();

    CHECK(n <= MOST_SOLVERS);
    for (int i = 0; i < n; i++) {
        const char *outside;

        s[i] = solve(weft_train_at(i)->name, p, steps, a);
        t->n_solved++;
        outside = has_plan(&s[i]) ? weft_train_outside(p, &s[i].plan, a) : NULL;
        if (outside != NULL)
            fail_msg("seed %llu: the plan of %s is outside: %s", (unsigned long long)seed,
                     weft_train_at(i)->name, outside);
        if (strcmp(weft_train_at(i)->name, "auto") == 0)
            best = s[i];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            compare_two(seed, i, k, &s[i], &s[k]);
    t->n_problems++;
    t->n_optimal += best.proof.outcome == WEFT_OPTIMAL;
    t->n_infeasible += best.proof.outcome == WEFT_INFEASIBLE;
    return best;
}

/* --- relations ------------------------------------------------------------------------------- */

static double optimum(const weft_train_problem *p, counts *t)
{
    weft_arena *a = weft_arena_new();
    weft_train_solution s = solve("auto", p, 0, a);
    double value = s.proof.outcome == WEFT_INFEASIBLE ? INFINITY : s.proof.value;

    CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_INFEASIBLE);
    t->n_relations++;
    weft_arena_free(a);
    return value;
}

typedef struct change {
    const char *name;
    small_machines machines;
    weft_train_constraints constraints;
    double factor[2]; /* seconds of the classes */
    double times;     /* the optimum is exactly so many times as long; 0: it is not longer */
} change;

static void check_change(uint64_t seed, const small_training *d, double value_s, const change *c,
                         counts *t)
{
    small_training other = vary_small_training(d, &c->machines, &c->constraints, c->factor);
    double other_s = optimum(other.training, t);
    bool is_worse = other_s > value_s * (1 + rounding);

    if (c->times > 0)
        is_worse = value_s < INFINITY ? fabs(other_s - c->times * value_s) > rounding * other_s
                                      : other_s < INFINITY;
    if (is_worse)
        fail_msg("seed %llu, %s: %.12g s, before %.12g s", (unsigned long long)seed, c->name,
                 other_s, value_s);
    drop_small_training(&other);
}

static change same(const char *name, const small_training *d)
{
    return (change){
        name, d->machines, d->training->constraints, {1, 1},
           0
    };
}

/* Where transfers wait for each other, a faster job may let another one go first. */
static bool is_monotone(const small_training *d)
{
    return !d->machines.is_contend ||
           (d->training->blocks.n_shared == 0 &&
            !(d->training->constraints.schedules >> WEFT_INTERLEAVED & 1));
}

static void check_faster(uint64_t seed, const small_training *d, double value_s, counts *t)
{
    change c = same("a faster class", d);

    c.factor[seed % (uint64_t)d->training->cluster->n_classes] = 0.75;
    check_change(seed, d, value_s, &c, t);
    c = same("wider links", d);
    c.machines.bytes_per_s = fmin(39, 1.5 * c.machines.bytes_per_s);
    check_change(seed, d, value_s, &c, t);
    c = same("no latency", d);
    c.machines.latency_s = 0;
    check_change(seed, d, value_s, &c, t);
}

static void check_larger(uint64_t seed, const small_training *d, double value_s, counts *t)
{
    change c = same("more memory", d);

    c.machines.fast_bytes *= 1.25;
    c.machines.slow_bytes *= 1.5;
    check_change(seed, d, value_s, &c, t);
    c = same("more choices", d);
    c.constraints.schedules = (1u << WEFT_N_SCHEDULES) - 1;
    c.constraints.recomputes = (1u << WEFT_N_RECOMPUTES) - 1;
    c.constraints.microbatch = c.constraints.most_replicas = c.constraints.most_stages = 0;
    check_change(seed, d, value_s, &c, t);
}

static void check_equal(uint64_t seed, const small_training *d, double value_s, counts *t)
{
    change c = same("all times doubled", d);

    c.machines.time = c.times = c.factor[0] = c.factor[1] = 2;
    check_change(seed, d, value_s, &c, t);
    c = same("devices in another order", d);
    c.machines.is_slow_first = true;
    c.times = 1;
    check_change(seed, d, value_s, &c, t);
}

/* --- small problems -------------------------------------------------------------------------- */

static void check_small(uint64_t seed, counts *t)
{
    weft_rng r = weft_rng_seed(seed);
    small_training d = draw_small_training(seed % 4 == 0, 5, &r);
    weft_arena *a = weft_arena_new();
    weft_train_solution s = compare_solvers(seed, d.training, 0, a, t);
    double value_s = has_plan(&s) ? s.proof.value : INFINITY;

    CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_INFEASIBLE);
    if (seed % 3 == 0) {
        double best_s = brute_train(d.training, a);

        if (best_s < value_s * (1 - rounding) || (best_s > value_s * (1 + rounding)))
            fail_msg("seed %llu: %.12g s, all plans %.12g s", (unsigned long long)seed, value_s,
                     best_s);
        t->n_brute++;
    }
    if (is_monotone(&d))
        check_faster(seed, &d, value_s, t);
    check_larger(seed, &d, value_s, t);
    check_equal(seed, &d, value_s, t);
    weft_arena_free(a);
    drop_small_training(&d);
}

TEST(claims_on_small_problems_hold)
{
    counts t = {0};
    int n = n_of(200, 3000);

    for (int i = 1; i <= n; i++)
        check_small(500000 + (uint64_t)i, &t);
    print_message("%d problems, %d solutions, %d optimal, %d infeasible, %d by brute force, %d "
                  "changed problems\n",
                  t.n_problems, t.n_solved, t.n_optimal, t.n_infeasible, t.n_brute, t.n_relations);
    CHECK(!IS_THOROUGH || (t.n_infeasible > n / 50 && t.n_optimal > n / 2));
}

/* --- more devices ---------------------------------------------------------------------------- */

/* Legal plans at random: those of the space are not below the bound. */
static void try_plans(uint64_t seed, const weft_train_problem *p, const weft_train_solution *s,
                      weft_rng *r, counts *t)
{
    enum { PLANS = 200 };

    for (int i = 0; i < PLANS; i++) {
        weft_arena *a = weft_arena_new();
        weft_train_measures m;
        weft_train_plan plan;

        if (draw_pipeline(p, (weft_schedule)(i % WEFT_N_SCHEDULES), r, a, &plan) &&
            weft_train_outside(p, &plan, a) == NULL) {
            CHECK_OK(weft_train_plan_evaluate(p, &plan, a, &m));
            if (m.over_stage < 0 &&
                (s->proof.outcome == WEFT_INFEASIBLE || m.step_s < s->proof.bound * (1 - rounding)))
                fail_msg("problem %llu: a plan of %.12g s, %s, bound %.12g s",
                         (unsigned long long)seed, m.step_s, weft_outcome_name(s->proof.outcome),
                         s->proof.bound);
            t->n_inside++;
        }
        weft_arena_free(a);
    }
}

/* Up to twelve devices of each of two classes: rows and uniform plans beside device sets. */
TEST(claims_on_more_devices_hold)
{
    weft_rng r = weft_rng_seed(29);
    counts t = {0};
    int n = n_of(20, 300);

    for (int i = 0; i < n; i++) {
        draw_training_ask constraints = {
            .is_dag = i % 5 == 0, .has_shared = i % 4 == 0, .is_contend = i % 3 == 0};
        drawn_training d = draw_training(&constraints, &r);
        weft_arena *a = weft_arena_new();

        weft_train_solution s =
            compare_solvers((uint64_t)i, d.training, i % 2 ? 300000 : 20000, a, &t);

        try_plans((uint64_t)i, d.training, &s, &r, &t);
        weft_arena_free(a);
        drop_training(&d);
    }
    print_message("%d problems, %d solutions, %d optimal, %d infeasible, %d random plans of the "
                  "space\n",
                  t.n_problems, t.n_solved, t.n_optimal, t.n_infeasible, t.n_inside);
    CHECK(!IS_THOROUGH || (t.n_optimal > 0 && t.n_inside > n));
}

/* --- counter-examples ------------------------------------------------------------------------ */

#define FOLDER WEFT_TEST_DATA "/counterexamples/"

/* A plan that beat what auto called optimal, or contradicted that there is none. */
typedef struct counter_example {
    const char *model, *platform, *plan;
    int64_t batch, microbatch;
    unsigned schedules;
} counter_example;

static void check_counter_example(const counter_example *x)
{
    weft_train_request r = {.model = x->model, .platform = x->platform};
    weft_arena *a = weft_arena_new();
    counts t = {0};
    weft_train_solution s;
    weft_train_case c;
    weft_check_result v;

    r.options = (weft_model_options){.train = true, .optimizer = WEFT_ADAM};
    r.constraints = (weft_train_constraints){.batch = x->batch,
                                             .microbatch = x->microbatch,
                                             .schedules = x->schedules,
                                             .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                                             .most_chunks = 4};
    CHECK_OK(weft_verify(x->plan, x->model, x->platform, a, &v));
    CHECK(v.n_wrong == 0 && v.has_space && v.outside == NULL);
    CHECK_OK(weft_train_case_open(&r, &c));
    CHECK(c.training->hash == v.file.origin->problem_hash);
    s = compare_solvers(0, c.training, 0, a, &t);
    CHECK(s.proof.outcome == WEFT_OPTIMAL);
    CHECK(s.proof.value <= v.kind->value(&v.problem, v.solution) * (1 + rounding));
    weft_train_case_close(&c);
    weft_check_result_close(&v);
    weft_arena_free(a);
}

TEST(counter_examples_are_right)
{
    unsigned all = (1u << WEFT_N_SCHEDULES) - 1;

    check_counter_example(&(counter_example){FOLDER "train-default/m.onnx",
                                             FOLDER "train-default/p.json",
                                             FOLDER "train-default/eq.json", 24, 0, all});
    check_counter_example(&(counter_example){FOLDER "train-uniform/m.onnx",
                                             FOLDER "train-uniform/p.json",
                                             FOLDER "train-uniform/equal.json", 16, 2, all});
    check_counter_example(
        &(counter_example){FOLDER "train-infeasible/m.onnx", FOLDER "train-infeasible/p.json",
                           FOLDER "train-infeasible/eq.json", 4, 0, 1u << WEFT_INTERLEAVED});
}

/* Cuts inside of blocks are fixed by the network: what is proved says so, and lower latencies make no
 * step longer. */
TEST(fixed_tensor_cuts_are_named)
{
    double value_s[2];

    for (int width = 1; width <= 2; width++)
        for (int i = 0; i < 2; i++) {
            weft_train_request r = {
                .model = "gpt2:layers=2,hidden=64,heads=2,seq=16",
                .platform =
                    i == 0 ? FOLDER "train-latency/p.json" : FOLDER "train-latency/q-lat.json",
                .options = {.train = true,    .optimizer = WEFT_SGD},
                .constraints = { .batch = 4,
                            .schedules = (1u << WEFT_N_SCHEDULES) - 1,
                            .recomputes = 1u << WEFT_KEEP_NONE,
                            .most_width = width,
                            .most_chunks = 4,
                            .zero = 1}
            };
            weft_arena *a = weft_arena_new();
            weft_train_solution s;
            weft_train_case c;

            CHECK_OK(weft_train_case_open(&r, &c));
            s = solve("auto", c.training, 0, a);
            CHECK(s.proof.outcome == WEFT_OPTIMAL);
            CHECK_TEXT(s.proof.method, width == 1
                                           ? "pipeline search"
                                           : "pipeline search, tensor cuts fixed by the network");
            value_s[i] = s.proof.value;
            CHECK(i == 0 || value_s[1] <= value_s[0] * (1 + rounding));
            weft_train_case_close(&c);
            weft_arena_free(a);
        }
}

/* --- real networks --------------------------------------------------------------------------- */

/* What one of these asks for, the free search could have chosen. */
static weft_train_constraints draw_narrower(const weft_train_constraints *free, int n_devices,
                                            weft_rng *r)
{
    weft_train_constraints x = *free;
    int64_t divisor = 1 + weft_rng_below(r, (int)free->batch);

    while (free->batch % divisor != 0)
        divisor--;
    switch (weft_rng_below(r, 6)) {
    case 0:
        x.mbs = weft_counts_of(divisor);
        break;
    case 1:
        x.microbatch = divisor;
        break;
    case 2:
        x.tp = weft_counts_of(n_devices > 1 ? 1 << weft_rng_below(r, n_devices > 3 ? 3 : 2) : 1);
        break;
    case 3:
        x.pp = weft_counts_of(1 + weft_rng_below(r, 2));
        break;
    case 4:
        x.dp = weft_counts_of(1 + weft_rng_below(r, 2));
        break;
    default:
        x.mbs = weft_counts_of(divisor);
        x.tp = weft_counts_of(n_devices > 1 ? 2 : 1);
    }
    return x;
}

static weft_platform *draw_servers(int n_devices, bool is_mixed, weft_rng *r)
{
    char text[1024];
    weft_platform *p = NULL;

    snprintf(text, sizeof text,
             "schema: weft.platform/1\nname: drawn\nhost: a0\ndevices:\n"
             "  - {name: a, count: %d, model: roofline, peak_flops: %ge9, memory_bandwidth: %gGB/s,"
             " memory: %dkB}\n"
             "  - {name: b, count: %d, model: roofline, peak_flops: %ge9, memory_bandwidth: %gGB/s,"
             " memory: %dkB}\n"
             "links:\n  - {all: [a, b], bandwidth: %gGB/s, latency: %gus}\n",
             is_mixed ? n_devices - 1 : n_devices, 20 + 80 * weft_rng_real(r),
             3 + 5 * weft_rng_real(r), 600 + weft_rng_below(r, 3000), 1, 10 + 80 * weft_rng_real(r),
             3 + 5 * weft_rng_real(r), 600 + weft_rng_below(r, 3000), 5 + 40 * weft_rng_real(r),
             5 * weft_rng_real(r));
    if (!is_mixed) {
        char *second = strstr(text, "  - {name: b"), *links = strstr(text, "links:");

        memmove(second, links, strlen(links) + 1);
        memcpy(strstr(text, "[a, b]"), "[a]   ", 6);
    }
    CHECK_OK(weft_platform_parse(text, strlen(text), "drawn", &p));
    return p;
}

static weft_train_solution solve_network(const char *model, const weft_platform *f,
                                         const weft_train_constraints *x, weft_arena *a,
                                         bool *is_possible)
{
    weft_model_options o = {.train = true, .optimizer = WEFT_ADAM};
    weft_train_problem *p = NULL;
    weft_train_solution s = {0};

    *is_possible = weft_train_problem_new(model, &o, f, x, &p) == WEFT_OK;
    if (*is_possible)
        s = solve("auto", p, 0, a);
    s.plan = (weft_train_plan){0};
    weft_train_problem_free(p);
    return s;
}

/* Optimal and infeasible hold for every plan that can be asked for by its numbers. */
static void check_network(uint64_t seed, weft_rng *r, counts *t)
{
    static const int64_t batches[] = {2, 4, 6, 8, 12};
    int n_devices = 2 + weft_rng_below(r, 3);
    weft_platform *f = draw_servers(n_devices, weft_rng_below(r, 3) == 0, r);
    weft_train_constraints x = {.batch = batches[weft_rng_below(r, 5)],
                                .schedules = 0x7,
                                .recomputes = 1u << WEFT_KEEP_ALL | 1u << WEFT_KEEP_NONE,
                                .most_chunks = 4,
                                .zero = weft_rng_below(r, 4) == 0};
    weft_arena *a = weft_arena_new();
    const char *model = weft_arena_print(a, "gpt2:layers=%d,hidden=%d,heads=4,seq=16,vocab=%d",
                                         1 + weft_rng_below(r, 2), 32 << weft_rng_below(r, 2),
                                         weft_rng_below(r, 2) ? 256 : 1000);
    bool is_possible;
    weft_train_solution whole = solve_network(model, f, &x, a, &is_possible);

    CHECK(is_possible);
    t->n_problems++;
    t->n_optimal += whole.proof.outcome == WEFT_OPTIMAL;
    t->n_infeasible += whole.proof.outcome == WEFT_INFEASIBLE;
    for (int i = 0; i < 4; i++) {
        weft_train_constraints y = draw_narrower(&x, n_devices, r);
        weft_train_solution s = solve_network(model, f, &y, a, &is_possible);

        t->n_relations++;
        if (is_possible && has_plan(&s) &&
            (whole.proof.outcome == WEFT_INFEASIBLE ||
             s.proof.value < whole.proof.bound * (1 - rounding)))
            fail_msg("seed %llu, %s, batch %lld: %.12g s with tp=%s pp=%s dp=%s mbs=%s "
                     "microbatch=%lld, free search has a bound of %.12g s",
                     (unsigned long long)seed, model, (long long)x.batch, s.proof.value,
                     weft_counts_text(&y.tp, a), weft_counts_text(&y.pp, a),
                     weft_counts_text(&y.dp, a), weft_counts_text(&y.mbs, a),
                     (long long)y.microbatch, whole.proof.bound);
    }
    weft_arena_free(a);
    weft_platform_free(f);
}

TEST(what_is_asked_for_exactly_is_never_better)
{
    weft_rng r = weft_rng_seed(31);
    counts t = {0};
    int n = n_of(40, 1500);

    for (int i = 0; i < n; i++)
        check_network((uint64_t)i, &r, &t);
    print_message("%d networks, %d optimal, %d infeasible, %d narrower problems\n", t.n_problems,
                  t.n_optimal, t.n_infeasible, t.n_relations);
    CHECK(!IS_THOROUGH || t.n_optimal > n / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_examples_are_right),
        cmocka_unit_test(fixed_tensor_cuts_are_named),
        cmocka_unit_test(claims_on_small_problems_hold),
        cmocka_unit_test(claims_on_more_devices_hold),
        cmocka_unit_test(what_is_asked_for_exactly_is_never_better),
    };

    return RUN_TESTS(tests);
}
