/* SPDX-License-Identifier: MIT */
/* weft where CBC, Clp, Z3, Graphviz and SQLite are not installed: this program is built with names
 * of libraries that do not exist. Solvers and studies that are nothing without them say what is
 * missing; all others go on, and drawings are in rows. */
#include "bound.h"
#include "check.h"
#include "fixtures.h"
#include "layout.h"
#include "lp_bound.h"
#include "mine.h"

#include <stdbool.h>

enum { STEPS = 100000 }; /* enough for `load` to ask for its program */

static weft_status run_solver(const char *name, const weft_problem *p, weft_arena *a,
                              weft_solution *out)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = STEPS};
    weft_status status;

    run.scratch = weft_arena_new();
    status = weft_solve(weft_place_find(name), p, NULL, &run, NULL, a, out);
    weft_arena_free(run.scratch);
    return status;
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* `name` fails, and its message tells the library and the package. */
static void check_reports(const char *name, const char *library, const char *package)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_solution s;

    CHECK_INT(run_solver(name, p, a, &s), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), library) != NULL);
    CHECK(strstr(weft_message(), package) != NULL);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(milp_says_that_cbc_is_missing)
{
    check_reports("milp", "CBC cannot be loaded", "coinor-libcbc3");
}

TEST(z3_says_that_z3_is_missing)
{
    if (weft_place_find("z3") == NULL)
        skip();
    check_reports("z3", "Z3 cannot be loaded", "libz3-4");
}

TEST(a_linear_program_says_that_clp_is_missing)
{
    weft_arena *a = weft_arena_new();
    weft_milp *m = weft_milp_new("one column");
    weft_milp_options o = {.limit_s = INFINITY};
    weft_milp_result r;

    weft_milp_column(m, NULL, 1, 2, 1, false);
    CHECK_INT(weft_milp_solve(m, &o, a, &r), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "Clp cannot be loaded") != NULL);
    CHECK(strstr(weft_message(), "coinor-libclp1") != NULL);
    weft_milp_free(m);
    weft_arena_free(a);
}

TEST(a_study_says_that_sqlite_is_missing)
{
    weft_study *s = NULL;

    CHECK_INT(weft_study_open("never-made.study", &s), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "SQLite cannot be loaded") != NULL);
    CHECK(strstr(weft_message(), "libsqlite3-0") != NULL);
    CHECK(s == NULL);
}

/* The relaxation starts from the longest path, 54 (test_milp_place), and stays there. */
TEST(the_bound_of_the_relaxation_is_that_of_the_path)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_domain *m = WEFT_NEW(a, weft_domain, 1);

    *m = weft_domain_new(p, a);
    CHECK_NEAR(lp_bound(weft_subproblem_of(m, a), INFINITY, a), 54.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* Every other solver that applies answers without error; returns how many have a plan. */
static int check_others(const weft_problem *p)
{
    int n_plans = 0;

    for (int i = 0; i < weft_place_count(); i++) {
        const char *name = weft_place_at(i)->name;
        weft_arena *a = weft_arena_new();
        weft_solution s;

        if (weft_solver_applies(weft_place_at(i), p) && strcmp(name, "milp") != 0 &&
            strcmp(name, "z3") != 0) {
            CHECK_OK(run_solver(name, p, a, &s));
            n_plans += has_plan(&s);
        }
        weft_arena_free(a);
    }
    return n_plans;
}

TEST(the_other_solvers_go_on_for_latency)
{
    weft_problem *p = fixture_tasks(fixture_heft);

    CHECK(check_others(p) >= 10);
    weft_problem_free(p);
}

/* More groups than `load` searches: it would use a program to prove its plan. */
TEST(load_and_auto_go_on_for_throughput)
{
    for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
        weft_problem *p = random_problem(5, 48, 3);
        weft_arena *a = weft_arena_new();
        weft_solution s;

        p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = is_mixed};
        CHECK_OK(run_solver("load", p, a, &s));
        CHECK(has_plan(&s));
        CHECK(s.proof.bound > 0 && s.proof.bound <= s.proof.value * (1 + 1e-9));
        CHECK_OK(run_solver("auto", p, a, &s));
        CHECK(has_plan(&s));
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* One leg between two barriers: the search closes it at 73, or says what it knows so far. */
TEST(legs_are_searched)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_domain *m = WEFT_NEW(a, weft_domain, 1);
    weft_run run = {.limit_s = INFINITY};
    weft_between_barriers_effort e = {INFINITY, 100000, INT64_MAX, &run};
    int64_t steps;
    double bound;

    *m = weft_domain_new(p, a);
    CHECK_NEAR(weft_between_barriers_bound(weft_subproblem_of(m, a), &e, &steps), 73.0);
    e.part_states = 1;
    bound = weft_between_barriers_bound(weft_subproblem_of(m, a), &e, &steps);
    CHECK(bound >= 54 * (1 - 1e-9) && bound < 73);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* A diamond: 0, below it 1 and 2 side by side, below them 3. */
TEST(drawings_are_in_rows)
{
    weft_arena *a = weft_arena_new();
    const double w[] = {60, 60, 60, 60}, h[] = {30, 30, 30, 30};
    const int from[] = {0, 0, 1, 2}, to[] = {1, 2, 3, 3};
    const weft_sketch s = {4, 4, w, h, from, to};
    const weft_layout *l = weft_layout_new(&s, a);

    CHECK(!l->is_graphviz);
    CHECK(l->y[0] < l->y[1] && l->y[1] == l->y[2] && l->y[2] < l->y[3]);
    CHECK(fabs(l->x[1] - l->x[2]) >= 60);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(milp_says_that_cbc_is_missing),
        cmocka_unit_test(z3_says_that_z3_is_missing),
        cmocka_unit_test(a_linear_program_says_that_clp_is_missing),
        cmocka_unit_test(a_study_says_that_sqlite_is_missing),
        cmocka_unit_test(the_bound_of_the_relaxation_is_that_of_the_path),
        cmocka_unit_test(legs_are_searched),
        cmocka_unit_test(the_other_solvers_go_on_for_latency),
        cmocka_unit_test(load_and_auto_go_on_for_throughput),
        cmocka_unit_test(drawings_are_in_rows),
    };

    return RUN_TESTS(tests);
}
