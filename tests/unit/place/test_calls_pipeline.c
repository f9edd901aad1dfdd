/* SPDX-License-Identifier: MIT */
/* Periods under calls: small cases by hand, loads move by move, and the public workloads. */
#define _POSIX_C_SOURCE 200809L
#include "calls.h"
#include "calls_stream.h"
#include "check.h"

#include <unistd.h>

/* --- fixtures -------------------------------------------------------------------------------- */

/* A workload of two accelerators and a slow CPU, 1000 times as slow; times in ms. Nodes: "id time
 * colour backward", colour -1: none; edges: "from to cost". */
typedef struct node {
    int id;
    double time_ms;
    int colocation;
    bool is_backward;
} node;

typedef struct edge {
    int from, to;
    double cost_ms;
} edge;

static weft_problem *workload(const node *nodes, int n_nodes, const edge *edges, int n_edges,
                              bool is_contiguous)
{
    weft_arena *a = weft_arena_new();
    weft_constraints constraints = {
        .goal = WEFT_THROUGHPUT, .is_calls = true, .is_contiguous = is_contiguous};
    const char *text = "{\"maxFPGAs\": 2, \"maxCPUs\": 1, \"maxSizePerFPGA\": 10, \"nodes\": [";
    const weft_doc *doc = NULL;
    weft_problem *p = NULL;

    for (int i = 0; i < n_nodes; i++)
        text = weft_arena_print(
            a,
            "%s%s{\"id\": %d, \"cpuLatency\": %g, \"fpgaLatency\": %g, \"supportedOnFpga\": true, "
            "\"isBackwardNode\": %s, \"colorClass\": %s}",
            text, i > 0 ? "," : "", nodes[i].id, nodes[i].time_ms * 1000, nodes[i].time_ms,
            nodes[i].is_backward ? "true" : "false",
            nodes[i].colocation < 0 ? "null" : weft_arena_print(a, "%d", nodes[i].colocation));
    text = weft_arena_print(a, "%s], \"edges\": [", text);
    for (int i = 0; i < n_edges; i++)
        text = weft_arena_print(a, "%s%s{\"sourceId\": %d, \"destId\": %d, \"cost\": %g}", text,
                                i > 0 ? "," : "", edges[i].from, edges[i].to, edges[i].cost_ms);
    text = weft_arena_print(a, "%s]}", text);
    CHECK_OK(weft_doc_parse(text, strlen(text), "workload", a, &doc));
    CHECK_OK(weft_problem_parse(doc, true, &constraints, &p));
    weft_arena_free(a);
    return p;
}

#define WORKLOAD(nodes, edges, is_contiguous)                                                      \
    workload(nodes, (int)(sizeof(nodes) / sizeof *(nodes)), edges,                                 \
             (int)(sizeof(edges) / sizeof *(edges)), is_contiguous)

/* What solver `calls` says; steps 0: as many as it likes. */
static weft_solution solved(const weft_problem *p, int64_t steps, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    weft_run run = {
        .seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = steps, .scratch = scratch};
    weft_solution s;

    CHECK_OK(weft_solve(weft_place_find("calls"), p, NULL, &run, NULL, a, &s));
    weft_arena_free(scratch);
    return s;
}

/* Solves and frees; the period in ms, which must be proved if `is_proved`. */
static double period_ms(weft_problem *p, bool is_proved)
{
    weft_arena *a = weft_arena_new();
    weft_solution s = solved(p, 0, a);
    double value_s = s.proof.value;

    if (is_proved)
        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    weft_arena_free(a);
    weft_problem_free(p);
    return value_s * 1e3;
}

/* --- by hand --------------------------------------------------------------------------------- */

TEST(a_transfer_is_paid_on_both_sides)
{
    static const node nodes[] = {
        {0, 4, -1, false},
        {1, 4, -1, false}
    };
    static const edge cheap[] =
        {
            {0, 1, 1}
    },
                      dear[] = {{0, 1, 5}};

    CHECK_NEAR(period_ms(WORKLOAD(nodes, cheap, true), true), 4 + 1.0);
    CHECK_NEAR(period_ms(WORKLOAD(nodes, cheap, false), false), 4 + 1.0);
    CHECK_NEAR(period_ms(WORKLOAD(nodes, dear, true), true), 4 + 4.0); /* together: 8 < 9 */
    CHECK_NEAR(period_ms(WORKLOAD(nodes, dear, false), true), 4 + 4.0);
}

/* The output of node 0 is read twice elsewhere, and paid once on each side. */
TEST(an_output_is_sent_once)
{
    static const node nodes[] = {
        {0, 6, -1, false},
        {1, 3, 1,  false},
        {2, 3, 1,  false}
    };
    static const edge edges[] = {
        {0, 1, 1},
        {0, 2, 1}
    };

    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, true), true), 6 + 1.0);
}

