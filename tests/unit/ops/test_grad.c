/* SPDX-License-Identifier: MIT */
/* test_grad.c: training graphs.
 *
 * 1. Small graphs by hand: backward nodes, sums, stash, optimizer state.
 * 2. Loop nests of gradients by their definition: the kinds of axes, and the gradient computed from
 *    the nest equals the change of the result when one element of an operand grows by 1. The
 *    operators are linear in each operand, so that difference is the derivative, exactly.
 * 3. Real networks: the work of backward nodes against that of forward nodes, with the need for
 *    gradients found here by a walk from the parameters. */
#include "check.h"
#include "invariants.h"

#include "model.h"

#include <stdlib.h>

/* --- small networks -------------------------------------------------------------------------- */

static weft_shape shape_of(const char *text)
{
    weft_shape s = {.rank = 0};

    while (*text) {
        char *end;

        s.dim[s.rank++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return s;
}

static int input(weft_net_builder *n, const char *name, const char *shape)
{
    weft_value v = {.type = WEFT_F32, .shape = shape_of(shape)};
    int value = -1;

    CHECK_OK(weft_net_input(n, name, &v, &value));
    return value;
}

static int weight(weft_net_builder *n, const char *name, const char *shape)
{
    weft_value v = {.type = WEFT_F32, .shape = shape_of(shape), .is_parameter = true};
    int value = -1;

    CHECK_OK(weft_net_constant(n, name, &v, &value));
    return value;
}

typedef struct attrs {
    int n;
    weft_attr at[4];
} attrs;

/* An operator with up to three operands (-1: none), named like its result. */
static int apply_with(weft_net_builder *n, const char *op, const char *name, const int arg[3],
                      const attrs *with)
{
    weft_net_op o = {.n_results = 1, .arg = arg, .result_name = &name};
    int value = -1;

    o.node = (weft_node){.name = name, .op = op, .domain = "", .opset = 13, .forward = -1};
    o.node.wrt = -1;
    o.node.n_attrs = with ? with->n : 0;
    o.node.attr = with ? with->at : NULL;
    while (o.n_args < 3 && arg[o.n_args] >= 0)
        o.n_args++;
    CHECK_OK(weft_net_node(n, &o, &value));
    return value;
}

static int apply(weft_net_builder *n, const char *op, const char *name, int a, int b)
{
    return apply_with(n, op, name, (int[3]){a, b, -1}, NULL);
}

/* The training graph of a network with one output; the network is released. */
static weft_graph *trained(weft_net_builder *n, int output, weft_optimizer optimizer)
{
    weft_graph *forward = NULL, *g = NULL;

    weft_net_output(n, output);
    CHECK_OK(weft_net_finish(n, &forward));
    CHECK_OK(weft_graph_train(forward, optimizer, &g));
    weft_graph_check(g);
    weft_graph_free(forward);
    weft_net_free(n);
    return g;
}

static int find_node(const weft_graph *g, const char *name)
{
    for (int u = 0; u < g->n_nodes; u++)
        if (strcmp(g->node[u].name, name) == 0)
            return u;
    fail_msg("there is no node '%s'", name);
    return -1;
}

static int count_ops(const weft_graph *g, const char *op, weft_phase phase)
{
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += g->node[u].phase == phase && strcmp(g->node[u].op, op) == 0;
    return n;
}

/* Names of what a node reads, in order: "grad/y w1". */
static void check_reads(const weft_graph *g, const char *node, const char *expected)
{
    int u = find_node(g, node);
    char text[256] = "";

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0) {
            strcat(text, *text ? " " : "");
            strcat(text, g->tensor[g->arg[i]].name);
        }
    CHECK_TEXT(text, expected);
}

/* x 2x3 -> 3x4 -> relu -> 4x5 */
static weft_graph *trained_mlp(weft_optimizer optimizer)
{
    weft_net_builder *n = weft_net_new("mlp");
    int h = apply(n, "MatMul", "h", input(n, "x", "2x3"), weight(n, "w1", "3x4"));
    int r = apply(n, "Relu", "r", h, -1);

    return trained(n, apply(n, "MatMul", "y", r, weight(n, "w2", "4x5")), optimizer);
}

TEST(backward_nodes_of_a_small_mlp)
{
    weft_graph *g = trained_mlp(WEFT_SGD);

    /* forward 3, loss, y: dw and dx, r: 1, h: dw (x needs none), 2 updates */
    CHECK_INT(g->n_nodes, 3 + 1 + 2 + 1 + 1 + 2);
    check_reads(g, "y/loss", "y");
    check_reads(g, "y/dw", "grad/y r");
    check_reads(g, "y/dx", "grad/y w2");
    check_reads(g, "r/grad", "grad/r r"); /* its result says where it was positive */
    check_reads(g, "h/dw", "grad/h x");
    check_reads(g, "w1/update", "w1 grad/w1");
    check_reads(g, "w2/update", "w2 grad/w2");
    CHECK_INT(count_ops(g, "Sum", WEFT_BACKWARD), 0);
    CHECK_INT(g->node[find_node(g, "y/dx")].forward, find_node(g, "y"));
    CHECK_INT(g->node[find_node(g, "y/dx")].wrt, 0);
    CHECK_INT(g->node[find_node(g, "y/dw")].wrt, 1);
    weft_graph_free(g);
}

TEST(stash_of_a_small_mlp)
{
    weft_graph *g = trained_mlp(WEFT_SGD);

    /* x 2x3 for dw of h; r 2x4 for relu and for dw of y, once; weights do not count */
    CHECK_INT(weft_graph_stash_bytes(g), 4 * (2 * 3 + 2 * 4));
    weft_graph_free(g);
}

TEST(optimizer_state_and_work)
{
    static const struct {
        weft_optimizer optimizer;
        const char *op;
        int n_states, flops;
    } cases[] = {
        {WEFT_SGD,      "SGD",      0, 2 },
        {WEFT_MOMENTUM, "Momentum", 1, 4 },
        {WEFT_ADAM,     "Adam",     2, 12}
    };
    const int64_t elements = 3 * 4; /* of w1 */

    for (int i = 0; i < 3; i++) {
        weft_graph *g = trained_mlp(cases[i].optimizer);
        weft_work w = weft_node_work(g, find_node(g, "w1/update"));
        int64_t state_bytes = 0;

        for (int t = 0; t < g->n_tensors; t++)
            state_bytes += g->tensor[t].kind == WEFT_STATE ? g->tensor[t].bytes : 0;
        CHECK_INT(state_bytes, cases[i].n_states * 4 * (3 * 4 + 4 * 5));
        CHECK_INT(count_ops(g, cases[i].op, WEFT_UPDATE), 2);
        CHECK_INT(w.flops, cases[i].flops * elements);
        CHECK_INT(w.read_bytes, 4 * elements * (2 + cases[i].n_states)); /* weight, gradient */
        CHECK_INT(w.write_bytes, 4 * elements * (1 + cases[i].n_states));
        weft_graph_free(g);
    }
}

/* a = x w0; y = relu(a w1) + a */
TEST(a_residual_block_sums_the_gradients_of_its_two_readers)
{
    weft_net_builder *n = weft_net_new("residual");
    int a = apply(n, "MatMul", "a", input(n, "x", "2x3"), weight(n, "w0", "3x4"));
    int h = apply(n, "MatMul", "h", a, weight(n, "w1", "4x4"));
    weft_graph *g = trained(n, apply(n, "Add", "y", apply(n, "Relu", "r", h, -1), a), WEFT_SGD);

    /* the addition hands grad/y on as it is: no node of its own */
    CHECK_INT(count_ops(g, "AddGrad", WEFT_BACKWARD), 0);
    CHECK_INT(count_ops(g, "Sum", WEFT_BACKWARD), 1);
    check_reads(g, "a/grad_sum", "grad/y grad/a");
    check_reads(g, "r/grad", "grad/y r");
    check_reads(g, "h/dx", "grad/h w1");
    check_reads(g, "a/dw", "grad/a#2 x");
    /* x for dw of a, a for dw of h, r for relu */
    CHECK_INT(weft_graph_stash_bytes(g), 4 * (2 * 3 + 2 * 4 + 2 * 4));
    weft_graph_free(g);
}

TEST(three_readers_are_summed_once)
{
    weft_net_builder *n = weft_net_new("three");
    int a = apply(n, "MatMul", "a", input(n, "x", "2x3"), weight(n, "w", "3x3"));
    int p = apply(n, "Exp", "p", a, -1), q = apply(n, "Tanh", "q", a, -1);
    int s = apply(n, "Sigmoid", "s", a, -1);
    weft_graph *g = trained(n, apply_with(n, "Sum", "y", (int[3]){p, q, s}, NULL), WEFT_SGD);

    CHECK_INT(count_ops(g, "Sum", WEFT_BACKWARD), 1);
    CHECK_INT(g->arg_at[find_node(g, "a/grad_sum") + 1] - g->arg_at[find_node(g, "a/grad_sum")], 3);
    weft_graph_free(g);
}

TEST(a_tied_weight_has_one_update)
{
    weft_net_builder *n = weft_net_new("tied");
    int w = weight(n, "w", "3x3");
    int a = apply(n, "MatMul", "a", input(n, "x", "2x3"), w);
    weft_graph *g = trained(n, apply(n, "MatMul", "y", a, w), WEFT_ADAM);

    check_reads(g, "w/grad_sum", "grad/w grad/w#2");
    CHECK_INT(count_ops(g, "Adam", WEFT_UPDATE), 1);
    weft_graph_free(g);
}

/* y = (x w1)(x w2)': both operands are activations. */
TEST(a_product_of_activations_has_two_gradients)
{
    weft_net_builder *n = weft_net_new("attention");
    int x = input(n, "x", "5x3");
    int a = apply(n, "MatMul", "a", x, weight(n, "w1", "3x4"));
    int b = apply(n, "MatMul", "b", x, weight(n, "w2", "3x4"));
    weft_graph *g =
        trained(n, apply(n, "MatMul", "y", a, apply(n, "Transpose", "t", b, -1)), WEFT_SGD);
    int64_t macs = 5 * 5 * 4;

    CHECK_INT(weft_node_work(g, find_node(g, "y")).macs, macs);
    CHECK_INT(weft_node_work(g, find_node(g, "y/dx")).macs, macs);
    CHECK_INT(weft_node_work(g, find_node(g, "y/dw")).macs, macs);
    check_reads(g, "y/dx", "grad/y t");
    check_reads(g, "y/dw", "grad/y a");
    weft_graph_free(g);
}

TEST(a_bias_rides_with_the_gradient_of_the_weight)
{
    weft_net_builder *n = weft_net_new("bias");
    int a = apply(n, "MatMul", "a", input(n, "x", "2x3"), weight(n, "w0", "3x3"));
    int operands[3] = {a, weight(n, "w", "3x4"), weight(n, "b", "4")};
    weft_graph *g = trained(n, apply_with(n, "Gemm", "y", operands, NULL), WEFT_SGD);
    int dw = find_node(g, "y/dw");

    check_reads(g, "y/dw", "grad/y a");
    check_reads(g, "y/dx", "grad/y w"); /* the bias is of no use to it */
    CHECK_TEXT(g->tensor[g->res[g->res_at[dw] + 1]].name, "grad/w");
    CHECK_TEXT(g->tensor[g->res[g->res_at[dw] + 2]].name, "grad/b");
    CHECK_INT(count_ops(g, "SGD", WEFT_UPDATE), 3);
    weft_graph_free(g);
}

TEST(a_bias_alone_is_a_sum)
{
    weft_net_builder *n = weft_net_new("bias");
    int x = input(n, "x", "2x3"), w = input(n, "w", "3x4"); /* both given with each run */
    weft_graph *g =
        trained(n, apply_with(n, "Gemm", "y", (int[3]){x, w, weight(n, "b", "4")}, NULL), WEFT_SGD);
    weft_work work = weft_node_work(g, find_node(g, "y/db"));

    CHECK_INT(work.macs, 0);
    CHECK_INT(work.flops, 2 * 4);
    CHECK_INT(work.read_bytes, 4 * 2 * 4);
    CHECK_INT(work.write_bytes, 4 * 4);
    CHECK_INT(weft_graph_stash_bytes(g), 0);
    weft_graph_free(g);
}

TEST(a_broadcast_summand_gets_a_node_that_sums)
{
    weft_net_builder *n = weft_net_new("broadcast");
    weft_graph *g =
        trained(n, apply(n, "Add", "y", input(n, "x", "2x3"), weight(n, "b", "3")), WEFT_SGD);
    int u = find_node(g, "y/dx1");

    check_reads(g, "y/dx1", "grad/y");
    CHECK_TEXT(g->tensor[g->res[g->res_at[u] + 1]].name, "grad/b");
    CHECK_INT(g->tensor[g->res[g->res_at[u] + 1]].elements, 3);
    CHECK_INT(weft_node_work(g, u).flops, 2 * 3);
    weft_graph_free(g);
}

TEST(views_share_the_stash_of_what_they_show)
{
    weft_net_builder *n = weft_net_new("view");
    int h = apply(n, "MatMul", "h", input(n, "x", "2x3"), weight(n, "w1", "3x4"));
    int r = apply(n, "Relu", "r", h, -1);
    int f = apply(n, "Flatten", "f", r, -1); /* read again by dw of y, but r is kept already */
    weft_graph *g = trained(n, apply(n, "MatMul", "y", f, weight(n, "w2", "4x5")), WEFT_SGD);

    CHECK_INT(weft_graph_stash_bytes(g), 4 * (2 * 3 + 2 * 4));
    weft_graph_free(g);
}

TEST(what_no_output_depends_on_is_not_trained)
{
    weft_net_builder *n = weft_net_new("dangling");
    int x = input(n, "x", "2x3");
    int y = apply(n, "MatMul", "y", x, weight(n, "w", "3x4"));
    weft_graph *g;

    (void)apply(n, "MatMul", "unused", x, weight(n, "v", "3x4"));
    g = trained(n, y, WEFT_SGD);
    CHECK_INT(count_ops(g, "SGD", WEFT_UPDATE), 1);
    CHECK_INT(count_ops(g, "MatMulGrad", WEFT_BACKWARD), 1);
    weft_graph_free(g);
}

TEST(constants_that_are_not_parameters_are_not_trained)
{
    weft_net_builder *n = weft_net_new("constant");
    weft_value v = {.type = WEFT_F32, .shape = shape_of("3x4")};
    weft_graph *g = NULL, *whole = NULL;
    int w = -1;

    CHECK_OK(weft_net_constant(n, "mask", &v, &w));
    weft_net_output(n, apply(n, "MatMul", "y", input(n, "x", "2x3"), w));
    CHECK_OK(weft_net_finish(n, &g));
    CHECK_FAILS(weft_graph_train(g, WEFT_SGD, &whole),
                "there is nothing to train: no floating-point output depends on a weight");
    CHECK(whole == NULL);
    weft_graph_free(g);
    weft_net_free(n);
}

TEST(a_network_without_parameters_cannot_be_trained)
{
    weft_net_builder *n = weft_net_new("relu");
    weft_graph *g = NULL, *whole = NULL;

    weft_net_output(n, apply(n, "Relu", "y", input(n, "x", "2x3"), -1));
    CHECK_OK(weft_net_finish(n, &g));
    CHECK_FAILS(weft_graph_train(g, WEFT_ADAM, &whole), "there is nothing to train");
    weft_graph_free(g);
    weft_net_free(n);
}

/* A table of 2^60 elements: twelve times as many operations do not fit 64 bits. */
TEST(work_of_huge_weights_stops_at_the_largest_number)
{
    weft_net_builder *n = weft_net_new("huge");
    weft_value v = {
        .type = WEFT_I64, .shape = {.rank = 1, .dim = {2}}
    };
    weft_graph *g;
    int rows = -1;

    CHECK_OK(weft_net_input(n, "rows", &v, &rows));
    g = trained(n, apply(n, "Gather", "y", weight(n, "table", "1152921504606846976"), rows),
                WEFT_ADAM);
    CHECK_INT(weft_node_work(g, find_node(g, "table/update")).flops, INT64_MAX);
    weft_graph_free(g);
}

/* --- nests by their definition --------------------------------------------------------------- */

/* Axes of a node's only nest as "m:p n:r": parallel, spatial, reduce, sequential (q). */
static void check_axes(const weft_graph *g, const char *node, const char *expected)
{
    weft_nests nests;
    char text[128] = "";
    size_t n = 0;

    weft_node_nests(g, find_node(g, node), &nests);
    CHECK_INT(nests.n, 1);
    for (int i = 0; i < nests.nest[0].n_axes; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%c", i ? " " : "",
                              nests.nest[0].axis[i].name, "psrq"[nests.nest[0].axis[i].kind]);
    CHECK_TEXT(text, expected);
}

static void list_attr(attrs *a, const char *name, int n, const int64_t *ints)
{
    a->at[a->n++] = (weft_attr){.name = name, .kind = WEFT_ATTR_INTS, .n = n, .ints = ints};
}

static void int_attr(attrs *a, const char *name, int64_t value)
{
    a->at[a->n++] = (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = value};
}

/* One bilinear operator "y" with two parameters as operands; trained, so that both have gradients:
 * each is "made" by an Identity, which keeps folding from removing everything. */
static weft_graph *bilinear(const char *op, const char *left, const char *right, const attrs *with)
{
    weft_net_builder *n = weft_net_new("bilinear");
    int zero = input(n, "zero", "1");
    int a = apply(n, "Add", "a", weight(n, "a0", left), zero);
    int b = apply(n, "Add", "b", weight(n, "b0", right), zero);

    return trained(n, apply_with(n, op, "y", (int[3]){a, b, -1}, with), WEFT_SGD);
}

TEST(axes_of_a_matrix_product_and_its_gradients)
{
    weft_graph *g = bilinear("MatMul", "2x3x4", "4x5", NULL);

    check_axes(g, "y", "b0:p m:p n:p k:r");
    check_axes(g, "y/dx", "b0:p m:p n:r k:p"); /* dx[b,m,k] = sum over n of dy[b,m,n] w[k,n] */
    check_axes(g, "y/dw", "b0:r m:r n:p k:p"); /* dw[k,n] = sum over b, m of x[b,m,k] dy[b,m,n] */
    weft_graph_free(g);
}

TEST(axes_of_a_convolution_and_its_gradients)
{
    static const int64_t pads[] = {1, 1, 1, 1};
    attrs with = {0};
    weft_graph *g;

    list_attr(&with, "pads", 4, pads);
    g = bilinear("Conv", "2x3x8x8", "5x3x3x3", &with);
    check_axes(g, "y", "b:p g:p m:p n:r r:s c:s i:r j:r");
    /* dw[m,n,i,j] = sum over b, r, c of dy[b,m,r,c] x[b,n,r+i,c+j] */
    check_axes(g, "y/dw", "b:r g:p m:p n:p r:r c:r i:p j:p");
    /* dx[b,n,r+i,c+j] += dy[b,m,r,c] w[m,n,i,j]: places overlap as they did forward */
    check_axes(g, "y/dx", "b:p g:p m:r n:p r:s c:s i:r j:r");
    weft_graph_free(g);
}

/* Elements of the operands and results of one node while its nest is walked. */
typedef struct walk {
    const weft_graph *g;
    const weft_nest *nest;
    int u;
    int64_t **value; /* by tensor */
} walk;

/* Place of an access at a point, or -1 if it lies outside the tensor (padding). */
static int64_t place_of(const walk *w, const weft_access *a, const int64_t *point)
{
    int t = a->is_result ? w->g->res[w->g->res_at[w->u] + a->slot]
                         : w->g->arg[w->g->arg_at[w->u] + a->slot];
    const weft_shape *s = w->g->tensor[t].shape;
    int64_t place = 0;

    CHECK_INT(a->rank, s->rank);
    for (int d = 0; d < a->rank; d++) {
        int64_t i = a->index[d].offset;

        CHECK(!a->index[d].is_whole);
        for (int k = 0; k < a->index[d].n_terms; k++)
            i += a->index[d].factor[k] * point[a->index[d].axis[k]];
        if (i < 0 || i >= s->dim[d])
            return -1;
        place = place * s->dim[d] + i;
    }
    return place;
}

/* result += product of the operands, at one point. */
static void take_point(const walk *w, const int64_t *point)
{
    int64_t product = 1, *to = NULL;

    for (int i = 0; i < w->nest->n_accesses; i++) {
        const weft_access *a = &w->nest->access[i];
        int64_t place = place_of(w, a, point);
        int t = a->is_result ? w->g->res[w->g->res_at[w->u] + a->slot]
                             : w->g->arg[w->g->arg_at[w->u] + a->slot];

        if (place < 0)
            return;
        if (a->is_result)
            to = &w->value[t][place];
        else
            product *= w->value[t][place];
    }
    CHECK(to != NULL);
    *to += product;
}

/* Runs a node by walking its nest. */
static void run_node(const weft_graph *g, int u, int64_t **value)
{
    weft_nests nests;
    walk w = {g, &nests.nest[0], u, value};
    int64_t point[WEFT_MAX_AXES] = {0};
    int at = 0;

    weft_node_nests(g, u, &nests);
    CHECK_INT(nests.n, 1);
    CHECK(nests.nest[0].is_mac);
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0)
            memset(value[g->res[i]], 0, (size_t)g->tensor[g->res[i]].elements * sizeof(int64_t));
    while (at >= 0) {
        take_point(&w, point);
        for (at = w.nest->n_axes - 1; at >= 0 && ++point[at] == w.nest->axis[at].extent; at--)
            point[at] = 0;
    }
}

