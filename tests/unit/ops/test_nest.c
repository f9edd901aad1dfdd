/* SPDX-License-Identifier: MIT */
/* test_nest.c: loop nests and work of single nodes of finished graphs, counted by hand. */
#include "check.h"
#include "invariants.h"

#include "ops.h"

#include <stdlib.h>

/* --- a graph of one node --------------------------------------------------------------------- */

enum { MOST_OPERANDS = 8, MOST_ATTRS = 4 };

typedef struct fixture {
    weft_net_builder *net;
    weft_graph *graph;
    int n_args, n_attrs;
    int arg[MOST_OPERANDS];
    weft_attr attr[MOST_ATTRS];
} fixture;

static fixture start(void)
{
    return (fixture){.net = weft_net_new("test")};
}

static void finish(fixture *f)
{
    weft_graph_free(f->graph);
    weft_net_free(f->net);
}

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

/* The next operand: an input of that shape ("2x3"; "" is a scalar). */
static void operand(fixture *f, weft_dtype type, const char *shape)
{
    weft_value v = {.type = type, .shape = shape_of(shape)};
    const char *name = weft_arena_print(weft_net_arena(f->net), "x%d", f->n_args);

    CHECK_OK(weft_net_input(f->net, name, &v, &f->arg[f->n_args]));
    f->n_args++;
}

/* The next operand: a list of known integers. */
static void list_operand(fixture *f, int n, const int64_t *ints)
{
    weft_literal *data = WEFT_NEW(weft_net_arena(f->net), weft_literal, 1);
    const char *name = weft_arena_print(weft_net_arena(f->net), "c%d", f->n_args);
    weft_value v = {.type = WEFT_I64, .data = data};

    data->n = n;
    data->ints = weft_arena_copy(weft_net_arena(f->net), ints, (size_t)n * sizeof *ints);
    v.shape.rank = 1;
    v.shape.dim[0] = n;
    CHECK_OK(weft_net_constant(f->net, name, &v, &f->arg[f->n_args]));
    f->n_args++;
}

static void int_attr(fixture *f, const char *name, int64_t value)
{
    f->attr[f->n_attrs++] = (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = value};
}

static void ints_attr(fixture *f, const char *name, int n, const int64_t *ints)
{
    f->attr[f->n_attrs++] = (weft_attr){.name = name, .kind = WEFT_ATTR_INTS, .n = n, .ints = ints};
}

/* Adds the operator and freezes the graph; its node is number 0. */
static void apply_in(fixture *f, const char *domain, const char *op, int opset)
{
    static const char *const names[] = {"y0", "y1"};
    weft_net_op n = {
        .node = {.name = "node", .op = op, .domain = domain, .opset = opset},
        .n_args = f->n_args,
        .n_results = 1,
        .arg = f->arg,
        .result_name = names
    };
    int result;

    n.node.attr = f->attr;
    n.node.n_attrs = f->n_attrs;
    n.node.forward = n.node.wrt = -1;
    CHECK_OK(weft_net_node(f->net, &n, &result));
    weft_net_output(f->net, result);
    CHECK_OK(weft_net_finish(f->net, &f->graph));
    weft_graph_check(f->graph);
}

static void apply(fixture *f, const char *op)
{
    apply_in(f, "", op, 13);
}

static void check_work(const fixture *f, weft_work expected)
{
    weft_work w = weft_node_work(f->graph, 0);

    CHECK_INT(w.macs, expected.macs);
    CHECK_INT(w.flops, expected.flops);
    CHECK_INT(w.read_bytes, expected.read_bytes);
    CHECK_INT(w.write_bytes, expected.write_bytes);
}

/* "b:p m:p r:s k:r" of the first nest: parallel, spatial, reduce, sequential (q). */
static void check_axes(const fixture *f, int nest, const char *expected)
{
    weft_nests nests;
    char text[256] = "";
    size_t n = 0;

    weft_node_nests(f->graph, 0, &nests);
    CHECK(nest < nests.n);
    for (int i = 0; i < nests.nest[nest].n_axes; i++) {
        const weft_axis *a = &nests.nest[nest].axis[i];

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%c%lld", i ? " " : "", a->name,
                              "psrq"[a->kind], (long long)a -> extent);
    }
    CHECK_TEXT(text, expected);
}

