/* SPDX-License-Identifier: MIT */
/* test_tasks.c: problems from files: weft.tasks/1 and the dnn-partitioning workloads. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "invariants.h"

#include "fixtures.h"

#include <unistd.h>

static void check_ints(const int *at, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(at[i], expected[i]);
}

/* --- weft.tasks/1 ---------------------------------------------------------------------------- */

static weft_status parse(const char *text, bool is_msr, weft_problem **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;
    weft_status status = weft_doc_parse(text, strlen(text), "dir/some.json", a, &d);

    if (status == WEFT_OK)
        status = weft_problem_parse(d, is_msr, &(weft_constraints){.goal = WEFT_LATENCY}, out);
    weft_arena_free(a);
    return status;
}

TEST(a_task_file_with_everything)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_read(WEFT_TEST_DATA "/tasks/limits.json", false,
                               &(weft_constraints){.goal = WEFT_THROUGHPUT}, &p));
    weft_problem_check(p);
    CHECK_TEXT(p->name, "limits");
    CHECK_INT(p->constraints.goal, WEFT_THROUGHPUT);
    CHECK_INT(p->transfer, WEFT_CONTEND);
    CHECK_INT(p->host, -1);
    CHECK(isinf(weft_task_s(p, 1, 1)));
    CHECK_NEAR(weft_task_s(p, 2, 1), 1.5);
    CHECK_INT(p->n_tensors, 3 + 4); /* three tasks with memory, four edges */
    CHECK(p->is_weight[1] && p->producer[1] == -1 && p->reader[p->reader_at[1]] == 1);
    CHECK_NEAR(p->memory[1], 1048576.0);
    CHECK_NEAR(p->memory[3], 0.0); /* amounts are not bytes */
    CHECK_NEAR(weft_send_s(p, 3, 0, 1), 0.25 + 8 * 0.5);
    CHECK_NEAR(weft_send_s(p, 3, 2, 0), 1 + 8 * 1.0);
    CHECK(isinf(weft_send_s(p, 3, 1, 2)));
    CHECK_INT(p->n_links, 4); /* six ordered pairs, two not connected */
    CHECK(isinf(p->capacity[0]));
    CHECK_NEAR(p->capacity[1], 100.0);
    weft_problem_free(p);
}

TEST(a_task_file_may_be_yaml_and_is_named_by_its_file)
{
    weft_problem *p = NULL;

    CHECK_OK(parse("schema: weft.tasks/1\ndevices: [d]\ntasks:\n - {name: b, seconds: [2]}\n"
                   " - {name: a, seconds: [1]}\nedges: [{from: a, to: b, amount: 3}]\n",
                   false, &p));
    CHECK_TEXT(p->name, "some");
    CHECK_TEXT(p->task_name[0], "a"); /* sorted */
    CHECK_NEAR(weft_task_s(p, 1, 0), 2.0);
    weft_problem_free(p);
}