/* By definition: different values of a parallel axis never write the same place; some values of a
 * reduced axis do. */
static void check_kinds(const weft_graph *g, int u)
{
    weft_nests nests;
    weft_arena *a = weft_arena_new();
    walk w = {g, &nests.nest[0], u, NULL};
    const weft_access *to = NULL;
    bool is_shared[WEFT_MAX_AXES] = {false};
    int64_t point[WEFT_MAX_AXES] = {0}, (*first)[WEFT_MAX_AXES]; /* point + 1 of the first write */
    int at = 0;

    weft_node_nests(g, u, &nests);
    for (int i = 0; i < w.nest->n_accesses; i++)
        to = w.nest->access[i].is_result ? &w.nest->access[i] : to;
    CHECK(to != NULL);
    first = weft_arena_array(a, (size_t)g->tensor[g->res[g->res_at[u] + to->slot]].elements,
                             sizeof *first);
    while (at >= 0) {
        int64_t place = place_of(&w, to, point);

        for (int i = 0; place >= 0 && i < w.nest->n_axes; i++) {
            is_shared[i] |= first[place][i] > 0 && first[place][i] != point[i] + 1;
            first[place][i] = first[place][i] > 0 ? first[place][i] : point[i] + 1;
        }
        for (at = w.nest->n_axes - 1; at >= 0 && ++point[at] == w.nest->axis[at].extent; at--)
            point[at] = 0;
    }
    for (int i = 0; i < w.nest->n_axes; i++) {
        if (w.nest->axis[i].kind == WEFT_AXIS_PARALLEL)
            CHECK(!is_shared[i]);
        if (w.nest->axis[i].kind == WEFT_AXIS_REDUCE && w.nest->axis[i].extent > 1)
            CHECK(is_shared[i]);
    }
    weft_arena_free(a);
}