/* The middle alone needs its neighbours to share a device, which is no pipeline. */
TEST(pipelines_cost_more_than_free_placements)
{
    static const node nodes[] = {
        {0, 3, -1, false},
        {1, 6, -1, false},
        {2, 3, -1, false}
    };
    static const edge edges[] = {
        {0, 1, 0.5},
        {1, 2, 0.5}
    };

    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, true), true), 3 + 6 + 0.5);
    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, false), false), 6 + 0.5 + 0.5);
}

/* Backward tasks follow their colours, against the order of the stages. */
TEST(backward_tasks_follow_their_colocations)
{
    static const node nodes[] = {
        {0, 2, 0, false},
        {1, 2, 1, false},
        {2, 4, 1, true },
        {3, 4, 0, true }
    };
    static const edge edges[] = {
        {0, 1, 1},
        {1, 2, 1},
        {2, 3, 1}
    };

    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, true), true), 2 + 4 + 1 + 1.0);
}

/* Backward tasks without partner may be anywhere: node 0 keeps a device for itself. */
TEST(backward_tasks_without_partner_are_free)
{
    static const node nodes[] = {
        {0, 8, -1, false},
        {1, 2, -1, false},
        {2, 4, -1, true },
        {3, 2, -1, true }
    };
    static const edge edges[] = {
        {0, 1, 0},
        {1, 2, 0},
        {2, 3, 0}
    };

    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, true), true), 2 + 4 + 2.0); /* 8 and 8 */
}

/* Nodes 1 and 2 do nothing and share a device; both read node 0. Counted twice, its output would
 * seem dearer than theirs and keep them with node 0: 10 + 3. */
TEST(a_tensor_that_a_block_reads_twice_counts_once)
{
    static const node nodes[] = {
        {0, 10, -1, false},
        {1, 0,  1,  false},
        {2, 0,  1,  false},
        {3, 10, -1, false}
    };
    static const edge edges[] = {
        {0, 1, 2},
        {0, 2, 2},
        {1, 3, 3}
    };

    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, true), true), 10 + 2.0);
    CHECK_NEAR(period_ms(WORKLOAD(nodes, edges, false), false), 10 + 2.0);
}

/* Colours that a pipeline cannot take apart: 0 and 2 share a device, so 1 between them does too. */
TEST(what_lies_between_a_colocation_joins_it)
{
    static const node nodes[] = {
        {0, 1, 5,  false},
        {1, 1, -1, false},
        {2, 1, 5,  false},
        {3, 3, -1, false}
    };
    static const edge edges[] = {
        {0, 1, 0},
        {1, 2, 0},
        {2, 3, 0}
    };
    weft_problem *p = WORKLOAD(nodes, edges, true);
    weft_arena *a = weft_arena_new();

    CHECK_INT(weft_calls_new(p, true, INFINITY, NULL, a)->n_blocks, 2);
    CHECK_INT(weft_calls_new(p, false, INFINITY, NULL, a)->n_blocks, 3);
    weft_arena_free(a);
    CHECK_NEAR(period_ms(p, true), 3.0);
}

