/* SPDX-License-Identifier: MIT */
/* The simulator: jobs, timelines and measures of small plans worked out by hand. */
#include "check.h"
#include "fixtures.h"
#include "parts.h"
#include "stream.h"

/* A plan from the devices of the tasks ("0110"), all starts 0: tasks run in order of number. */
static weft_plan plan_on(const weft_problem *p, const char *devices, weft_arena *a)
{
    weft_plan plan = weft_plan_new(p->n_tasks, a);

    CHECK_INT(strlen(devices), p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++)
        plan.device[u] = devices[u] - '0';
    return plan;
}

static weft_measures evaluate(weft_problem *p, weft_transfer transfer, const char *devices,
                              weft_arena *a)
{
    weft_plan plan = plan_on(p, devices, a);
    weft_measures m;

    p->transfer = transfer;
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    return m;
}

/* The job that sends tensor t to a device. */
static int sending(const weft_measures *m, int t, int to)
{
    for (int i = 0; i < m->n_jobs; i++)
        if (m->jobs->tensor[i] == t && m->jobs->to[i] == to)
            return i;
    fail_msg("tensor %d is not sent to %d", t, to);
    return -1;
}

static void check_job(const weft_measures *m, int i, double start_s, double end_s)
{
    CHECK_NEAR(m->timeline->start_s[i], start_s);
    CHECK_NEAR(m->timeline->end_s[i], end_s);
}

/* --- latency --------------------------------------------------------------------------------- */

TEST(a_result_travels_before_it_is_read)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("2 9/9 4; 0-1:3");
    weft_measures m = evaluate(p, WEFT_OVERLAP, "01", a);

    CHECK_NEAR(m.makespan_s, 2.0 + 3 + 4);
    m = evaluate(p, WEFT_OVERLAP, "00", a);
    CHECK_NEAR(m.makespan_s, 2.0 + 9); /* no transfer on one device */
    CHECK_INT(m.n_transfers, 0);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* The schedule printed in Topcuoglu et al. 2002, figure 3: HEFT, makespan 80. */
TEST(the_published_heft_schedule_keeps_its_times)
{
    static const double start_s[] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_plan plan = plan_on(p, "2021212011", a);
    weft_measures m;

    memcpy(plan.start_s, start_s, sizeof start_s);
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_NEAR(m.makespan_s, 80.0);
    for (int u = 0; u < p->n_tasks; u++)
        CHECK_NEAR(plan.start_s[u], start_s[u]);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* One tensor (amount 2) of a, read by b and c; an input (amount 3) read by a. */
static weft_problem *shared_tensor(int host)
{
    static const char *const task[] = {"a", "b", "c"}, *const device[] = {"P", "Q"};
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_make(
        &(weft_problem_spec){
            .n_tasks = 3,
            .n_devices = 2,
            .n_tensors = 2,
            .name = "shared",
            .task_name = task,
            .device_name = device,
            .seconds = (double[]){1,  1, 1, 1, 1, 1},
            .amount = (double[]){2, 3},
            .producer = (int[]){0, -1 },
            .reader_at = (int[]){0,  2,  3 },
            .reader = (int[]){1,  2,   0  },
            .host = host
    },
        &p));
    return p;
}