/* The text with its first `from` replaced by `to`. */
static const char *replaced(const char *text, const char *from, const char *to, weft_arena *a)
{
    const char *at = strstr(text, from);

    if (at == NULL)
        fail_msg("'%s' is not in the text", from);
    return weft_arena_print(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* A file that is right but for one replaced piece. */
static void refused(const char *right, const char *from, const char *to, const char *message)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = NULL;

    CHECK_FAILS(parse(replaced(right, from, to, a), strstr(right, "maxFPGAs") != NULL, &p),
                message);
    CHECK(p == NULL);
    weft_arena_free(a);
}

static const char right_tasks[] =
    "{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\", \"P2\"],\n"
    " \"tasks\": [{\"name\": \"alpha\", \"seconds\": [14, 16]},\n"
    "  {\"name\": \"beta\", \"seconds\": [13, null], \"memory\": 1048576}],\n"
    " \"edges\": [{\"from\": \"alpha\", \"to\": \"beta\", \"amount\": 18}],\n"
    " \"link\": [[0, 1], [1, 0]], \"latency\": [[0, 2], [3, 0]],\n"
    " \"capacity\": [null, 1073741824], \"transfer\": \"block\"}\n";

TEST(wrong_tasks_and_devices_are_refused_with_file_and_line)
{
    weft_problem *p = NULL;

    CHECK_OK(parse(right_tasks, false, &p)); /* as it stands it is right */
    weft_problem_free(p);
    refused(right_tasks, "weft.tasks/1", "weft.plan/1",
            "dir/some.json:1: 'schema' is 'weft.plan/1', expected 'weft.tasks/1'");
    refused(right_tasks, "\"schema\": \"weft.tasks/1\", ", "", "key 'schema' is missing");
    refused(right_tasks, "\"schema\"", "\"maxFPGAs\": 1, \"shema\"", "add --format msr");
    refused(right_tasks, "\"link\"", "\"lnik\"", ":5: unknown key 'lnik' (did you mean 'link'?)");
    refused(right_tasks, "\"memory\"", "\"memroy\"",
            ":3: unknown key 'memroy' (did you mean 'memory'?)");
    refused(right_tasks, "\"amount\"", "\"amuont\"",
            ":4: unknown key 'amuont' (did you mean 'amount'?)");
    refused(right_tasks, "[\"P1\", \"P2\"]", "[]",
            ":1: 'devices' names 0 devices, expected 1 to 1024");
    refused(right_tasks, "\"P2\"", "7", ":1: device 2 is 7, expected a name in quotes");
    refused(right_tasks, "\"P2\"", "\"P1\"", ":1: two devices are called 'P1'");
    refused(right_tasks, "\"devices\": [\"P1\", \"P2\"]", "\"devices\": 3", ":1: 'devices' is 3");
    refused(right_tasks, "\"beta\", \"s", "\"alpha\", \"s", ":3: two tasks are called 'alpha'");
    refused(right_tasks, "\"beta\", \"s", "\"\", \"s", ":3: task 2 has an empty name");
    refused(right_tasks, "\"name\": \"alpha\", ", "", ":2: key 'name' is missing");
    refused(right_tasks, "[14, 16]", "[14]",
            ":2: task 'alpha' has 1 seconds, expected 2: one for each device");
    refused(right_tasks, "[14, 16]", "[14, -1]",
            ":2: the time of task 'alpha' on 'P2' is -1, expected a number from 0 to 1e18 or null");
    refused(right_tasks, "[14, 16]", "[14, \"16\"]", "on 'P2' is '16', expected a number");
    refused(right_tasks, "[14, 16]", "[14, 1e19]",
            "on 'P2' is 1e19, expected a number from 0 to 1e18");
    refused(right_tasks, "[14, 16]", "14", ":2: 'seconds' is 14, expected a list");
    refused(right_tasks, "1048576", "-1", ":3: 'memory' is -1, expected 0 to 1e+18");
}

TEST(wrong_edges_and_links_are_refused_with_file_and_line)
{
    weft_problem *p = NULL;

    refused(right_tasks, "\"from\": \"alpha\"", "\"from\": \"alhpa\"",
            ":4: 'from' is 'alhpa', but there is no such task (did you mean 'alpha'?)");
    refused(right_tasks, "\"to\": \"beta\"", "\"to\": \"x-y-z-w\"",
            "'to' is 'x-y-z-w', but there is no such task");
    refused(right_tasks, "\"to\": \"beta\"", "\"to\": \"alpha\"",
            ":4: task 'alpha' has an edge to itself");
    refused(right_tasks, "\"amount\": 18}",
            "\"amount\": 18}, {\"from\": \"beta\", \"to\": \"alpha\", \"amount\": 0}",
            "waits for itself: the tasks form a cycle");
    refused(right_tasks, "\"amount\": 18", "\"amount\": -18",
            ":4: 'amount' is -18, expected 0 to 1e+18");
    refused(right_tasks, ", \"amount\": 18", "", ":4: key 'amount' is missing");
    refused(right_tasks, "\"edges\": [", "\"edges\": [5, ", ":4: this is 5, expected a map");
    refused(right_tasks, "[[0, 1], [1, 0]]", "[[0, 1]]", ":5: 'link' has 1 rows, expected 2");
    refused(right_tasks, "[[0, 1], [1, 0]]", "[[0, 1], [1]]",
            ":5: 'link' has a list of 1 here, expected a list");
    refused(right_tasks, "[[0, 1], [1, 0]]", "[[0, 1], 3]",
            ":5: 'link' has 3 here, expected a list of 2");
    refused(right_tasks, "[[0, 1], [1, 0]]", "[[0, 1], [1, 4]]",
            "'link' from 'P2' to itself is 4, expected 0");
    refused(right_tasks, "[[0, 1], [1, 0]]", "[[0, -1], [1, 0]]",
            "link is -1, expected a number from 0");
    refused(right_tasks, "[[0, 2], [3, 0]]", "[[0, null], [3, 0]]",
            ":5: latency is null, expected a number from 0");
    refused(right_tasks, "[null, 1073741824]", "[null]", ":6: 'capacity' has a list of 1 here");
    refused(right_tasks, "[null, 1073741824]", "[null, true]",
            ":6: capacity is true, expected a number");
    refused(right_tasks, "\"block\"", "\"wait\"",
            ":6: 'transfer' is 'wait', expected overlap, contend, block or calls");
    CHECK_FAILS(parse("[1]", false, &p), "dir/some.json:1");
    CHECK_FAILS(
        parse("{\"schema\": \"weft.tasks/1\", \"devices\": [\"a\"], \"tasks\": []}", false, &p),
        "'tasks' is empty, expected at least one task");
    CHECK_FAILS(parse("{\"schema\": \"weft.tasks/1\", \"devices\": [\"a\"]}", false, &p),
                "key 'tasks' is missing");
}

/* --- dnn-partitioning ------------------------------------------------------------------------ */

/* 30 -> 10 -> 20 and 30 -> 20; two accelerators, no CPU given: one is there all the same. */
static const char right_msr[] =
    "{\"maxFPGAs\": 2, \"maxCPUs\": 0, \"maxSizePerFPGA\": 1000.0,\n"
    " \"nodes\": [\n"
    "  {\"id\": 20, \"name\": \"last\", \"supportedOnFpga\": 0, \"cpuLatency\": 8, \"colorClass\": "
    "-7},\n"
    "  {\"id\": 10, \"name\": \"mid\", \"supportedOnFpga\": true, \"cpuLatency\": 40,"
    " \"fpgaLatency\": 4, \"size\": 600},\n"
    "  {\"id\": 30, \"name\": \"mid\", \"supportedOnFpga\": 1, \"cpuLatency\": 20.5,"
    " \"fpgaLatency\": 2, \"colorClass\": -7, \"layerId\": 3}],\n"
    " \"edges\": [\n"
    "  {\"sourceId\": 30, \"destId\": 10, \"cost\": 5, \"size\": 1},\n"
    "  {\"sourceId\": 10, \"destId\": 20, \"cost\": 7},\n"
    "  {\"sourceId\": 30, \"destId\": 20, \"cost\": 5.0}]}\n";

TEST(a_dnn_partitioning_file)
{
    weft_problem *p = NULL;

    CHECK_OK(parse(right_msr, true, &p));
    weft_problem_check(p);
    CHECK_INT(p->n_devices, 3);
    CHECK_TEXT(p->device_name[1], "acc1");
    CHECK_TEXT(p->device_name[2], "cpu0");
    CHECK_TEXT(p->task_name[0], "mid (id 30)"); /* the second of its name */
    CHECK_TEXT(p->task_name[1], "mid");
    CHECK_TEXT(p->task_name[2], "last");
    CHECK_NEAR(weft_task_s(p, 0, 0), 2e-3);
    CHECK_NEAR(weft_task_s(p, 0, 2), 20.5e-3);
    CHECK(isinf(weft_task_s(p, 2, 1)));
    CHECK_NEAR(weft_task_s(p, 2, 2), 8e-3);
    CHECK_NEAR(p->capacity[1], 1000.0);
    CHECK(isinf(p->capacity[2]));
    check_ints(p->colocation, (int[]){0, -1, 0}, 3);
    CHECK_INT(p->n_tensors, 1 + 2); /* one weight, the outputs of two nodes */
    CHECK(p->is_weight[0]);
    CHECK_NEAR(p->memory[0], 600.0);
    CHECK_INT(p->producer[1], 1); /* outputs in order of the file: node 10, then node 30 */
    CHECK_NEAR(p->amount[2], 5e-3);
    CHECK_INT(p->reader_at[3] - p->reader_at[2], 2);
    CHECK_NEAR(weft_send_s(p, 2, 0, 1), 2 * 5e-3); /* out of one accelerator, into another */
    CHECK_NEAR(weft_send_s(p, 2, 0, 2), 5e-3);
    CHECK_NEAR(weft_send_s(p, 2, 2, 0), 5e-3);
    CHECK_INT(p->transfer, WEFT_BLOCK);
    weft_problem_free(p);
}

TEST(cpus_share_the_memory_of_the_host)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = NULL;

    CHECK_OK(parse(replaced(right_msr, "\"maxCPUs\": 0", "\"maxCPUs\": 3", a), true, &p));
    CHECK_INT(p->n_devices, 2 + 3);
    CHECK_NEAR(weft_send_s(p, 2, 3, 4), 0.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(wrong_dnn_partitioning_files_are_refused)
{
    weft_problem *p = NULL;

    refused(right_msr, "\"maxFPGAs\": 2, ", "", "dir/some.json:1: key 'maxFPGAs' is missing");
    refused(right_msr, "\"maxFPGAs\": 2", "\"maxFPGAs\": 513",
            ":1: 'maxFPGAs' is 513, expected 0 to 512");
    refused(right_msr, "\"maxCPUs\": 0", "\"maxCPUs\": -1", ":1: 'maxCPUs' is -1");
    refused(right_msr, "1000.0", "-1", ":1: 'maxSizePerFPGA' is -1");
    refused(right_msr, "\"id\": 10", "\"id\": 20", ":4: two nodes have the id 20");
    refused(right_msr, "\"id\": 10", "\"id\": 1.5", ":4: 'id' is 1.5, expected a whole number");
    refused(right_msr, "\"supportedOnFpga\": 0", "\"supportedOnFpga\": 2",
            ":3: 'supportedOnFpga' is 2, expected true or false");
    refused(right_msr, "\"supportedOnFpga\": 0, ", "", ":3: key 'supportedOnFpga' is missing");
    refused(right_msr, "\"cpuLatency\": 8", "\"cpuLatency\": -8", ":3: 'cpuLatency' is -8");
    refused(right_msr, "\"fpgaLatency\": 4, ", "", ":4: key 'fpgaLatency' is missing");
    refused(right_msr, "600", "\"big\"", ":4: 'size' is 'big', expected a number");
    refused(right_msr, "\"colorClass\": -7", "\"colorClass\": \"red\"",
            ":3: 'colorClass' is 'red'");
    refused(right_msr, "\"destId\": 10", "\"destId\": 11",
            ":7: 'destId' is 11, but there is no node with this id");
    refused(right_msr, "5.0", "5.5",
            ":9: 'cost' is 5.5, but another edge of node 'mid (id 30)' has 5");
    refused(right_msr, "\"destId\": 10", "\"destId\": 30", "'mid (id 30)' waits for itself");
    CHECK_FAILS(
        parse("{\"maxFPGAs\": 1, \"maxCPUs\": 1, \"maxSizePerFPGA\": 1, \"nodes\": []}", true, &p),
        "'nodes' is empty, expected at least one node");
    CHECK_FAILS(weft_problem_read(WEFT_TEST_DATA "/tasks/no_such_file.json", true,
                                  &(weft_constraints){.goal = WEFT_LATENCY}, &p),
                "no_such_file.json");
}

typedef struct workload {
    const char *file;
    int n_nodes, n_edges, n_devices;
    double accelerator_ms; /* everything on one accelerator, as published; 0: not known */
} workload;

TEST(the_public_workloads_read)
{
    static const workload list[] = {
        {"latency-inputs/LayerGraphs/bert24_inference.json",         32,   55,   5 + 8, 0      },
        {"latency-inputs/LayerGraphs/gnmt_inference.json",           96,   122,  6 + 8, 0      },
        {"latency-inputs/OperatorGraphs/bert_l-3_inference.json",    235,  250,  4 + 8, 0      },
        {"latency-inputs/OperatorGraphs/resnet50_inference.json",    604,  619,  9 + 8, 0      },
        {"throughput-inputs/LayerGraphs/bert24_inference.json",      32,   55,   6 + 1, 92.406 },
        {"throughput-inputs/LayerGraphs/bert24_training.json",       64,   110,  6 + 1, 217.813},
        {"throughput-inputs/LayerGraphs/gnmt_inference.json",        96,   122,  6 + 1, 182.563},
        {"throughput-inputs/LayerGraphs/gnmt_training.json",         192,  244,  6 + 1, 520.453},
        {"throughput-inputs/OperatorGraphs/bert_l-3_inference.json", 235,  250,  3 + 1, 49.353 },
        {"throughput-inputs/OperatorGraphs/bert_l-3_training.json",  600,  817,  3 + 1, 122.987},
        {"throughput-inputs/OperatorGraphs/resnet50_inference.json", 604,  619,  6 + 1, 325.132},
        {"throughput-inputs/OperatorGraphs/resnet50_training.json",  1243, 1806, 6 + 1, 684.891},
    };
    static const char folder[] = WEFT_SHARED "/data/dnn-partitioning";

    if (access(folder, R_OK) != 0) {
        print_message("SKIPPED: the public workloads are not in %s\n", folder);
        skip();
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = NULL;
        double sum_s = 0;

        CHECK_OK(weft_problem_read(weft_arena_print(a, "%s/%s", folder, list[i].file), true,
                                   &(weft_constraints){.goal = WEFT_THROUGHPUT}, &p));
        weft_problem_check(p);
        CHECK_INT(p->n_tasks, list[i].n_nodes);
        CHECK_INT(p->pred_at[p->n_tasks], list[i].n_edges);
        CHECK_INT(p->n_devices, list[i].n_devices);
        for (int u = 0; u < p->n_tasks; u++)
            sum_s += weft_task_s(p, u, 0);
        if (list[i].accelerator_ms > 0) /* printed with three digits */
            CHECK(fabs(sum_s * 1e3 - list[i].accelerator_ms) <= 0.0005 + 1e-9);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_file_with_everything),
        cmocka_unit_test(a_task_file_may_be_yaml_and_is_named_by_its_file),
        cmocka_unit_test(wrong_tasks_and_devices_are_refused_with_file_and_line),
        cmocka_unit_test(wrong_edges_and_links_are_refused_with_file_and_line),
        cmocka_unit_test(a_dnn_partitioning_file),
        cmocka_unit_test(cpus_share_the_memory_of_the_host),
        cmocka_unit_test(wrong_dnn_partitioning_files_are_refused),
        cmocka_unit_test(the_public_workloads_read),
    };

    return RUN_TESTS(tests);
}
