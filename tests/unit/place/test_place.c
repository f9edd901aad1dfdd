/* SPDX-License-Identifier: MIT */
/* Placement solvers, their bounds, and the driver: literature values, small cases by hand, and
 * solvers that lie. */
#include "check.h"
#include "fixtures.h"
#include "place.h"

/* --- shorthands ------------------------------------------------------------------------------ */

typedef struct answer {
    weft_arena *arena, *scratch;
    weft_solution solution;
} answer;

static weft_run run_with(answer *s, int64_t seed)
{
    return (weft_run){.seed = seed, .n_threads = 1, .limit_s = INFINITY, .scratch = s->scratch};
}

/* Solves with the cheap bounds. Release with release(). */
static answer solved(const weft_problem *p, const char *name)
{
    answer s = {.arena = weft_arena_new(), .scratch = weft_arena_new()};
    weft_run run = run_with(&s, 1);
    weft_proof bound;

    weft_place_bound(p, s.arena, &bound);
    CHECK(weft_place_find(name) != NULL);
    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, &bound, s.arena, &s.solution));
    return s;
}

static void release(answer *s)
{
    weft_arena_free(s->arena);
    weft_arena_free(s->scratch);
}

static double value_by(const weft_problem *p, const char *name)
{
    answer s = solved(p, name);
    double value = s.solution.proof.value;

    release(&s);
    return value;
}

static weft_outcome outcome_by(const weft_problem *p, const char *name)
{
    answer s = solved(p, name);
    weft_outcome outcome = s.solution.proof.outcome;

    CHECK((outcome == WEFT_OPTIMAL || outcome == WEFT_BOUNDED) == (s.solution.plan.n_tasks > 0));
    release(&s);
    return outcome;
}

/* Two devices; tasks of one second anywhere that hold `bytes` each, in rooms of `room` bytes. */
static weft_problem *filled(int n_tasks, double bytes, double room)
{
    enum { MOST = 8 };
    static const char *const names[MOST] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const double seconds[2 * MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double amount[MOST] = {0}, memory[MOST], capacity[2] = {room, room};
    int none[MOST], reader_at[MOST + 1], reader[MOST];
    bool is_weight[MOST];
    weft_problem_spec spec = {.name = "filled",
                              .n_tasks = n_tasks,
                              .n_devices = 2,
                              .n_tensors = n_tasks,
                              .task_name = names,
                              .device_name = names,
                              .seconds = seconds,
                              .amount = amount,
                              .memory = memory,
                              .is_weight = is_weight,
                              .producer = none,
                              .reader_at = reader_at,
                              .reader = reader,
                              .capacity = capacity,
                              .host = -1};
    weft_problem *p = NULL;

    for (int u = 0; u < MOST; u++) {
        memory[u] = bytes;
        none[u] = -1;
        reader[u] = reader_at[u] = u;
        is_weight[u] = true;
    }
    reader_at[n_tasks] = n_tasks;
    CHECK_OK(weft_problem_make(&spec, &p));
    return p;
}

/* --- literature ------------------------------------------------------------------------------ */

TEST(solvers_are_listed_from_simple_to_elaborate)
{
    static const char *const names[] = {"single", "met",       "greedy", "heft", "cpop",
                                        "peft",   "lookahead", "random", "bound"};

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) /* others may follow */
        CHECK_TEXT(weft_place_at(i)->name, names[i]);
    for (int i = 0; i < weft_place_count(); i++)
        CHECK(weft_place_find(weft_place_at(i)->name) == weft_place_at(i)); /* names are unique */
    CHECK(weft_place_find("no such solver") == NULL);
}

TEST(list_schedulers_reach_the_values_of_the_literature)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        const fixture_known *known = &fixture_all[i];
        weft_problem *p = fixture_tasks(known->text);

        CHECK_NEAR(value_by(p, "single"), known->single_s);
        CHECK_NEAR(value_by(p, "met"), known->fastest_s);
        CHECK_NEAR(value_by(p, "greedy"), known->greedy_s);
        CHECK_NEAR(value_by(p, "heft"), known->heft_s);
        weft_problem_free(p);
    }
}

/* Topcuoglu et al. 2002, figure 4: HEFT 80, CPOP 86. */
TEST(cpop_reaches_its_published_value)
{
    weft_problem *p = fixture_tasks(fixture_heft);

    CHECK_NEAR(value_by(p, "cpop"), 86.0);
    weft_problem_free(p);
}