TEST(a_tensor_is_sent_once_to_a_device)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = shared_tensor(-1);
    weft_measures m = evaluate(p, WEFT_OVERLAP, "011", a);

    CHECK_NEAR(m.makespan_s, 1.0 + 2 + 1 + 1); /* a, transfer, b, c */
    CHECK_INT(m.n_transfers, 1);
    CHECK_NEAR(m.sent_bytes, 2.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(inputs_come_from_the_host)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = shared_tensor(0);
    weft_measures m = evaluate(p, WEFT_OVERLAP, "000", a);

    CHECK_NEAR(m.makespan_s, 3.0); /* all on the host */
    m = evaluate(p, WEFT_OVERLAP, "111", a);
    CHECK_NEAR(m.makespan_s, 3.0 + 3); /* the input travels first */
    check_job(&m, sending(&m, 1, 1), 0, 3);
    m = evaluate(p, WEFT_BLOCK, "111", a);
    CHECK_NEAR(m.load_s[0], 3.0);     /* the host pays for sending, */
    CHECK_NEAR(m.load_s[1], 3.0 + 3); /* the other for receiving and three tasks */
    p->host = -1;
    m = evaluate(p, WEFT_OVERLAP, "111", a);
    CHECK_NEAR(m.makespan_s, 3.0); /* without host the input is everywhere */
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(one_transfer_at_a_time_on_a_link)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("1 9/2 9/9 1/9 1; 0-2:5 1-3:1");
    weft_measures m = evaluate(p, WEFT_OVERLAP, "0011", a);

    check_job(&m, sending(&m, 0, 1), 1, 6); /* task 0: 0-1, task 1: 1-3 */
    check_job(&m, sending(&m, 1, 1), 3, 4);
    m = evaluate(p, WEFT_CONTEND, "0011", a);
    check_job(&m, sending(&m, 0, 1), 1, 6);
    check_job(&m, sending(&m, 1, 1), 6, 7); /* came later */
    CHECK_NEAR(m.makespan_s, 7.0 + 1);
    CHECK_NEAR(m.period_s, 5.0 + 1); /* the link; P1 works 1 + 2, P2 works 1 + 1 */
    CHECK_TEXT(m.bottleneck, "P1>P2");
    weft_problem_free(p);
    weft_arena_free(a);
}

/* Results that are ready at the same time: the lower tensor goes first. */
TEST(ties_on_a_link_go_by_tensor)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("2 9/9 1/9 1; 0-1:4 0-2:3");
    weft_measures m = evaluate(p, WEFT_CONTEND, "011", a);

    check_job(&m, sending(&m, 0, 1), 2, 6);
    check_job(&m, sending(&m, 1, 1), 6, 9);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* Task 0 (0-2) on P1 sends 3 to task 2 on P2, where task 1 runs 0-4; task 3 on P1 needs nothing. */
TEST(a_blocking_transfer_holds_both_ends)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("2 9/9 4/9 1/1 9; 0-2:3");
    weft_measures m = evaluate(p, WEFT_OVERLAP, "0110", a);

    CHECK_NEAR(m.makespan_s, 2.0 + 3 + 1);
    m = evaluate(p, WEFT_BLOCK, "0110", a);
    check_job(&m, sending(&m, 0, 1), 4, 7); /* waits for the receiver */
    check_job(&m, 3, 7, 8);                 /* is behind the transfer: nobody overtakes */
    check_job(&m, 2, 7, 8);
    CHECK_NEAR(m.load_s[0], 2.0 + 1 + 3);
    CHECK_NEAR(m.load_s[1], 4.0 + 1 + 3);
    CHECK_NEAR(m.busy_s[1], 4.0 + 1);
    CHECK_NEAR(m.period_s, 8.0);
    CHECK_TEXT(m.bottleneck, "P2");
    weft_problem_free(p);
    weft_arena_free(a);
}

/* --- order ----------------------------------------------------------------------------------- */

TEST(starts_give_the_order_and_are_replaced)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("3/5");
    weft_plan plan = plan_on(p, "00", a);
    weft_measures m;

    plan.start_s[0] = 100; /* only the order counts: task 1, then task 0 */
    plan.start_s[1] = 50;
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_NEAR(plan.start_s[1], 0.0);
    CHECK_NEAR(plan.start_s[0], 5.0);
    CHECK_INT(m.timeline->waits_for[0], 1); /* the device, not a dependence */
    plan.start_s[1] = NAN;                  /* no number: last */
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_NEAR(plan.start_s[1], 3.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* Task 1 has no length and runs before task 0 on P1; both start when task 2 has sent (1 + 4). */
TEST(a_task_without_length_keeps_its_place)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("2 9/9 1/0 9/9 1; 1-2:4 2-3:0");
    weft_plan plan = plan_on(p, "0101", a);
    weft_measures m;

    plan.start_s[0] = 7; /* after task 2 */
    for (int again = 0; again < 2; again++) {
        CHECK_OK(weft_evaluate(p, &plan, a, &m));
        CHECK_NEAR(plan.start_s[2], 1.0 + 4);
        CHECK_NEAR(plan.start_s[0], 1.0 + 4); /* equal starts, and task 2 is still the first */
        CHECK_NEAR(plan.start_s[3], 1.0 + 4);
    }
    weft_problem_free(p);
    weft_arena_free(a);
}

/* --- measures -------------------------------------------------------------------------------- */

