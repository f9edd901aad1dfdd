/* SPDX-License-Identifier: MIT */
/* test_taskgraphs.c: task graphs of other projects, by hand. */
#include "check.h"
#include "invariants.h"
#include "taskgraph.h"

#include "fixtures.h"

static const weft_task_machines two = {
    .n_processors = 2, .bytes_per_s = 1e6, .communication_s = 0.5};
static const weft_task_machines two_plain = {.n_processors = 2};

static weft_problem *read_file(const char *file, const weft_task_machines *m)
{
    weft_arena *a = weft_arena_new();
    const char *path = weft_arena_print(a, WEFT_TEST_DATA "/instances/%s", file);
    const char *format = weft_taskgraph_format(path, NULL);
    const weft_doc *doc = NULL;
    weft_problem *p = NULL;

    if (format != NULL) {
        CHECK_OK(weft_taskgraph_read(path, format, m, a, &doc));
    } else {
        CHECK_OK(weft_doc_read(path, a, &doc));
        CHECK(weft_taskgraph_is_workflow(doc));
        CHECK_OK(weft_taskgraph_of_workflow(doc, m, a, &doc));
    }
    CHECK_OK(weft_problem_parse(doc, false, &(weft_constraints){.goal = WEFT_LATENCY}, &p));
    weft_problem_check(p);
    weft_arena_free(a);
    return p;
}

static weft_status parse(const char *text, const char *format, const weft_task_machines *m)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *doc = NULL;
    weft_problem *p = NULL;
    weft_status status = weft_taskgraph_parse(text, strlen(text), "some", format, m, a, &doc);

    if (status == WEFT_OK)
        status = weft_problem_parse(doc, false, &(weft_constraints){.goal = WEFT_LATENCY}, &p);
    weft_problem_free(p);
    weft_arena_free(a);
    return status;
}

static int task(const weft_problem *p, const char *name)
{
    for (int u = 0; u < p->n_tasks; u++)
        if (strcmp(p->task_name[u], name) == 0)
            return u;
    return -1;
}

/* Seconds from one processor to another of the only tensor between two tasks. */
static double send_s(const weft_problem *p, const char *from, const char *to)
{
    double seconds = -1;
    int n = 0;

    for (int t = 0; t < p->n_tensors; t++)
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
            if (p->producer[t] == task(p, from) && p->reader[i] == task(p, to)) {
                seconds = weft_send_s(p, t, 0, 1);
                n++;
            }
    CHECK_INT(n, 1);
    return seconds;
}

/* --- STG ------------------------------------------------------------------------------------- */

TEST(stg_without_costs)
{
    weft_problem *p = read_file("ten.stg", &two_plain);

    CHECK_INT(p->n_tasks, 12); /* with begin and end */
    CHECK_INT(p->n_devices, 2);
    CHECK_NEAR(weft_task_s(p, task(p, "t7"), 1), 20);
    CHECK_INT(p->pred_at[p->n_tasks], 15); /* 13 edges, 2 of begin and end */
    CHECK_NEAR(send_s(p, "t6", "t9"), 0);
    weft_problem_free(p);
    p = read_file("ten.stg", &(weft_task_machines){.n_processors = 3, .communication_s = 2});
    CHECK_NEAR(send_s(p, "t6", "t9"), 2);
    weft_problem_free(p);
}

TEST(stg_with_costs_and_the_processors_of_the_file)
{
    static const weft_task_machines nothing = {0};
    weft_problem *p = read_file("costs.stg", &nothing);

    CHECK_INT(p->n_devices, 2);
    CHECK_NEAR(send_s(p, "t0", "t1"), 0);
    CHECK_NEAR(send_s(p, "t1", "t2"), 5);
    weft_problem_free(p);
    p = read_file("pairs.stg", &two_plain);
    CHECK_NEAR(send_s(p, "t1", "t2"), 3);
    weft_problem_free(p);
    p = read_file("prototype.stg", &nothing);
    CHECK_INT(p->n_tasks, 4);
    CHECK_INT(p->n_devices, 2);
    CHECK_NEAR(weft_task_s(p, task(p, "t2"), 0), 20);
    weft_problem_free(p);
}

TEST(speeds_divide_times)
{
    static const double speed[] = {1, 4};
    weft_problem *p = read_file("pairs.stg", &(weft_task_machines){.n_speeds = 2, .speed = speed});

    CHECK_NEAR(weft_task_s(p, task(p, "t2"), 0), 6);
    CHECK_NEAR(weft_task_s(p, task(p, "t2"), 1), 1.5);
    weft_problem_free(p);
}

TEST(wrong_stg_is_refused_with_file_and_line)
{
    CHECK_FAILS(parse("", "stg", &two_plain), "found 0 numbers");
    CHECK_FAILS(parse("2\n1 4 0\n2 x 0\n", "stg", &two_plain), "some:3: 'x' is no number");
    CHECK_FAILS(parse("2\n1 4 0\n2 -4 0\n", "stg", &two_plain), "some:3: '-4' is no number");
    CHECK_FAILS(parse("2\n1 4 0\n2 0x4 0\n", "stg", &two_plain), "some:3: '0x4' is no number");
    CHECK_FAILS(parse("2\n1 4 0\n2 4 2 1\n", "stg", &two_plain),
                "some:3: task 2 has 2 predecessors, expected as many numbers behind");
    CHECK_FAILS(parse("2\n1 4 0\n2 4 1 3\n", "stg", &two_plain),
                "some:3: task 2 waits for 3, which is no task");
    CHECK_FAILS(parse("2\n1 4 0\n1 4 0\n", "stg", &two_plain), "some:3: task 't1' is there twice");
    CHECK_FAILS(parse("9\n1 4 0\n", "stg", &two_plain), "some: the first line says 9 tasks");
    CHECK_FAILS(parse("2\n1 4 1 2\n2 4 1 1\n", "stg", &two_plain), "cycle");
    CHECK_FAILS(parse("2\n1 4 0\n2 4 1 2\n", "stg", &two_plain), "task 2 waits for itself");
    CHECK_FAILS(parse("1\n1 4 0\n", "stg", &(weft_task_machines){0}), "names no machines");
    CHECK_FAILS(parse("1\n1 4 0\n", "stg", &two), "leave --bandwidth out");
}