static int64_t inner_product(const int64_t *a, const int64_t *b, int64_t n)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The gradient of operand `slot`, element by element, is how much <dy, y> grows when that element
 * of the operand grows by 1. */
static void check_gradient(const weft_graph *g, int64_t **value, int slot)
{
    int u = find_node(g, "y"), back = find_node(g, slot == 0 ? "y/dx" : "y/dw");
    int x = g->arg[g->arg_at[u] + slot], y = g->res[g->res_at[u]];
    int dy = g->arg[g->arg_at[back]], dx = g->res[g->res_at[back] + slot];
    int64_t n = g->tensor[y].elements, base;

    run_node(g, u, value);
    base = inner_product(value[dy], value[y], n);
    run_node(g, back, value);
    check_kinds(g, u);
    check_kinds(g, back);
    CHECK_INT(g->tensor[dx].elements, g->tensor[x].elements);
    for (int64_t i = 0; i < g->tensor[x].elements; i++) {
        value[x][i]++;
        run_node(g, u, value);
        CHECK_INT(inner_product(value[dy], value[y], n) - base, value[dx][i]);
        value[x][i]--;
    }
}

static void check_gradients(const char *op, const char *left, const char *right, const attrs *with)
{
    weft_graph *g = bilinear(op, left, right, with);
    weft_arena *a = weft_arena_new();
    int64_t **value = WEFT_NEW(a, int64_t *, g->n_tensors);
    weft_rng r = weft_rng_seed(7);

    for (int t = 0; t < g->n_tensors; t++) {
        value[t] = WEFT_NEW(a, int64_t, g->tensor[t].elements);
        for (int64_t i = 0; i < g->tensor[t].elements; i++)
            value[t][i] = weft_rng_below(&r, 19) - 9;
    }
    check_gradient(g, value, 0);
    check_gradient(g, value, 1);
    weft_arena_free(a);
    weft_graph_free(g);
}