/* The instance of Arabnejad and Barbosa 2014, on which they print PEFT 122 and HEFT 133. */
TEST(peft_reaches_its_published_value)
{
    weft_problem *p = fixture_tasks(
        "1: 22 21 36/22 18 18/32 27 43/7 10 4/29 27 35/26 17 24/14 25 30/29 23 36/15 21 8/13 16 33;"
        "1-2:17 1-3:31 1-4:29 1-5:13 1-6:7 2-8:3 2-9:30 3-7:16 4-8:11 4-9:7 5-9:57 6-8:5 7-10:9 "
        "8-10:42 9-10:7");

    CHECK_NEAR(value_by(p, "peft"), 122.0);
    CHECK_NEAR(value_by(p, "heft"), 133.0);
    weft_problem_free(p);
}

TEST(heft_gives_the_published_schedule)
{
    static const int device[] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
    static const double start_s[] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
    weft_problem *p = fixture_tasks(fixture_heft);
    answer s = solved(p, "heft");

    for (int u = 0; u < 10; u++) {
        CHECK_INT(s.solution.plan.device[u], device[u]);
        CHECK_NEAR(s.solution.plan.start_s[u], start_s[u]);
    }
    CHECK_INT(s.solution.proof.outcome, WEFT_BOUNDED);
    CHECK_NEAR(s.solution.proof.gap, (80.0 - 54.0) / 80.0);
    release(&s);
    weft_problem_free(p);
}

/* --- bounds ---------------------------------------------------------------------------------- */

TEST(path_bound_of_the_heft_example)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_proof bound;

    weft_place_bound(p, a, &bound);
    CHECK_TEXT(bound.method, "path");
    CHECK_NEAR(bound.bound, 54.0);
    CHECK_NEAR(weft_path_bound_of(p, bound.path, bound.n_path), 54.0);
    /* T1 T2 T9 T10, the cheapest devices: all on P2 16 + 19 + 12 + 7 = 54, all on P1
     * 14 + 13 + 18 + 21 = 66, or T1 T2 on P1, then 16 to send, 12 + 7 on P2: 62. */
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){0, 1, 8, 9}, 4), 54.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(load_bound_of_the_heft_example)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_proof bound;

    p->constraints.goal = WEFT_THROUGHPUT;
    weft_place_bound(p, a, &bound);
    CHECK_TEXT(bound.method, "load");
    /* the linear program of docs/solvers.md; all times are whole, so it is rounded up */
    CHECK(fabs(weft_load_bound_of(p, bound.price) - 30.785) < 1e-3);
    CHECK(bound.bound == 31 && bound.grain_s == 1);
    /* equal prices: a third of 9 + 13 + 11 + 8 + 10 + 9 + 7 + 5 + 12 + 7 = 91 */
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}), 91.0 / 3);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){0, 0, 1}), 0.0);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){1, 1, 1}), 0.0); /* the sum is not 1 */
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){5e-324, 5e-324, 5e-324}), 0.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(what_is_no_certificate_proves_nothing)
{
    weft_problem *p = fixture_tasks(fixture_heft);

    CHECK_NEAR(weft_path_bound_of(p, NULL, 0), 0.0);
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){0, 9}, 2), 0.0); /* T10 does not read T1 */
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){1, 0}, 2), 0.0);
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){0, 10}, 2), 0.0);
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){-1}, 1), 0.0);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){1, -1, 1}), 0.0);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){0, 0, 0}), 0.0);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){NAN, 1, 1}), 0.0);
    CHECK_NEAR(weft_load_bound_of(p, (const double[]){INFINITY, 1, 1}), 0.0);
    p->constraints.goal = WEFT_THROUGHPUT; /* items overlap */
    CHECK_NEAR(weft_path_bound_of(p, (const int[]){0}, 1), 0.0);
    weft_problem_free(p);
}

TEST(a_chain_is_solved_and_proved)
{
    weft_problem *p = fixture_tasks("1 9/9 1; 0-1:3");
    answer s = solved(p, "heft");

    CHECK_NEAR(s.solution.proof.value, 1.0 + 3.0 + 1.0); /* both on one device: 10 */
    CHECK_NEAR(s.solution.proof.bound, 5.0);
    CHECK_INT(s.solution.proof.outcome, WEFT_OPTIMAL);
    CHECK_INT(s.solution.proof.n_path, 2);
    release(&s);
    weft_problem_free(p);
}

