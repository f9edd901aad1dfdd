/* SPDX-License-Identifier: MIT */
/* test_plan.c: the legality of plans: a known optimal plan, and every single change that breaks a
 * rule. */
#include "check.h"
#include "invariants.h"

#include "fixtures.h"

/* c reads what a and b make; b reads what a makes, twice. Numbered against the order of time:
 * c = 0, b = 1, a = 2. */
static const char *const abc[] = {"c", "b", "a"};
static const char *const two[] = {"x", "y"};
static const double abc_seconds[] = {1, 2, 3, INFINITY, 5, 6};
static const double abc_amount[] = {10, 20, 30};
static const int abc_producer[] = {1, 2, -1};
static const int abc_reader_at[] = {0, 1, 4, 5};
static const int abc_reader[] = {0, 1, 0, 1, 2};

static weft_problem_spec abc_spec(void)
{
    return (weft_problem_spec){
        .name = "abc",
        .n_tasks = 3,
        .n_devices = 2,
        .n_tensors = 3,
        .task_name = abc,
        .device_name = two,
        .seconds = abc_seconds,
        .amount = abc_amount,
        .producer = abc_producer,
        .reader_at = abc_reader_at,
        .reader = abc_reader,
        .host = -1,
    };
}

static weft_problem *made(const weft_problem_spec *s)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_make(s, &p));
    weft_problem_check(p);
    return p;
}

typedef struct checked {
    weft_problem *problem;
    weft_plan plan;
    weft_arena *arena;
    weft_violation violation[64];
    int n;
} checked;

static void check_again(checked *c)
{
    c->n = weft_plan_check(c->problem, &c->plan, c->violation, 64, c->arena);
}

static bool is_told(const checked *c, const char *part)
{
    for (int i = 0; i < c->n; i++)
        if (strstr(c->violation[i].what, part))
            return true;
    return false;
}

/* A plan without violation to start from; devices count from 0. */
static checked checked_plan(weft_problem *p, const int *device, const double *start_s)
{
    checked c = {.problem = p, .arena = weft_arena_new()};

    c.plan = weft_plan_new(p->n_tasks, c.arena);
    for (int u = 0; u < p->n_tasks; u++) {
        CHECK_INT(c.plan.device[u], 0);
        CHECK_NEAR(c.plan.start_s[u], 0.0);
        c.plan.device[u] = device[u];
        c.plan.start_s[u] = start_s[u];
    }
    check_again(&c);
    for (int i = 0; i < c.n; i++)
        fail_msg("%s", c.violation[i].what);
    return c;
}

static void release(checked *c)
{
    weft_problem_free(c->problem);
    weft_arena_free(c->arena);
}

/* T1@P3[0,9) T2@P3[9,27) T3@P2[21,34) T4@P1[18,31) T5@P3[27,37) T6@P1[31,44) T7@P2[34,49)
 * T8@P1[46,51) T9@P2[54,66) T10@P2[66,73) */
static checked heft_optimum(void)
{
    static const int device[] = {2, 2, 1, 0, 2, 0, 1, 0, 1, 1};
    static const double start_s[] = {0, 9, 21, 18, 27, 31, 34, 46, 54, 66};

    return checked_plan(fixture_tasks(fixture_heft), device, start_s);
}

TEST(the_optimal_plan_of_the_heft_example_is_legal)
{
    checked c = heft_optimum();
    double end_s = 0;

    for (int u = 0; u < 10; u++)
        end_s = fmax(end_s, c.plan.start_s[u] + weft_task_s(c.problem, u, c.plan.device[u]));
    CHECK_NEAR(end_s, 73.0);
    release(&c);
}

TEST(heft_plan_of_the_heft_example_is_legal)
{
    static const int device[] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
    static const double start_s[] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
    checked c = checked_plan(fixture_tasks(fixture_heft), device, start_s);

    CHECK_INT(c.n, 0);
    release(&c);
}