TEST(gradients_of_matrix_products_are_differences)
{
    attrs transposed = {0};

    check_gradients("MatMul", "3x4", "4x2", NULL);
    check_gradients("MatMul", "2x3x4", "4x5", NULL);
    check_gradients("MatMul", "2x3x4", "2x4x2", NULL);
    check_gradients("MatMul", "3x2x1x4", "2x4x2", NULL); /* the batch of the right is broadcast */
    check_gradients("MatMul", "4", "4x3", NULL);
    check_gradients("MatMul", "3x4", "4", NULL);
    check_gradients("Gemm", "3x4", "4x2", NULL);
    int_attr(&transposed, "transA", 1);
    int_attr(&transposed, "transB", 1);
    check_gradients("Gemm", "4x3", "2x4", &transposed);
}

TEST(gradients_of_convolutions_are_differences)
{
    static const int64_t pads[] = {1, 0, 2, 1}, strides[] = {2, 1}, dilations[] = {1, 2};
    attrs odd = {0}, grouped = {0};

    check_gradients("Conv", "1x2x4x4", "3x2x3x3", NULL);
    check_gradients("Conv", "2x3x4x4", "2x3x1x1", NULL);
    list_attr(&odd, "pads", 4, pads);
    list_attr(&odd, "strides", 2, strides);
    list_attr(&odd, "dilations", 2, dilations);
    check_gradients("Conv", "2x2x5x6", "3x2x3x2", &odd);
    check_gradients("ConvTranspose", "1x2x3x4", "2x3x3x2", &odd);
    int_attr(&grouped, "group", 2);
    check_gradients("Conv", "1x4x4x4", "6x2x2x2", &grouped);
    check_gradients("Conv", "1x2x6", "4x1x3", &grouped); /* depthwise, one dimension */
    check_gradients("ConvTranspose", "1x4x3x3", "4x3x2x2", &grouped);
}