/* --- DOT ------------------------------------------------------------------------------------- */

TEST(dot_with_blocks_defaults_and_units)
{
    weft_problem *p = read_file("blocks.dot", &two);

    CHECK_TEXT(p->name, "my graph");
    CHECK_INT(p->n_tasks, 6);
    CHECK_NEAR(weft_task_s(p, task(p, "a"), 0), 3e-3);
    CHECK_NEAR(weft_task_s(p, task(p, "b"), 0), 2); /* what nodes usually have */
    CHECK_NEAR(weft_task_s(p, task(p, "c"), 0), 4);
    CHECK_NEAR(weft_task_s(p, task(p, "e"), 0), 1); /* within its block */
    CHECK_NEAR(send_s(p, "a", "b"), 0.5 + 4);
    CHECK_NEAR(send_s(p, "b", "d"), 0.5 + 4);
    CHECK_NEAR(send_s(p, "a", "c"), 0.5 + 1);
    CHECK_NEAR(send_s(p, "c", "d"), 0.5);
    weft_problem_free(p);
}

TEST(wrong_dot_is_refused_with_file_and_line)
{
    CHECK_FAILS(parse("graph { a -- b }", "dot", &two), "some:1: 'graph' has no directions");
    CHECK_FAILS(parse("digraph {\n a [time=1]; b\n}", "dot", &two), "some:2: node 'b' has no time");
    CHECK_FAILS(parse("digraph { a [time=1, weight=2] }", "dot", &two), "'time' and 'weight'");
    CHECK_FAILS(parse("digraph { a [time=\"1 parsec\"] }", "dot", &two), "'time' is '1 parsec'");
    CHECK_FAILS(parse("digraph { a [time=-1] }", "dot", &two), "'time' is '-1'");
    CHECK_FAILS(parse("digraph {\n a [time=1]\n a -> a }", "dot", &two),
                "some:3: node 'a' has an edge to itself");
    CHECK_FAILS(parse("digraph { node [time=1] a -> { b c } }", "dot", &two), "whole block");
    CHECK_FAILS(parse("digraph { a [time=1", "dot", &two), "the file ends");
    CHECK_FAILS(parse("digraph {\n\"a", "dot", &two), "some:2: these quotes do not end");
    CHECK_FAILS(parse("digraph { node [time=1] a -> b -> a }", "dot", &two), "cycle");
    CHECK_FAILS(parse("digraph { node [time=1] a -> b [bytes=5] }", "dot", &two_plain),
                "some has edges with bytes: add --bandwidth");
}

/* --- WfCommons ------------------------------------------------------------------------------- */

TEST(wfcommons_of_both_versions)
{
    weft_problem *p = read_file("workflow_15.json", &two);

    CHECK_TEXT(p->name, "blast");
    CHECK_INT(p->n_tasks, 4);
    CHECK_NEAR(weft_task_s(p, task(p, "s1"), 1), 1.5);
    CHECK_INT(p->n_tensors, 3); /* what s1 writes is one for both readers */
    CHECK_NEAR(send_s(p, "s1", "b2"), 0.5 + 1);
    CHECK_NEAR(send_s(p, "b1", "c"), 0.5 + 5e-6);
    CHECK_NEAR(send_s(p, "b2", "c"), 0.5); /* waits, but reads nothing of it */
    weft_problem_free(p);
    p = read_file("workflow_14.json", &two);
    CHECK_INT(p->n_tasks, 3);
    CHECK_INT(p->n_tensors, 1);
    CHECK_NEAR(send_s(p, "ID1", "ID3"), 0.5 + 2);
    weft_problem_free(p);
}

TEST(wrong_workflows_are_refused_with_file_and_line)
{
    CHECK_FAILS(parse("{\"workflow\": {}}", "wfcommons", &two), "key 'tasks' is missing");
    CHECK_FAILS(parse("{\"workflow\": {\"specification\": {\"tasks\": []}}}", "wfcommons", &two),
                "key 'execution' is missing");
    CHECK_FAILS(parse("{\"workflow\": {\"tasks\": [\n{\"name\": \"a\", \"runtime\": 1,\n"
                      "\"parents\": [\"x\"]}]}}",
                      "wfcommons", &two),
                "some:3: 'x' is the id of no task");
    CHECK_FAILS(parse("{\"workflow\": {\"tasks\": [\n{\"name\": \"a\", \"runtime\": -1}]}}",
                      "wfcommons", &two),
                "some:2: 'runtime' is -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stg_without_costs),
        cmocka_unit_test(stg_with_costs_and_the_processors_of_the_file),
        cmocka_unit_test(speeds_divide_times),
        cmocka_unit_test(wrong_stg_is_refused_with_file_and_line),
        cmocka_unit_test(dot_with_blocks_defaults_and_units),
        cmocka_unit_test(wrong_dot_is_refused_with_file_and_line),
        cmocka_unit_test(wfcommons_of_both_versions),
        cmocka_unit_test(wrong_workflows_are_refused_with_file_and_line),
    };

    return RUN_TESTS(tests);
}