/* In the optimal plan every task starts as early as its inputs and its device allow. */
TEST(a_task_that_starts_earlier_is_told)
{
    static const char *const told[] = {
        "task 'T1' starts at -1 s on 'P3': 1 s before time 0",
        "task 'T2' starts at 8 s on 'P3', but its input from 'T1' arrives at 9 s: 1 s too early",
        "task 'T3' starts at 20 s on 'P2', but its input from 'T1' arrives at 21 s: 1 s too early",
        "task 'T4' starts at 17 s on 'P1', but its input from 'T1' arrives at 18 s: 1 s too early",
        "task 'T5' starts at 26 s on 'P3', but 'T2' runs there until 27 s: 1 s too early",
        "task 'T6' starts at 30 s on 'P1', but 'T4' runs there until 31 s: 1 s too early",
        "task 'T7' starts at 33 s on 'P2', but its input from 'T3' arrives at 34 s: 1 s too early",
        "task 'T8' starts at 45 s on 'P1', but its input from 'T2' arrives at 46 s: 1 s too early",
        "task 'T9' starts at 53 s on 'P2', but its input from 'T4' arrives at 54 s: 1 s too early",
        "task 'T10' starts at 65 s on 'P2', but its input from 'T9' arrives at 66 s: 1 s too early",
    };
    checked c = heft_optimum();

    for (int u = 0; u < 10; u++) {
        c.plan.start_s[u] -= 1;
        check_again(&c);
        CHECK(c.n >= 1 && is_told(&c, told[u]));
        c.plan.start_s[u] += 1;
    }
    release(&c);
}

TEST(a_task_on_another_device_is_told)
{
    checked c = heft_optimum();

    for (int u = 0; u < 10; u++)
        for (int d = 0; d < 3; d++) {
            int own = c.plan.device[u];

            c.plan.device[u] = d;
            check_again(&c);
            CHECK((c.n > 0) == (d != own));
            c.plan.device[u] = own;
        }
    release(&c);
}

TEST(overlaps_and_late_starts)
{
    weft_problem *p = fixture_tasks("4/3/2/0; 0-2:9"); /* one device: nothing is sent */
    checked c = checked_plan(p, (int[]){0, 0, 0, 0}, (double[]){0, 4, 7, 4});

    c.plan.start_s[1] = 1; /* T1 runs [1, 4) inside T0's [0, 4) */
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.violation[0].what,
               "task 'T1' starts at 1 s on 'P1', but 'T0' runs there until 4 s: 3 s too early");
    c.plan.start_s[1] = 4;
    c.plan.start_s[3] = 2; /* no length, but in the middle of T0 */
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK(is_told(&c, "task 'T3' starts at 2 s on 'P1', but 'T0' runs there until 4 s: 2 s"));
    c.plan.start_s[3] = 100; /* later than it could is legal */
    check_again(&c);
    CHECK_INT(c.n, 0);
    release(&c);
}

TEST(slack_is_a_billionth_of_the_makespan)
{
    weft_problem *p = fixture_tasks("1/1; 0-1:0"); /* the makespan is 2: 2e-9 s are allowed */
    checked c = checked_plan(p, (int[]){0, 0}, (double[]){0, 1});

    c.plan.start_s[1] = 1 - 1.5e-9;
    check_again(&c);
    CHECK_INT(c.n, 0);
    c.plan.start_s[1] = 1 - 3e-9;
    check_again(&c);
    CHECK_INT(c.n, 2); /* input and overlap */
    release(&c);
}

