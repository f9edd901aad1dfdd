/* SPDX-License-Identifier: MIT */
/* On two H100, four L4 and a CPU no kernel is alone among kernels of other devices unless that pays:
 * moved to any device beside it and simulated again, the plan of `auto` gets worse. Networks like
 * Swin, RegNet and the decoding step of Llama; HEFT leaves such kernels, so the test can fail. */
#include "check.h"
#include "cost.h"
#include "kind.h"
#include "nets.h"

#define FLEET WEFT_TEST_DATA "/platforms/fleet-h100-l4.yaml"
#define ARGS(...) (const int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* --- networks -------------------------------------------------------------------------------- */

static int linear(net_fixture *f, int x, const char *weight)
{
    return net_op(f, "MatMul", ARGS(x, net_weight(f, weight)), "");
}

static int norm(net_fixture *f, int x)
{
    return net_op(f, "LayerNormalization", ARGS(x, net_weight(f, "96"), net_weight(f, "96")), "");
}

/* Windows are the batch; every second block shifts them. */
static int swin_block(net_fixture *f, int x, bool is_shifted)
{
    int in = norm(f, x), q = linear(f, in, "96x96"), k = linear(f, in, "96x96");
    int v = linear(f, in, "96x96"), y;

    k = net_op(f, "Transpose", ARGS(k), "perm=0,2,1");
    y = net_op(f, "Softmax", ARGS(net_op(f, "MatMul", ARGS(q, k), "")), "");
    y = linear(f, net_op(f, "MatMul", ARGS(y, v), ""), "96x96");
    y = net_op(f, "Add", ARGS(x, y), "");
    if (is_shifted)
        y = net_op(f, "Transpose", ARGS(net_op(f, "Transpose", ARGS(y), "perm=1,0,2")),
                   "perm=1,0,2");
    x = linear(f, net_op(f, "Gelu", ARGS(linear(f, norm(f, y), "96x384")), ""), "384x96");
    return net_op(f, "Add", ARGS(x, y), "");
}

static net_fixture swin_like(void)
{
    net_fixture f = net_start(WEFT_F16);
    int x = net_input(&f, "1024x49x96");

    for (int i = 0; i < 6; i++)
        x = swin_block(&f, x, i % 2 == 1);
    (void)net_finish(&f, x);
    return f;
}

static int conv(net_fixture *f, int x, const char *weight, const char *attributes)
{
    return net_op(f, "Relu", ARGS(net_op(f, "Conv", ARGS(x, net_weight(f, weight)), attributes)),
                  "");
}

/* A bottleneck with grouped convolutions and a gate on the channels. */
static int regnet_block(net_fixture *f, int x)
{
    int y = conv(f, x, "128x128x1x1", ""), gate, axes = net_ints(f, 2, (int64_t[]){2, 3});

    y = conv(f, y, "128x16x3x3", "group=8 pads=1,1,1,1");
    gate = net_op(f, "ReduceMean", ARGS(y, axes), "");
    gate = conv(f, gate, "32x128x1x1", "");
    gate = net_op(f, "Conv", ARGS(gate, net_weight(f, "128x32x1x1")), "");
    y = net_op(f, "Mul", ARGS(y, net_op(f, "Sigmoid", ARGS(gate), "")), "");
    y = net_op(f, "Conv", ARGS(y, net_weight(f, "128x128x1x1")), "");
    return net_op(f, "Relu", ARGS(net_op(f, "Add", ARGS(x, y), "")), "");
}

static net_fixture regnet_like(void)
{
    net_fixture f = net_start(WEFT_F16);
    int x = net_input(&f, "32x128x28x28");

    for (int i = 0; i < 10; i++)
        x = regnet_block(&f, x);
    (void)net_finish(&f, x);
    return f;
}

/* --- isolated kernels ------------------------------------------------------------------------ */

static bool is_with(const weft_problem *p, int u, int v)
{
    return u == v || (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v]);
}

/* Marks the devices beside the kernel of u; false if one of them is its own, or there are none. */
static bool is_alone(const weft_problem *p, const int *device, int u, bool *is_beside)
{
    bool has_some = false;

    memset(is_beside, 0, sizeof *is_beside * (size_t)p->n_devices);
    for (int v = 0; v < p->n_tasks; v++) {
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++) {
            int w = p->pred[i];

            if (is_with(p, u, v) == is_with(p, u, w))
                continue;
            is_beside[device[is_with(p, u, v) ? w : v]] = true;
            has_some = true;
        }
    }
    return has_some && !is_beside[device[u]];
}