/* --- real networks --------------------------------------------------------------------------- */

typedef struct needs {
    bool *gradient; /* [n_tensors] reached from a parameter */
    bool *reaches;  /* [n_tensors] an output with a gradient follows */
} needs;

static bool passes(const weft_graph *g, int u, int i)
{
    const weft_op *op = g->node[u].has_body ? NULL : weft_op_find(g->node[u].domain, g->node[u].op);
    int t = g->arg[g->arg_at[u] + i];

    if (t < 0 || !weft_dtype_is_float(g->tensor[t].type))
        return false;
    return op == NULL || (op->grad != WEFT_GRAD_NONE && (op->grad_args >> (i < 31 ? i : 31) & 1));
}

/* Two walks over the forward nodes: from the parameters on, and from the outputs back. */
static needs find_needs(const weft_graph *g, weft_arena *a)
{
    needs n = {WEFT_NEW(a, bool, g->n_tensors), WEFT_NEW(a, bool, g->n_tensors)};

    for (int t = 0; t < g->n_tensors; t++)
        n.gradient[t] = g->tensor[t].kind == WEFT_WEIGHT && g->tensor[t].is_parameter &&
                        weft_dtype_is_float(g->tensor[t].type);
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = 0; g->node[u].phase == WEFT_FORWARD && i < g->arg_at[u + 1] - g->arg_at[u];
             i++)
            for (int k = g->res_at[u]; passes(g, u, i) && k < g->res_at[u + 1]; k++)
                if (g->res[k] >= 0 && n.gradient[g->arg[g->arg_at[u] + i]])
                    n.gradient[g->res[k]] |= weft_dtype_is_float(g->tensor[g->res[k]].type);
    for (int i = 0; i < g->n_outputs; i++)
        n.reaches[g->output[i]] = n.gradient[g->output[i]];
    for (int u = g->n_nodes - 1; u >= 0; u--)
        for (int k = g->res_at[u]; g->node[u].phase == WEFT_FORWARD && k < g->res_at[u + 1]; k++)
            for (int i = 0; g->res[k] >= 0 && i < g->arg_at[u + 1] - g->arg_at[u]; i++)
                if (passes(g, u, i) && n.reaches[g->res[k]])
                    n.reaches[g->arg[g->arg_at[u] + i]] = true;
    return n;
}