/* a on P (2 s) makes a tensor of 4 bytes that takes 3 s to Q, where b (1 s) makes an output of 2
 * bytes. Both read weights of 10 bytes. */
static weft_problem *two_steps(void)
{
    static const char *const task[] = {"a", "b"}, *const device[] = {"P", "Q"};
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_make(
        &(weft_problem_spec){
            .name = "two steps",
            .n_tasks = 2,
            .n_devices = 2,
            .n_tensors = 3,
            .task_name = task,
            .device_name = device,
            .seconds = (double[]){2,      INFINITY, 9, 1},
            .joules = (double[]){3,     0,             0, 4},
            .amount = (double[]){3, 2,10},
            .memory = (double[]){4,      2,              10},
            .is_weight = (const bool[]){false,    false,                 true},
            .is_output = (const bool[]){false,true,false},
            .producer = (int[]){0,  1,  -1},
            .reader_at = (int[]){0,      1,          1, 3},
            .reader = (int[]){1, 0,                 1},
            .capacity = (double[]){14,    15        },
            .idle_w = (double[]){0.5,      2       },
            .host = 0
    },
        &p));
    return p;
}

static void check_steps(const weft_sample *step, int n, const double *expected, int n_expected)
{
    CHECK_INT(n, n_expected);
    for (int i = 0; i < n; i++) {
        CHECK_NEAR(step[i].at_s, expected[2 * i]);
        CHECK_NEAR(step[i].bytes, expected[2 * i + 1]);
    }
}

TEST(memory_follows_the_timeline)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = two_steps();
    weft_measures m = evaluate(p, WEFT_OVERLAP, "01", a); /* a 0-2, transfer 2-5, b 5-6 */

    /* P: weights 10; the tensor from the start of a to the end of its transfer */
    check_steps(m.memory[0], m.n_memory[0], (double[]){0, 14, 5, 10}, 2);
    /* Q: weights 10; the tensor from 2 to 6, the output from 5 on */
    check_steps(m.memory[1], m.n_memory[1], (double[]){0, 10, 2, 14, 5, 16, 6, 12}, 4);
    CHECK_NEAR(m.peak_bytes[0], 14.0);
    CHECK_NEAR(m.peak_bytes[1], 16.0);
    CHECK_INT(m.over_device, 1); /* 16 of 15 */
    CHECK_INT(m.n_transfers, 1); /* weights are not sent */
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(idle_devices_take_energy)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = two_steps();
    weft_measures m = evaluate(p, WEFT_OVERLAP, "01", a);

    CHECK_NEAR(m.idle_j, 0.5 * (6 - 2) + 2.0 * (6 - 1));
    CHECK_NEAR(m.energy_j, 3.0 + 4 + 12);
    p->joules = NULL;
    m = evaluate(p, WEFT_OVERLAP, "01", a);
    CHECK(isnan(m.energy_j));
    CHECK_NEAR(m.idle_j, 12.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(the_chain_explains_the_makespan)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = two_steps();
    weft_measures m = evaluate(p, WEFT_OVERLAP, "01", a);

    CHECK_INT(m.n_chain, 3);
    CHECK(m.chain[0].kind == WEFT_CHAIN_COMPUTE && m.chain[0].task == 0 && m.chain[0].to == 0);
    CHECK(m.chain[1].kind == WEFT_CHAIN_TRANSFER && m.chain[1].tensor == 0);
    CHECK(m.chain[1].from == 0 && m.chain[1].to == 1 && m.chain[1].task == -1);
    CHECK(m.chain[2].kind == WEFT_CHAIN_COMPUTE && m.chain[2].task == 1);
    CHECK_NEAR(m.chain[2].end_s, 6.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(the_goal_picks_its_value)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = two_steps();
    weft_measures m = evaluate(p, WEFT_OVERLAP, "01", a);

    CHECK_NEAR(weft_goal_value(p, &m), 6.0);
    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK_NEAR(weft_goal_value(p, &m), 2.0); /* the load of P */
    weft_problem_free(p);
    weft_arena_free(a);
}

/* --- wrong plans ----------------------------------------------------------------------------- */

TEST(wrong_plans_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = two_steps();
    weft_plan plan = plan_on(p, "01", a), short_plan = weft_plan_new(1, a);
    weft_measures m;

    CHECK_FAILS(weft_evaluate(p, &short_plan, a, &m), "the plan has 1 tasks, the problem has 2");
    plan.device[0] = 7;
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m), "task 'a' is on device 7, expected 0 to 1");
    plan.device[0] = -1;
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m), "task 'a' is on device -1");
    plan.device[0] = 1;
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m),
                "task 'a' is on device 'Q', which does not support it");
    plan.device[0] = plan.device[1] = 0;
    plan.start_s[0] = 1; /* after its reader, on the same device */
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m), "task 'a' on device 'P' can never start");
    plan.device[1] = 1; /* on another device the starts contradict nothing */
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    p->second_per_byte = (double[]){0, INFINITY, INFINITY, 0};
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m),
                "the result of task 'a' is made on device 'P' and read on device 'Q': no route");
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(an_input_without_route_is_refused)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = shared_tensor(0);
    weft_plan plan = plan_on(p, "111", a);
    weft_measures m;

    p->second_per_byte = (double[]){0, INFINITY, INFINITY, 0};
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m),
                "an input lies on device 'P' and is read on device 'Q': no route");
    weft_problem_free(p);
    weft_arena_free(a);
}

