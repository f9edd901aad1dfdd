/* SPDX-License-Identifier: MIT */
/* The latency program on instances of the literature: its optimum, its relaxation, its file. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "fixtures.h"
#include "lp_bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static weft_solution solved(const weft_problem *p, weft_run *run, weft_arena *a)
{
    weft_solution s;

    run->scratch = weft_arena_new();
    CHECK_OK(weft_solve(weft_place_find("milp"), p, NULL, run, NULL, a, &s));
    weft_arena_free(run->scratch);
    return s;
}

static weft_subproblem *piece_of(const weft_problem *p, weft_arena *a)
{
    weft_domain *m = WEFT_NEW(a, weft_domain, 1);

    *m = weft_domain_new(p, a);
    return weft_subproblem_of(m, a);
}

/* --- values ---------------------------------------------------------------------------------- */

TEST(the_literature_is_solved_and_proved)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        weft_problem *p = fixture_tasks(fixture_all[i].text);
        weft_arena *a = weft_arena_new();
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 20000};
        weft_solution s = solved(p, &run, a);

        CHECK_NEAR(s.proof.value, fixture_all[i].optimum_s);
        CHECK_NEAR(s.proof.bound, fixture_all[i].optimum_s);
        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* Without cuts but for the loads 57.577, with all of them 58.490. */
TEST(the_relaxation_has_its_known_values)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_subproblem *x = piece_of(p, a);
    weft_milp_model m = weft_milp_model_new(x, INFINITY, WEFT_MILP_RELAXED, a);
    weft_milp_effort none = {.limit_s = INFINITY};

    CHECK_NEAR(m.lower, 54.0); /* the path */
    weft_milp_model_tighten(&m, &none);
    CHECK(fabs(m.lower - 57.577) < 1e-3);
    CHECK(fabs(lp_bound(x, INFINITY, a) - 58.490) < 1e-3);
    CHECK_NEAR(lp_bound(x, 0, a), 54.0); /* no time for more */
    weft_milp_free(m.milp);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* What the optimum as an upper limit forbids leaves a better bound. */
TEST(an_upper_limit_raises_the_bound)
{
    weft_problem *p = fixture_tasks(fixture_hamid);
    weft_arena *a = weft_arena_new();
    weft_subproblem *x = piece_of(p, a);
    weft_milp_model m = weft_milp_model_new(x, 100, WEFT_MILP_RELAXED, a);
    weft_milp_effort e = {.limit_s = INFINITY, .rounds = 6};

    weft_milp_model_tighten(&m, &e);
    CHECK(m.lower > lp_bound(x, INFINITY, a) + 0.1 && m.lower <= 100);
    weft_milp_free(m.milp);
    m = weft_milp_model_new(x, 94, WEFT_MILP_RELAXED, a); /* below the path, 95 */
    CHECK(m.is_empty);
    weft_milp_free(m.milp);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* All times in microseconds: the same optimum, in a model with another unit. */
TEST(small_times_are_scaled)
{
    weft_problem *p = fixture_tasks(fixture_kuan);
    weft_arena *a = weft_arena_new();
    double *seconds = WEFT_NEW(p->arena, double, 30), *per_byte = WEFT_NEW(p->arena, double, 9);
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 20000};
    weft_solution s;

    for (int i = 0; i < 30; i++)
        seconds[i] = p->seconds[i] * 1e-6;
    for (int i = 0; i < 9; i++)
        per_byte[i] = p->second_per_byte[i] * 1e-6;
    p->seconds = seconds;
    p->second_per_byte = per_byte;
    s = solved(p, &run, a);
    CHECK_NEAR(s.proof.value * 1e6, 26.0);
    CHECK(s.proof.bound <= 26e-6 && s.proof.bound >= 26e-6 * (1 - 2e-6));
    weft_arena_free(a);
    weft_problem_free(p);
}

/* CBC 2.10.8, given a solution to start from, once called 8 the optimum of this problem. */
TEST(a_wrong_claim_of_the_engine_is_not_repeated)
{
    weft_constraints constraints = {0};
    weft_problem *p;
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY};
    weft_solution s;

    CHECK_OK(
        weft_problem_read(WEFT_TEST_DATA "/counterexamples/cbc.json", false, &constraints, &p));
    s = solved(p, &run, a);
    CHECK_NEAR(s.proof.value, 5.0);
    CHECK_NEAR(s.proof.bound, 5.0);
    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- limits ---------------------------------------------------------------------------------- */

