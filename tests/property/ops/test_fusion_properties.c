/* SPDX-License-Identifier: MIT */
/* Kernels of random networks: contracted, they have no cycle; they have nodes of one phase only; no
 * node moves more than alone, and none costs more; every byte that leaves a kernel is written once.
 * Placement with kernels against the optimum found by trying every plan. */
#include "brute.h"
#include "check.h"
#include "cost.h"
#include "nets.h"
#include "place.h"

static const char *const unary[] = {"Relu", "Exp", "Sigmoid", "Tanh", "Softmax", "Reshape"};
static const char *const binary[] = {"Add", "Mul", "Sub", "Div"};

/* All values are 4 x 4, or 4 x 1 after a reduction. */
static int draw_op(net_fixture *f, weft_rng *r, const int *value, const bool *is_narrow, int n,
                   bool *narrow)
{
    int i = weft_rng_below(r, n), k = weft_rng_below(r, n);
    int args[2] = {value[i], value[k]};
    int64_t shape[2] = {4, is_narrow[i] ? 1 : 4};

    *narrow = is_narrow[i];
    switch (weft_rng_below(r, 5)) {
    case 0:
        if (is_narrow[i] || is_narrow[k])
            break;
        return net_op(f, "MatMul", args, 2, "");
    case 1:
        if (is_narrow[i])
            break;
        *narrow = true;
        args[1] = net_ints(f, 1, &(int64_t){-1});
        return net_op(f, "ReduceMean", args, 2, "");
    case 2:
        *narrow = is_narrow[i] && is_narrow[k];
        return net_op(f, binary[weft_rng_below(r, 4)], args, 2, "");
    default:
        break;
    }
    k = (int)weft_rng_below(r, 6);
    args[1] = k == 5 ? net_ints(f, 2, shape) : -1;
    return net_op(f, unary[k], args, k == 5 ? 2 : 1, "");
}

static weft_graph *draw_network(weft_rng *r, int n_ops, net_fixture *f)
{
    int value[64], n = 2, last;
    bool is_narrow[64] = {false};

    *f = net_start(WEFT_F32);
    value[0] = net_op(f, "MatMul", (int[]){net_input(f, "4x4"), net_weight(f, "4x4")}, 2, "");
    value[1] = net_op(f, "MatMul", (int[]){value[0], net_weight(f, "4x4")}, 2, "");
    for (int i = 0; i < n_ops; i++) {
        value[n] = draw_op(f, r, value, is_narrow, n, &is_narrow[n]);
        n++;
    }
    last = value[n - 1];
    if (weft_rng_below(r, 2) == 0)
        net_ask(f, value[n / 2]);
    (void)net_finish(f, last);
    return f->graph;
}

/* Kernels in an order in which each comes after all it reads. */
static bool has_order(const weft_graph *g, weft_arena *a)
{
    bool *is_done = WEFT_NEW(a, bool, g->n_nodes), is_moving = true;
    int n = 0, n_kernels = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n_kernels = g->kernel[u] >= n_kernels ? g->kernel[u] + 1 : n_kernels;
    while (is_moving) {
        is_moving = false;
        for (int k = 0; k < n_kernels; k++) {
            bool is_ready = !is_done[k];

            for (int v = 0; v < g->n_nodes && is_ready; v++)
                for (int e = g->in_at[v]; g->kernel[v] == k && e < g->in_at[v + 1]; e++)
                    is_ready = is_ready &&
                               (g->kernel[g->in_from[e]] == k || is_done[g->kernel[g->in_from[e]]]);
            if (is_ready) {
                is_done[k] = is_moving = true;
                n++;
            }
        }
    }
    return n == n_kernels;
}

static void check_costs(const weft_graph *plain, const weft_graph *g)
{
    weft_design d = {.model = WEFT_ROOFLINE};

    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    d.value[WEFT_P_FLOPS] = 10;
    d.value[WEFT_P_BANDWIDTH] = d.value[WEFT_P_ETA] = d.value[WEFT_P_OVERHEAD] = 1;
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key alone, fused;

        weft_work_key_of(plain, u, &alone);
        weft_work_key_of(g, u, &fused);
        CHECK(fused.read_bytes <= alone.read_bytes && fused.write_bytes <= alone.write_bytes);
        CHECK_INT(fused.inner_bytes + fused.read_bytes + fused.write_bytes,
                  alone.read_bytes + alone.write_bytes);
        if (g->again[u] < 0)
            CHECK(weft_design_cost(&d, &fused).seconds <= weft_design_cost(&d, &alone).seconds);
        CHECK(alone.is_view || fused.is_joined == !g->is_launched[u]);
    }
}

