/* SPDX-License-Identifier: MIT */
/* executor_build.c: operators and usual layers, added to a network with the public builder. */
#include "executor_build.h"

#include "check.h"
#include "invariants.h"

enum { OPSET = 23 };

/* --- building -------------------------------------------------------------------------------- */

build_net build_begin(weft_rng *r)
{
    return (build_net){.net = weft_net_new("test"), .rng = r};
}

weft_graph *build_finish(build_net *m, int output)
{
    weft_graph *g;

    weft_net_output(m->net, output);
    CHECK_OK(weft_net_finish(m->net, &g));
    weft_net_free(m->net);
    weft_graph_check(g);
    return g;
}

const char *build_fresh(build_net *m, const char *stem)
{
    return weft_arena_print(weft_net_arena(m->net), "%s_%d", stem, m->n_made++);
}

int64_t build_draw(build_net *m, int lo, int hi)
{
    return lo + weft_rng_below(m->rng, hi - lo + 1);
}

bool build_happens(build_net *m)
{
    return weft_rng_below(m->rng, 2) == 0;
}

weft_shape build_shape(int rank, const int64_t *dim)
{
    weft_shape s = {.rank = rank};

    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

int build_input(build_net *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_F32, .shape = build_shape(rank, dim)};
    int value;

    CHECK_OK(weft_net_input(m->net, build_fresh(m, "x"), &v, &value));
    return value;
}

int build_ids(build_net *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_I64, .shape = build_shape(rank, dim)};
    int value;

    CHECK_OK(weft_net_input(m->net, build_fresh(m, "ids"), &v, &value));
    return value;
}

int build_weight(build_net *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_F32, .shape = build_shape(rank, dim), .is_parameter = true};
    int value;

    CHECK_OK(weft_net_constant(m->net, build_fresh(m, "w"), &v, &value));
    return value;
}

int build_list(build_net *m, int n, const int64_t *ints)
{
    weft_arena *a = weft_net_arena(m->net);
    weft_literal *data = WEFT_NEW(a, weft_literal, 1);
    weft_value v = {.type = WEFT_I64, .data = data};
    int value;

    data->n = n;
    data->ints = weft_arena_copy(a, ints, (size_t)n * sizeof *ints);
    v.shape = (weft_shape){.rank = 1, .dim = {n}};
    CHECK_OK(weft_net_constant(m->net, build_fresh(m, "c"), &v, &value));
    return value;
}

weft_attr build_int_attr(const char *name, int64_t value)
{
    return (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = value};
}

weft_attr build_ints_attr(build_net *m, const char *name, int n, const int64_t *ints)
{
    const int64_t *kept = weft_arena_copy(weft_net_arena(m->net), ints, (size_t)n * sizeof *ints);

    return (weft_attr){.name = name, .kind = WEFT_ATTR_INTS, .n = n, .ints = kept};
}

void build_apply_all(build_net *m, const build_call *c, int n_results, int *results)
{
    const char *name[BUILD_MOST_ARGS];
    weft_net_op op = {
        .node = {.name = build_fresh(m, c->op), .op = c->op, .domain = "", .opset = OPSET},
        .n_args = c->n_args,
        .n_results = n_results,
        .arg = c->arg,
        .result_name = name
    };

    for (int i = 0; i < n_results; i++)
        name[i] = build_fresh(m, "y");
    op.node.attr = c->attr;
    op.node.n_attrs = c->n_attrs;
    op.node.forward = op.node.wrt = -1;
    CHECK_OK(weft_net_node(m->net, &op, results));
}

int build_apply(build_net *m, const build_call *c)
{
    int result;

    build_apply_all(m, c, 1, &result);
    return result;
}

int build_unary(build_net *m, const char *op, int x)
{
    return build_apply(m, &(build_call){.op = op, .n_args = 1, .arg = {x}});
}

int build_binary(build_net *m, const char *op, int x, int y)
{
    return build_apply(m, &(build_call){
                              .op = op, .n_args = 2, .arg = {x, y}
    });
}

const int64_t *build_dims(const build_net *m, int x)
{
    return weft_net_value(m->net, x)->shape.dim;
}

int build_rank_of(const build_net *m, int x)
{
    return weft_net_value(m->net, x)->shape.rank;
}

int build_input_like(build_net *m, int x)
{
    weft_shape s = weft_net_value(m->net, x)->shape;

    return build_input(m, s.rank, s.dim);
}

/* --- layers that networks use ---------------------------------------------------------------- */