static bool wants(const weft_graph *g, const needs *n, int u, int i)
{
    int t = i < g->arg_at[u + 1] - g->arg_at[u] ? g->arg[g->arg_at[u] + i] : -1;

    return t >= 0 && passes(g, u, i) && n->gradient[t];
}

static bool has_gradient(const weft_graph *g, const needs *n, int u)
{
    for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
        if (g->res[k] >= 0 && n->reaches[g->res[k]])
            return true;
    return false;
}

static int64_t nest_macs(const weft_graph *g, int u, int nest)
{
    weft_nests nests;

    weft_node_nests(g, u, &nests);
    CHECK(nest < nests.n && nests.nest[nest].is_mac);
    return weft_nest_points(&nests.nest[nest]);
}

/* What the backward nodes of u must add up to. */
static int64_t expected_macs(const weft_graph *g, const needs *n, int u)
{
    const weft_op *op = weft_op_find(g->node[u].domain, g->node[u].op);
    int64_t forward = weft_node_work(g, u).macs;

    if (op->grad == WEFT_GRAD_RECURRENT)
        /* through R always (the state needs it), dW and dR; through W only if dX is asked for */
        return 2 * nest_macs(g, u, 1) + nest_macs(g, u, 0) * (1 + wants(g, n, u, 0));
    if (op->grad == WEFT_GRAD_EACH)
        return forward * (wants(g, n, u, 0) + wants(g, n, u, 1));
    return 2 * forward;
}