/* What another kernel reads, or the user, is written; what it reads, it pays for. */
static void check_borders(const weft_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
            int t = g->arg[i], maker = t < 0 ? -1 : g->tensor[g->source[t]].producer;
            bool is_view = weft_node_is_free_view(g, u);

            if (maker < 0 || is_view || g->kernel[maker] == g->kernel[u])
                continue;
            CHECK(weft_storage_of(g, t) != WEFT_INNER);
            if (weft_storage_of(g, t) == WEFT_REMADE)
                CHECK(g->attention[u] >= 0 && g->attention[u] == g->attention[maker]);
        }
    for (int i = 0; i < g->n_outputs; i++)
        CHECK_INT(weft_storage_of(g, g->output[i]), WEFT_STORED);
}

static void check_network(weft_graph *g, bool is_flash)
{
    weft_arena *a = weft_arena_new();
    weft_graph plain = *g;
    int launches[256] = {0};

    weft_graph_fuse(g, is_flash);
    CHECK(has_order(g, a));
    for (int u = 0; u < g->n_nodes; u++) {
        for (int v = 0; v < u; v++)
            if (g->kernel[u] == g->kernel[v])
                CHECK(g->node[u].phase == g->node[v].phase);
        launches[g->kernel[u]] += g->is_launched[u];
        CHECK(launches[g->kernel[u]] <= 1);
    }
    check_costs(&plain, g);
    check_borders(g);
    weft_arena_free(a);
}

TEST(kernels_of_random_networks_hold)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(1500); seed++) {
        weft_rng r = weft_rng_seed(seed);
        net_fixture f;
        weft_graph *g = draw_network(&r, 3 + (int)weft_rng_below(&r, 12), &f), *whole;
        bool is_flash = seed % 2 == 0;

        CHECK_OK(weft_graph_train(g, WEFT_SGD, &whole));
        check_network(whole, is_flash);
        check_network(g, is_flash);
        weft_graph_free(whole);
        net_free(&f);
    }
}

/* --- placement ------------------------------------------------------------------------------- */

static weft_platform *draw_platform(weft_rng *r)
{
    weft_platform *p;
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(
        a,
        "schema: weft.platform/1\nname: two\nhost: a\ndevices:\n"
        "  - {name: a, model: roofline, peak_flops: %d, memory_bandwidth: %d, overhead: %ds}\n"
        "  - {name: b, model: roofline, peak_flops: %d, memory_bandwidth: %d, overhead: %ds%s}\n"
        "links:\n  - {between: [a, b], bandwidth: %dB/s, latency: 1s}\n",
        1 + (int)weft_rng_below(r, 50), 1 + (int)weft_rng_below(r, 50), (int)weft_rng_below(r, 9),
        1 + (int)weft_rng_below(r, 50), 1 + (int)weft_rng_below(r, 50), (int)weft_rng_below(r, 9),
        weft_rng_below(r, 3) == 0 ? ", only: [tensor, reduce]" : "",
        1 + (int)weft_rng_below(r, 100));

    CHECK_OK(weft_platform_parse(text, strlen(text), "two.yaml", &p));
    weft_arena_free(a);
    return p;
}

static weft_problem *problem_of(const weft_graph *g, const weft_platform *p, weft_arena *a)
{
    weft_constraints constraints = {.goal = WEFT_LATENCY};
    weft_problem *problem;
    weft_graph torn;
    weft_costs *c;

    CHECK_OK(weft_costs_new(g, p, &c));
    if (weft_problem_tear(g, c, a, &torn)) {
        weft_costs_free(c);
        g = &torn;
        CHECK_OK(weft_costs_new(g, p, &c));
    }
    CHECK_OK(weft_problem_new(g, c, p, &constraints, &problem));
    weft_costs_free(c);
    return problem;
}

static double solved(const weft_problem *p, weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_solution s;
    weft_proof bound;

    weft_place_bound(p, a, &bound);
    CHECK_OK(weft_solve(weft_place_find("auto"), p, NULL, &run, &bound, a, &s));
    weft_arena_free(run.scratch);
    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    return s.proof.value;
}

TEST(placement_of_kernels_is_optimal)
{
    int n_joined = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(150); seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        net_fixture f;
        weft_graph *g = draw_network(&r, 5, &f);
        weft_platform *p = draw_platform(&r);
        weft_problem *plain = problem_of(g, p, a), *fused;
        double best;

        weft_graph_fuse(g, seed % 2 == 0);
        fused = problem_of(g, p, a);
        best = brute_optimum(fused, 2);
        CHECK_NEAR(solved(fused, a) / best, 1.0);
        for (int u = 0; u < g->n_nodes; u++)
            n_joined += fused->colocation[u] >= 0 && plain->colocation[u] < 0;
        weft_problem_free(plain);
        weft_problem_free(fused);
        weft_platform_free(p);
        net_free(&f);
        weft_arena_free(a);
    }
    CHECK(!IS_THOROUGH || n_joined > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_random_networks_hold),
        cmocka_unit_test(placement_of_kernels_is_optimal),
    };

    return RUN_TESTS(tests);
}
