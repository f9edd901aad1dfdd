/* SPDX-License-Identifier: MIT */
/* Calls by hand: what a call takes, when it begins, what is refused; and the public workloads. */
#include "check.h"
#include "invariants.h"
#include "place.h"
#include "platform_text.h"
#include "stream.h"

#include <unistd.h>

/* a -> b, c -> d -> e as tests/data/tasks/calls.json says: on an accelerator a 1, b 2, c 3, d 2,
 * e 1 second; edges of a 1, of b and c 2, of d 0.5. */
static weft_problem *open_example(weft_goal goal)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_read(WEFT_TEST_DATA "/tasks/calls.json", false,
                               &(weft_constraints){.goal = goal}, &p));
    weft_problem_check(p);
    return p;
}

static weft_plan plan_of(const weft_problem *p, const char *devices, weft_arena *a)
{
    weft_plan plan = weft_plan_new(p->n_tasks, a);

    for (int u = 0; u < p->n_tasks; u++)
        plan.device[u] = devices[u] - '0';
    return plan;
}

static weft_measures evaluate(const weft_problem *p, weft_plan *plan, weft_arena *a)
{
    weft_measures m;

    CHECK_OK(weft_evaluate(p, plan, a, &m));
    CHECK_INT(weft_plan_check(p, plan, NULL, 0, a), 0);
    return m;
}

