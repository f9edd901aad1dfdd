/* SPDX-License-Identifier: MIT */
/* Networks cut into segments: every operator is in one, what is read was made, and the simulator on
 * segments says what it says on operators, for random plans (transfers beside computation: under
 * `block` a receiver may be held in the middle of what is one segment). */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "kind.h"
#include "manifest.h"
#include "onnx.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char platform_text[] =
    "schema: weft.platform/1\nname: three\ntransfer: overlap\ndevices:\n"
    "  - {name: a, engine: paced, cpus: [0], model: roofline, peak_flops: 40GFLOP/s, "
    "memory_bandwidth: "
    "9GB/s}\n"
    "  - {name: b, model: roofline, peak_flops: 20GFLOP/s, memory_bandwidth: 5GB/s, overhead: "
    "3us}\n"
    "  - {name: c, model: roofline, peak_flops: 30GFLOP/s, memory_bandwidth: 7GB/s}\n"
    "links: [{all: [a, b, c], bandwidth: 6GB/s, latency: 2us}]\n";

typedef struct made {
    weft_case c;
    weft_solution solution;
    weft_request request;
    weft_split_net s;
    char folder[64];
    weft_arena *a;
} made;

static weft_deployment deployment_of(made *m)
{
    const weft_graph *g = m->c.model->graph;
    int *task = WEFT_NEW(m->a, int, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        task[u] = u;
    return (weft_deployment){.source = m->request.model,
                             .options = &m->request.options,
                             .graph = g,
                             .platform = m->c.platform,
                             .problem = m->c.problem,
                             .task = task,
                             .device = m->solution.plan.device,
                             .start_s = m->solution.plan.start_s,
                             .latency_s = m->solution.measures.makespan_s,
                             .period_s = m->solution.measures.period_s};
}

static void make(made *m, const char *model, const char *solver, int64_t seed)
{
    weft_run run = {.seed = seed, .n_threads = 1, .limit_s = INFINITY, .steps = 1};
    weft_deployment d;
    weft_proof bound;

    m->a = weft_arena_new();
    m->request = (weft_request){.model = model, .platform = "three.yaml", .machine = platform_text};
    CHECK_OK(weft_case_open(&m->request, &m->c));
    run.scratch = weft_arena_new();
    weft_place_bound(m->c.problem, m->a, &bound);
    CHECK_OK(
        weft_solve(weft_place_find(solver), m->c.problem, NULL, &run, &bound, m->a, &m->solution));
    weft_arena_free(run.scratch);
    strcpy(m->folder, "/tmp/weft-segments-XXXXXX");
    CHECK(mkdtemp(m->folder) != NULL);
    d = deployment_of(m);
    CHECK_OK(weft_split_net_write(&d, m->folder, m->a, &m->s));
}

static void drop(made *m)
{
    struct stat s;

    weft_split_net_remove(m->folder);
    CHECK(stat(m->folder, &s) != 0);
    weft_case_close(&m->c);
    weft_arena_free(m->a);
}

/* The latency that segments with their planned times have. */
static double replayed(const made *m)
{
    double *seconds = WEFT_NEW(m->a, double, m->s.n_segments), latency_s = 0;

    for (int i = 0; i < m->s.n_segments; i++)
        seconds[i] = m->s.segment[i].seconds;
    CHECK_OK(weft_split_net_replay(&m->s, seconds, m->s.send_s, &latency_s, NULL));
    return latency_s;
}

static void check_same(const weft_split_net *x, const weft_split_net *y)
{
    CHECK_INT(x->n_segments, y->n_segments);
    CHECK_INT(x->n_tensors, y->n_tensors);
    CHECK_INT(x->n_inputs, y->n_inputs);
    CHECK_INT(x->n_devices, y->n_devices);
    CHECK_INT(x->transfer, y->transfer);
    CHECK(x->model_hash == y->model_hash);
    for (int i = 0; i < x->n_segments; i++) {
        CHECK_TEXT(x->segment[i].file, y->segment[i].file);
        CHECK(x->segment[i].hash == y->segment[i].hash);
        CHECK(x->segment[i].seconds == y->segment[i].seconds);
        CHECK_INT(x->segment[i].n_reads, y->segment[i].n_reads);
    }
    for (int t = 0; t < x->n_tensors; t++) {
        CHECK_TEXT(x->tensor[t].name, y->tensor[t].name);
        CHECK_INT(x->tensor[t].bytes, y->tensor[t].bytes);
        CHECK(weft_shape_equal(x->tensor[t].shape, y->tensor[t].shape));
    }
}

/* Each file is a network of its own, with the nodes of the segment and the weights they read. */
static int count_nodes(const made *m)
{
    int n = 0;

    for (int i = 0; i < m->s.n_segments; i++) {
        const weft_segment *g = &m->s.segment[i];
        weft_model *part;

        CHECK_OK(weft_model_open(weft_arena_print(m->a, "%s/%s", m->folder, g->file), NULL, &part));
        CHECK_INT(part->graph->n_outputs, g->n_makes);
        for (int u = 0; u < part->graph->n_nodes; u++)
            n += part->graph->node[u].op[0] != '\0';
        weft_model_free(part);
    }
    return n;
}

static void check_all(const char *model, const char *solver, int64_t seed)
{
    double planned_s, found_s;
    weft_split_net again;
    made m;

    make(&m, model, solver, seed);
    planned_s = m.solution.measures.makespan_s;
    found_s = replayed(&m);
    if (!(fabs(found_s - planned_s) <= 1e-9 * planned_s))
        fail_msg("%s, %s, seed %d: %.12g s planned, %.12g s with segments", model, solver,
                 (int)seed, planned_s, found_s);
    CHECK_INT(count_nodes(&m), m.c.model->graph->n_nodes);
    CHECK_OK(weft_split_net_read(m.folder, m.a, &again));
    check_same(&m.s, &again);
    drop(&m);
}

TEST(segments_take_what_operators_take)
{
    static const char *const models[] = {WEFT_TEST_DATA "/onnx/small_mlp.onnx",
                                         WEFT_TEST_DATA "/onnx/small_cnn_qdq.onnx",
                                         WEFT_TEST_DATA "/onnx/small_mlp_constnodes.onnx",
                                         "squeezenet1_1",
                                         "googlenet",
                                         "bert:layers=2,hidden=64,heads=4,seq=16"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        check_all(models[i], "heft", 1);
        for (int64_t seed = 1; seed <= N_MANY(40); seed++)
            check_all(models[i], "random", seed);
    }
}

TEST(a_folder_of_somebody_else_is_left_alone)
{
    char folder[] = "/tmp/weft-segments-XXXXXX";
    weft_deployment d;
    weft_split_net s;
    made m;
    FILE *f;

    CHECK(mkdtemp(folder) != NULL);
    make(&m, "alexnet", "heft", 1);
    d = deployment_of(&m);
    f = fopen(weft_arena_print(m.a, "%s/mine", folder), "w");
    CHECK(f != NULL);
    fclose(f);
    CHECK_FAILS(weft_split_net_write(&d, folder, m.a, &s), "expected a new or an empty folder");
    CHECK(access(weft_arena_print(m.a, "%s/mine", folder), F_OK) == 0);
    unlink(weft_arena_print(m.a, "%s/mine", folder));
    rmdir(folder);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_take_what_operators_take),
        cmocka_unit_test(a_folder_of_somebody_else_is_left_alone),
    };

    return RUN_TESTS(tests);
}