TEST(the_cut_bound_weighs_company_against_transfers)
{
    static const node nodes[] = {
        {0, 3, -1, false},
        {1, 4, -1, false}
    };
    static const edge edges[] = {
        {0, 1, 100}
    };
    weft_problem *p = WORKLOAD(nodes, edges, false);
    weft_arena *a = weft_arena_new();

    /* node 1 on an accelerator: with node 0, 7, or alone, 104; on the CPU 4000 */
    CHECK_NEAR(weft_calls_cut_bound(weft_calls_new(p, false, INFINITY, NULL, a), a) * 1e3, 7.0);
    CHECK_INT(weft_calls_new(p, false, 0.05, NULL, a)->n_blocks,
              1); /* 100 ms is too dear below 50 ms */
    CHECK_INT(weft_calls_new(p, false, 0.2, NULL, a)->n_blocks, 2);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- loads ----------------------------------------------------------------------------------- */

TEST(loads_move_by_move_are_the_loads)
{
    static const node nodes[] = {
        {0, 3, -1, false},
        {1, 4, -1, false},
        {2, 5, -1, false},
        {3, 6, -1, false},
        {4, 7, -1, false}
    };
    static const edge edges[] = {
        {0, 1, 1},
        {0, 2, 1},
        {1, 3, 2},
        {2, 3, 3},
        {2, 4, 3}
    };
    weft_problem *p = WORKLOAD(nodes, edges, false);
    weft_arena *a = weft_arena_new();
    weft_calls *m = weft_calls_new(p, false, INFINITY, NULL, a);
    weft_calls_loads l = weft_calls_loads_new(m, a);
    weft_rng rng = weft_rng_seed(1);

    CHECK_INT(m->n_blocks, 5);
    for (int i = 0; i < 2000; i++) {
        double load_s[3];

        weft_calls_move(&l, weft_rng_below(&rng, 5), weft_rng_below(&rng, 4) - 1);
        for (int d = 0; d < 3; d++)
            load_s[d] = l.load_s[d];
        weft_calls_renew(&l);
        for (int d = 0; d < 3; d++)
            CHECK_NEAR(load_s[d], l.load_s[d]);
    }
    weft_arena_free(a);
    weft_problem_free(p);
}

/* --- the public workloads -------------------------------------------------------------------- */

typedef struct known {
    const char *file;
    double chain_ms;     /* the public dynamic program, five digits; 65.303093: better than it */
    int64_t chain_steps; /* of the search for pipelines; 0: until its end, which is a proof */
    int64_t steps;       /* of the free search */
    double free_ms;      /* at most this */
} known;

static const char folder[] = WEFT_SHARED "/data/dnn-partitioning/throughput-inputs";

static const known workloads[] = {
    {"LayerGraphs/bert24_inference.json",      17.78991,  0,     60000,  17.71473 },
    {"LayerGraphs/bert24_training.json",       41.74581,  0,     60000,  39.79555 },
    {"LayerGraphs/gnmt_inference.json",        32.91066,  0,     800000, 31.783   },
    {"LayerGraphs/gnmt_training.json",         107.00441, 0,     800000, 89.44341 },
    {"OperatorGraphs/bert_l-3_inference.json", 27.91857,  0,     60000,  21.90838 },
    {"OperatorGraphs/bert_l-3_training.json",  65.303093, false, 60000,  54.20740 },
    {"OperatorGraphs/resnet50_inference.json", 124.34885, 0,     60000,  124.34885},
    {"OperatorGraphs/resnet50_training.json",  255.19442, 0,     60000,  255.19442},
};

static void need_workloads(void)
{
    if (access(folder, R_OK) == 0)
        return;
    print_message("SKIPPED: the public workloads are not in %s\n", folder);
    skip();
}

static weft_problem *opened(const known *k, bool is_contiguous, weft_arena *a)
{
    weft_constraints constraints = {
        .goal = WEFT_THROUGHPUT, .is_calls = true, .is_contiguous = is_contiguous};
    weft_problem *p = NULL;

    CHECK_OK(
        weft_problem_read(weft_arena_print(a, "%s/%s", folder, k->file), true, &constraints, &p));
    return p;
}

TEST(pipelines_of_the_public_workloads_are_those_of_the_public_program)
{
    need_workloads();
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = opened(&workloads[i], true, a);
        weft_solution s = solved(p, workloads[i].chain_steps, a);

        if (fabs(s.proof.value * 1e3 - workloads[i].chain_ms) > 6e-6)
            fail_msg("%s: %.9g ms", workloads[i].file, s.proof.value * 1e3);
        if (workloads[i].chain_steps == 0)
            CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        CHECK(s.proof.gap <= 1e-8);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

TEST(free_placements_of_the_public_workloads_are_no_worse_than_the_best_known)
{
    need_workloads();
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = opened(&workloads[i], false, a);
        weft_solution s = solved(p, workloads[i].steps, a);

        if (s.proof.value * 1e3 > workloads[i].free_ms + 5e-6)
            fail_msg("%s: %.9g ms", workloads[i].file, s.proof.value * 1e3);
        CHECK_NEAR(weft_load_bound_of(p, s.proof.price), s.proof.certified);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_is_paid_on_both_sides),
        cmocka_unit_test(an_output_is_sent_once),
        cmocka_unit_test(pipelines_cost_more_than_free_placements),
        cmocka_unit_test(backward_tasks_follow_their_colocations),
        cmocka_unit_test(backward_tasks_without_partner_are_free),
        cmocka_unit_test(a_tensor_that_a_block_reads_twice_counts_once),
        cmocka_unit_test(what_lies_between_a_colocation_joins_it),
        cmocka_unit_test(the_cut_bound_weighs_company_against_transfers),
        cmocka_unit_test(loads_move_by_move_are_the_loads),
        cmocka_unit_test(pipelines_of_the_public_workloads_are_those_of_the_public_program),
        cmocka_unit_test(free_placements_of_the_public_workloads_are_no_worse_than_the_best_known),
    };

    return RUN_TESTS(tests);
}