/* --- convolution ----------------------------------------------------------------------------- */

TEST(a_strided_1x1_convolution_reads_a_quarter_of_its_input)
{
    static const int64_t strides[] = {2, 2};
    fixture f = start();

    operand(&f, WEFT_F32, "1x4x8x8");
    operand(&f, WEFT_F32, "6x4x1x1");
    ints_attr(&f, "strides", 2, strides);
    apply(&f, "Conv");
    /* result 1x6x4x4; rows and columns 0, 2, 4, 6 are read */
    check_work(&f, (weft_work){.macs = 6 * 4 * 4 * 4,
                               .flops = 2 * 6 * 4 * 4 * 4,
                               .read_bytes = 4 * (4 * 4 * 4 + 6 * 4),
                               .write_bytes = 4 * 6 * 4 * 4});
    finish(&f);
}

TEST(a_convolution_with_gaps_reads_the_windows_only)
{
    static const int64_t strides[] = {4, 4};
    fixture f = start();

    operand(&f, WEFT_F32, "1x1x15x15");
    operand(&f, WEFT_F32, "1x1x3x3");
    ints_attr(&f, "strides", 2, strides);
    apply(&f, "Conv");
    /* (15 - 3) / 4 + 1 = 4 windows of 3: 12 of 15 rows and columns */
    check_work(&f, (weft_work){.macs = 4 * 4 * 9,
                               .flops = 2 * 4 * 4 * 9,
                               .read_bytes = 4 * (12 * 12 + 9),
                               .write_bytes = 4 * 4 * 4});
    finish(&f);
}

TEST(overlapping_windows_read_every_element_once)
{
    static const int64_t pads[] = {1, 1, 1, 1};
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x8x8");
    operand(&f, WEFT_F32, "5x3x3x3");
    operand(&f, WEFT_F32, "5");
    ints_attr(&f, "pads", 4, pads);
    apply(&f, "Conv");
    check_work(&f, (weft_work){.macs = 2 * 5 * 3 * 64 * 9,
                               .flops = 2 * 2 * 5 * 3 * 64 * 9,
                               .read_bytes = 4 * (2 * 3 * 64 + 5 * 3 * 9 + 5),
                               .write_bytes = 4 * 2 * 5 * 64});
    finish(&f);
}

TEST(a_grouped_convolution_multiplies_within_its_groups)
{
    fixture f = start();

    operand(&f, WEFT_F32, "1x8x5x5");
    operand(&f, WEFT_F32, "8x1x3x3");
    int_attr(&f, "group", 8);
    apply(&f, "Conv");
    /* one channel a filter: 8 filters * 3x3 places * 3x3 kernel */
    check_work(&f, (weft_work){.macs = 8 * 9 * 9,
                               .flops = 2 * 8 * 9 * 9,
                               .read_bytes = 4 * (8 * 25 + 8 * 9),
                               .write_bytes = 4 * 8 * 9});
    finish(&f);
}

/* --- matrices and recurrence ----------------------------------------------------------------- */

TEST(a_matrix_product_is_one_nest)
{
    fixture f = start();

    operand(&f, WEFT_F16, "2x3x4");
    operand(&f, WEFT_F16, "4x5");
    apply(&f, "MatMul");
    check_axes(&f, 0, "b0:p2 m:p3 n:p5 k:r4");
    check_work(&f, (weft_work){.macs = 2 * 3 * 5 * 4,
                               .flops = 2 * 2 * 3 * 5 * 4,
                               .read_bytes = 2 * (24 + 20),
                               .write_bytes = 2 * 30});
    finish(&f);
}

TEST(a_product_with_itself_reads_its_operand_once)
{
    fixture f = start();

    operand(&f, WEFT_F32, "4x4");
    f.arg[f.n_args++] = f.arg[0];
    apply(&f, "MatMul");
    check_work(&f,
               (weft_work){.macs = 64, .flops = 128, .read_bytes = 4 * 16, .write_bytes = 4 * 16});
    finish(&f);
}

