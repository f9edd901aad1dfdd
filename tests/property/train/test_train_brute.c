/* SPDX-License-Identifier: MIT */
/* The planner of training against all plans of its space (brute_train.c), and its parts against the
 * simulator. */
#include "brute_train.h"
#include "check.h"
#include "draw_training.h"
#include "space.h"

static weft_status solve(const char *name, const weft_train_problem *p, int64_t steps,
                         weft_arena *a, weft_train_solution *out)
{
    weft_run run = {.limit_s = INFINITY, .steps = steps, .scratch = a};

    return weft_train_solve(weft_train_find(name), p, &run, a, out);
}

/* --- all plans ------------------------------------------------------------------------------- */

typedef struct tally {
    int n, n_infeasible, n_tight; /* tight: the best plan needs recomputation */
} tally;

static void compare_one(uint64_t seed, const weft_train_problem *p, tally *t)
{
    weft_arena *a = weft_arena_new();
    double best_s = brute_train(p, a);
    weft_train_solution s;

    CHECK_OK(solve("auto", p, 0, a, &s));
    t->n++;
    if (best_s < INFINITY) {
        if (s.proof.outcome != WEFT_OPTIMAL || fabs(s.proof.value - best_s) > 2e-9 * best_s)
            fail_msg("seed %llu: %s %.12g, brute force %.12g (bound %.12g) %s",
                     (unsigned long long)seed, weft_outcome_name(s.proof.outcome), s.proof.value,
                     best_s, s.proof.bound, s.proof.reason ? s.proof.reason : "");
        for (int i = 0; i < s.plan.n_stages; i++)
            if (s.plan.stage[i].recompute != WEFT_KEEP_ALL) {
                t->n_tight++;
                break;
            }
    } else {
        if (s.proof.outcome != WEFT_INFEASIBLE || s.proof.reason == NULL)
            fail_msg("seed %llu: %s %.12g, brute force finds no plan", (unsigned long long)seed,
                     weft_outcome_name(s.proof.outcome), s.proof.value);
        t->n_infeasible++;
    }
    weft_arena_free(a);
}

static void compare(uint64_t seed, bool is_dag, int most_units, tally *t)
{
    weft_rng r = weft_rng_seed(seed);
    small_training d = draw_small_training(is_dag, most_units, &r);

    compare_one(seed, d.training, t);
    drop_small_training(&d);
}

/* Bandwidth by size, and links that share a card. */
TEST(shared_resources_and_curves_are_solved_as_by_brute_force)
{
    static const double same[2] = {1, 1};
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_MANY(400); seed++) {
        weft_rng r = weft_rng_seed(200000 + seed);
        small_training d = draw_small_training(seed % 3 == 0, 5, &r), e;
        small_machines m = d.machines;

        m.has_curves = seed % 4 != 1;
        m.is_shared = seed % 4 != 2;
        m.has_trees = seed % 3 == 0;
        e = vary_small_training(&d, &m, &d.training->constraints, same);
        compare_one(200000 + seed, e.training, &t);
        drop_small_training(&e);
        drop_small_training(&d);
    }
    CHECK(t.n > t.n_infeasible);
}

TEST(chains_are_solved_as_by_brute_force)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_MANY(1000); seed++)
        compare(seed, false, 6, &t);
    CHECK(!IS_THOROUGH || (t.n_infeasible > N_MANY(30) && t.n_tight > N_MANY(100)));
}

TEST(graphs_are_solved_as_by_brute_force)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_MANY(300); seed++)
        compare(100000 + seed, true, 5, &t);
    CHECK(!IS_THOROUGH || t.n_infeasible > N_MANY(5));
}

/* --- time of a plan -------------------------------------------------------------------------- */