TEST(inputs_come_from_the_host)
{
    static const char *const tasks[] = {"a"}, *const devices[] = {"host", "fast"};
    static const double seconds[] = {10, 3}, amount[] = {4};
    static const int none[] = {-1}, reader_at[] = {0, 1}, reader[] = {0};
    weft_problem_spec spec = {.name = "host",
                              .n_tasks = 1,
                              .n_devices = 2,
                              .n_tensors = 1,
                              .task_name = tasks,
                              .device_name = devices,
                              .seconds = seconds,
                              .amount = amount,
                              .producer = none,
                              .reader_at = reader_at,
                              .reader = reader};
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_make(&spec, &p));
    for (int i = 0; i < 7; i++) /* all but the random one */
        CHECK_NEAR(value_by(p, weft_place_at(i)->name), 4.0 + 3.0);
    CHECK_INT(outcome_by(p, "greedy"), WEFT_OPTIMAL); /* the path bound counts the input */
    weft_problem_free(p);
}

/* --- restrictions ---------------------------------------------------------------------------- */

TEST(pins_and_unsupported_devices_are_kept)
{
    weft_problem *p = fixture_tasks("1 5/1 5/x 5");

    p->pin = (const int[]){1, -1, -1};
    for (int i = 0; i < weft_place_count(); i++) {
        if (!weft_solver_applies(weft_place_at(i), p))
            continue;
        answer s = solved(p, weft_place_at(i)->name);

        CHECK_INT(s.solution.plan.n_tasks, 3);
        CHECK_INT(s.solution.plan.device[0], 1);
        CHECK_INT(s.solution.plan.device[2], 1);
        release(&s);
    }
    CHECK_NEAR(value_by(p, "heft"), 5.0 + 5.0); /* two on P2, the second task on P1 */
    CHECK_INT(outcome_by(p, "heft"), WEFT_OPTIMAL);
    CHECK_NEAR(value_by(p, "single"), 5.0 + 5.0 + 5.0);
    p->pin = (const int[]){1, 0, -1};
    CHECK_INT(outcome_by(p, "single"), WEFT_UNKNOWN);
    weft_problem_free(p);
}

/* The first task of the colour must not choose P1, although it is faster there. */
TEST(a_colocation_goes_where_all_its_tasks_can)
{
    weft_problem *p = fixture_tasks("1 5/1 5/x 5");

    p->colocation = (const int[]){1000000000, -1, 1000000000};
    for (int i = 0; i < weft_place_count(); i++) {
        if (!weft_solver_applies(weft_place_at(i), p))
            continue;
        answer s = solved(p, weft_place_at(i)->name);

        CHECK_INT(s.solution.plan.device[0], 1);
        CHECK_INT(s.solution.plan.device[2], 1);
        release(&s);
    }
    p->pin = (const int[]){0, -1, -1};
    for (int i = 0; i < weft_place_count(); i++)
        if (weft_solver_applies(weft_place_at(i), p))
            CHECK_INT(outcome_by(p, weft_place_at(i)->name), WEFT_INFEASIBLE);
    weft_problem_free(p);
}

TEST(weights_fill_devices)
{
    weft_problem *p = filled(2, 6, 8);

    /* 12 bytes do not fit one device of 8, 6 fit each of two */
    CHECK_INT(outcome_by(p, "single"), WEFT_UNKNOWN);
    for (int i = 1; i < weft_place_count(); i++) {
        if (!weft_solver_applies(weft_place_at(i), p))
            continue;
        answer s = solved(p, weft_place_at(i)->name);

        CHECK(s.solution.plan.device[0] != s.solution.plan.device[1]);
        release(&s);
    }
    weft_problem_free(p);
    p = filled(3, 5, 8); /* the third finds no room, though 15 bytes are not above 16 */
    for (int i = 0; i < 8; i++)
        CHECK_INT(outcome_by(p, weft_place_at(i)->name), WEFT_UNKNOWN);
    CHECK_INT(outcome_by(p, "branch-bound"), WEFT_INFEASIBLE); /* it has tried everything */
    CHECK_INT(outcome_by(p, "milp"), WEFT_INFEASIBLE);
    weft_problem_free(p);
    p = filled(3, 6, 8); /* 18 bytes are: a proof */
    for (int i = 0; i < weft_place_count(); i++)
        CHECK_INT(outcome_by(p, weft_place_at(i)->name), WEFT_INFEASIBLE);
    weft_problem_free(p);
    p = filled(1, 9, 8); /* alone too large for any device: a proof */
    for (int i = 0; i < weft_place_count(); i++)
        if (weft_solver_applies(weft_place_at(i), p))
            CHECK_INT(outcome_by(p, weft_place_at(i)->name), WEFT_INFEASIBLE);
    weft_problem_free(p);
}