/* The value with the kernel of u on d; INFINITY: no plan. */
static double value_with(const weft_problem *p, const weft_plan *plan, int u, int d, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    weft_plan moved = weft_plan_new(p->n_tasks, a);
    weft_measures m;
    double value = INFINITY;

    for (int v = 0; v < p->n_tasks; v++) {
        moved.device[v] = is_with(p, u, v) ? d : plan->device[v];
        moved.start_s[v] = plan->start_s[v];
    }
    if (weft_evaluate(p, &moved, a, &m) == WEFT_OK && m.over_device < 0 &&
        weft_plan_check(p, &moved, NULL, 0, a) == 0)
        value = weft_goal_value(p, &m);
    weft_arena_rewind(a, mark);
    return value;
}

/* Kernels that are alone for nothing; *n_alone: all that are alone. */
static int n_idle_moves(const weft_problem *p, const weft_plan *plan, double value, int *n_alone)
{
    weft_arena *a = weft_arena_new();
    bool *is_beside = WEFT_NEW(a, bool, p->n_devices);
    int n = 0;

    *n_alone = 0;
    for (int u = 0; u < p->n_tasks; u++) {
        bool is_first = true, is_idle = false;

        for (int v = 0; v < u; v++)
            is_first &= !is_with(p, u, v);
        if (!is_first || !is_alone(p, plan->device, u, is_beside))
            continue;
        ++*n_alone;
        for (int d = 0; d < p->n_devices; d++)
            is_idle |= is_beside[d] && value_with(p, plan, u, d, a) <= value;
        n += is_idle;
    }
    weft_arena_free(a);
    return n;
}

/* --- plans ----------------------------------------------------------------------------------- */

static weft_solution solved(const weft_problem *p, const char *solver, int64_t steps, weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = steps};
    weft_solution s;
    weft_proof bound;

    run.scratch = weft_arena_new();
    weft_place_bound(p, a, &bound);
    CHECK_OK(weft_solve(weft_place_find(solver), p, NULL, &run, &bound, a, &s));
    weft_arena_free(run.scratch);
    CHECK(weft_has_plan(&s.proof));
    return s;
}

/* Returns how many kernels HEFT leaves alone for nothing. */
static int check_problem(weft_problem *p, const char *name, int64_t steps)
{
    weft_arena *a = weft_arena_new();
    weft_solution best, heft;
    int n_alone, n_idle, n_heft;

    CHECK(p->switch_s != NULL);
    best = solved(p, "auto", steps, a);
    heft = solved(p, "heft", steps, a);
    CHECK(best.proof.value <= heft.proof.value);
    n_heft = n_idle_moves(p, &heft.plan, heft.proof.value, &n_alone);
    n_idle = n_idle_moves(p, &best.plan, best.proof.value, &n_alone);
    if (n_idle > 0)
        fail_msg("%s, %s: %d kernels of %d that are alone need not be", name,
                 weft_goal_name(p->constraints.goal), n_idle, n_alone);
    weft_arena_free(a);
    return n_heft;
}

static int check_network(net_fixture *f, const char *name, weft_goal goal)
{
    weft_platform *platform;
    weft_costs *costs;
    weft_problem *p;
    int n;

    if (f->graph->kernel == NULL)
        weft_graph_fuse(f->graph, false);
    CHECK_OK(weft_platform_open(FLEET, &platform));
    CHECK_OK(weft_costs_new(f->graph, platform, &costs));
    CHECK_OK(weft_problem_new(f->graph, costs, platform, &(weft_constraints){.goal = goal}, &p));
    n = check_problem(p, name, 200);
    weft_problem_free(p);
    weft_costs_free(costs);
    weft_platform_free(platform);
    return n;
}

static int check_both(net_fixture f, const char *name)
{
    int n = check_network(&f, name, WEFT_LATENCY) + check_network(&f, name, WEFT_THROUGHPUT);

    net_free(&f);
    return n;
}

static int check_model(const char *model, weft_goal goal)
{
    weft_request r = {.model = model, .platform = FLEET, .constraints = {.goal = goal}};
    weft_case c;
    int n;

    r.options.dtype = WEFT_F16;
    CHECK_OK(weft_case_open(&r, &c));
    n = check_problem(c.problem, model, 200);
    weft_case_close(&c);
    return n;
}

TEST(no_kernel_is_alone_for_nothing)
{
    static const char llama[] = "llama:layers=6,hidden=2048,heads=16,ffn=5632,seq=1";
    int n = check_both(swin_like(), "swin-like") + check_both(regnet_like(), "regnet-like") +
            check_model(llama, WEFT_LATENCY) + check_model(llama, WEFT_THROUGHPUT);

    CHECK(n > 0); /* HEFT's plans have some */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_kernel_is_alone_for_nothing)};

    return RUN_TESTS(tests);
}
