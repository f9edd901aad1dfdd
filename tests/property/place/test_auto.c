/* SPDX-License-Identifier: MIT */
/* What `auto` promises: no plan of another solver of the registry, given the steps of one of its turns,
 * is better than its own; a search says why it ended; and the mappers of other people find what is
 * there to be found on small problems. */
#include "brute.h"
#include "check.h"
#include "draw_place.h"
#include "place.h"

enum { STEPS = 10000, TURN = STEPS / 50 };

static weft_solution solved(const char *name, const weft_problem *p, int64_t steps, weft_arena *a)
{
    weft_run run = {.seed = 1,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = steps,
                    .scratch = weft_arena_new()};
    weft_solution s;

    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, NULL, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

static double value_of(const weft_solution *s)
{
    return weft_has_plan(&s->proof) ? s->proof.value : INFINITY;
}

static weft_problem *problem_of(uint64_t seed)
{
    static const weft_transfer transfers[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};

    return draw_place(seed, 18, 2 + (int)(seed % 3), transfers[seed % 3], false).problem;
}

/* How often a solver of the registry has a better plan. */
static int n_better(const weft_problem *p, double value, int seed, weft_arena *a)
{
    int n = 0;

    for (int i = 0; i < weft_place_count(); i++) {
        const char *name = weft_place_at(i)->name;
        weft_solution other;

        if (strcmp(name, "z3") == 0) /* proves what auto proves, or nothing */
            continue;
        other = solved(name, p, TURN, a);
        if (value <= value_of(&other) * (1 + 1e-9))
            continue;
        print_message("seed %d: %s finds %g, auto %g\n", seed, name, value_of(&other), value);
        n++;
    }
    return n;
}

/* Where exact searches know all that counts, nobody does. Elsewhere plans are found by chance, and a
 * solver may have more luck with other steps than those of its turn: hardly ever. */
TEST(no_solver_beats_auto_in_its_turn)
{
    int n_elsewhere = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)N_MANY(24); seed++) {
        weft_problem *p = problem_of(seed);
        weft_arena *a = weft_arena_new();
        weft_solution best = solved("auto", p, STEPS, a);
        int n = n_better(p, value_of(&best), (int)seed, a);

        CHECK(p->transfer != WEFT_OVERLAP || n == 0);
        n_elsewhere += n;
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_elsewhere <= 2);
}

/* Quick solvers get all steps of `auto` for themselves. */
TEST(quick_solvers_with_as_many_steps_do_not_beat_auto)
{
    for (uint64_t seed = 1; seed <= (uint64_t)N_MANY(48); seed++) {
        weft_problem *p = problem_of(seed);
        weft_arena *a = weft_arena_new();
        int64_t steps = 100 * (int64_t)(1 + seed % 20);
        weft_solution best = solved("auto", p, steps, a);
        weft_solution split = solved("split", p, steps, a);
        weft_solution bound = solved("branch-bound", p, steps, a);

        CHECK(value_of(&best) <= value_of(&split) * (1 + 1e-9));
        CHECK(value_of(&best) <= value_of(&bound) * (1 + 1e-9));
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(a_search_says_why_it_ended)
{
    int n_steps = 0, n_proved = 0;

    for (uint64_t seed = 1; seed <= 18; seed++) {
        weft_problem *p = problem_of(seed);
        weft_arena *a = weft_arena_new();
        weft_solution s = solved("auto", p, 500, a);

        CHECK(s.proof.stopped != NULL);
        CHECK_TEXT(s.proof.stopped,
                   s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_INFEASIBLE ? "proved"
                                                                                         : "steps");
        n_proved += s.proof.outcome == WEFT_OPTIMAL;
        n_steps += s.proof.outcome == WEFT_BOUNDED;
        s = solved("heft", p, 500, a); /* no search */
        CHECK(s.proof.stopped == NULL || strcmp(s.proof.stopped, "proved") == 0);
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_proved > 0 && n_steps > 0);
}

TEST(a_time_limit_is_used_while_the_gap_is_open)
{
    const volatile sig_atomic_t stop = 1;
    weft_run run = {.limit_s = 10, .begin_s = weft_wall_s() - 9.9};

    CHECK_TEXT(weft_why_stopped(&run, WEFT_BOUNDED), "time limit");
    CHECK_TEXT(weft_why_stopped(&run, WEFT_OPTIMAL), "proved");
    CHECK_TEXT(weft_why_stopped(&run, WEFT_INFEASIBLE), "proved");
    run.begin_s = weft_wall_s() - 2;
    CHECK_TEXT(weft_why_stopped(&run, WEFT_BOUNDED), "search exhausted");
    run.stop = &stop;
    CHECK_TEXT(weft_why_stopped(&run, WEFT_BOUNDED), "interrupted");
    run = (weft_run){.limit_s = INFINITY, .steps = 10};
    CHECK_TEXT(weft_why_stopped(&run, WEFT_BOUNDED), "steps");
    run.is_exhausted = true;
    CHECK_TEXT(weft_why_stopped(&run, WEFT_BOUNDED), "search exhausted");
}

/* On problems that can be tried whole both mappers reach the optimum most of the time: they are no
 * strawmen. No value is below it. */
TEST(mappers_find_most_optima_of_small_problems)
{
    static const char *const names[] = {"genetic", "anneal"};
    static const weft_transfer transfers[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};
    int n = 0, n_best[2] = {0};

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(100); seed++) {
        weft_problem *p = draw_place(seed, 4 + (int)(seed % 3), 2 + (int)(seed % 2),
                                     transfers[seed % 3], seed % 5 == 0)
                              .problem;
        weft_arena *a = weft_arena_new();
        double best;

        p->constraints.goal = seed % 4 == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        best = brute_optimum(p, p->n_devices);
        for (int i = 0; i < 2 && best < INFINITY; i++) {
            weft_solution s = solved(names[i], p, 3000, a);

            CHECK(value_of(&s) >= best * (1 - 1e-9));
            n_best[i] += value_of(&s) <= best * (1 + 1e-9);
        }
        n += best < INFINITY;
        weft_arena_free(a);
        weft_problem_free(p);
    }
    print_message("of %d optima: genetic %d, anneal %d\n", n, n_best[0], n_best[1]);
    CHECK(n_best[0] >= 0.9 * n);
    CHECK(n_best[1] >= 0.7 * n); /* it does not choose the order of tasks */
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(no_solver_beats_auto_in_its_turn),
        cmocka_unit_test(quick_solvers_with_as_many_steps_do_not_beat_auto),
        cmocka_unit_test(a_search_says_why_it_ended),
        cmocka_unit_test(a_time_limit_is_used_while_the_gap_is_open),
        cmocka_unit_test(mappers_find_most_optima_of_small_problems),
    };

    return RUN_TESTS(list);
}