TEST(a_recurrent_layer_walks_both_weights_each_step)
{
    fixture f = start();
    weft_nests nests;

    operand(&f, WEFT_F32, "7x2x3"); /* time, batch, input */
    operand(&f, WEFT_F32, "1x20x3");
    operand(&f, WEFT_F32, "1x20x5");
    int_attr(&f, "hidden_size", 5);
    apply(&f, "LSTM");
    weft_node_nests(f.graph, 0, &nests);
    CHECK_INT(nests.n, 2);
    check_axes(&f, 0, "t:q7 d:p1 b:p2 h:p20 k:r3");
    check_axes(&f, 1, "t:q7 d:p1 b:p2 h:p20 k:r5");
    check_work(&f, (weft_work){.macs = 7 * 2 * (20 * 3 + 20 * 5),
                               .flops = 2 * 7 * 2 * (20 * 3 + 20 * 5),
                               .read_bytes = 4 * (42 + 60 + 100),
                               .write_bytes = 4 * 7 * 2 * 5});
    finish(&f);
}

/* Input 2x5x8 times 8x24 gives queries, keys and values of 2 heads of size 4. */
TEST(fused_attention_of_com_microsoft)
{
    fixture f = start();
    weft_nests nests;
    int64_t projection = 2 * 5 * 24 * 8, scores = 2 * 2 * 5 * 5 * 4;

    operand(&f, WEFT_F32, "2x5x8");
    operand(&f, WEFT_F32, "8x24");
    operand(&f, WEFT_F32, "24");
    int_attr(&f, "num_heads", 2);
    apply_in(&f, "com.microsoft", "Attention", 1);
    weft_node_nests(f.graph, 0, &nests);
    CHECK_INT(nests.n, 4); /* projection, scores, softmax, values */
    CHECK(nests.nest[0].is_mac && nests.nest[1].is_mac && !nests.nest[2].is_mac);
    CHECK_INT(weft_nest_points(&nests.nest[0]), projection);
    CHECK_INT(weft_nest_points(&nests.nest[1]), scores);
    CHECK_INT(weft_nest_points(&nests.nest[3]), scores); /* the same size of heads */
    /* softmax: maximum, subtract, exp, add, divide of 2 * 2 * 5 * 5 scores */
    check_work(&f, (weft_work){.macs = projection + 2 * scores,
                               .flops = 2 * (projection + 2 * scores) + 5 * 2 * 2 * 5 * 5,
                               .read_bytes = 4 * (80 + 192 + 24),
                               .write_bytes = 4 * 80});
    finish(&f);
}

/* --- movement -------------------------------------------------------------------------------- */

TEST(gather_reads_the_rows_it_needs)
{
    fixture f = start();

    operand(&f, WEFT_F32, "1000x16");
    operand(&f, WEFT_I64, "2x3");
    apply(&f, "Gather");
    check_work(&f, (weft_work){.read_bytes = 4 * 6 * 16 + 8 * 6, .write_bytes = 4 * 6 * 16});
    finish(&f);
}

TEST(gather_reads_no_row_twice)
{
    fixture f = start();

    operand(&f, WEFT_F32, "4x16");
    operand(&f, WEFT_I64, "50");
    apply(&f, "Gather");
    check_work(&f, (weft_work){.read_bytes = 4 * 4 * 16 + 8 * 50, .write_bytes = 4 * 50 * 16});
    finish(&f);
}

TEST(slice_reads_its_part_only)
{
    fixture f = start();

    operand(&f, WEFT_F32, "4x10");
    list_operand(&f, 2, (int64_t[]){1, 0});  /* from */
    list_operand(&f, 2, (int64_t[]){3, 10}); /* to */
    list_operand(&f, 2, (int64_t[]){0, 1});  /* axes */
    list_operand(&f, 2, (int64_t[]){1, 2});  /* steps */
    apply(&f, "Slice");
    /* 2 rows of 5 elements, and the four lists of two numbers */
    check_work(&f, (weft_work){.read_bytes = 4 * 2 * 5 + 4 * 2 * 8, .write_bytes = 4 * 2 * 5});
    finish(&f);
}