/* Tasks a c have one colour: a may go to a device only if c's weights fit there too. */
TEST(a_colocation_claims_the_room_of_all_its_tasks)
{
    weft_problem *p = filled(3, 4, 8);

    p->colocation = (const int[]){0, -1, 0};
    for (int i = 1; i < weft_place_count(); i++) {
        if (!weft_solver_applies(weft_place_at(i), p))
            continue;
        answer s = solved(p, weft_place_at(i)->name);

        CHECK_INT(s.solution.plan.n_tasks, 3);
        CHECK_INT(s.solution.plan.device[0], s.solution.plan.device[2]);
        CHECK(s.solution.plan.device[1] != s.solution.plan.device[0]);
        release(&s);
    }
    weft_problem_free(p);
}

TEST(devices_that_are_not_connected)
{
    static const double never[] = {0, INFINITY, INFINITY, 0};
    weft_problem *p = fixture_tasks("1 2/9 1; 0-1:3");

    p->latency_s = p->second_per_byte = never;
    for (int i = 0; i < weft_place_count(); i++) {
        if (!weft_solver_applies(weft_place_at(i), p))
            continue;
        answer s = solved(p, weft_place_at(i)->name);

        CHECK_INT(s.solution.plan.n_tasks, 2);
        CHECK_INT(s.solution.plan.device[0], s.solution.plan.device[1]);
        release(&s);
    }
    CHECK_NEAR(value_by(p, "single"), 2.0 + 1.0);
    CHECK_INT(outcome_by(p, "single"), WEFT_OPTIMAL); /* the path bound knows it too */
    p->pin = (const int[]){0, 1};
    for (int i = 0; i < weft_place_count(); i++)
        if (weft_solver_applies(weft_place_at(i), p))
            CHECK_INT(outcome_by(p, weft_place_at(i)->name), WEFT_INFEASIBLE);
    weft_problem_free(p);
}

TEST(tasks_of_no_length)
{
    weft_problem *p = fixture_tasks("0 0/5 5/0 0/0 0; 0-1:0 0-2:0 2-3:0");

    for (int i = 0; i < weft_place_count(); i++)
        if (weft_solver_applies(weft_place_at(i), p))
            CHECK_INT(outcome_by(p, weft_place_at(i)->name),
                      WEFT_OPTIMAL); /* 5, whatever the order */
    weft_problem_free(p);
    p = fixture_tasks("0/0; 0-1:7");
    CHECK_NEAR(value_by(p, "heft"), 0.0);
    CHECK_INT(outcome_by(p, "heft"), WEFT_OPTIMAL);
    weft_problem_free(p);
}

TEST(heft_fills_gaps)
{
    /* T1 waits on P1 for T0 from P2: [0,2) stays idle until T2, the last by rank, fits in */
    weft_problem *p = fixture_tasks("x 1/4 x/2 9; 0-1:1");
    answer s = solved(p, "heft");

    CHECK_NEAR(s.solution.plan.start_s[1], 1.0 + 1.0);
    CHECK_NEAR(s.solution.plan.start_s[2], 0.0);
    CHECK_NEAR(s.solution.proof.value, 2.0 + 4.0);
    release(&s);
    CHECK_NEAR(value_by(p, "greedy"), 2.0 + 4.0 + 2.0); /* appends: P1 till 8, P2 till 1 + 9 */
    weft_problem_free(p);
}

/* --- throughput ------------------------------------------------------------------------------ */

TEST(periods_are_loads)
{
    weft_problem *p = fixture_tasks("1 1/1 1/1 1/1 1; 0-1:9 1-2:9 2-3:9");

    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK_NEAR(value_by(p, "greedy"), 2.0); /* two of four seconds on each of two devices */
    CHECK_INT(outcome_by(p, "greedy"), WEFT_OPTIMAL);
    CHECK_NEAR(value_by(p, "single"), 4.0);
    CHECK_NEAR(value_by(p, "met"), 4.0);
    weft_problem_free(p);
    p = fixture_tasks("1 3/3 1");
    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK_NEAR(value_by(p, "met"), 1.0);
    /* prices 1/2, 1/2: 1/2 + 1/2 */
    CHECK_INT(outcome_by(p, "met"), WEFT_OPTIMAL);
    weft_problem_free(p);
}