TEST(devices_that_are_no_devices_and_times_that_are_none)
{
    checked c = heft_optimum();

    c.plan.device[3] = 3;
    c.plan.device[4] = -1;
    c.plan.start_s[5] = NAN;
    c.plan.start_s[6] = INFINITY;
    check_again(&c);
    CHECK_INT(c.n, 4); /* the rest is not judged by them */
    CHECK_TEXT(c.violation[0].what, "task 'T4' is on device number 3, but there are 3 devices");
    CHECK(is_told(&c, "task 'T5' is on device number -1"));
    CHECK(is_told(&c, "task 'T6' starts at"));
    CHECK(is_told(&c, "task 'T7' starts at inf s, which is not a time"));
    c.plan.n_tasks = 9;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.violation[0].what, "the plan has 9 tasks, but the problem has 10");
    release(&c);
}

TEST(support_pins_and_colocations)
{
    static const int pin[] = {-1, 0, -1}, colocation[] = {2, -1, 2}; /* c b a, as in abc_spec */
    weft_problem_spec s = abc_spec();
    checked c;

    s.pin = pin;
    s.colocation = colocation;
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 5, 8});
    c.plan.device[1] = 1;
    check_again(&c);
    CHECK(is_told(&c, "task 'b' is on 'y', which does not support it"));
    CHECK(is_told(&c, "task 'b' is on 'y', but it is pinned to 'x'"));
    c.plan.device[1] = 0;
    c.plan.device[2] = 1;
    c.plan.start_s[2] = 1000;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.violation[0].what,
               "task 'c' is on 'y', but 'a', which must share its device, is on 'x'");
    release(&c);
}

TEST(inputs_come_from_the_host_along_links)
{
    static const double second_per_byte[] = {0, 0.5, INFINITY, 0}, latency_s[] = {0, 1, 0, 0};
    static const double seconds[] = {1, 2, 3, 4, 5, 6};
    weft_problem_spec s = abc_spec();
    checked c;

    s.seconds = seconds;
    s.host = 0;
    s.second_per_byte = second_per_byte;
    s.latency_s = latency_s;
    /* a reads 30 from the host x; on y it waits for 1 + 30 * 0.5 = 16 s */
    c = checked_plan(made(&s), (int[]){1, 1, 1}, (double[]){16, 22, 26});
    c.plan.start_s[0] = 15;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.violation[0].what,
               "task 'a' starts at 15 s on 'y', but its input from the host 'x' "
               "arrives at 16 s: 1 s too early");
    c.plan.start_s[0] = 16;
    c.plan.device[2] = 0; /* no way back from y */
    check_again(&c);
    CHECK_INT(c.n, 2);
    CHECK(is_told(&c, "task 'c' is on 'x', but its input from 'a' on 'y' cannot get there: the "
                      "devices are not connected"));
    release(&c);
}

TEST(weights_must_fit_each_counted_once)
{
    static const double seconds[] = {1, 1, 1, 1, 1, 1};
    static const double zero[] = {0, 0, 0}, memory[] = {60, 50, 7}, capacity[] = {110, 66};
    static const bool is_weight[] = {true, true, false};
    static const int producer[] = {-1, -1, -1};
    static const int reader_at[] = {0, 2, 3, 3}, reader[] = {0, 1, 2}; /* c and b share 60 */
    weft_problem_spec s = abc_spec();
    checked c;

    s.seconds = seconds;
    s.amount = zero;
    s.memory = memory;
    s.is_weight = is_weight;
    s.capacity = capacity;
    s.producer = producer;
    s.reader_at = reader_at;
    s.reader = reader;
    /* all on x: 60 + 50 = 110 bytes, just the capacity; tasks keep the order c b a */
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 1, 2});
    for (int u = 0; u < 3; u++)
        c.plan.device[u] = 1;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.violation[0].what,
               "device 'y' has to hold 110 bytes of weights, but has room for 66: 44 bytes too "
               "many; the largest belong to task 'c', 60 bytes");
    c.plan.device[2] = 0; /* 60 on y, 50 on x */
    check_again(&c);
    CHECK_INT(c.n, 0);
    c.plan.device[0] = 0; /* the shared weight lies on both: x 60 + 50, y 60 */
    check_again(&c);
    CHECK_INT(c.n, 0);
    release(&c);
}