TEST(a_call_reads_computes_and_writes)
{
    weft_problem *p = open_example(WEFT_LATENCY);
    weft_arena *a = weft_arena_new();
    weft_plan plan = plan_of(p, "01101", a);
    weft_measures m;

    CHECK(p->constraints.is_calls && p->transfer == WEFT_CALLS && p->host == 0);
    /* a circle: the call of acc0 has b, c and e, and d in between waits for it */
    CHECK_FAILS(weft_evaluate(p, &plan, a, &m), "calls wait for each other in a circle");
    CHECK(weft_plan_check(p, &plan, NULL, 0, a) > 0);

    /* acc0: b, c: reads a's two edges 1 + 1 from 8 on, computes 2 + 3, writes 2 + 2: 8 to 19 */
    plan = plan_of(p, "01102", a);
    m = evaluate(p, &plan, a);
    CHECK_NEAR(plan.start_s[1], 8.0 + 2);
    CHECK_NEAR(plan.start_s[2], 8.0 + 2 + 2);
    CHECK_NEAR(plan.start_s[3], 19.0);           /* d on the host */
    CHECK_NEAR(plan.start_s[4], 19.0 + 2 + 0.5); /* acc1 reads d */
    CHECK_NEAR(m.makespan_s, 19.0 + 2 + 0.5 + 1);
    CHECK_NEAR(m.load_s[0], 8.0 + 2);
    CHECK_NEAR(m.load_s[1], 2.0 + 5 + 4);
    CHECK_NEAR(m.load_s[2], 1.5);
    CHECK_NEAR(m.period_s, 11.0);
    CHECK_TEXT(m.bottleneck, "acc0");
    CHECK_INT(m.n_transfers, 5);
    CHECK_NEAR(m.sent_bytes, 2.0 + 4 + 0.5);
    CHECK_NEAR(m.peak_bytes[1], 8.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(tasks_of_the_host_run_side_by_side)
{
    weft_problem *p = open_example(WEFT_LATENCY);
    weft_arena *a = weft_arena_new();
    weft_plan plan = plan_of(p, "00000", a);
    weft_measures m = evaluate(p, &plan, a);

    CHECK_NEAR(m.makespan_s, 8.0 + 9 + 2 + 9); /* b beside c */
    CHECK_NEAR(m.period_s, 8.0 + 9 + 9 + 2 + 9);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(accelerators_send_through_the_host)
{
    weft_problem *p = open_example(WEFT_LATENCY);
    weft_arena *a = weft_arena_new();
    weft_plan plan = plan_of(p, "11122", a);
    weft_measures m = evaluate(p, &plan, a);

    /* acc0: a b c 6, writes 4; acc1: reads 4, d e 3 */
    CHECK_NEAR(m.makespan_s, 6.0 + 4 + 4 + 3);
    CHECK_NEAR(m.load_s[1], 10.0);
    CHECK_NEAR(m.load_s[2], 7.0);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(a_stream_needs_no_order_of_calls)
{
    weft_problem *p = open_example(WEFT_THROUGHPUT);
    weft_arena *a = weft_arena_new();
    weft_plan plan = plan_of(p, "01121", a); /* acc1 between two parts of acc0 */
    weft_measures m = evaluate(p, &plan, a);
    double end_s[50];

    /* acc0: reads a twice, b c e 6, writes b and c, reads d; acc1: reads 4, d 2, writes 0.5 */
    CHECK_NEAR(m.load_s[1], 2.0 + 6 + 4 + 0.5);
    CHECK_NEAR(m.load_s[2], 4.0 + 2 + 0.5);
    CHECK_NEAR(m.period_s, 12.5);
    run_stream(p, &plan, 50, end_s);
    CHECK(end_s[49] >= 50 * 12.5 && end_s[49] <= 49 * 12.5 + 3 * 12.5); /* and filling it */
    p->constraints.is_contiguous = true;
    CHECK_INT(weft_plan_check(p, &plan, NULL, 0, a), 1);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(calls_need_a_host)
{
    static const char tasks[] = "{\"schema\": \"weft.tasks/1\", \"devices\": [\"P\", \"Q\"],\n"
                                "\"tasks\": [{\"name\": \"a\", \"seconds\": [1, 1]}],\n"
                                "\"edges\": []%s}";
    static const struct {
        const char *more, *message;
    } list[] = {
        {", \"transfer\": \"calls\"",                                                 "no device is named as the host"},
        {", \"host\": \"R\"",                                                         "there is no such device"       },
        {", \"transfer\": \"calls\", \"host\": \"P\", \"link\": [[0, null], [1, 0]]",
         "device 'Q' is not connected with the host 'P'"                                                              },
    };
    weft_platform *machine = NULL;
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const char *text = weft_arena_print(a, tasks, list[i].more);
        const weft_doc *d = NULL;
        weft_problem *p = NULL;

        CHECK_OK(weft_doc_parse(text, strlen(text), "x.json", a, &d));
        CHECK_FAILS(weft_problem_parse(d, false, &(weft_constraints){.goal = WEFT_LATENCY}, &p),
                    list[i].message);
    }
    CHECK_FAILS(weft_platform_notation("cpu gpu; cpu-gpu:1 @calls", &machine), "needs a host");
    CHECK_OK(weft_platform_notation("cpu gpu; cpu-gpu:1 @calls host=cpu", &machine));
    CHECK_INT(machine->transfer, WEFT_CALLS);
    weft_platform_free(machine);
    weft_arena_free(a);
}

TEST(other_bounds_do_not_speak_of_calls)
{
    weft_problem *p = open_example(WEFT_LATENCY);
    weft_arena *a = weft_arena_new();
    weft_proof bound;

    weft_place_bound(p, a, &bound);
    CHECK_TEXT(bound.method, "calls path");
    CHECK(bound.bound > 0 && bound.bound <= 17);
    CHECK(weft_path_bound_of(p, bound.path, bound.n_path) == 0);
    CHECK(weft_load_bound_of(p, (double[]){1, 0, 0}) == 0);
    CHECK(weft_calls_path_bound_of(p, (int[]){0, 3}, 2) == 0); /* no edge */
    CHECK(weft_calls_path_bound_of(p, (int[]){-1}, 1) == 0);
    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK(weft_calls_path_bound_of(p, bound.path, bound.n_path) == 0);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- the public workloads -------------------------------------------------------------------- */

static const char folder[] = WEFT_SHARED "/data/dnn-partitioning";

static void skip_without_workloads(void)
{
    if (access(folder, R_OK) == 0)
        return;
    print_message("SKIPPED: the public workloads are not in %s\n", folder);
    skip();
}

static weft_problem *open_workload(const char *file, weft_goal goal, weft_arena *a)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_read(weft_arena_print(a, "%s/%s", folder, file), true,
                               &(weft_constraints){.goal = goal, .is_calls = true}, &p));
    weft_problem_check(p);
    CHECK_TEXT(p->device_name[p->host], "cpu0");
    return p;
}

static double value_on(const weft_problem *p, int device, weft_arena *a)
{
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    weft_measures m;

    for (int u = 0; u < p->n_tasks; u++)
        plan.device[u] = device;
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    return weft_goal_value(p, &m) * 1e3;
}

/* Known values in ms, printed with the digits they are given with. */
TEST(known_latencies_of_the_public_workloads)
{
    static const struct {
        const char *file;
        double host_ms, most_ms, least_ratio;
        int64_t steps;
    } list[] = {
        {"latency-inputs/LayerGraphs/bert24_inference.json",      924.06,  100.2186, 1,    100000 },
        {"latency-inputs/LayerGraphs/gnmt_inference.json",        1824.35, 225.65,   0.98, 1000000},
        {"latency-inputs/OperatorGraphs/bert_l-3_inference.json", 1099.93, 408.48,   0.99, 300000 },
        {"latency-inputs/OperatorGraphs/resnet50_inference.json", 6666.67, 672.06,   0.83, 300000 },
    };

    skip_without_workloads();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = open_workload(list[i].file, WEFT_LATENCY, a);
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = list[i].steps};
        weft_solution s;

        CHECK(fabs(value_on(p, p->host, a) - list[i].host_ms) < 0.006);
        run.scratch = weft_arena_new();
        CHECK_OK(weft_solve(weft_place_find("calls"), p, NULL, &run, NULL, a, &s));
        CHECK(s.proof.value * 1e3 <= list[i].most_ms);
        CHECK(s.proof.bound >= list[i].least_ratio * s.proof.value * (1 - 1e-9));
        weft_arena_free(run.scratch);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

/* The task of the node with this id; names of these files differ. */
static int find_task(const weft_problem *p, const weft_doc *workload, int64_t id)
{
    const weft_doc *nodes = NULL;
    const char *name = NULL;
    int64_t other = 0;

    CHECK_OK(weft_doc_need(workload, "nodes", WEFT_DOC_LIST, &nodes));
    for (int i = 0; i < nodes->n && name == NULL; i++) {
        CHECK_OK(weft_doc_int(nodes->item[i], "id", INT64_MIN, INT64_MAX, &other));
        if (other == id)
            CHECK_OK(weft_doc_text(nodes->item[i], "name", &name));
    }
    for (int u = 0; u < p->n_tasks && name != NULL; u++)
        if (strcmp(p->task_name[u], name) == 0)
            return u;
    fail_msg("no node %d", (int)id);
    return -1;
}

/* Splits by people, in ms; computed apart from weft from the definition of the loads. */
TEST(periods_of_the_splits_made_by_experts)
{
    static const struct {
        const char *name;
        double one_ms, expert_ms;
    } list[] = {
        {"bert24_inference", 92.406,  20.083953125   },
        {"bert24_training",  217.813, 49.40490625    },
        {"gnmt_inference",   182.563, 46.208451171875},
        {"gnmt_training",    520.453, 137.15390234375},
    };

    skip_without_workloads();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        weft_arena *a = weft_arena_new();
        const char *file =
            weft_arena_print(a, "throughput-inputs/LayerGraphs/%s.json", list[i].name);
        weft_problem *p = open_workload(file, WEFT_THROUGHPUT, a);
        weft_plan plan = weft_plan_new(p->n_tasks, a);
        const weft_doc *d = NULL, *calls = NULL, *nodes = NULL, *workload = NULL;
        weft_measures m;

        CHECK(fabs(value_on(p, 0, a) - list[i].one_ms) < 0.0006);
        CHECK_OK(weft_doc_read(weft_arena_print(a, "%s/%s", folder, file), a, &workload));
        CHECK_OK(weft_doc_read(
            weft_arena_print(a, "%s/human-experts/%s_expert.json", folder, list[i].name), a, &d));
        CHECK_OK(weft_doc_need(d, "fpgas", WEFT_DOC_LIST, &calls));
        for (int k = 0; k < calls->n; k++) {
            CHECK_OK(weft_doc_need(calls->item[k], "nodes", WEFT_DOC_LIST, &nodes));
            for (int j = 0; j < nodes->n; j++)
                plan.device[find_task(p, workload, nodes->item[j]->integer)] = k;
        }
        CHECK_OK(weft_evaluate(p, &plan, a, &m));
        CHECK_NEAR(m.period_s * 1e3, list[i].expert_ms);
        CHECK_INT(weft_plan_check(p, &plan, NULL, 0, a), 0);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_reads_computes_and_writes),
        cmocka_unit_test(tasks_of_the_host_run_side_by_side),
        cmocka_unit_test(accelerators_send_through_the_host),
        cmocka_unit_test(a_stream_needs_no_order_of_calls),
        cmocka_unit_test(calls_need_a_host),
        cmocka_unit_test(other_bounds_do_not_speak_of_calls),
        cmocka_unit_test(known_latencies_of_the_public_workloads),
        cmocka_unit_test(periods_of_the_splits_made_by_experts),
    };

    return RUN_TESTS(tests);
}
