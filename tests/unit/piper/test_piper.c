/* SPDX-License-Identifier: MIT */
/* Piper's inputs: reading, measuring, and plans whose arithmetic fits on a line. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "piper.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* --- a chain of two nodes -------------------------------------------------------------------- */

/* a (10 s, or 16 s with recomputation) -> b (6 s); 100 bytes between them, 10 bytes per second. */
static const char pair_text[] =
    "{\"maxDevices\": 2, \"maxMemoryPerDevice\": 1000, \"bandwidth\": 10, \"mbsInBatch\": 4,"
    " \"nodes\": [{\"id\": 7, \"name\": \"b\", \"TMPCs\": {\"1\": [{\"id\": \"vanilla\","
    "   \"timePerSample\": 6, \"parameterSize\": 20, \"memoryUsageA\": 30, \"memoryUsageB\": 40,"
    "   \"syncTimeFw\": {\"3\": 5}, \"syncTimeBw\": {}}]}},"
    " {\"id\": 3, \"name\": \"a\", \"TMPCs\": {\"1\": [{\"id\": \"vanilla\","
    "   \"timePerSample\": 10, \"parameterSize\": 0, \"memoryUsageA\": 100, \"memoryUsageB\": 7.5,"
    "   \"syncTimeFw\": {}, \"syncTimeBw\": {\"7\": 0}}, {\"id\": \"activation recomp\","
    "   \"timePerSample\": 16, \"parameterSize\": 0, \"memoryUsageA\": 10, \"memoryUsageB\": 60,"
    "   \"syncTimeFw\": {}, \"syncTimeBw\": {\"7\": 0}}]}}],"
    " \"edges\": [{\"sourceId\": 3, \"destId\": 7, \"communicationCost\": 100}]}";

static weft_piper *pair_with(weft_piper_limits limits)
{
    weft_piper *p = NULL;

    CHECK_OK(weft_piper_parse(pair_text, sizeof pair_text - 1, "pair.json", &limits, &p));
    return p;
}

static weft_piper_solution solved(const weft_piper *p, weft_arena *a)
{
    weft_piper_options options;
    weft_piper_solution s;
    weft_run run = {.limit_s = INFINITY};

    weft_options_default(weft_piper_table, &options);
    CHECK_OK(weft_piper_solve(p, &options, &run, a, &s));
    return s;
}

TEST(nodes_are_in_topological_order)
{
    weft_piper *p = pair_with((weft_piper_limits){0});

    CHECK_INT(p->n_nodes, 2);
    CHECK_TEXT(p->name[0], "a");
    CHECK_INT(p->id[1], 7);
    CHECK_INT(p->n_widths, 1);
    CHECK_INT(p->mode_at[1], 2);
    CHECK_TEXT(p->mode[1].name, "activation recomp");
    CHECK(p->mode[0].state_bytes == 8); /* 7.5, rounded up */
    CHECK(p->mode[2].enter_bytes[0] == 5);
    CHECK_INT(p->n_microbatches, 4);
    weft_piper_free(p);
}

TEST(a_stage_is_measured_as_published)
{
    weft_piper *p = pair_with((weft_piper_limits){.n_devices = 3});
    weft_arena *a = weft_arena_new();
    weft_piper_plan plan = {
        2, (int[]){2, 1},
         (int[]){0, 0},
         (int[]){0, 1},
         (int[]){1, 2}
    };
    weft_piper_measures m;

    CHECK_OK(weft_piper_measure(p, &plan, a, &m));
    /* two replicas of a: 2 * 100 bytes leave it; ceil(3 / 2) microbatches in flight */
    CHECK_NEAR(m.stage_s[0], 200.0 / 2 / 10 + 16.0 / 2);
    CHECK(m.stage_bytes[0] == 10 * 2 + 60);
    /* 2 * (100 + 5) bytes enter b, one replica, one microbatch */
    CHECK_NEAR(m.stage_s[1], 210.0 / 10 + 6);
    CHECK(m.stage_bytes[1] == 30 + 40);
    CHECK_NEAR(m.value_s, 27.0);
    CHECK_INT(m.slowest, 1);
    CHECK_INT(m.n_devices, 3);
    weft_arena_free(a);
    weft_piper_free(p);
}