TEST(other_goals_have_no_answer_yet)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY};

    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK_INT(solved(p, &run, a).proof.outcome, WEFT_UNKNOWN);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* One node is not enough for a proof, but for a plan and a bound. */
TEST(steps_limit_the_search)
{
    weft_problem *p = random_problem(5, 16, 3);
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 1};
    weft_solution s = solved(p, &run, a), again = solved(p, &run, a);

    CHECK(s.proof.outcome == WEFT_BOUNDED || s.proof.outcome == WEFT_OPTIMAL);
    CHECK(s.proof.bound > 0 && s.proof.bound <= s.proof.value);
    CHECK(s.proof.value == again.proof.value && s.proof.bound == again.proof.bound);
    CHECK(memcmp(s.plan.device, again.plan.device, sizeof(int) * 16) == 0);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* A stop that is there from the beginning leaves the plan of the list schedulers. */
TEST(a_stopped_solver_has_a_plan)
{
    static const volatile sig_atomic_t stop = 1;
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .stop = &stop};
    weft_solution s = solved(p, &run, a);

    CHECK_INT(s.proof.outcome, WEFT_BOUNDED);
    CHECK(s.proof.value >= 73 && s.proof.value <= 127); /* 127: the best single device */
    CHECK_NEAR(s.proof.bound, 54.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* With contention plans get longer; the bound stays one for all of them. */
TEST(every_transfer_model_has_a_valid_bound)
{
    for (int model = 0; model < 2; model++) {
        weft_problem *p = fixture_tasks(fixture_sample);
        weft_arena *a = weft_arena_new();
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 20000};
        weft_solution s;

        p->transfer = model ? WEFT_BLOCK : WEFT_CONTEND;
        s = solved(p, &run, a);
        CHECK(s.proof.outcome == WEFT_BOUNDED || s.proof.outcome == WEFT_OPTIMAL);
        CHECK(s.proof.bound <= 81 * (1 + 1e-9) && s.proof.value >= 81);
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* --- the file of the model ------------------------------------------------------------------- */

/* A schedule, from which the value of any column follows by its name. */
typedef struct schedule {
    const weft_subproblem *x;
    const int *device;
    const double *start_s;
    double value;
} schedule;

static double is_on(const schedule *s, int u, int d)
{
    return s->device[u] == d;
}

static double column_value(const schedule *s, const char *name)
{
    int a = 0, b = 0, c = 0;

    if (strcmp(name, "T") == 0)
        return s->value;
    if (sscanf(name, "x_%d_%d", &a, &b) == 2)
        return is_on(s, a, b);
    if (sscanf(name, "s_%d", &a) == 1)
        return s->start_s[a];
    if (sscanf(name, "o_%d_%d", &a, &b) == 2)
        return s->device[a] == s->device[b] && s->start_s[a] < s->start_s[b];
    if (sscanf(name, "d_%d_%d", &a, &b) == 2)
        return fmax(0, is_on(s, s->x->from[a], b) - is_on(s, s->x->to[a], b));
    if (sscanf(name, "y_%d_%d_%d", &a, &b, &c) == 3)
        return is_on(s, s->x->from[a], b) * is_on(s, s->x->to[a], c);
    fail_msg("column '%s' is not known", name);
    return NAN;
}

/* Checks one row "name: + 3 x - y >= 2" or one limit "0 <= x <= 1", "x >= 2", "x = 1"; returns
 * whether it was one. Terms add up until a relation comes; what is left of it is a limit too. */
static bool check_line(const schedule *s, char *line)
{
    double sum = 0, factor = 1, low = -INFINITY, sign = 1;
    bool has_relation = false, has_column = false, is_least = false, is_most = false;

    for (char *save, *w = strtok_r(line, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
        char *end;
        double number = strtod(w, &end);

        if (w[strlen(w) - 1] == ':')
            continue;
        if (strchr("<>=", *w) != NULL) {
            has_relation = true;
            is_most = *w == '<' || *w == '=';
            is_least = *w == '>' || *w == '=';
            if (!has_column)
                low = factor; /* "0 <= x": the number before */
            factor = sign = 1;
        } else if (strcmp(w, "+") == 0 || strcmp(w, "-") == 0) {
            sign = *w == '-' ? -1 : 1;
        } else if (*end == '\0' && has_relation && has_column) {
            CHECK(!is_most || sum <= number + 1e-9);
            CHECK(!is_least || sum >= number - 1e-9);
        } else if (*end == '\0') {
            factor = number;
        } else {
            sum += sign * factor * column_value(s, w);
            has_column = true;
            factor = sign = 1;
        }
    }
    CHECK(sum >= low - 1e-9);
    return has_relation;
}

/* Reads a model file; rows may go over several lines. Returns how many rows and limits it had. */
static int check_file(const schedule *s, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[4096], row[16384] = "";
    bool is_in = false;
    int n = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Subject", 7) == 0 || strncmp(line, "Bounds", 6) == 0) {
            is_in = true;
            continue;
        }
        if (strncmp(line, "Generals", 8) == 0)
            break;
        if (!is_in)
            continue;
        line[strcspn(line, "\n")] = '\0';
        CHECK(strlen(row) + strlen(line) < sizeof row);
        strcat(row, line);
        if (strpbrk(row, "<>=") == NULL)
            continue; /* goes on */
        n += check_line(s, row);
        *row = '\0';
    }
    fclose(file);
    return n;
}

/* The schedule of section 12: T1@P3[0,9) T2@P3[9,27) T4@P1[18,31) T3@P2[21,34) T5@P3[27,37) ... */
TEST(the_known_optimum_satisfies_every_row_of_the_file)
{
    static const int device[] = {2, 2, 1, 0, 2, 0, 1, 0, 1, 1};
    static const double start_s[] = {0, 9, 21, 18, 27, 31, 34, 46, 54, 66};
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    char folder[] = "/tmp/weft-model-XXXXXX", path[64];

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/heft.lp", folder);
    for (int k = 0; k < 3; k++) { /* also with an edge whose transfers differ, and with a limit */
        weft_subproblem *x = piece_of(p, a);
        weft_milp_known known = {
            .upper = k == 2 ? 73 : 80, .tighten = {.limit_s = INFINITY, .rounds = 4}
        };
        schedule s = {x, device, start_s, 73};
        weft_milp_columns columns;
        weft_milp *m;

        if (k == 1) /* edge 0, T1 to T2, both on P3: what others pay does not matter */
            ((double *)(uintptr_t)x->send_s)[1] = 20;
        m = weft_milp_schedule_new(x, &known, a, &columns);
        CHECK_NEAR(columns.unit_s, 1.0);
        CHECK_OK(weft_milp_write(m, path));
        CHECK(check_file(&s, path) >= weft_milp_n_rows(m) + weft_milp_n_columns(m));
        weft_milp_free(m);
    }
    unlink(path);
    rmdir(folder);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* HEFT example: 45 pairs, of which 24 are comparable; the rest is open if nothing is known. */
TEST(pairs_without_fixed_order_are_counted)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_milp_known known = {.upper = INFINITY};
    weft_milp_columns columns;
    weft_milp *m = weft_milp_schedule_new(piece_of(p, a), &known, a, &columns);

    CHECK_INT(columns.n_pairs, 21);
    CHECK(!columns.is_partial && !columns.is_empty);
    weft_milp_free(m);
    known.most_pairs = 20;
    m = weft_milp_schedule_new(piece_of(p, a), &known, a, &columns);
    CHECK(columns.is_partial);
    weft_milp_free(m);
    weft_arena_free(a);
    weft_problem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_literature_is_solved_and_proved),
        cmocka_unit_test(the_relaxation_has_its_known_values),
        cmocka_unit_test(an_upper_limit_raises_the_bound),
        cmocka_unit_test(small_times_are_scaled),
        cmocka_unit_test(a_wrong_claim_of_the_engine_is_not_repeated),
        cmocka_unit_test(other_goals_have_no_answer_yet),
        cmocka_unit_test(steps_limit_the_search),
        cmocka_unit_test(a_stopped_solver_has_a_plan),
        cmocka_unit_test(every_transfer_model_has_a_valid_bound),
        cmocka_unit_test(the_known_optimum_satisfies_every_row_of_the_file),
        cmocka_unit_test(pairs_without_fixed_order_are_counted),
    };

    return RUN_TESTS(tests);
}