TEST(views_cost_nothing)
{
    static const char *const ops[] = {"Flatten", "Identity", "Dropout"};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        fixture f = start();

        operand(&f, WEFT_F32, "2x3x4");
        apply(&f, ops[i]);
        check_work(&f, (weft_work){0, 0, 0, 0});
        finish(&f);
    }
}

TEST(reshape_costs_nothing)
{
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x4");
    list_operand(&f, 2, (int64_t[]){6, -1});
    apply(&f, "Reshape");
    CHECK_INT(f.graph->tensor[f.graph->output[0]].shape->dim[1], 4);
    check_work(&f, (weft_work){0, 0, 0, 0});
    finish(&f);
}

TEST(a_transpose_moves_all_bytes_and_computes_nothing)
{
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x4");
    apply(&f, "Transpose");
    check_work(&f, (weft_work){.read_bytes = 4 * 24, .write_bytes = 4 * 24});
    finish(&f);
}

/* --- element-wise and reducing --------------------------------------------------------------- */

TEST(a_broadcast_operand_is_indexed_where_it_is_not_one)
{
    fixture f = start();
    weft_nests nests;

    operand(&f, WEFT_F32, "2x3x4");
    operand(&f, WEFT_F32, "3x1");
    apply(&f, "Add");
    check_axes(&f, 0, "d0:p2 d1:p3 d2:p4");
    check_work(&f, (weft_work){.flops = 24, .read_bytes = 4 * (24 + 3), .write_bytes = 4 * 24});
    weft_node_nests(f.graph, 0, &nests);
    CHECK_INT(nests.nest[0].n_accesses, 3);
    CHECK_INT(nests.nest[0].access[1].slot, 1);
    CHECK_INT(nests.nest[0].access[1].index[0].axis[0], 1); /* its rows are d1 */
    CHECK_INT(nests.nest[0].access[1].index[1].n_terms, 0); /* its column stays */
    finish(&f);
}

TEST(softmax_reduces_along_its_axis)
{
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x4");
    int_attr(&f, "axis", 1);
    apply(&f, "Softmax");
    check_axes(&f, 0, "d0:p2 d1:r3 d2:p4");
    check_work(&f, (weft_work){.flops = 5 * 24, .read_bytes = 4 * 24, .write_bytes = 4 * 24});
    finish(&f);
}

/* Before opset 13 everything from the axis on was one row. */
TEST(old_softmax_reduces_along_all_axes_from_the_given_one)
{
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x4");
    apply_in(&f, "", "Softmax", 11);
    check_axes(&f, 0, "d0:p2 d1:r3 d2:r4");
    finish(&f);
}

TEST(a_reduction_sums_over_its_axes)
{
    fixture f = start();

    operand(&f, WEFT_F32, "2x3x4");
    list_operand(&f, 1, (int64_t[]){-1});
    apply(&f, "ReduceSum");
    check_axes(&f, 0, "d0:p2 d1:p3 d2:r4");
    /* the list of axes is an operand of 8 bytes */
    check_work(&f, (weft_work){.flops = 24, .read_bytes = 4 * 24 + 8, .write_bytes = 4 * 2 * 3});
    finish(&f);
}

/* --- what has no nest ------------------------------------------------------------------------ */

TEST(operators_outside_the_table_cost_their_bytes)
{
    fixture f = start();
    weft_value declared = {.type = WEFT_F32, .shape = shape_of("5")};
    weft_net_op n = {.n_args = 1, .n_results = 1, .declared = &declared};
    weft_nests nests;
    int result;

    operand(&f, WEFT_F32, "2x3");
    n.node = (weft_node){.name = "n", .op = "Mystery", .domain = "x", .forward = -1, .wrt = -1};
    n.arg = f.arg;
    n.result_name = (const char *const[]){"y"};
    CHECK_OK(weft_net_node(f.net, &n, &result));
    CHECK_OK(weft_net_finish(f.net, &f.graph));
    CHECK(weft_node_is_opaque(f.graph, 0));
    weft_node_nests(f.graph, 0, &nests);
    CHECK_INT(nests.n, 0);
    check_work(&f, (weft_work){.read_bytes = 4 * 6, .write_bytes = 4 * 5});
    finish(&f);
}