TEST(time_by_recurrence_is_that_of_the_simulator)
{
    weft_rng r = weft_rng_seed(7);
    int n = 0;

    for (int i = 0; i < N_DRAWN(1500); i++) {
        draw_training_ask constraints = {.is_dag = i % 3 == 0,
                                         .overlap = i % 4 == 1,
                                         .is_contend = i % 5 == 0,
                                         .has_shared = i % 2 == 0,
                                         .is_sharing = i % 9 == 0,
                                         .zero = i % 7 < 3 ? 1 + i % 7 : 0};
        drawn_training d = draw_training(&constraints, &r);
        weft_arena *a = weft_arena_new();
        weft_train_measures m;
        weft_train_plan plan;

        if (draw_pipeline(d.training, (weft_schedule)(i % WEFT_N_SCHEDULES), &r, a, &plan)) {
            double step_s = weft_pipe_plan_s(d.training, &plan, a);

            CHECK_OK(weft_train_plan_evaluate(d.training, &plan, a, &m));
            if (fabs(step_s - m.step_s) > 1e-12 * m.step_s)
                fail_msg("plan %d: %.17g s, the simulator says %.17g s", i, step_s, m.step_s);
            n++;
        }
        weft_arena_free(a);
        drop_training(&d);
    }
    CHECK(n > N_MANY(1000));
}

/* --- larger problems ------------------------------------------------------------------------- */

TEST(bounds_hold_and_more_steps_never_hurt)
{
    weft_rng r = weft_rng_seed(11);

    for (int i = 0; i < N_MANY(60); i++) {
        draw_training_ask constraints = {.is_dag = i % 3 == 0, .has_shared = i % 4 == 0};
        drawn_training d = draw_training(&constraints, &r);
        double value = INFINITY, bound = 0;

        for (int64_t steps = 200; steps <= 200000; steps *= 10) {
            weft_arena *a = weft_arena_new();
            weft_train_solution s, twice, equal;

            CHECK_OK(solve("auto", d.training, steps, a, &s));
            CHECK_OK(solve("auto", d.training, steps, a, &twice));
            CHECK(s.proof.value == twice.proof.value && s.proof.bound == twice.proof.bound);
            CHECK(s.log.n_stages_tried == twice.log.n_stages_tried);
            CHECK_OK(solve("equal", d.training, steps, a, &equal));
            CHECK(s.proof.outcome != WEFT_BOUNDED ||
                  s.proof.value <= equal.proof.value * (1 + 1e-9));
            value = fmin(value, s.proof.value);
            bound = fmax(bound, s.proof.bound);
            CHECK(s.proof.outcome == WEFT_INFEASIBLE || bound <= value * (1 + 1e-9));
            weft_arena_free(a);
        }
        drop_training(&d);
    }
}

/* Servers are what the file says, so a wider network between them only shortens transfers. */
TEST(a_wider_network_never_makes_the_best_step_longer)
{
    static const double factors[] = {1, 3, 5, 6, 24, 30};
    int n = 0;

    for (uint64_t seed = 1; seed <= N_MANY(40); seed++) {
        double best_s = INFINITY;

        for (int i = 0; i < 6; i++) {
            weft_rng r = weft_rng_seed(seed);
            draw_training_ask constraints = {
                .is_contend = seed % 4 == 0, .is_sharing = seed % 3 == 0, .wider = factors[i]};
            drawn_training d = draw_training(&constraints, &r);
            weft_arena *a = weft_arena_new();
            weft_train_solution s;

            CHECK_OK(solve("auto", d.training, 300000, a, &s));
            if (s.proof.outcome == WEFT_OPTIMAL) {
                if (s.proof.value > best_s * (1 + 1e-9))
                    fail_msg("seed %d, %g times as wide: %.12g s, less wide %.12g s", (int)seed,
                             factors[i], s.proof.value, best_s);
                n += best_s < INFINITY;
                best_s = s.proof.value;
            }
            weft_arena_free(a);
            drop_training(&d);
        }
    }
    CHECK(n > N_MANY(40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_by_recurrence_is_that_of_the_simulator),
        cmocka_unit_test(chains_are_solved_as_by_brute_force),
        cmocka_unit_test(graphs_are_solved_as_by_brute_force),
        cmocka_unit_test(shared_resources_and_curves_are_solved_as_by_brute_force),
        cmocka_unit_test(bounds_hold_and_more_steps_never_hurt),
        cmocka_unit_test(a_wider_network_never_makes_the_best_step_longer),
    };

    return RUN_TESTS(tests);
}