TEST(a_plan_that_breaks_a_rule_is_refused)
{
    weft_piper *p = pair_with((weft_piper_limits){.n_devices = 3, .memory_bytes = 100});
    weft_arena *a = weft_arena_new();
    weft_piper_measures m;
    weft_piper_plan back = {
        2, (int[]){1, 1},
         (int[]){0, 0},
         (int[]){1, 0},
         (int[]){1, 2}
    };
    weft_piper_plan many = {
        2, (int[]){2, 2},
         (int[]){0, 0},
         (int[]){0, 1},
         (int[]){1, 2}
    };
    weft_piper_plan odd = {
        1, (int[]){3},
         (int[]){ 0},
         (int[]){ 0, 0},
         (int[]){ 1, 2}
    };
    weft_piper_plan full = {
        2, (int[]){1, 1},
         (int[]){0, 0},
         (int[]){0, 1},
         (int[]){0, 2}
    };
    weft_piper_plan mode = {
        2, (int[]){1, 1},
         (int[]){0, 0},
         (int[]){0, 1},
         (int[]){2, 2}
    };

    CHECK_FAILS(weft_piper_measure(p, &back, a, &m), "'a' is in a later stage than its reader 'b'");
    CHECK_FAILS(weft_piper_measure(p, &many, a, &m), "takes 4 devices, there are 3");
    CHECK_FAILS(weft_piper_measure(p, &odd, a, &m), "3 replicas do not divide 4 microbatches");
    CHECK_FAILS(weft_piper_measure(p, &full, a, &m), "stage 0 needs 208 bytes, a device has 100");
    CHECK_FAILS(weft_piper_measure(p, &mode, a, &m), "'a' has no such mode at tensor width 1");
    weft_arena_free(a);
    weft_piper_free(p);
}

