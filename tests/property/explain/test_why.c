/* SPDX-License-Identifier: MIT */
/* Reasons: each is a lower bound of its own, against the optimum found by trying every plan; they
 * are sorted, the first is the bound of the proof if that is explained, and what the chain of a
 * plan is made of adds up to its value. */
#include "brute.h"
#include "brute_shards.h"
#include "brute_train.h"
#include "check.h"
#include "draw_small.h"
#include "explain.h"
#include "fixtures.h"

#include <stdio.h>

enum { N_PLACED = 900, N_SHARDED = 60, N_TRAINED = 60 };

/* How often a reason occurred. */
typedef struct tally {
    int n_path, n_work, n_device, n_link, n_memory, n_search, n_explained, n_plans;
} tally;

static void count(const weft_why *w, tally *t)
{
    for (int i = 0; i < w->n_parts; i++) {
        const char *key = w->part[i].key;

        t->n_path += strcmp(key, "path") == 0;
        t->n_work += strcmp(key, "work") == 0;
        t->n_device += strcmp(key, "device") == 0;
        t->n_link += strcmp(key, "link") == 0;
        t->n_memory += strcmp(key, "memory") == 0;
        t->n_search += strcmp(key, "search") == 0;
    }
    t->n_explained += w->is_explained;
}

/* What every answer keeps. `best`: the optimum; INFINITY: there is no plan. n: tasks there are. */
static void check_why(uint64_t seed, const weft_why *w, const weft_proof *proof, double best, int n)
{
    for (int i = 0; i < w->n_parts; i++) {
        const weft_why_part *part = &w->part[i];

        if (!(part->seconds <= best * (1 + 1e-9)))
            fail_msg("seed %llu: %s is %.17g, the optimum is %.17g", (unsigned long long)seed,
                     part->name, part->seconds, best);
        CHECK(part->seconds > 0 && part->text != NULL && part->name != NULL);
        CHECK(i == 0 || part->seconds <= w->part[i - 1].seconds);
        for (int k = 0; k < part->n_tasks; k++)
            CHECK(part->task[k] >= 0 && part->task[k] < n);
    }
    CHECK(w->text != NULL);
    if (proof->bound > 0 && proof->bound < INFINITY) {
        CHECK(w->n_parts > 0);
        CHECK(w->part[0].seconds >= proof->bound * (1 - 1e-9)); /* nothing is left unsaid */
        CHECK(w->is_explained == (strcmp(w->part[0].key, "search") != 0));
    }
}

static void check_sum(uint64_t seed, const weft_why *w, double value)
{
    double sum_s = w->compute_s + w->transfer_s + w->wait_s;

    if (!(fabs(sum_s - value) <= 1e-9 * (1 + value)))
        fail_msg("seed %llu: the chain is %.17g, the value %.17g", (unsigned long long)seed, sum_s,
                 value);
    CHECK(w->compute_s >= 0 && w->transfer_s >= 0 && w->wait_s >= 0);
}

/* --- placement ------------------------------------------------------------------------------- */

static void explain_solver(uint64_t seed, const weft_problem *p, const char *solver, double best,
                           weft_arena *a, tally *t)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 2000};
    weft_solution s;
    weft_proof bound;
    weft_why w;

    if (!weft_solver_applies(weft_place_find(solver), p))
        return;
    run.scratch = weft_arena_new();
    weft_place_bound(p, a, &bound);
    CHECK_OK(weft_solve(weft_place_find(solver), p, NULL, &run, &bound, a, &s));
    weft_arena_free(run.scratch);
    weft_place_why(p, &s, a, &w);
    check_why(seed, &w, &s.proof, best, p->n_tasks);
    if (s.plan.device != NULL) {
        check_sum(seed, &w, s.proof.value);
        t->n_plans++;
    }
    count(&w, t);
}

/* Most tasks have one device: then data must cross links. */
static void pin_most(weft_problem *p, weft_rng *r)
{
    int *pin = weft_arena_copy(p->arena, p->pin, sizeof *pin * (size_t)p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        int d = weft_rng_below(r, p->n_devices);

        if (p->colocation[u] < 0 && weft_task_s(p, u, d) < INFINITY && weft_rng_below(r, 8) > 0)
            pin[u] = d;
    }
    p->pin = pin;
}

TEST(reasons_of_placements_hold_by_themselves)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PLACED); seed++) {
        weft_rng r = weft_rng_seed(seed);
        unsigned traits = (unsigned)weft_rng_below(&r, TRAITS);
        weft_problem *p =
            random_mixed_problem(seed, 3 + (int)(seed % 4), 2 + (int)(seed / 5 % 2), traits);
        weft_arena *a = weft_arena_new();
        double best;

        p->transfer = seed % 3 == 0 ? WEFT_CONTEND : seed % 7 == 0 ? WEFT_BLOCK : WEFT_OVERLAP;
        p->constraints.goal = seed % 4 == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        if (seed % 5 < 2)
            pin_most(p, &r);
        best = brute_optimum(p, p->n_devices);
        explain_solver(seed, p, "heft", best, a, &t);
        explain_solver(seed, p, "auto", best, a, &t);
        explain_solver(seed, p, "bound", best, a, &t);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(t.n_plans > 0 && t.n_path > 0 && t.n_work > 0 && t.n_device > 0 && t.n_explained > 0);
    if (IS_THOROUGH)
        CHECK(t.n_link > 200 && t.n_memory > 20 && t.n_search > 20);
}