typedef struct tally {
    int n_parameterised; /* Conv, Gemm, MatMul, LSTM whose operand 1 is a parameter */
    int n_twice, n_once; /* of these: backward work 2x and 1x the forward work */
    int n_activations;   /* products of two activations */
} tally;

static void count_kind(const weft_graph *g, const needs *n, int u, int64_t backward, tally *sum)
{
    const weft_tensor *w = &g->tensor[g->arg[g->arg_at[u] + 1]];
    int64_t forward = weft_node_work(g, u).macs;

    if (w->kind == WEFT_WEIGHT && w->is_parameter) {
        sum->n_parameterised++;
        sum->n_twice += backward == 2 * forward && wants(g, n, u, 0);
        sum->n_once += backward == forward && !wants(g, n, u, 0);
    } else if (w->kind != WEFT_WEIGHT && wants(g, n, u, 0) && wants(g, n, u, 1)) {
        sum->n_activations++;
        CHECK_INT(backward, 2 * forward);
    }
}

static int64_t *sum_backward(const weft_graph *g, weft_arena *a)
{
    int64_t *macs = WEFT_NEW(a, int64_t, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_BACKWARD && g->node[u].forward >= 0)
            macs[g->node[u].forward] += weft_node_work(g, u).macs;
    return macs;
}

static void check_work(const weft_graph *g, const needs *n, weft_arena *a, tally *sum)
{
    int64_t *backward = sum_backward(g, a);

    for (int u = 0; u < g->n_nodes; u++) {
        int64_t forward = g->node[u].phase == WEFT_FORWARD ? weft_node_work(g, u).macs : 0;

        if (forward == 0 || g->node[u].has_body)
            continue;
        if (!has_gradient(g, n, u)) {
            CHECK_INT(backward[u], 0);
            continue;
        }
        CHECK_INT(backward[u], expected_macs(g, n, u));
        count_kind(g, n, u, backward[u], sum);
    }
}

static bool same_kind_of_tensor(const weft_graph *g, int a, int b)
{
    return g->tensor[a].type == g->tensor[b].type &&
           weft_shape_equal(g->tensor[a].shape, g->tensor[b].shape);
}

/* A backward node of a forward node f: the fixed places of its operands and results. */
static void check_places(const weft_graph *g, int u)
{
    int f = g->node[u].forward, n_factors = 0;
    int n_args = g->arg_at[f + 1] - g->arg_at[f], n_res = g->res_at[f + 1] - g->res_at[f];
    const int *arg = g->arg + g->arg_at[u], *res = g->res + g->res_at[u];
    const weft_op *op = weft_op_find(g->node[f].domain, g->node[f].op);

    CHECK_INT(g->arg_at[u + 1] - g->arg_at[u], n_args + 2 * n_res + 1);
    for (int r = 0; r < n_res; r++) {
        CHECK(arg[r] < 0 || same_kind_of_tensor(g, arg[r], g->res[g->res_at[f] + r]));
        CHECK(arg[n_res + n_args + r] < 0 || arg[n_res + n_args + r] == g->res[g->res_at[f] + r]);
    }
    for (int i = 0; i < n_args; i++) {
        CHECK(arg[n_res + i] < 0 || arg[n_res + i] == g->arg[g->arg_at[f] + i]);
        CHECK(res[i] < 0 || same_kind_of_tensor(g, res[i], g->arg[g->arg_at[f] + i]));
        n_factors += i < 2 && res[i] >= 0;
    }
    if (op && op->grad == WEFT_GRAD_EACH) /* dx and dw are nodes of their own */
        CHECK_INT(n_factors, 1);
}

static void check_update(const weft_graph *g, int u)
{
    const int *arg = g->arg + g->arg_at[u];

    CHECK_INT(g->tensor[arg[0]].kind, WEFT_WEIGHT);
    CHECK(g->tensor[arg[1]].producer >= 0);
    CHECK_INT(g->node[g->tensor[arg[1]].producer].phase, WEFT_BACKWARD);
    for (int i = 1; i < g->arg_at[u + 1] - g->arg_at[u]; i++) {
        CHECK(same_kind_of_tensor(g, arg[0], arg[i]));
        CHECK(i < 2 || g->tensor[arg[i]].kind == WEFT_STATE);
    }
}