TEST(memory_decides_between_replicas_and_recomputation)
{
    weft_arena *a = weft_arena_new();
    weft_piper *p = pair_with((weft_piper_limits){0});
    weft_piper_solution s = solved(p, a);

    /* one stage, two replicas: 4 * 20 / 2 / 4 bytes of gradients */
    CHECK_INT(s.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(s.value_s, 10.0 / 10 + 16.0 / 2);
    CHECK_INT(s.plan.n_stages, 1);
    weft_piper_free(p);
    p = pair_with((weft_piper_limits){.memory_bytes = 177}); /* 178 without recomputation */
    s = solved(p, a);
    CHECK_INT(s.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(s.value_s, 10.0 / 10 + 22.0 / 2);
    CHECK_INT(s.plan.mode[0], 1);
    weft_piper_free(p);
    p = pair_with((weft_piper_limits){.memory_bytes = 100}); /* 140 for both: two stages */
    s = solved(p, a);
    CHECK_INT(s.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(s.value_s, 200.0 / 10 + 16); /* a recomputes: two microbatches in flight, 80 bytes */
    CHECK_INT(s.plan.n_stages, 2);
    weft_piper_free(p);
    weft_arena_free(a);
}

TEST(without_a_plan_there_is_a_reason)
{
    weft_arena *a = weft_arena_new();
    weft_piper *p = pair_with((weft_piper_limits){.memory_bytes = 69});
    weft_piper_solution s = solved(p, a);

    CHECK_INT(s.outcome, WEFT_INFEASIBLE);
    CHECK_TEXT(s.reason, "node 'a' alone needs 70 bytes on a device, 1 more than there are");
    weft_piper_free(p);
    p = pair_with((weft_piper_limits){.memory_bytes = 79}); /* a before b takes 80 */
    s = solved(p, a);
    CHECK_INT(s.outcome, WEFT_INFEASIBLE);
    CHECK_TEXT(s.reason, "no pipeline on at most 2 devices keeps every stage within 79 bytes of "
                         "memory a device");
    CHECK_INT(s.plan.n_stages, 0);
    weft_piper_free(p);
    weft_arena_free(a);
}

static weft_piper_needs needs_of(const weft_piper *p, double limit_s)
{
    weft_piper_options options;
    weft_piper_needs needs;
    weft_run run = {.limit_s = limit_s, .begin_s = weft_wall_s()};

    weft_options_default(weft_piper_table, &options);
    CHECK_OK(weft_piper_need(p, &options, &run, &needs));
    return needs;
}

TEST(what_would_do_is_the_least_that_does)
{
    weft_piper *p = pair_with((weft_piper_limits){.n_devices = 1, .memory_bytes = 100});
    weft_piper_needs needs = needs_of(p, INFINITY);

    /* both on one device: 10 + 60 and 30 + 40; on two: 10 * 2 + 60, which fits */
    CHECK(needs.memory_bytes == 140);
    CHECK(needs.is_least);
    CHECK_INT(needs.n_devices, 2);
    CHECK(needs.is_fewest);
    weft_piper_free(p);
    p = pair_with((weft_piper_limits){.memory_bytes = 69}); /* a alone takes 70 */
    needs = needs_of(p, INFINITY);
    CHECK_INT(needs.n_devices, 0);
    CHECK(needs.memory_bytes == 80);
    weft_piper_free(p);
}

TEST(what_would_do_is_not_known_without_time)
{
    weft_piper *p = pair_with((weft_piper_limits){.n_devices = 1, .memory_bytes = 100});
    weft_piper_needs needs = needs_of(p, 0);

    CHECK(needs.memory_bytes == 0 && needs.n_devices == 0);
    CHECK(!needs.is_least && !needs.is_fewest);
    weft_piper_free(p);
}

/* One less is proved to be too little, on files of more than a few nodes. */
TEST(what_would_do_agrees_with_the_planner)
{
    static const struct {
        const char *file;
        weft_piper_limits limits;
    } list[] = {
        {"layers",   {.memory_bytes = 200e6}               },
        {"layers",   {.n_devices = 1}                      },
        {"branches", {.n_devices = 2, .memory_bytes = 400} },
        {"branches", {.n_devices = 1, .memory_bytes = 1000}},
    };
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char path[4096];
        weft_piper *p = NULL;

        snprintf(path, sizeof path, WEFT_TEST_DATA "/piper/%s.json", list[i].file);
        CHECK_OK(weft_piper_read(path, &list[i].limits, &p));
        CHECK_INT(solved(p, a).outcome, WEFT_INFEASIBLE);
        weft_piper_needs needs = needs_of(p, INFINITY);
        CHECK(needs.is_least && needs.is_fewest && needs.memory_bytes > 0);
        for (int less = 0; less < 2; less++) {
            weft_piper changed = *p;

            changed.memory_bytes = needs.memory_bytes - less;
            CHECK_INT(solved(&changed, a).outcome, less ? WEFT_INFEASIBLE : WEFT_OPTIMAL);
            if (needs.n_devices == 0)
                continue;
            changed = *p;
            changed.n_devices = needs.n_devices - less;
            CHECK_INT(solved(&changed, a).outcome, less ? WEFT_INFEASIBLE : WEFT_OPTIMAL);
        }
        weft_piper_free(p);
    }
    weft_arena_free(a);
}

TEST(a_network_with_too_many_cuts_is_refused)
{
    weft_arena *a = weft_arena_new();
    weft_piper *p = pair_with((weft_piper_limits){0});
    weft_piper_options options = {.max_cuts = 2, .max_points = 10};
    weft_piper_solution s;
    weft_run run = {.limit_s = INFINITY};

    CHECK_FAILS(weft_piper_solve(p, &options, &run, a, &s),
                "cut in more than 2 ways (--max-cuts raises");
    weft_piper_free(p);
    weft_arena_free(a);
}

TEST(no_time_is_no_plan_and_no_proof)
{
    weft_arena *a = weft_arena_new();
    weft_piper *p = pair_with((weft_piper_limits){0});
    weft_piper_options options = {.max_cuts = 100, .max_points = 10};
    weft_piper_solution s;
    weft_run run = {.limit_s = 0};

    CHECK_OK(weft_piper_solve(p, &options, &run, a, &s));
    CHECK_INT(s.outcome, WEFT_UNKNOWN);
    CHECK(s.reason != NULL);
    CHECK(s.bound_s <= 8); /* (10 + 6) / 2 devices */
    weft_piper_free(p);
    weft_arena_free(a);
}

/* --- wrong files ----------------------------------------------------------------------------- */

/* pair_text with the first `from` replaced is refused with this message. */
static void refused(const char *from, const char *to, const char *message)
{
    const char *at = strstr(pair_text, from);
    char text[2 * sizeof pair_text];
    weft_piper *p = NULL;

    CHECK(at != NULL);
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - pair_text), pair_text, to,
                     at + strlen(from));
    CHECK_FAILS(weft_piper_parse(text, (size_t)n, "pair.json", NULL, &p), message);
}

TEST(wrong_files_are_refused_with_the_place)
{
    refused("\"maxDevices\": 2", "\"maxDevices\": 0",
            "pair.json:1: 'maxDevices' is 0, expected 1 to 1000000");
    refused("\"bandwidth\": 10, ", "", "bandwidth");
    refused("\"id\": 3", "\"id\": 7", "two nodes have id 7");
    refused("\"sourceId\": 3", "\"sourceId\": 4", "sourceId is 4, but no node has this id");
    refused("\"sourceId\": 3", "\"sourceId\": 7", "the edges form a cycle");
    refused("{\"3\": 5}", "{\"4\": 5}", "syncTimeFw has no entry for node 3");
    refused("{\"3\": 5}", "{\"3\": -5}", "'3' is -5, expected");
    refused("\"timePerSample\": 10", "\"timePerSample\": -1", "timePerSample");
    refused("\"memoryUsageA\": 100", "\"memoryUsageA\": 1e16", "'memoryUsageA' is 1e16, expected");
    refused("{\"1\": [", "{\"x\": [", "tensor width 'x' is no whole number from 1");
    refused("{\"1\": [", "{\"01\": [", "tensor width '01' is no whole number from 1");
    refused("\"nodes\": [", "\"nodes\": [3, ", "a node is a whole number, must be a map");
}

