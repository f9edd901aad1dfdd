/* SPDX-License-Identifier: MIT */
/* test_graph_properties.c: on random graphs, what graph.h promises equals its definition, computed
 * here in the plainest way: reachability by depth-first search, separators from the closure, peak
 * memory by asking of every tensor at every step whether it lives, depth by relaxation. */
#include "check.h"
#include "graph_text.h"
#include "invariants.h"

#include "graph.h"

enum { N_GRAPHS = 600, MOST_NODES = 40, MOST_INPUTS = 3 };

/* --- random graphs --------------------------------------------------------------------------- */

static weft_tensor tensor_like(weft_arena *a, const char *prefix, int number, weft_tensor_kind kind,
                               int64_t bytes)
{
    weft_shape shape = {1, {bytes}};

    return (weft_tensor){.name = weft_arena_print(a, "%s%d", prefix, number),
                         .type = WEFT_U8,
                         .kind = kind,
                         .shape = weft_arena_copy(a, &shape, sizeof shape),
                         .elements = bytes,
                         .bytes = bytes};
}

/* The edges of node u in a random graph: results are read by later nodes only. */
typedef struct plan {
    weft_rng rng;
    weft_arena *arena;
    weft_builder *builder;
    int n, density; /* an edge with probability density / 64 */
    bool is_chain;  /* mostly each node reads the one before: graphs with separators */
    int n_tensors;
    int n_args[MOST_NODES], arg[MOST_NODES][8 * MOST_NODES];
    int n_results[MOST_NODES], result[MOST_NODES][4];
} plan;

static void read_by(plan *p, int tensor, int u)
{
    if (p->n_args[u] < 8 * MOST_NODES)
        p->arg[u][p->n_args[u]++] = tensor;
}

static int new_tensor(plan *p, weft_tensor_kind kind)
{
    int64_t bytes = weft_rng_below(&p->rng, 4) == 0 ? 0 : weft_rng_below(&p->rng, 1000);
    weft_tensor t = tensor_like(p->arena, "t", p->n_tensors++, kind, bytes);

    return weft_builder_tensor(p->builder, &t);
}

/* A given tensor and the nodes that read it, perhaps none. */
static void plan_given(plan *p, weft_tensor_kind kind)
{
    int t = new_tensor(p, kind);

    for (int u = 0; u < p->n; u++)
        if (weft_rng_below(&p->rng, 8) == 0)
            read_by(p, t, u);
}

static void plan_results(plan *p, int u, bool asks_for_outputs)
{
    bool is_linked = p->is_chain && weft_rng_below(&p->rng, 16) > 0;

    p->n_results[u] = is_linked ? 1 + weft_rng_below(&p->rng, 3) : weft_rng_below(&p->rng, 4);
    for (int i = 0; i < p->n_results[u]; i++) {
        int t = -1;

        if ((is_linked && i == 0) || weft_rng_below(&p->rng, 10) > 0) /* else left out */
            t = new_tensor(p, WEFT_ACTIVATION);
        p->result[u][i] = t;
        if (is_linked && i == 0 && u + 1 < p->n)
            read_by(p, t, u + 1);
        for (int v = u + 1; t >= 0 && v < p->n; v++)
            for (int twice = 0; twice < 2; twice++) /* sometimes the same operand again */
                if (weft_rng_below(&p->rng, 64) < p->density && (twice == 0 || v % 7 == 0))
                    read_by(p, t, v);
        if (t >= 0 && asks_for_outputs && weft_rng_below(&p->rng, 5) == 0)
            weft_builder_output(p->builder, t);
    }
}

/* Nodes are added in a random order, which need not be topological. */
static void add_nodes(plan *p)
{
    int order[MOST_NODES];

    for (int u = 0; u < p->n; u++) {
        int k = weft_rng_below(&p->rng, u + 1);

        order[u] = order[k];
        order[k] = u;
    }
    for (int i = 0; i < p->n; i++) {
        int u = order[i];
        weft_node node = {.name = weft_arena_print(p->arena, "n%d", u),
                          .op = "Task",
                          .domain = "weft",
                          .forward = -1,
                          .wrt = -1};

        node.has_body = true;
        node.body.flops = weft_rng_below(&p->rng, 100);
        (void)weft_builder_node(p->builder, &node, p->arg[u], p->n_args[u], p->result[u],
                                p->n_results[u]);
    }
}