/* --- streams --------------------------------------------------------------------------------- */

/* Three devices that send to each other in a circle: 1 + 1 s of tasks, 2 s in and 2 s out on each.
 */
TEST(buffers_let_a_circle_keep_its_period)
{
    enum { N = 40 };
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("1 1 1/1 1 1/1 1 1/1 1 1/1 1 1/1 1 1; 0-3:2 1-4:2 2-5:2");
    weft_measures m = evaluate(p, WEFT_BLOCK, "012120", a);
    weft_plan plan = plan_on(p, "012120", a);
    double end_s[N];

    /* in a single run no two of the transfers fit side by side: 1-3, 3-5, 5-7 */
    check_job(&m, sending(&m, 0, 1), 1, 3);
    check_job(&m, sending(&m, 1, 2), 3, 5);
    check_job(&m, sending(&m, 2, 0), 5, 7);
    CHECK_NEAR(m.makespan_s, 7.0 + 1);
    CHECK_NEAR(m.period_s, 1.0 + 1 + 2 + 2);
    run_stream(p, &plan, N, end_s);
    for (int k = 10; k < 30; k++)
        CHECK_NEAR(end_s[k] - end_s[k - 1], 6.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* A chain of 3 s and 2 s on two devices, 1 s between: the first item takes 6 s, then one each 3 s.
 */
TEST(a_pipeline_fills_and_flows)
{
    enum { N = 8 };
    weft_arena *a = weft_arena_new();
    weft_problem *p = fixture_tasks("3 9/9 2; 0-1:1");
    weft_plan plan = plan_on(p, "01", a);
    double end_s[N];

    run_stream(p, &plan, N, end_s);
    for (int k = 0; k < N; k++)
        CHECK_NEAR(end_s[k], 3.0 * (k + 1) + 1 + 2);
    run_stream(p, &plan, 1, end_s);
    CHECK_NEAR(end_s[0], 6.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* --- the event loop alone -------------------------------------------------------------------- */

/* Jobs without dependences on two links. */
static weft_jobs on_links(int n, double *release_s, double *duration_s, int *use_at, int *use)
{
    static int no_deps[8];
    static bool is_queue[2] = {false, false};
    static int64_t rank[] = {0, 1, 2, 3};

    return (weft_jobs){.n_jobs = n,
                       .n_resources = 2,
                       .duration_s = duration_s,
                       .release_s = release_s,
                       .dep_at = no_deps,
                       .dep = no_deps,
                       .use_at = use_at,
                       .use = use,
                       .is_queue = is_queue,
                       .rank = rank};
}

/* Job 0 has link 0 until 10. Job 1 wants both links from 1 on, job 2 link 1 from 2 on: link 1 is
 * free, but job 1 came first. */
TEST(nobody_overtakes_on_a_shared_link)
{
    weft_arena *a = weft_arena_new();
    weft_jobs j = on_links(3, (double[]){0, 1, 2}, (double[]){10, 4, 1}, (int[]){0, 1, 3, 4},
                           (int[]){0, 0, 1, 1});
    weft_timeline t = weft_run_jobs(&j, a);

    CHECK_NEAR(t.start_s[0], 0.0);
    CHECK_NEAR(t.start_s[1], 10.0);
    CHECK_NEAR(t.start_s[2], 10.0 + 4);
    CHECK_NEAR(t.end_of_all_s, 15.0);
    CHECK_INT(t.waits_for[0], -1);
    CHECK_INT(t.waits_for[1], 0);
    CHECK_INT(t.waits_for[2], 1);
    CHECK(!t.is_stuck);
    weft_arena_free(a);
}

/* Job 3 depends on jobs 1 and 2 and follows job 0 in a queue; all three end at 2. */
TEST(a_start_is_explained_by_the_first_dependence)
{
    static bool is_queue[] = {true, true};
    weft_arena *a = weft_arena_new();
    weft_jobs j = on_links(4, (double[]){0, 0, 0, 0}, (double[]){2, 2, 2, 1},
                           (int[]){0, 1, 1, 1, 2}, (int[]){0, 0});
    weft_timeline t;

    j.is_queue = is_queue;
    j.dep_at = (int[]){0, 0, 0, 0, 2};
    j.dep = (int[]){1, 2};
    t = weft_run_jobs(&j, a);
    CHECK_NEAR(t.start_s[3], 2.0);
    CHECK_INT(t.waits_for[3], 1);
    j.dep = (int[]){2, 2};
    j.duration_s = (double[]){2, 2, 1, 1};
    t = weft_run_jobs(&j, a);
    CHECK_INT(t.waits_for[3], 0); /* only the queue decides now */
    weft_arena_free(a);
}

TEST(a_release_starts_a_job)
{
    weft_arena *a = weft_arena_new();
    weft_jobs j = on_links(2, (double[]){5, 0}, (double[]){1, 2}, (int[]){0, 1, 2}, (int[]){0, 0});
    weft_timeline t = weft_run_jobs(&j, a);

    CHECK_NEAR(t.start_s[1], 0.0);
    CHECK_NEAR(t.start_s[0], 5.0);
    CHECK_INT(t.waits_for[0], -1);
    weft_arena_free(a);
}

/* Job 1 depends on job 0, which the queue puts behind it; job 2 is elsewhere. */
TEST(a_contradiction_is_stuck)
{
    static int64_t rank[] = {1, 0, 0};
    static bool is_queue[] = {true, true};
    weft_arena *a = weft_arena_new();
    weft_jobs j = on_links(3, (double[]){0, 0, 0}, (double[]){1, 1, 1}, (int[]){0, 1, 2, 3},
                           (int[]){0, 0, 1});
    weft_timeline t;

    j.rank = rank;
    j.is_queue = is_queue;
    j.dep_at = (int[]){0, 0, 1, 1};
    j.dep = (int[]){0};
    t = weft_run_jobs(&j, a);
    CHECK(t.is_stuck);
    CHECK(isinf(t.start_s[0]) && isinf(t.start_s[1]) && isinf(t.end_of_all_s));
    CHECK_NEAR(t.start_s[2], 0.0);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_travels_before_it_is_read),
        cmocka_unit_test(the_published_heft_schedule_keeps_its_times),
        cmocka_unit_test(a_tensor_is_sent_once_to_a_device),
        cmocka_unit_test(inputs_come_from_the_host),
        cmocka_unit_test(one_transfer_at_a_time_on_a_link),
        cmocka_unit_test(ties_on_a_link_go_by_tensor),
        cmocka_unit_test(a_blocking_transfer_holds_both_ends),
        cmocka_unit_test(starts_give_the_order_and_are_replaced),
        cmocka_unit_test(a_task_without_length_keeps_its_place),
        cmocka_unit_test(memory_follows_the_timeline),
        cmocka_unit_test(idle_devices_take_energy),
        cmocka_unit_test(the_chain_explains_the_makespan),
        cmocka_unit_test(the_goal_picks_its_value),
        cmocka_unit_test(wrong_plans_are_refused),
        cmocka_unit_test(an_input_without_route_is_refused),
        cmocka_unit_test(buffers_let_a_circle_keep_its_period),
        cmocka_unit_test(a_pipeline_fills_and_flows),
        cmocka_unit_test(nobody_overtakes_on_a_shared_link),
        cmocka_unit_test(a_start_is_explained_by_the_first_dependence),
        cmocka_unit_test(a_release_starts_a_job),
        cmocka_unit_test(a_contradiction_is_stuck),
    };

    return RUN_TESTS(tests);
}