TEST(wrong_limits_are_refused)
{
    weft_piper *p = NULL;
    size_t n = sizeof pair_text - 1;

    CHECK_FAILS(weft_piper_parse(pair_text, n, "f", &(weft_piper_limits){.n_devices = -1}, &p),
                "-1 devices");
    CHECK_FAILS(weft_piper_parse(pair_text, n, "f", &(weft_piper_limits){.n_microbatches = -1}, &p),
                "-1 microbatches");
    CHECK_FAILS(weft_piper_parse(pair_text, n, "f", &(weft_piper_limits){.memory_bytes = NAN}, &p),
                "bytes of memory");
    CHECK_FAILS(weft_piper_parse(pair_text, n, "f",
                                 &(weft_piper_limits){.bandwidth_bytes_per_s = INFINITY}, &p),
                "bandwidth");
}

/* --- the public instances -------------------------------------------------------------------- */

static const double gib = 1024.0 * 1024 * 1024;

typedef struct known {
    const char *file;
    int n_devices, n_microbatches;
    double memory_gib, bandwidth_gib_per_s; /* 0: as in the file */
    double piper_s;                         /* its value; 0: not known */
    double piper_cpu_s;
} known;

static void check_known(const known *k)
{
    char path[4096];
    weft_arena *a = weft_arena_new();
    weft_piper *p = NULL;
    weft_piper_limits limits = {k->n_devices, k->n_microbatches, k->memory_gib * gib,
                                k->bandwidth_gib_per_s * gib};

    snprintf(path, sizeof path, WEFT_SHARED "/data/piper/%s.json", k->file);
    CHECK_OK(weft_piper_read(path, &limits, &p));
    clock_t begin = clock();
    weft_piper_solution s = solved(p, a);
    print_message("%-10s %3d devices: %.9g s per sample (Piper %.9g), %d stages, CPU %.3f s "
                  "(Piper %g)\n",
                  k->file, k->n_devices, s.value_s, k->piper_s, s.plan.n_stages,
                  (double)(clock() - begin) / CLOCKS_PER_SEC, k->piper_cpu_s);
    CHECK_INT(s.outcome, WEFT_OPTIMAL);
    CHECK(s.bound_s >= s.value_s * (1 - 2e-9));
    if (k->piper_s > 0)
        CHECK(s.value_s <= k->piper_s * (1 + 1e-6));
    weft_piper_free(p);
    weft_arena_free(a);
}

TEST(public_instances_are_at_least_as_good_as_published)
{
    static const known list[] = {
        {"bert32a100", 10,  0,    0,   0,  0.09772736, 0.09},
        {"bert32a100", 8,   1920, 8,   25, 0.16585575, 0.08},
        {"bert32a100", 32,  1920, 8,   25, 0.04151545, 0.21},
        {"bert32a100", 64,  1920, 8,   25, 0.02020055, 0.27},
        {"bert32a100", 64,  1920, 2,   25, 0.03203008, 0.22},
        {"bert32a100", 128, 1920, 8,   25, 0.01012088, 0.55},
        {"bert32a100", 512, 1920, 8,   25, 0.00256113, 3.31},
        {"gnmt",       2,   256,  3.5, 25, 260.226823, 237 },
        {"gnmt",       10,  0,    0,   0,  0,          0   },
    };

    if (access(WEFT_SHARED "/data/piper", R_OK) != 0) {
        print_message("SKIPPED: the public inputs are not in %s\n", WEFT_SHARED "/data/piper");
        skip();
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        check_known(&list[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_in_topological_order),
        cmocka_unit_test(a_stage_is_measured_as_published),
        cmocka_unit_test(a_plan_that_breaks_a_rule_is_refused),
        cmocka_unit_test(memory_decides_between_replicas_and_recomputation),
        cmocka_unit_test(without_a_plan_there_is_a_reason),
        cmocka_unit_test(what_would_do_is_the_least_that_does),
        cmocka_unit_test(what_would_do_is_not_known_without_time),
        cmocka_unit_test(what_would_do_agrees_with_the_planner),
        cmocka_unit_test(a_network_with_too_many_cuts_is_refused),
        cmocka_unit_test(no_time_is_no_plan_and_no_proof),
        cmocka_unit_test(wrong_files_are_refused_with_the_place),
        cmocka_unit_test(wrong_limits_are_refused),
        cmocka_unit_test(public_instances_are_at_least_as_good_as_published),
    };

    return RUN_TESTS(tests);
}