TEST(breaches_beyond_the_list_are_counted)
{
    checked c = heft_optimum();
    weft_violation one = {NULL};

    for (int u = 0; u < 10; u++)
        c.plan.device[u] = 7;
    CHECK_INT(weft_plan_check(c.problem, &c.plan, &one, 1, c.arena), 10);
    CHECK(strstr(one.what, "'T1'") != NULL);
    CHECK_INT(weft_plan_check(c.problem, &c.plan, NULL, 0, c.arena), 10);
    release(&c);
}

TEST(a_violation_is_one_line_whatever_the_names)
{
    static const char *const names[] = {"c", "b", "a\nb\x1b[1m"};
    weft_problem_spec s = abc_spec();
    checked c;

    s.task_name = names;
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 5, 8});
    c.plan.start_s[0] = -2;
    check_again(&c);
    CHECK(is_told(&c, "task 'a?b?[1m' starts at -2 s on 'x': 2 s before time 0"));
    release(&c);
}

/* Places tasks in order, each on a random device that supports it, as early as it can start. */
static checked random_plan(weft_problem *p, uint64_t seed)
{
    weft_arena *a = weft_arena_new();
    int *device = WEFT_NEW(a, int, p->n_tasks);
    double *start_s = WEFT_NEW(a, double, p->n_tasks);
    double *free_s = WEFT_NEW(a, double, p->n_devices);
    weft_rng r = weft_rng_seed(seed);
    checked c;

    for (int v = 0; v < p->n_tasks; v++) {
        do
            device[v] = weft_rng_below(&r, p->n_devices);
        while (isinf(weft_task_s(p, v, device[v])));
        start_s[v] = free_s[device[v]];
        for (int k = p->arg_at[v]; k < p->arg_at[v + 1]; k++) {
            int t = p->arg[k], u = p->producer[t];

            if (u >= 0)
                start_s[v] = fmax(start_s[v], start_s[u] + weft_task_s(p, u, device[u]) +
                                                  weft_send_s(p, t, device[u], device[v]));
            else if (!p->is_weight[t] && p->host >= 0)
                start_s[v] = fmax(start_s[v], weft_send_s(p, t, p->host, device[v]));
        }
        free_s[device[v]] = start_s[v] + weft_task_s(p, v, device[v]);
    }
    c = checked_plan(p, device, start_s);
    weft_arena_free(a);
    return c;
}

TEST(earliest_plans_are_legal_and_nothing_in_them_can_start_earlier)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        checked c =
            random_plan(random_problem(seed, 1 + (int)(seed % 17), 1 + (int)(seed % 4)), seed);

        for (int u = 0; u < c.plan.n_tasks; u++) {
            c.plan.start_s[u] -= 0.25;
            check_again(&c);
            CHECK(c.n > 0);
            c.plan.start_s[u] += 0.25;
        }
        release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optimal_plan_of_the_heft_example_is_legal),
        cmocka_unit_test(heft_plan_of_the_heft_example_is_legal),
        cmocka_unit_test(a_task_that_starts_earlier_is_told),
        cmocka_unit_test(a_task_on_another_device_is_told),
        cmocka_unit_test(overlaps_and_late_starts),
        cmocka_unit_test(slack_is_a_billionth_of_the_makespan),
        cmocka_unit_test(devices_that_are_no_devices_and_times_that_are_none),
        cmocka_unit_test(support_pins_and_colocations),
        cmocka_unit_test(inputs_come_from_the_host_along_links),
        cmocka_unit_test(weights_must_fit_each_counted_once),
        cmocka_unit_test(breaches_beyond_the_list_are_counted),
        cmocka_unit_test(a_violation_is_one_line_whatever_the_names),
        cmocka_unit_test(earliest_plans_are_legal_and_nothing_in_them_can_start_earlier),
    };

    return RUN_TESTS(tests);
}