/* Forward nodes read no gradient, backward nodes no state, and every gradient is used. */
static void check_phases(const weft_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
            const weft_tensor *t = g->arg[i] < 0 ? NULL : &g->tensor[g->arg[i]];

            if (t == NULL)
                continue;
            if (g->node[u].phase == WEFT_FORWARD && t->producer >= 0)
                CHECK_INT(g->node[t->producer].phase, WEFT_FORWARD);
            if (g->node[u].phase != WEFT_UPDATE)
                CHECK(t->kind != WEFT_STATE);
        }
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].producer >= 0 && g->node[g->tensor[t].producer].phase == WEFT_BACKWARD)
            CHECK(g->use_at[t + 1] > g->use_at[t]);
}

/* Each parameter that reaches an output is updated once, nothing else is. */
static void check_updates(const weft_graph *g, const needs *n, weft_arena *a)
{
    int *n_updates = WEFT_NEW(a, int, g->n_tensors);

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_UPDATE) {
            check_update(g, u);
            n_updates[g->arg[g->arg_at[u]]]++;
        }
    for (int t = 0; t < g->n_tensors; t++)
        CHECK_INT(n_updates[t],
                  g->tensor[t].kind == WEFT_WEIGHT && n->gradient[t] && n->reaches[t]);
}

static tally check_network(const char *source)
{
    weft_model_options o = {.train = true, .optimizer = WEFT_ADAM};
    weft_arena *a = weft_arena_new();
    tally sum = {0};
    weft_model *m = NULL;
    needs n;

    CHECK_OK(weft_model_open(source, &o, &m));
    weft_graph_check(m->graph);
    n = find_needs(m->graph, a);
    check_work(m->graph, &n, a, &sum);
    for (int u = 0; u < m->graph->n_nodes; u++)
        if (m->graph->node[u].phase == WEFT_BACKWARD && m->graph->node[u].forward >= 0)
            check_places(m->graph, u);
    check_phases(m->graph);
    check_updates(m->graph, &n, a);
    weft_model_free(m);
    weft_arena_free(a);
    return sum;
}

#define ONNX(name) WEFT_TEST_DATA "/models/" name ".onnx"

/* n_once: layers that read what comes from outside the network. */
TEST(backward_work_is_twice_the_forward_work_and_once_at_the_input)
{
    static const struct {
        const char *source;
        int n_parameterised, n_once, n_activations;
    } cases[] = {
        {"resnet50",                 54, 1, 0 }, /* 53 convolutions, 1 matrix; the first reads pixels */
        {ONNX("resnet18_bn"),        21, 1, 0 }, /* 20 and 1 */
        {ONNX("mobilenet_v3_large"), 64, 1, 0 },
        {ONNX("bert_base"),          73, 0, 24}, /* 12 * 6 and the pooler; two products a layer */
        {ONNX("gpt2_small"),         49, 0, 24}, /* 12 * 4 and the head */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally t = check_network(cases[i].source);

        CHECK_INT(t.n_parameterised, cases[i].n_parameterised);
        CHECK_INT(t.n_once, cases[i].n_once);
        CHECK_INT(t.n_twice, t.n_parameterised - t.n_once);
        CHECK_INT(t.n_activations, cases[i].n_activations);
    }
}

TEST(the_rule_holds_in_all_other_networks)
{
    static const char *const sources[] = {"bert",
                                          "gpt2",
                                          "lstm",
                                          "vit_b_16",
                                          "gnmt",
                                          "dlrm",
                                          ONNX("gnmt8"),
                                          ONNX("vit_b_16"),
                                          ONNX("densenet121"),
                                          ONNX("convnext_tiny"),
                                          ONNX("small/small_cnn"),
                                          ONNX("small/small_mlp")};

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        tally t = check_network(sources[i]);

        CHECK(t.n_parameterised > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_nodes_of_a_small_mlp),
        cmocka_unit_test(stash_of_a_small_mlp),
        cmocka_unit_test(optimizer_state_and_work),
        cmocka_unit_test(a_residual_block_sums_the_gradients_of_its_two_readers),
        cmocka_unit_test(three_readers_are_summed_once),
        cmocka_unit_test(a_tied_weight_has_one_update),
        cmocka_unit_test(a_product_of_activations_has_two_gradients),
        cmocka_unit_test(a_bias_rides_with_the_gradient_of_the_weight),
        cmocka_unit_test(a_bias_alone_is_a_sum),
        cmocka_unit_test(a_broadcast_summand_gets_a_node_that_sums),
        cmocka_unit_test(views_share_the_stash_of_what_they_show),
        cmocka_unit_test(what_no_output_depends_on_is_not_trained),
        cmocka_unit_test(constants_that_are_not_parameters_are_not_trained),
        cmocka_unit_test(a_network_without_parameters_cannot_be_trained),
        cmocka_unit_test(work_of_huge_weights_stops_at_the_largest_number),
        cmocka_unit_test(axes_of_a_matrix_product_and_its_gradients),
        cmocka_unit_test(axes_of_a_convolution_and_its_gradients),
        cmocka_unit_test(gradients_of_matrix_products_are_differences),
        cmocka_unit_test(gradients_of_convolutions_are_differences),
        cmocka_unit_test(backward_work_is_twice_the_forward_work_and_once_at_the_input),
        cmocka_unit_test(the_rule_holds_in_all_other_networks),
    };

    return RUN_TESTS(tests);
}
