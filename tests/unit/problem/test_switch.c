/* SPDX-License-Identifier: MIT */
/* Switches and segments, by hand. That the simulator charges switches as docs/simulator.md says is
 * tested by tests/simulator_plans.py; against trying every plan, by test_place_oracle. */
#include "check.h"
#include "sim.h"

/* 0 gives to 1, 2 and 3; 4 reads from 1, 2 and 3; 5 reads nothing. Two devices; the second switches in
 * 2 s, the first in 10. */
static weft_problem *problem(weft_transfer transfer, weft_constraints constraints)
{
    static const char *const task[] = {"a", "b", "c", "d", "e", "f"}, *const device[] = {"p", "q"};
    static const double seconds[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, amount[4] = {0};
    static const double latency_s[4] = {0}, switch_s[2] = {10, 2};
    static const int producer[4] = {0, 1, 2, 3}, at[5] = {0, 3, 4, 5, 6};
    static const int reader[6] = {1, 2, 3, 4, 4, 4};
    weft_problem_spec s = {.n_tasks = 6,
                           .n_devices = 2,
                           .n_tensors = 4,
                           .task_name = task,
                           .device_name = device,
                           .seconds = seconds,
                           .amount = amount,
                           .producer = producer,
                           .reader_at = at,
                           .reader = reader,
                           .latency_s = latency_s,
                           .second_per_byte = latency_s,
                           .switch_s = switch_s,
                           .host = transfer == WEFT_CALLS ? 0 : -1,
                           .transfer = transfer,
                           .constraints = constraints};
    weft_problem *p;

    CHECK_OK(weft_problem_make(&s, &p));
    return p;
}

static void check_switches(weft_transfer transfer, const int *device, const double *expected)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = problem(transfer, (weft_constraints){0});
    const double *found = weft_switch_times(p, device, a);

    for (int u = 0; u < p->n_tasks; u++)
        CHECK_NEAR(found[u], expected[u]);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(the_first_reader_pays)
{
    check_switches(WEFT_OVERLAP, (int[]){0, 0, 0, 0, 0, 0}, (double[]){0, 0, 0, 0, 0, 0});
    check_switches(WEFT_OVERLAP, (int[]){0, 1, 1, 1, 1, 0}, (double[]){0, 2, 0, 0, 0, 0});
    check_switches(WEFT_BLOCK, (int[]){0, 0, 1, 1, 1, 1}, (double[]){0, 0, 2, 0, 2, 0});
    check_switches(WEFT_CONTEND, (int[]){1, 0, 1, 0, 1, 1}, (double[]){0, 10, 0, 0, 2, 0});
    /* each accelerator once, the host never */
    check_switches(WEFT_CALLS, (int[]){0, 1, 1, 1, 0, 0}, (double[]){0, 2, 0, 0, 0, 0});
    check_switches(WEFT_CALLS, (int[]){0, 0, 0, 0, 0, 1}, (double[]){0, 0, 0, 0, 0, 2});
}

TEST(switches_occupy_the_device_and_take_idle_power)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = problem(WEFT_OVERLAP, (weft_constraints){0});
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    weft_measures m;

    p->idle_w = (double[]){0, 1};
    for (int u = 0; u < 6; u++) {
        plan.device[u] = u > 0;
        plan.start_s[u] = u;
    }
    plan.device[5] = 0;
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_NEAR(m.makespan_s, 1 + 2 + 4);
    CHECK_NEAR(m.busy_s[1], 2 + 4);
    CHECK_NEAR(m.period_s, 2 + 4);
    CHECK_NEAR(m.idle_j, 7 - 4);
    CHECK_INT(weft_plan_check(p, &plan, NULL, 0, a), 0);
    plan.start_s[2] -= 1; /* inside the switch of its device */
    CHECK(weft_plan_check(p, &plan, NULL, 0, a) > 0);
    weft_problem_free(p);
    weft_arena_free(a);
}

static void check_segments(const int *device, const int *expected, int n)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = problem(WEFT_OVERLAP, (weft_constraints){0});
    weft_segments s = weft_segments_of(p, device, a);

    CHECK_INT(s.n, n);
    for (int u = 0; u < p->n_tasks; u++)
        CHECK_INT(s.of[u], expected[u]);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(segments_run_one_after_the_other)
{
    check_segments((int[]){0, 0, 0, 0, 0, 0}, (int[]){0, 0, 0, 0, 0, 0}, 1);
    check_segments((int[]){0, 1, 1, 1, 1, 0}, (int[]){0, 1, 1, 1, 1, 0}, 2);
    check_segments((int[]){0, 1, 0, 1, 0, 1}, (int[]){0, 1, 0, 1, 2, 1}, 3);
}

/* What is wrong with the segments of a way; NULL: nothing. */
static void check_breach(weft_constraints asked, const int *device, const char *expected)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = problem(WEFT_OVERLAP, asked);
    const char *found = weft_segments_breach(p, device, a);

    if (expected == NULL)
        CHECK(found == NULL);
    else
        CHECK_TEXT(found, expected);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(breaches_are_named)
{
    const int three[] = {0, 1, 0, 1, 0, 1};

    check_breach((weft_constraints){.most_segments = 3}, three, NULL);
    check_breach((weft_constraints){.most_segments = 2}, three,
                 "the plan has 3 segments, at most 2 are asked for");
    check_breach((weft_constraints){.least_segment_tasks = 2}, three,
                 "the segment of 'e' on 'p' has 1 nodes, at least 2 are asked for");
    check_breach((weft_constraints){.least_segment_s = 1}, three, NULL);
    check_breach((weft_constraints){.least_segment_s = 3}, three,
                 "the segment of 'a' on 'p' takes 2 s, at least 3 s are asked for");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reader_pays),
        cmocka_unit_test(switches_occupy_the_device_and_take_idle_power),
        cmocka_unit_test(segments_run_one_after_the_other),
        cmocka_unit_test(breaches_are_named),
    };

    return RUN_TESTS(tests);
}