TEST(shapes_that_depend_on_data_have_no_nest)
{
    fixture f = start();
    weft_nests nests;

    operand(&f, WEFT_F32, "2x3");
    apply(&f, "NonZero");
    CHECK(!weft_node_is_static(f.graph, 0) && !weft_node_is_opaque(f.graph, 0));
    weft_node_nests(f.graph, 0, &nests);
    CHECK_INT(nests.n, 0);
    check_work(&f, (weft_work){.read_bytes = 4 * 6});
    finish(&f);
}

TEST(points_that_do_not_fit_are_minus_one)
{
    weft_nest n = {.n_axes = 3};

    for (int i = 0; i < 3; i++)
        n.axis[i] = (weft_axis){"a", WEFT_AXIS_PARALLEL, (int64_t)1 << 31};
    CHECK_INT(weft_nest_points(&n), -1); /* 2^93 */
    n.axis[2].extent = 1;
    CHECK_INT(weft_nest_points(&n), (int64_t)1 << 62);
    n.axis[2].extent = 0;
    CHECK_INT(weft_nest_points(&n), 0); /* an empty axis: nothing is done */
    n.n_axes = 0;
    CHECK_INT(weft_nest_points(&n), 1);
}

TEST(sums_of_work_stop_at_the_largest_number)
{
    weft_work sum = {1, 2, 3, INT64_MAX - 1};

    weft_work_add(&sum, (weft_work){10, 20, 30, 5});
    CHECK_INT(sum.macs, 11);
    CHECK_INT(sum.flops, 22);
    CHECK_INT(sum.read_bytes, 33);
    CHECK_INT(sum.write_bytes, INT64_MAX);
}

/* 2^31 rows times 2^31 columns over 4: 2^64 multiply-accumulates. */
TEST(work_beyond_64_bits_is_refused)
{
    fixture f = start();
    weft_net_op n = {.n_args = 2, .n_results = 1};
    int result;

    operand(&f, WEFT_U8, "2147483648x4");
    operand(&f, WEFT_U8, "4x2147483648");
    n.node = (weft_node){.name = "n", .op = "MatMul", .domain = "", .opset = 13, .forward = -1};
    n.node.wrt = -1;
    n.arg = f.arg;
    n.result_name = (const char *const[]){"y"};
    CHECK_OK(weft_net_node(f.net, &n, &result));
    CHECK_FAILS(weft_net_finish(f.net, &f.graph),
                "node 'n' (MatMul): its work is more than 2^62 operations");
    CHECK(f.graph == NULL);
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strided_1x1_convolution_reads_a_quarter_of_its_input),
        cmocka_unit_test(a_convolution_with_gaps_reads_the_windows_only),
        cmocka_unit_test(overlapping_windows_read_every_element_once),
        cmocka_unit_test(a_grouped_convolution_multiplies_within_its_groups),
        cmocka_unit_test(a_matrix_product_is_one_nest),
        cmocka_unit_test(a_product_with_itself_reads_its_operand_once),
        cmocka_unit_test(a_recurrent_layer_walks_both_weights_each_step),
        cmocka_unit_test(fused_attention_of_com_microsoft),
        cmocka_unit_test(gather_reads_the_rows_it_needs),
        cmocka_unit_test(gather_reads_no_row_twice),
        cmocka_unit_test(slice_reads_its_part_only),
        cmocka_unit_test(views_cost_nothing),
        cmocka_unit_test(reshape_costs_nothing),
        cmocka_unit_test(a_transpose_moves_all_bytes_and_computes_nothing),
        cmocka_unit_test(a_broadcast_operand_is_indexed_where_it_is_not_one),
        cmocka_unit_test(softmax_reduces_along_its_axis),
        cmocka_unit_test(old_softmax_reduces_along_all_axes_from_the_given_one),
        cmocka_unit_test(a_reduction_sums_over_its_axes),
        cmocka_unit_test(operators_outside_the_table_cost_their_bytes),
        cmocka_unit_test(shapes_that_depend_on_data_have_no_nest),
        cmocka_unit_test(points_that_do_not_fit_are_minus_one),
        cmocka_unit_test(sums_of_work_stop_at_the_largest_number),
        cmocka_unit_test(work_beyond_64_bits_is_refused),
    };

    return RUN_TESTS(tests);
}