/* With `is_task` only what the notation can say: no inputs, weights or outputs. */
static weft_graph *random_graph(uint64_t seed, bool is_task)
{
    weft_arena *a = weft_arena_new();
    plan *p = WEFT_NEW(a, plan, 1);
    weft_graph *g = NULL;

    p->rng = weft_rng_seed(seed);
    p->arena = a;
    p->builder = weft_builder_new("random");
    p->n = 1 + weft_rng_below(&p->rng, MOST_NODES);
    p->density = 1 + weft_rng_below(&p->rng, seed % 4 == 1 ? 40 : 6);
    p->is_chain = seed % 2 == 0;
    for (int i = 0; i < MOST_INPUTS && !is_task; i++)
        plan_given(p, i == 0 ? WEFT_WEIGHT : WEFT_INPUT);
    for (int u = 0; u < p->n; u++)
        plan_results(p, u, !is_task);
    add_nodes(p);
    CHECK_OK(weft_builder_finish(p->builder, &g));
    weft_builder_free(p->builder);
    weft_arena_free(a);
    return g;
}

/* --- definitions ----------------------------------------------------------------------------- */

static bool has_edge(const weft_graph *g, int u, int v)
{
    for (int i = g->arg_at[v]; i < g->arg_at[v + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].producer == u)
            return true;
    return false;
}

static void mark_below(const weft_graph *g, int u, bool *seen)
{
    for (int v = 0; v < g->n_nodes; v++)
        if (!seen[v] && has_edge(g, u, v)) {
            seen[v] = true;
            mark_below(g, v, seen);
        }
}

/* reach[u * n + v]: a path leads from u to v. */
static bool *naive_reach(const weft_graph *g, weft_arena *a)
{
    bool *reach = WEFT_NEW(a, bool, g->n_nodes * g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        mark_below(g, u, reach + u * g->n_nodes);
    return reach;
}

static bool is_naive_barrier(const bool *reach, int n, int v)
{
    for (int u = 0; u < n; u++)
        if (u != v && !reach[u * n + v] && !reach[v * n + u])
            return false;
    return true;
}

/* Nodes above v with an edge to a node below v. */
static int naive_live(const weft_graph *g, const bool *reach, int v)
{
    int n = g->n_nodes, n_live = 0;

    for (int u = 0; u < n; u++) {
        bool is_live = false;

        for (int w = 0; w < n; w++)
            is_live = is_live || (reach[u * n + v] && reach[v * n + w] && has_edge(g, u, w));
        n_live += is_live;
    }
    return n_live;
}

static bool lives_at(const weft_graph *g, int t, int u)
{
    const weft_tensor *x = &g->tensor[t];
    int n_uses = g->use_at[t + 1] - g->use_at[t];
    int last = n_uses ? g->use[g->use_at[t + 1] - 1] : x->producer;

    if (x->kind == WEFT_WEIGHT || x->kind == WEFT_STATE)
        return false;
    if (x->kind == WEFT_OUTPUT || (x->kind == WEFT_INPUT && n_uses == 0))
        last = g->n_nodes;
    return x->producer <= u && u <= last;
}

static int64_t naive_peak(const weft_graph *g)
{
    int64_t peak = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        int64_t live = 0;

        for (int t = 0; t < g->n_tensors; t++)
            live += lives_at(g, t, u) ? g->tensor[t].bytes : 0;
        peak = live > peak ? live : peak;
    }
    return peak;
}

/* Relaxes until nothing changes, without use of the order. */
static int naive_depth(const weft_graph *g)
{
    int depth[MOST_NODES], most = 1;
    bool is_changed = true;

    for (int u = 0; u < g->n_nodes; u++)
        depth[u] = 1;
    while (is_changed) {
        is_changed = false;
        for (int u = g->n_nodes - 1; u >= 0; u--)
            for (int v = 0; v < g->n_nodes; v++)
                if (has_edge(g, u, v) && depth[v] < depth[u] + 1) {
                    depth[v] = depth[u] + 1;
                    most = depth[v] > most ? depth[v] : most;
                    is_changed = true;
                }
    }
    return most;
}

/* --- properties ------------------------------------------------------------------------------ */

TEST(invariants_hold_and_edges_are_those_of_the_operands)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, false);
        int n_pairs = 0;

        weft_graph_check(g);
        for (int u = 0; u < g->n_nodes; u++)
            for (int v = 0; v < g->n_nodes; v++) {
                int n_between = 0;

                for (int e = g->out_at[u]; e < g->out_at[u + 1]; e++)
                    n_between += g->out_to[e] == v;
                CHECK_INT(n_between > 0, has_edge(g, u, v));
                for (int e = g->in_at[v]; e < g->in_at[v + 1]; e++)
                    n_between -= g->in_from[e] == u;
                CHECK_INT(n_between, 0); /* both directions list the same edges */
                n_pairs += has_edge(g, u, v);
            }
        CHECK(n_pairs <= g->n_edges);
        weft_graph_free(g);
    }
}

