/* SPDX-License-Identifier: MIT */
/* Linear programs: the builder, the engines, and the files other programs read. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "milp.h"

#include <coin/Cbc_C_Interface.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const weft_milp_options plain = {.limit_s = INFINITY};

/* The result; its arrays live in `a`. */
static weft_milp_result solved(const weft_milp *m, const weft_milp_options *o, weft_arena *a)
{
    weft_milp_result r;

    CHECK_OK(weft_milp_solve(m, o, a, &r));
    return r;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

/* Items of value 10, 13, 7 and weight 3, 4, 2 in a bag of 6: the first and the last weigh 5 and are
 * worth 17; the last two weigh 6 and are worth 20. */
static weft_milp *knapsack(void)
{
    static const double value[] = {10, 13, 7}, weight[] = {3, 4, 2};
    weft_milp *m = weft_milp_new("bag");
    int row = weft_milp_row(m, "weight", -INFINITY, 6);

    for (int i = 0; i < 3; i++)
        weft_milp_term(m, row, weft_milp_column(m, NULL, 0, 1, -value[i], true), weight[i]);
    return m;
}

/* n tasks on k devices, least largest load: hard enough to be interrupted. */
static weft_milp *loads(int n, int k)
{
    weft_milp *m = weft_milp_new("loads");
    weft_rng rng = weft_rng_seed(3);
    int most = weft_milp_column(m, "T", 0, INFINITY, 1, false), first = weft_milp_n_rows(m);

    for (int d = 0; d < k; d++)
        weft_milp_term(m, weft_milp_row(m, NULL, 0, INFINITY), most, 1);
    for (int i = 0; i < n; i++) {
        int one = weft_milp_row(m, NULL, 1, 1);

        for (int d = 0; d < k; d++) {
            int x = weft_milp_column(m, NULL, 0, 1, 0, true);

            weft_milp_term(m, one, x, 1);
            weft_milp_term(m, first + d, x, -10 - 40 * weft_rng_real(&rng));
            weft_milp_start(m, x, i % k == d);
        }
    }
    return m;
}

/* --- builder --------------------------------------------------------------------------------- */

TEST(terms_of_a_place_add_up_and_zeros_vanish)
{
    weft_milp *m = weft_milp_new("sums");
    weft_arena *a = weft_arena_new();
    int x = weft_milp_column(m, "x", 0, 1, 1, false), y = weft_milp_column(m, "y", 0, 1, 1, false);
    int r = weft_milp_row(m, "r", 0, 1), s = weft_milp_row(m, "s", 0, 1);
    weft_milp_matrix c, w;

    weft_milp_term(m, s, y, 4);
    weft_milp_term(m, r, y, 2);
    weft_milp_term(m, r, x, 1);
    weft_milp_term(m, r, y, 3);
    weft_milp_term(m, s, x, 1);
    weft_milp_term(m, s, x, -1);
    c = weft_milp_by_column(m, a);
    w = weft_milp_by_row(m, a);
    CHECK_INT(c.at[1], 1);
    CHECK_INT(c.at[2], 3);
    CHECK(c.across[1] == r && c.factor[1] == 5 && c.across[2] == s && c.factor[2] == 4);
    CHECK_INT(w.at[1], 2);
    CHECK_INT(w.at[2], 3);
    CHECK(w.across[0] == x && w.factor[0] == 1 && w.across[1] == y && w.factor[1] == 5);
    CHECK_INT(weft_milp_n_columns(m), 2);
    CHECK_INT(weft_milp_n_rows(m), 2);
    weft_arena_free(a);
    weft_milp_free(m);
    weft_milp_free(NULL);
}

/* --- engines --------------------------------------------------------------------------------- */

TEST(a_search_returns_value_bound_and_solution)
{
    weft_milp *m = knapsack();
    weft_arena *a = weft_arena_new();
    weft_milp_result r = solved(m, &plain, a);

    CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
    CHECK(is_close(r.value, -20) && is_close(r.bound, -20) && r.bound <= -20);
    CHECK(is_close(r.x[0], 0) && is_close(r.x[1], 1) && is_close(r.x[2], 1));
    CHECK(r.dual == NULL && r.seconds >= 0);
    weft_arena_free(a);
    weft_milp_free(m);
}

/* min 2x + 3y, x + y = 4, x - y >= -2, x <= 3: x = 3, y = 1, value 9. If the sum grows by one, y
 * does, since x is at its limit: dual 3. The second row is slack: dual 0. */
TEST(a_linear_program_has_duals)
{
    weft_milp *m = weft_milp_new("lp");
    weft_arena *a = weft_arena_new();
    int x = weft_milp_column(m, "x", 0, 3, 2, false);
    int y = weft_milp_column(m, "y", 0, INFINITY, 3, false);
    int sum = weft_milp_row(m, "sum", 4, 4), difference = weft_milp_row(m, "d", -2, INFINITY);
    weft_milp_result r;

    weft_milp_term(m, sum, x, 1);
    weft_milp_term(m, sum, y, 1);
    weft_milp_term(m, difference, x, 1);
    weft_milp_term(m, difference, y, -1);
    r = solved(m, &plain, a);
    CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
    CHECK(is_close(r.value, 9) && is_close(r.bound, 9) && r.bound <= 9);
    CHECK(is_close(r.x[x], 3) && is_close(r.x[y], 1));
    CHECK(is_close(r.dual[sum], 3) && is_close(r.dual[difference], 0));
    weft_arena_free(a);
    weft_milp_free(m);
}

/* The relaxed bag takes the densest first: 7 in 2, then 10 in 3 and a quarter of 13; 20.25. One
 * more unit of weight is worth 13/4. */
TEST(a_relaxed_search_is_a_linear_program)
{
    weft_milp *m = knapsack();
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    weft_milp_result r;

    o.is_relaxed = true;
    r = solved(m, &o, a);
    CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
    CHECK(is_close(r.value, -20.25) && r.bound <= -20.25 && is_close(r.bound, -20.25));
    CHECK(is_close(r.dual[0], -3.25));
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(what_has_no_solution_is_infeasible)
{
    for (int whole = 0; whole < 2; whole++) {
        weft_milp *m = weft_milp_new("none");
        weft_arena *a = weft_arena_new();
        int x = weft_milp_column(m, "x", 0, 1, 1, whole),
            y = weft_milp_column(m, "y", 0, 1, 1, whole);
        int r = weft_milp_row(m, "r", 3, INFINITY);
        weft_milp_result result;

        weft_milp_term(m, r, x, 1);
        weft_milp_term(m, r, y, 1);
        result = solved(m, &plain, a);
        CHECK_INT(result.outcome, WEFT_MILP_INFEASIBLE);
        CHECK(result.x == NULL && result.bound == INFINITY && result.value == INFINITY);
        weft_arena_free(a);
        weft_milp_free(m);
    }
}

/* 2x = 1 has a solution, but none that is whole. */
TEST(wholeness_may_be_what_is_infeasible)
{
    weft_milp *m = weft_milp_new("half");
    weft_arena *a = weft_arena_new();
    int x = weft_milp_column(m, "x", 0, 5, 1, true), r = weft_milp_row(m, "r", 1, 1);
    weft_milp_options o = plain;

    weft_milp_term(m, r, x, 2);
    CHECK_INT(solved(m, &plain, a).outcome, WEFT_MILP_INFEASIBLE);
    o.is_relaxed = true;
    CHECK(is_close(solved(m, &o, a).value, 0.5));
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(an_unbounded_program_has_no_bound)
{
    for (int whole = 0; whole < 2; whole++) {
        weft_milp *m = weft_milp_new("fall");
        weft_arena *a = weft_arena_new();
        int x = weft_milp_column(m, "x", 0, INFINITY, -1, whole);
        int y = weft_milp_column(m, "y", 0, INFINITY, 0, false);
        int r = weft_milp_row(m, "r", 0, INFINITY);
        weft_milp_result result;

        weft_milp_term(m, r, x, 1);
        weft_milp_term(m, r, y, -1);
        result = solved(m, &plain, a);
        CHECK(result.outcome != WEFT_MILP_OPTIMAL && result.outcome != WEFT_MILP_INFEASIBLE);
        CHECK(result.bound == -INFINITY);
        weft_arena_free(a);
        weft_milp_free(m);
    }
}

TEST(no_time_means_nothing_is_known)
{
    weft_milp *m = knapsack();
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    weft_milp_result r;

    o.limit_s = 0;
    r = solved(m, &o, a);
    CHECK_INT(r.outcome, WEFT_MILP_UNKNOWN);
    CHECK(r.x == NULL && r.value == INFINITY && r.bound == -INFINITY);
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(a_limit_in_seconds_is_met_and_the_start_is_used)
{
    weft_milp *m = loads(90, 6);
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    weft_milp_result r;

    o.limit_s = 2;
    r = solved(m, &o, a);
    CHECK_INT(r.outcome, WEFT_MILP_FEASIBLE);
    CHECK(r.seconds < 10); /* CBC may overrun on a busy machine */
    CHECK(r.x != NULL && r.bound > 0 && r.bound < r.value);
    CHECK(r.value < 600); /* the start: 15 tasks a device, at most 50 each, is 750 */
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(a_limit_in_nodes_gives_the_same_answer_each_time)
{
    weft_milp *m = loads(40, 4);
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    weft_milp_result r, s;

    o.most_nodes = 50;
    o.seed = 7;
    r = solved(m, &o, a);
    s = solved(m, &o, a);
    CHECK_INT(r.outcome, WEFT_MILP_FEASIBLE);
    CHECK(r.n_nodes < 2000 && r.n_nodes == s.n_nodes);
    CHECK(r.value == s.value && r.bound == s.bound);
    CHECK(memcmp(r.x, s.x, sizeof *r.x * (size_t)weft_milp_n_columns(m)) == 0);
    weft_arena_free(a);
    weft_milp_free(m);
}

static volatile sig_atomic_t stop, has_begun;

static void *stop_later(void *nothing)
{
    struct timespec wait = {.tv_sec = 1};

    has_begun = 1;
    nanosleep(&wait, NULL);
    stop = 1;
    return nothing;
}

TEST(a_stop_ends_the_search_and_keeps_what_was_found)
{
    weft_milp *m = loads(90, 6);
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    weft_milp_result r;
    pthread_t thread;

    stop = 0;
    o.stop = &stop;
    CHECK_INT(pthread_create(&thread, NULL, stop_later, NULL), 0);
    while (!has_begun) /* the address sanitizer allocates then: a fork would copy its lock */
        sched_yield();
    r = solved(m, &o, a);
    pthread_join(thread, NULL);
    CHECK_INT(r.outcome, WEFT_MILP_FEASIBLE);
    CHECK(r.x != NULL && r.bound > 0 && r.bound <= r.value);
    r = solved(m, &o, a); /* stopped before it began */
    CHECK_INT(r.outcome, WEFT_MILP_UNKNOWN);
    weft_arena_free(a);
    weft_milp_free(m);
}

/* Both streams are redirected to a file, which must stay empty. */
TEST(engines_are_silent)
{
    char path[] = "/tmp/weft-silent-XXXXXX";
    int file = mkstemp(path), out = dup(1), err = dup(2);
    weft_milp *m = loads(12, 3), *none = knapsack();
    weft_arena *a = weft_arena_new();
    weft_milp_options o = plain;
    off_t size;

    weft_milp_term(none, weft_milp_row(none, NULL, 5, INFINITY), 0, 1);
    fflush(stdout);
    dup2(file, 1);
    dup2(file, 2);
    solved(m, &o, a);
    solved(none, &o, a);
    o.is_relaxed = true;
    solved(m, &o, a);
    solved(none, &o, a);
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    size = lseek(file, 0, SEEK_END);
    close(file);
    close(out);
    close(err);
    unlink(path);
    CHECK_INT(size, 0);
    weft_arena_free(a);
    weft_milp_free(none);
    weft_milp_free(m);
}

/* --- files ----------------------------------------------------------------------------------- */

/* A model with everything that files may get wrong: ranges, equalities, free and fixed columns,
 * negative limits, a column in no row, an empty row, names that look like numbers. */
static weft_milp *awkward(void)
{
    weft_milp *m = weft_milp_new("awkward");
    int x = weft_milp_column(m, "x[1]", -3, 7, 1.5, true);
    int y = weft_milp_column(m, "e5", -INFINITY, INFINITY, -1, false);
    int z = weft_milp_column(m, "2z", -INFINITY, 4, 0, false);
    int fixed = weft_milp_column(m, "fixed.one", 2.5, 2.5, 1, false);
    int range = weft_milp_row(m, "range", -2, 3), equal = weft_milp_row(m, "equal", 1, 1);
    int most = weft_milp_row(m, NULL, -INFINITY, 6);

    weft_milp_column(m, "alone", 1, 9, 2, true);
    weft_milp_row(m, "empty", -1, 1);
    weft_milp_row(m, "free", -INFINITY, INFINITY);
    weft_milp_term(m, range, x, 1);
    weft_milp_term(m, range, y, 1);
    weft_milp_term(m, equal, x, 1. / 3);
    weft_milp_term(m, equal, z, 1);
    weft_milp_term(m, most, y, 1);
    weft_milp_term(m, most, fixed, -1);
    return m;
}

/* The least value of a file, by CBC's own reader. */
static double value_of_file(const char *path)
{
    Cbc_Model *x = Cbc_newModel();
    bool is_lp = strstr(path, ".lp") != NULL;
    double value;

    Cbc_setParameter(x, "log", "0");
    Cbc_setLogLevel(x, 0);
    CHECK_INT(is_lp ? Cbc_readLp(x, path) : Cbc_readMps(x, path), 0);
    Cbc_setObjSense(x, 1);
    Cbc_solve(x);
    CHECK(Cbc_isProvenOptimal(x));
    value = Cbc_getObjValue(x);
    Cbc_deleteModel(x);
    return value;
}

static void check_files(weft_milp *m)
{
    char folder[] = "/tmp/weft-model-XXXXXX", path[64];
    weft_arena *a = weft_arena_new();
    weft_milp_result r = solved(m, &plain, a);

    CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/m.%s", folder, i ? "mps" : "lp");
        CHECK_OK(weft_milp_write(m, path));
        CHECK(is_close(value_of_file(path), r.value));
        unlink(path);
    }
    rmdir(folder);
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(files_say_the_same_model)
{
    check_files(knapsack());
    check_files(awkward());
    check_files(loads(8, 3));
}

/* x + y <= 3, x >= -3: y = 3 - x; y <= 8.5 gives x >= -5.5. 1.5 x - y = 2.5 x - 3 is least at
 * x = -3, where it is -10.5; but z = 1 + 1 = 2. With fixed 2.5 and alone at 1: 2. The sum: -6. */
TEST(an_awkward_model_has_the_value_it_should)
{
    weft_milp *m = awkward();
    weft_arena *a = weft_arena_new();
    weft_milp_result r = solved(m, &plain, a);

    CHECK(is_close(r.value, -10.5 + 2.5 + 2));
    weft_arena_free(a);
    weft_milp_free(m);
}

TEST(the_ending_of_a_name_is_the_format)
{
    weft_milp *m = knapsack(), *empty = weft_milp_new("nothing");

    CHECK_FAILS(weft_milp_write(m, "model.txt"), "must end in .lp or .mps");
    CHECK_FAILS(weft_milp_write(m, ".lp"), "must end in .lp or .mps");
    CHECK_FAILS(weft_milp_write(empty, "model.lp"), "without columns");
    CHECK_INT(weft_milp_write(m, "/nowhere/at/all/m.lp"), WEFT_E_SYSTEM);
    weft_milp_free(empty);
    weft_milp_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_of_a_place_add_up_and_zeros_vanish),
        cmocka_unit_test(a_search_returns_value_bound_and_solution),
        cmocka_unit_test(a_linear_program_has_duals),
        cmocka_unit_test(a_relaxed_search_is_a_linear_program),
        cmocka_unit_test(what_has_no_solution_is_infeasible),
        cmocka_unit_test(wholeness_may_be_what_is_infeasible),
        cmocka_unit_test(an_unbounded_program_has_no_bound),
        cmocka_unit_test(no_time_means_nothing_is_known),
        cmocka_unit_test(a_limit_in_seconds_is_met_and_the_start_is_used),
        cmocka_unit_test(a_limit_in_nodes_gives_the_same_answer_each_time),
        cmocka_unit_test(a_stop_ends_the_search_and_keeps_what_was_found),
        cmocka_unit_test(engines_are_silent),
        cmocka_unit_test(files_say_the_same_model),
        cmocka_unit_test(an_awkward_model_has_the_value_it_should),
        cmocka_unit_test(the_ending_of_a_name_is_the_format),
    };

    return RUN_TESTS(tests);
}