/* Two tasks, each on a device of its own, 5 seconds apart: path 3 + 5 + 4, and the link alone. */
TEST(a_link_that_must_be_crossed_is_a_reason)
{
    weft_problem *p = fixture_tasks("3 x / x 4; 0-1:5");
    weft_arena *a = weft_arena_new();
    tally t = {0};
    weft_solution s = {.proof.bound = 12, .proof.method = "path"};
    weft_why w;

    weft_place_why(p, &s, a, &w);
    CHECK_INT(w.n_parts, 5); /* path; work and device P2 4; link 5; device P1 3 */
    CHECK_TEXT(w.part[0].key, "path");
    CHECK_NEAR(w.part[0].seconds, 3.0 + 5.0 + 4.0);
    CHECK_INT(w.part[0].n_tasks, 2);
    CHECK_INT(w.part[0].task[0], 1); /* the heavier one */
    CHECK_TEXT(w.part[1].key, "link");
    CHECK_TEXT(w.part[1].name, "link P1>P2");
    CHECK_NEAR(w.part[1].seconds, 5.0);
    CHECK_TEXT(w.part[4].name, "device P1");
    CHECK_NEAR(w.part[4].seconds, 3.0);
    CHECK(w.is_explained);
    count(&w, &t);
    CHECK_INT(t.n_device, 2);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- sharding -------------------------------------------------------------------------------- */

static void explain_sharding(uint64_t seed, tally *t)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 3);
    small_machine m = small_draw_machine(&r, 2, 1 + (int)(seed / 2 % 2), 2);
    weft_shard_constraints constraints = {.is_concurrent = seed % 3 == 0};
    weft_shard_options o = {.placer = weft_place_find("auto")};
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 1 + (int)(seed % 2)};
    weft_arena *a = weft_arena_new();
    weft_platform *platform;
    weft_shard_problem *p;
    weft_shard_solution s;
    weft_why w;

    m.hides = !constraints.is_concurrent && seed % 2 == 0;
    platform = small_platform(&m);
    CHECK_OK(weft_shard_problem_new(g, platform, &constraints, &p));
    run.scratch = weft_arena_new();
    CHECK_OK(weft_shard_solve(weft_shard_find("auto"), p, &o, &run, a, &s));
    weft_shard_why(p, &s, a, &w);
    check_why(seed, &w, &s.proof, brute_shards(p, true, a).value, p->steps->n);
    if (s.plan.set_of != NULL) {
        check_sum(seed, &w, s.proof.value);
        t->n_plans++;
    }
    count(&w, t);
    weft_arena_free(run.scratch);
    weft_shard_problem_free(p);
    weft_platform_free(platform);
    weft_graph_free(g);
    weft_arena_free(a);
}

TEST(reasons_of_sharded_plans_hold_by_themselves)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_DRAWN(N_SHARDED); seed++)
        explain_sharding(seed, &t);
    CHECK(t.n_plans > 0 && t.n_path > 0 && t.n_work > 0);
}

/* --- training -------------------------------------------------------------------------------- */

TEST(reasons_of_training_hold_by_themselves)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_DRAWN(N_TRAINED); seed++) {
        weft_rng r = weft_rng_seed(seed);
        small_training d = draw_small_training(seed % 2 == 0, 4, &r);
        weft_arena *a = weft_arena_new();
        weft_run run = {.limit_s = INFINITY, .scratch = weft_arena_new()};
        weft_train_solution s;
        weft_why w;

        CHECK_OK(weft_train_solve(weft_train_find("auto"), d.training, &run, a, &s));
        weft_train_why(d.training, &s, a, &w);
        check_why(seed, &w, &s.proof, brute_train(d.training, a), d.training->blocks.n_blocks);
        if (s.plan.stage != NULL) {
            check_sum(seed, &w, s.proof.value);
            t.n_plans++;
        }
        count(&w, &t);
        weft_arena_free(run.scratch);
        weft_arena_free(a);
        drop_small_training(&d);
    }
    CHECK(t.n_plans > 0 && t.n_work > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_of_placements_hold_by_themselves),
        cmocka_unit_test(a_link_that_must_be_crossed_is_a_reason),
        cmocka_unit_test(reasons_of_sharded_plans_hold_by_themselves),
        cmocka_unit_test(reasons_of_training_hold_by_themselves),
    };

    return RUN_TESTS(tests);
}