/* --- the driver ------------------------------------------------------------------------------ */

static weft_status solve_early(const weft_problem *p, const void *options, weft_run *run,
                               weft_plan *plan, weft_proof *proof)
{
    (void)options, (void)run;
    for (int u = 0; u < p->n_tasks; u++)
        plan->start_s[u] = -u; /* the last first: not possible along edges */
    proof->outcome = WEFT_BOUNDED;
    return WEFT_OK;
}

static weft_status solve_outside(const weft_problem *p, const void *options, weft_run *run,
                                 weft_plan *plan, weft_proof *proof)
{
    (void)options, (void)run;
    plan->device[0] = p->n_devices;
    proof->outcome = WEFT_BOUNDED;
    return WEFT_OK;
}

static weft_status solve_nowhere(const weft_problem *p, const void *options, weft_run *run,
                                 weft_plan *plan, weft_proof *proof)
{
    (void)p, (void)options, (void)run;
    plan->start_s[0] = NAN;
    proof->outcome = WEFT_BOUNDED;
    return WEFT_OK;
}

static weft_status solve_by_default(const weft_problem *p, const void *options, weft_run *run,
                                    weft_plan *plan, weft_proof *proof)
{
    (void)p, (void)options, (void)run, (void)plan;
    proof->outcome = WEFT_OPTIMAL; /* all on device 0 by number; claimed, not proved */
    return WEFT_OK;
}

static weft_status solve_with_proof(const weft_problem *p, const void *options, weft_run *run,
                                    weft_plan *plan, weft_proof *proof)
{
    int *path = WEFT_NEW(run->scratch, int, 1);

    (void)p, (void)options, (void)plan;
    path[0] = 1;
    *proof = (weft_proof){.outcome = WEFT_BOUNDED, .bound = 7, .method = "mine"};
    proof->n_path = 1;
    proof->path = path;
    return WEFT_OK;
}

static weft_status solve_not_at_all(const weft_problem *p, const void *options, weft_run *run,
                                    weft_plan *plan, weft_proof *proof)
{
    (void)p, (void)options, (void)run, (void)plan, (void)proof;
    return weft_fail(WEFT_E_INPUT, "no licence for this solver");
}

static weft_status drive(const weft_problem *p, const weft_solver *solver, const weft_proof *bound,
                         answer *s)
{
    weft_run run;

    *s = (answer){.arena = weft_arena_new(), .scratch = weft_arena_new()};
    run = run_with(s, 1);
    return weft_solve(solver, p, NULL, &run, bound, s->arena, &s->solution);
}

static void check_caught(const weft_problem *p, const weft_solver *solver, const char *part)
{
    answer s;

    assert_int_equal(drive(p, solver, NULL, &s), WEFT_E_INTERNAL);
    if (strstr(weft_message(), part) == NULL || strstr(weft_message(), solver->name) == NULL)
        fail_msg("message was: %s", weft_message());
    release(&s);
}

TEST(solvers_that_lie_are_caught)
{
    weft_problem *p = fixture_tasks("1 2/3 4; 0-1:1");

    check_caught(p, &(weft_solver){.name = "early", .summary = "", .solve = solve_early},
                 "cannot run");
    check_caught(p, &(weft_solver){.name = "outside", .summary = "", .solve = solve_outside},
                 "device 2 of 2");
    check_caught(p, &(weft_solver){.name = "nowhere", .summary = "", .solve = solve_nowhere},
                 "starts task 'T0'");
    p->pin = (const int[]){1, -1};
    check_caught(p, &(weft_solver){.name = "default", .summary = "", .solve = solve_by_default},
                 "not legal");
    p->pin = (const int[]){-1, -1};
    /* value 1 + 3 = 4 is below the claimed bound 7 */
    check_caught(p, &(weft_solver){.name = "proof", .summary = "", .solve = solve_with_proof},
                 "lower bound 7");
    weft_problem_free(p);
}