TEST(closure_is_reachability)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, false);
        weft_arena *a = weft_arena_new();
        weft_closure c = weft_graph_closure(g, a);
        bool *reach = naive_reach(g, a);

        for (int u = 0; u < g->n_nodes; u++)
            for (int v = 0; v < g->n_nodes; v++) {
                CHECK_INT(weft_closure_has(&c, u, v), reach[u * g->n_nodes + v]);
                CHECK_INT(weft_bit_get(c.above + v * c.words, u), reach[u * g->n_nodes + v]);
            }
        weft_arena_free(a);
        weft_graph_free(g);
    }
}

TEST(separators_are_what_their_definition_says)
{
    int n_barriers = 0, n_cuts = 0, n_skipped = 0;

    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, false);
        weft_arena *a = weft_arena_new();
        weft_separators s = weft_graph_separators(g, a);
        bool *reach = naive_reach(g, a);
        int i = 0, cuts = 0;

        for (int v = 0; v < g->n_nodes; v++) {
            if (!is_naive_barrier(reach, g->n_nodes, v))
                continue;
            CHECK(i < s.n_barriers);
            CHECK_INT(s.barrier[i], v);
            CHECK_INT(s.n_live[i], naive_live(g, reach, v));
            cuts += s.n_live[i++] == 0;
        }
        CHECK_INT(s.n_barriers, i);
        CHECK_INT(s.n_cuts, cuts);
        n_barriers += i;
        n_cuts += cuts;
        n_skipped += i - cuts;
        weft_arena_free(a);
        weft_graph_free(g);
    }
    /* the instances show every case */
    CHECK(n_barriers > N_GRAPHS && n_cuts > N_GRAPHS / 4 && n_skipped > N_GRAPHS / 4);
}

TEST(peak_and_depth_equal_the_plain_computation)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, false);

        CHECK_INT(weft_graph_peak_bytes(g), naive_peak(g));
        CHECK_INT(weft_graph_depth(g), naive_depth(g));
        weft_graph_free(g);
    }
}

static void check_same(const weft_graph *g, const weft_graph *h)
{
    CHECK_INT(g->n_nodes, h->n_nodes);
    CHECK_INT(g->n_edges, h->n_edges);
    for (int u = 0; u < g->n_nodes; u++) {
        CHECK_TEXT(g->node[u].name, h->node[u].name);
        CHECK_INT(g->node[u].body.flops, h->node[u].body.flops);
        CHECK_INT(g->out_at[u + 1], h->out_at[u + 1]);
        CHECK_INT(g->in_at[u + 1], h->in_at[u + 1]);
    }
    for (int e = 0; e < g->n_edges; e++) {
        CHECK_INT(g->out_to[e], h->out_to[e]);
        CHECK_INT(g->in_from[e], h->in_from[e]);
    }
}

/* Tensors that nothing reads cannot be written; everything else survives, and the second text is
 * the first. */
TEST(notation_is_read_back)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, true), *h = NULL;
        weft_arena *a = weft_arena_new();
        const char *text = weft_graph_text(g, a);

        CHECK_OK(weft_graph_parse(text, &h));
        weft_graph_check(h);
        check_same(g, h);
        CHECK_TEXT(weft_graph_text(h, a), text);
        weft_arena_free(a);
        weft_graph_free(g);
        weft_graph_free(h);
    }
}

/* Which node of the builder stands where. */
static bool comes_before(const weft_graph *g, const char *first, const char *second)
{
    for (int u = 0; u < g->n_nodes; u++) {
        if (strcmp(g->node[u].name, first) == 0)
            return true;
        if (strcmp(g->node[u].name, second) == 0)
            return false;
    }
    return false;
}

/* Kahn's order with the lowest number first: a node never precedes one that was added before it
 * and was ready when it was taken, so a graph frozen again keeps its order. */
TEST(a_sorted_graph_keeps_its_order)
{
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        weft_graph *g = random_graph(seed, true), *h = NULL;
        weft_arena *a = weft_arena_new();

        CHECK_OK(weft_graph_parse(weft_graph_text(g, a), &h));
        for (int u = 0; u + 1 < g->n_nodes; u++)
            CHECK(comes_before(h, g->node[u].name, g->node[u + 1].name));
        weft_arena_free(a);
        weft_graph_free(g);
        weft_graph_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold_and_edges_are_those_of_the_operands),
        cmocka_unit_test(closure_is_reachability),
        cmocka_unit_test(separators_are_what_their_definition_says),
        cmocka_unit_test(peak_and_depth_equal_the_plain_computation),
        cmocka_unit_test(notation_is_read_back),
        cmocka_unit_test(a_sorted_graph_keeps_its_order),
    };

    return RUN_TESTS(tests);
}
