/* SPDX-License-Identifier: MIT */
/* Whole-number bounds: which numbers have a grain, that the value of every plan is a multiple of it,
 * and that no rounded bound is above the optimum found by trying every plan. */
#include "brute.h"
#include "check.h"
#include "draw_place.h"
#include "draw_stg.h"
#include "place.h"

/* The grain of tasks that take these times, one after the other on one device. */
static double grain_of(const double *seconds, int n)
{
    const char *task[8] = {"a", "b", "c", "d", "e", "f", "g", "h"}, *device[1] = {"one"};
    weft_problem_spec spec = {.name = "times",
                              .n_tasks = n,
                              .n_devices = 1,
                              .task_name = task,
                              .device_name = device,
                              .seconds = seconds,
                              .host = -1};
    int none[1] = {0};
    weft_problem *p;
    double grain_s;

    spec.reader_at = none;
    CHECK_OK(weft_problem_make(&spec, &p));
    grain_s = weft_problem_grain_s(p);
    weft_problem_free(p);
    return grain_s;
}

#define GRAIN(...)                                                                                 \
    grain_of((const double[]){__VA_ARGS__}, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)))

TEST(the_grain_is_found_exactly)
{
    CHECK(GRAIN(6, 9, 15) == 3);
    CHECK(GRAIN(6, 9, 0, INFINITY) == 3); /* no time, and what never happens, do not count */
    CHECK(GRAIN(0.5, 0.75) == 0.25);
    CHECK(GRAIN(0x1p-60, 0x3p-60) == 0x1p-60);
    CHECK_NEAR(GRAIN(0.3, 0.7, 1) * 10, 1); /* as decimals, which doubles are not */
    CHECK_NEAR(GRAIN(0.003, 0.0045) * 1e4, 15);
    CHECK(GRAIN(3000000, 4500000) == 1500000);
    CHECK(GRAIN(1e18, 3e18) == 1e18);
}

/* A switch makes a task longer. */
TEST(switches_count)
{
    const char *task[2] = {"a", "b"}, *device[2] = {"one", "two"};
    const double switches[2] = {0.25, 0.5};
    const int none[1] = {0};
    weft_problem_spec spec = {
        .name = "switches",
        .n_tasks = 2,
        .n_devices = 2,
        .task_name = task,
        .device_name = device,
        .seconds = (const double[]){1, 1, 1, 1},
        .reader_at = none,
        .switch_s = switches,
        .host = -1
    };
    weft_problem *p;

    CHECK_OK(weft_problem_make(&spec, &p));
    CHECK(weft_problem_grain_s(p) == 0.25);
    weft_problem_free(p);
}

TEST(numbers_that_are_only_near_have_no_grain)
{
    CHECK(GRAIN(1.0 / 3, 1) == 0);
    CHECK(GRAIN(nextafter(3, 4), 5) == 0);
    CHECK(GRAIN(0.1 + 0.2, 0.1) == 0); /* the sum is not the double nearest to 0.3 */
    CHECK(GRAIN(2, 3 + 1e-13) < 1e-12);
    CHECK(GRAIN(1e-12, 1e9 / 3) == 0);
    CHECK(weft_grain_up(0, 2.5) == 2.5);
}

TEST(rounding_keeps_what_is_a_multiple_already)
{
    CHECK(weft_grain_up(1, 2.1) == 3);
    CHECK(weft_grain_up(1, 3) == 3);
    CHECK(weft_grain_up(1, 3 * (1 + 1e-12)) == 3 * (1 + 1e-12)); /* rounding of sums is no excess */
    CHECK(weft_grain_up(3, 3.1) == 6);
    CHECK(weft_grain_up(1, INFINITY) == INFINITY);
    CHECK(weft_grain_up(1, 0) == 0);
    CHECK(weft_grain_divides(0.1, 0.1 + 0.2));
    CHECK(!weft_grain_divides(0.1, 0.35));
}

/* All times whole: the grain is 1 or a multiple of it. Of mixes there is none. */
TEST(shares_of_a_mix_are_any_numbers)
{
    weft_problem *p = draw_stg(1, 8);

    CHECK(weft_problem_grain_s(p) >= 1);
    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK(weft_problem_grain_s(p) >= 1);
    p->constraints.is_mixed = true;
    CHECK(weft_problem_grain_s(p) == 0);
    weft_problem_free(p);
}

typedef struct tally {
    int n_grains, n_rounded;
} tally;

static void check_solver(const weft_problem *p, const char *name, double best, tally *t)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {
        .seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 3000, .scratch = weft_arena_new()};
    double grain_s = weft_problem_grain_s(p);
    weft_proof bound;
    weft_solution s;

    weft_place_bound(p, a, &bound);
    CHECK(bound.bound <= best * (1 + 1e-9));
    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, &bound, a, &s));
    CHECK(s.proof.bound <= best * (1 + 1e-9));
    t->n_rounded += s.proof.grain_s > 0;
    if (s.plan.n_tasks > 0 && grain_s > 0)
        CHECK(weft_grain_divides(grain_s, s.proof.value));
    weft_arena_free(run.scratch);
    weft_arena_free(a);
}

TEST(no_rounded_bound_is_above_the_optimum)
{
    static const weft_transfer transfers[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};
    static const char *const names[] = {"bound", "exact", "branch-bound", "auto", "heft"};
    tally t = {0};

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(1500); seed++) {
        drawn_place d = draw_place(seed, 2 + (int)(seed % 5), 1 + (int)(seed / 5 % 3),
                                   transfers[seed % 3], seed % 7 == 0);
        double best;

        d.problem->constraints.goal = seed % 4 == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        best = brute_optimum(d.problem, d.problem->n_devices);
        t.n_grains += weft_problem_grain_s(d.problem) > 0;
        if (isfinite(best) && best > 0 && weft_problem_grain_s(d.problem) > 0)
            CHECK(weft_grain_divides(weft_problem_grain_s(d.problem), best));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check_solver(d.problem, names[i], best, &t);
        weft_problem_free(d.problem);
    }
    print_message("%d problems have a grain; %d bounds were rounded\n", t.n_grains, t.n_rounded);
    CHECK(!IS_THOROUGH || (t.n_grains > 400 && t.n_rounded > 200));
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(the_grain_is_found_exactly),
        cmocka_unit_test(switches_count),
        cmocka_unit_test(numbers_that_are_only_near_have_no_grain),
        cmocka_unit_test(rounding_keeps_what_is_a_multiple_already),
        cmocka_unit_test(shares_of_a_mix_are_any_numbers),
        cmocka_unit_test(no_rounded_bound_is_above_the_optimum),
    };

    return RUN_TESTS(list);
}