TEST(the_larger_bound_is_kept_with_its_certificate)
{
    weft_problem *p = fixture_tasks("6 6/8 9; 0-1:1"); /* all on P1: 14 */
    const weft_solver mine = {.name = "mine", .summary = "", .solve = solve_with_proof};
    weft_proof other = {.outcome = WEFT_UNKNOWN, .bound = 3, .method = "other"};
    answer s;

    CHECK_OK(drive(p, &mine, &other, &s));
    CHECK_TEXT(s.solution.proof.method, "mine");
    CHECK_NEAR(s.solution.proof.bound, 7.0);
    CHECK_NEAR(s.solution.proof.gap, (14.0 - 7.0) / 14.0);
    CHECK_INT(s.solution.proof.outcome, WEFT_BOUNDED);
    WEFT_NEW(s.scratch, int, 64)[0] = 9; /* the certificate does not lie in scratch memory */
    CHECK_INT(s.solution.proof.n_path, 1);
    CHECK_INT(s.solution.proof.path[0], 1);
    release(&s);
    other.bound = 14;
    other.price = (const double[]){1, 0};
    CHECK_OK(drive(p, &mine, &other, &s));
    CHECK_TEXT(s.solution.proof.method, "other");
    CHECK_INT(s.solution.proof.outcome, WEFT_OPTIMAL);
    CHECK(s.solution.proof.price != other.price);
    CHECK_NEAR(s.solution.proof.price[0], 1.0);
    CHECK_INT(s.solution.proof.n_path, 0);
    CHECK(s.solution.seconds >= 0);
    release(&s);
    weft_problem_free(p);
}

TEST(claims_of_optimality_need_a_bound)
{
    weft_problem *p = fixture_tasks("1 2/3 4; 0-1:1");
    answer s;

    CHECK_OK(drive(p, &(weft_solver){.name = "default", .summary = "", .solve = solve_by_default},
                   NULL, &s));
    CHECK_INT(s.solution.proof.outcome, WEFT_BOUNDED);
    CHECK_NEAR(s.solution.proof.gap, 1.0);
    release(&s);
    CHECK_INT(drive(p, &(weft_solver){.name = "none", .summary = "", .solve = solve_not_at_all},
                    NULL, &s),
              WEFT_E_INPUT);
    CHECK_TEXT(weft_message(), "no licence for this solver");
    release(&s);
    weft_problem_free(p);
}

TEST(a_plan_beyond_memory_is_dropped)
{
    static const double little[] = {1, INFINITY};
    weft_problem *p = fixture_tasks("1 2/3 4; 0-1:5");
    double *memory = WEFT_NEW(p->arena, double, 1);
    answer s;

    memory[0] = 2; /* the tensor lives on P1, which holds 1 byte */
    p->memory = memory;
    p->capacity = little;
    CHECK_OK(drive(p, &(weft_solver){.name = "default", .summary = "", .solve = solve_by_default},
                   NULL, &s));
    CHECK_INT(s.solution.proof.outcome, WEFT_UNKNOWN);
    CHECK_INT(s.solution.plan.n_tasks, 0);
    CHECK_INT(s.solution.measures.over_device, 0);
    release(&s);
    CHECK_NEAR(value_by(p, "single"), 2.0 + 4.0); /* P2 has the room */
    weft_problem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_are_listed_from_simple_to_elaborate),
        cmocka_unit_test(list_schedulers_reach_the_values_of_the_literature),
        cmocka_unit_test(cpop_reaches_its_published_value),
        cmocka_unit_test(peft_reaches_its_published_value),
        cmocka_unit_test(heft_gives_the_published_schedule),
        cmocka_unit_test(path_bound_of_the_heft_example),
        cmocka_unit_test(load_bound_of_the_heft_example),
        cmocka_unit_test(what_is_no_certificate_proves_nothing),
        cmocka_unit_test(a_chain_is_solved_and_proved),
        cmocka_unit_test(inputs_come_from_the_host),
        cmocka_unit_test(pins_and_unsupported_devices_are_kept),
        cmocka_unit_test(a_colocation_goes_where_all_its_tasks_can),
        cmocka_unit_test(weights_fill_devices),
        cmocka_unit_test(a_colocation_claims_the_room_of_all_its_tasks),
        cmocka_unit_test(devices_that_are_not_connected),
        cmocka_unit_test(tasks_of_no_length),
        cmocka_unit_test(heft_fills_gaps),
        cmocka_unit_test(periods_are_loads),
        cmocka_unit_test(solvers_that_lie_are_caught),
        cmocka_unit_test(the_larger_bound_is_kept_with_its_certificate),
        cmocka_unit_test(claims_of_optimality_need_a_bound),
        cmocka_unit_test(a_plan_beyond_memory_is_dropped),
    };

    return RUN_TESTS(tests);
}