int build_conv_of(build_net *m, int x, build_conv_options c)
{
    int64_t pad = c.is_padded ? (c.kernel - 1) * c.dilation / 2 : 0, inputs = build_dims(m, x)[1];
    build_call k = {.op = "Conv", .n_args = c.has_bias ? 3 : 2, .arg = {x}, .n_attrs = 4};

    k.arg[1] = build_weight(m, DIMS(c.out, inputs / c.groups, c.kernel, c.kernel));
    if (c.has_bias)
        k.arg[2] = build_weight(m, DIMS(c.out));
    k.attr[0] = build_ints_attr(m, "strides", DIMS(c.stride, c.stride));
    k.attr[1] = build_ints_attr(m, "dilations", DIMS(c.dilation, c.dilation));
    k.attr[2] = build_ints_attr(m, "pads", DIMS(pad, pad, pad, pad));
    k.attr[3] = build_int_attr("group", c.groups);
    return build_apply(m, &k);
}

int build_plain_conv(build_net *m, int x, int64_t out, int64_t kernel, int64_t stride)
{
    return build_conv_of(m, x,
                         (build_conv_options){.out = out,
                                              .kernel = kernel,
                                              .stride = stride,
                                              .groups = 1,
                                              .dilation = 1,
                                              .has_bias = build_happens(m),
                                              .is_padded = true});
}

int build_pool_of(build_net *m, const char *op, int x, int64_t kernel, int64_t stride, int64_t pad)
{
    build_call k = {.op = op, .n_args = 1, .arg = {x}, .n_attrs = 3};

    k.attr[0] = build_ints_attr(m, "kernel_shape", DIMS(kernel, kernel));
    k.attr[1] = build_ints_attr(m, "strides", DIMS(stride, stride));
    k.attr[2] = build_ints_attr(m, "pads", DIMS(pad, pad, pad, pad));
    return build_apply(m, &k);
}

int build_with_axis(build_net *m, const char *op, int x, int64_t axis)
{
    build_call k = {.op = op, .n_args = 1, .arg = {x}, .n_attrs = 1};

    k.attr[0] = build_int_attr("axis", axis);
    return build_apply(m, &k);
}

int build_layer_norm(build_net *m, int x)
{
    int64_t width = build_dims(m, x)[build_rank_of(m, x) - 1];

    return build_apply(m,
                       &(build_call){
                           .op = "LayerNormalization",
                           .n_args = 3,
                           .arg = {x, build_weight(m, DIMS(width)), build_weight(m, DIMS(width))}
    });
}

int build_reshape(build_net *m, int x, int rank, const int64_t *dim)
{
    return build_binary(m, "Reshape", x, build_list(m, rank, dim));
}

int build_transpose(build_net *m, int x, int rank, const int64_t *perm)
{
    build_call k = {.op = "Transpose", .n_args = 1, .arg = {x}, .n_attrs = 1};

    k.attr[0] = build_ints_attr(m, "perm", rank, perm);
    return build_apply(m, &k);
}

int build_concat(build_net *m, int n, const int *x, int64_t axis)
{
    build_call k = {.op = "Concat", .n_args = n, .n_attrs = 1};

    memcpy(k.arg, x, (size_t)n * sizeof *x);
    k.attr[0] = build_int_attr("axis", axis);
    return build_apply(m, &k);
}

int build_linear(build_net *m, int x, int64_t out)
{
    build_call k = {.op = "Gemm", .n_args = 3, .arg = {x}, .n_attrs = 1};

    k.arg[1] = build_weight(m, DIMS(out, build_dims(m, x)[1]));
    k.arg[2] = build_weight(m, DIMS(out));
    k.attr[0] = build_int_attr("transB", 1);
    return build_apply(m, &k);
}

int build_project(build_net *m, int x, int64_t out)
{
    int64_t width = build_dims(m, x)[build_rank_of(m, x) - 1];
    int y = build_binary(m, "MatMul", x, build_weight(m, DIMS(width, out)));

    return build_binary(m, "Add", y, build_weight(m, DIMS(out)));
}

int build_batch_norm(build_net *m, int x)
{
    build_call k = {.op = "BatchNormalization", .n_args = 5, .arg = {x}};

    for (int i = 1; i < 5; i++)
        k.arg[i] = build_weight(m, DIMS(build_dims(m, x)[1]));
    return build_apply(m, &k);
}

int build_picture(build_net *m)
{
    return build_input(m, DIMS(build_draw(m, 1, 2), build_draw(m, 2, 6), build_draw(m, 5, 9),
                               build_draw(m, 5, 9)));
}
