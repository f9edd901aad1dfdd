/* SPDX-License-Identifier: MIT */
/* executor_nets.c: small random layers and networks, made with the public builder. */
#include "executor_nets.h"

#include "check.h"

/* --- building -------------------------------------------------------------------------------- */

enum { MOST_ARGS = 8, MOST_ATTRS = 6, OPSET = 23 };

typedef struct maker {
    weft_net *net;
    weft_rng *rng;
    int n_made;
} maker;

static maker begin(weft_rng *r)
{
    return (maker){.net = weft_net_new("test"), .rng = r};
}

static weft_graph *finish(maker *m, int output)
{
    weft_graph *g;

    weft_net_output(m->net, output);
    CHECK_OK(weft_net_finish(m->net, &g));
    weft_net_free(m->net);
    weft_graph_check(g);
    return g;
}

static const char *fresh(maker *m, const char *stem)
{
    return weft_arena_print(weft_net_arena(m->net), "%s_%d", stem, m->n_made++);
}

/* lo .. hi, both included */
static int64_t draw(maker *m, int lo, int hi)
{
    return lo + weft_rng_below(m->rng, hi - lo + 1);
}

static bool happens(maker *m)
{
    return weft_rng_below(m->rng, 2) == 0;
}

static weft_shape shape(int rank, const int64_t *dim)
{
    weft_shape s = {.rank = rank};

    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static int input(maker *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_F32, .shape = shape(rank, dim)};
    int value;

    CHECK_OK(weft_net_input(m->net, fresh(m, "x"), &v, &value));
    return value;
}

static int ids(maker *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_I64, .shape = shape(rank, dim)};
    int value;

    CHECK_OK(weft_net_input(m->net, fresh(m, "ids"), &v, &value));
    return value;
}

static int weight(maker *m, int rank, const int64_t *dim)
{
    weft_value v = {.type = WEFT_F32, .shape = shape(rank, dim), .is_parameter = true};
    int value;

    CHECK_OK(weft_net_constant(m->net, fresh(m, "w"), &v, &value));
    return value;
}

/* A list of known integers. */
static int list(maker *m, int n, const int64_t *ints)
{
    weft_arena *a = weft_net_arena(m->net);
    weft_literal *data = WEFT_NEW(a, weft_literal, 1);
    weft_value v = {.type = WEFT_I64, .data = data};
    int value;

    data->n = n;
    data->ints = weft_arena_copy(a, ints, (size_t)n * sizeof *ints);
    v.shape = (weft_shape){.rank = 1, .dim = {n}};
    CHECK_OK(weft_net_constant(m->net, fresh(m, "c"), &v, &value));
    return value;
}

static weft_attr int_attr(const char *name, int64_t value)
{
    return (weft_attr){.name = name, .kind = WEFT_ATTR_INT, .i = value};
}

static weft_attr ints_attr(maker *m, const char *name, int n, const int64_t *ints)
{
    const int64_t *kept = weft_arena_copy(weft_net_arena(m->net), ints, (size_t)n * sizeof *ints);

    return (weft_attr){.name = name, .kind = WEFT_ATTR_INTS, .n = n, .ints = kept};
}

typedef struct call {
    const char *op;
    int n_args, arg[MOST_ARGS];
    int n_attrs;
    weft_attr attr[MOST_ATTRS];
} call;

static void apply_all(maker *m, const call *c, int n_results, int *results)
{
    const char *name[MOST_ARGS];
    weft_net_op op = {
        .node = {.name = fresh(m, c->op), .op = c->op, .domain = "", .opset = OPSET},
        .n_args = c->n_args,
        .n_results = n_results,
        .arg = c->arg,
        .result_name = name
    };

    for (int i = 0; i < n_results; i++)
        name[i] = fresh(m, "y");
    op.node.attr = c->attr;
    op.node.n_attrs = c->n_attrs;
    op.node.forward = op.node.wrt = -1;
    CHECK_OK(weft_net_node(m->net, &op, results));
}

static int apply(maker *m, const call *c)
{
    int result;

    apply_all(m, c, 1, &result);
    return result;
}

static int unary(maker *m, const char *op, int x)
{
    return apply(m, &(call){.op = op, .n_args = 1, .arg = {x}});
}

static int binary(maker *m, const char *op, int x, int y)
{
    return apply(m, &(call){
                        .op = op, .n_args = 2, .arg = {x, y}
    });
}

static const int64_t *dims(const maker *m, int x)
{
    return weft_net_value(m->net, x)->shape.dim;
}

static int rank_of(const maker *m, int x)
{
    return weft_net_value(m->net, x)->shape.rank;
}

/* A value of the same shape as x. */
static int input_like(maker *m, int x)
{
    weft_shape s = weft_net_value(m->net, x)->shape;

    return input(m, s.rank, s.dim);
}

/* --- layers that networks use ---------------------------------------------------------------- */

typedef struct conv {
    int64_t out, kernel, stride, groups, dilation;
    bool has_bias, is_padded;
} conv;

static int conv_of(maker *m, int x, conv c)
{
    int64_t pad = c.is_padded ? (c.kernel - 1) * c.dilation / 2 : 0, inputs = dims(m, x)[1];
    call k = {.op = "Conv", .n_args = c.has_bias ? 3 : 2, .arg = {x}, .n_attrs = 4};

    k.arg[1] = weight(m, DIMS(c.out, inputs / c.groups, c.kernel, c.kernel));
    if (c.has_bias)
        k.arg[2] = weight(m, DIMS(c.out));
    k.attr[0] = ints_attr(m, "strides", DIMS(c.stride, c.stride));
    k.attr[1] = ints_attr(m, "dilations", DIMS(c.dilation, c.dilation));
    k.attr[2] = ints_attr(m, "pads", DIMS(pad, pad, pad, pad));
    k.attr[3] = int_attr("group", c.groups);
    return apply(m, &k);
}

static int plain_conv(maker *m, int x, int64_t out, int64_t kernel, int64_t stride)
{
    return conv_of(m, x,
                   (conv){.out = out,
                          .kernel = kernel,
                          .stride = stride,
                          .groups = 1,
                          .dilation = 1,
                          .has_bias = happens(m),
                          .is_padded = true});
}

static int pool_of(maker *m, const char *op, int x, int64_t kernel, int64_t stride, int64_t pad)
{
    call k = {.op = op, .n_args = 1, .arg = {x}, .n_attrs = 3};

    k.attr[0] = ints_attr(m, "kernel_shape", DIMS(kernel, kernel));
    k.attr[1] = ints_attr(m, "strides", DIMS(stride, stride));
    k.attr[2] = ints_attr(m, "pads", DIMS(pad, pad, pad, pad));
    return apply(m, &k);
}

static int with_axis(maker *m, const char *op, int x, int64_t axis)
{
    call k = {.op = op, .n_args = 1, .arg = {x}, .n_attrs = 1};

    k.attr[0] = int_attr("axis", axis);
    return apply(m, &k);
}

static int layer_norm(maker *m, int x)
{
    int64_t width = dims(m, x)[rank_of(m, x) - 1];

    return apply(m, &(call){
                        .op = "LayerNormalization",
                        .n_args = 3,
                        .arg = {x, weight(m, DIMS(width)), weight(m, DIMS(width))}
    });
}

static int reshape(maker *m, int x, int rank, const int64_t *dim)
{
    return binary(m, "Reshape", x, list(m, rank, dim));
}

static int transpose(maker *m, int x, int rank, const int64_t *perm)
{
    call k = {.op = "Transpose", .n_args = 1, .arg = {x}, .n_attrs = 1};

    k.attr[0] = ints_attr(m, "perm", rank, perm);
    return apply(m, &k);
}

static int concat(maker *m, int n, const int *x, int64_t axis)
{
    call k = {.op = "Concat", .n_args = n, .n_attrs = 1};

    memcpy(k.arg, x, (size_t)n * sizeof *x);
    k.attr[0] = int_attr("axis", axis);
    return apply(m, &k);
}

static int linear(maker *m, int x, int64_t out)
{
    call k = {.op = "Gemm", .n_args = 3, .arg = {x}, .n_attrs = 1};

    k.arg[1] = weight(m, DIMS(out, dims(m, x)[1]));
    k.arg[2] = weight(m, DIMS(out));
    k.attr[0] = int_attr("transB", 1);
    return apply(m, &k);
}

static int project(maker *m, int x, int64_t out)
{
    int64_t width = dims(m, x)[rank_of(m, x) - 1];
    int y = binary(m, "MatMul", x, weight(m, DIMS(width, out)));

    return binary(m, "Add", y, weight(m, DIMS(out)));
}

static int batch_norm(maker *m, int x)
{
    call k = {.op = "BatchNormalization", .n_args = 5, .arg = {x}};

    for (int i = 1; i < 5; i++)
        k.arg[i] = weight(m, DIMS(dims(m, x)[1]));
    return apply(m, &k);
}

/* --- single layers --------------------------------------------------------------------------- */

static int picture(maker *m)
{
    return input(m, DIMS(draw(m, 1, 2), draw(m, 2, 6), draw(m, 5, 9), draw(m, 5, 9)));
}

static weft_graph *make_conv(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(1, draw(&m, 1, 9), draw(&m, 7, 11), draw(&m, 7, 11)));
    conv c = {.out = draw(&m, 1, 9),
              .kernel = 1 + 2 * draw(&m, 0, 3),
              .stride = draw(&m, 1, 2),
              .groups = 1,
              .dilation = 1,
              .has_bias = happens(&m),
              .is_padded = happens(&m)};

    return finish(&m, conv_of(&m, x, c));
}

static weft_graph *make_conv_batch(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 4), draw(&m, 2, 5), draw(&m, 4, 6), draw(&m, 4, 6)));

    x = plain_conv(&m, x, draw(&m, 2, 5), 3, draw(&m, 1, 2));
    return finish(&m, x);
}

static weft_graph *make_conv_groups(weft_rng *r)
{
    maker m = begin(r);
    int64_t groups = draw(&m, 2, 5);
    int x = input(&m, DIMS(1, groups * draw(&m, 1, 2), draw(&m, 5, 8), draw(&m, 5, 8)));
    conv c = {.out = groups * draw(&m, 1, 2),
              .kernel = 3,
              .stride = draw(&m, 1, 2),
              .groups = groups,
              .dilation = 1,
              .has_bias = happens(&m),
              .is_padded = true};

    return finish(&m, conv_of(&m, x, c));
}

static weft_graph *make_conv_dilated(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(1, draw(&m, 2, 5), draw(&m, 8, 11), draw(&m, 8, 11)));
    conv c = {.out = draw(&m, 2, 5),
              .kernel = 3,
              .stride = draw(&m, 1, 2),
              .groups = 1,
              .dilation = 2,
              .is_padded = happens(&m)};

    return finish(&m, conv_of(&m, x, c));
}

/* With batch normalisation, the sum with a tensor from elsewhere, a scale for each channel. */
static weft_graph *make_conv_followed(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(1, draw(&m, 2, 6), draw(&m, 5, 8), draw(&m, 5, 8))), scale;

    x = batch_norm(&m, plain_conv(&m, x, draw(&m, 2, 8), 3, draw(&m, 1, 2)));
    x = unary(&m, "Relu", binary(&m, "Add", x, input_like(&m, x)));
    scale = input(&m, DIMS(1, dims(&m, x)[1], 1, 1));
    return finish(&m, binary(&m, "Mul", scale, x));
}

static weft_graph *make_matmul(weft_rng *r)
{
    maker m = begin(r);
    int64_t k = draw(&m, 2, 9);
    int x = input(&m, DIMS(draw(&m, 1, 3), draw(&m, 2, 9), k));

    x = binary(&m, "MatMul", x, weight(&m, DIMS(k, draw(&m, 2, 9))));
    if (happens(&m))
        x = binary(&m, "Add", x, weight(&m, DIMS(dims(&m, x)[2])));
    return finish(&m, happens(&m) ? unary(&m, "Gelu", x) : x);
}

/* Two activations, as in attention; the batch may be broadcast. */
static weft_graph *make_matmul_both(weft_rng *r)
{
    maker m = begin(r);
    int64_t b = draw(&m, 1, 2), h = draw(&m, 2, 4), k = draw(&m, 2, 6);
    int x = input(&m, DIMS(b, h, draw(&m, 2, 6), k));
    int y = happens(&m) ? input(&m, DIMS(b, h, k, draw(&m, 2, 6)))
                        : input(&m, DIMS(h, k, draw(&m, 2, 6)));

    return finish(&m, binary(&m, "MatMul", x, y));
}

/* A tensor with itself, with its transposed self, or summed with itself. */
static weft_graph *make_same(weft_rng *r)
{
    maker m = begin(r);
    int64_t n = draw(&m, 2, 8);
    int x = input(&m, DIMS(n, n));
    call c = {
        .op = "Gemm", .n_args = 3, .arg = {x, x, x},
                .n_attrs = 1
    };

    if (happens(&m))
        return finish(&m, binary(&m, happens(&m) ? "MatMul" : "Add", x, x));
    c.attr[0] = int_attr(happens(&m) ? "transA" : "transB", 1);
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_gemm(weft_rng *r)
{
    maker m = begin(r);
    int64_t rows = draw(&m, 2, 9), k = draw(&m, 2, 9), columns = draw(&m, 2, 9);
    bool is_a = happens(&m), is_b = happens(&m);
    call c = {.op = "Gemm", .n_args = 2 + (happens(&m) ? 1 : 0), .n_attrs = 2};

    c.arg[0] = is_a ? input(&m, DIMS(k, rows)) : input(&m, DIMS(rows, k));
    c.arg[1] = is_b ? weight(&m, DIMS(columns, k)) : input(&m, DIMS(k, columns));
    if (c.n_args > 2)
        c.arg[2] = happens(&m) ? weight(&m, DIMS(columns)) : input(&m, DIMS(rows, 1));
    c.attr[0] = int_attr("transA", is_a);
    c.attr[1] = int_attr("transB", is_b);
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_pool(weft_rng *r)
{
    maker m = begin(r);
    int64_t kernel = draw(&m, 2, 3);
    const char *op = happens(&m) ? "MaxPool" : "AveragePool";

    return finish(
        &m, pool_of(&m, op, picture(&m), kernel, draw(&m, 1, 3), happens(&m) ? kernel / 2 : 0));
}

static weft_graph *make_global_pool(weft_rng *r)
{
    maker m = begin(r);

    return finish(&m, unary(&m, happens(&m) ? "GlobalMaxPool" : "GlobalAveragePool", picture(&m)));
}

static weft_graph *make_reduce(weft_rng *r)
{
    static const char *const op[] = {"ReduceSum", "ReduceMean", "ReduceMax"};
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 5), draw(&m, 2, 6), draw(&m, 2, 6)));
    int64_t first = draw(&m, 0, 2), more = draw(&m, 0, 2);
    call c = {.op = op[draw(&m, 0, 2)], .n_args = 2, .arg = {x}, .n_attrs = 1};

    c.arg[1] = first == more ? list(&m, DIMS(first)) : list(&m, DIMS(first, more));
    c.attr[0] = int_attr("keepdims", happens(&m));
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_elements(weft_rng *r)
{
    static const char *const op[] = {"Add", "Sub", "Mul", "Max"};
    maker m = begin(r);
    int64_t a = draw(&m, 2, 6), b = draw(&m, 2, 6), c = draw(&m, 2, 6);
    int x = input(&m, DIMS(a, b, c));
    int y = happens(&m) ? input(&m, DIMS(b, 1)) : input(&m, DIMS(a, 1, c));

    return finish(&m, unary(&m, "Neg", binary(&m, op[draw(&m, 0, 3)], x, y)));
}

static weft_graph *make_softmax(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 4), draw(&m, 2, 5), draw(&m, 2, 7)));

    return finish(&m, with_axis(&m, "Softmax", x, draw(&m, 0, 2)));
}

static weft_graph *make_layer_norm(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 1, 3), draw(&m, 2, 5), draw(&m, 2, 8)));
    int64_t axis = draw(&m, 1, 2);
    const int64_t *d = dims(&m, x);
    call c = {.op = "LayerNormalization", .n_args = 3, .arg = {x}, .n_attrs = 1};

    for (int i = 1; i < 3; i++)
        c.arg[i] = axis == 2 ? weight(&m, DIMS(d[2])) : weight(&m, DIMS(d[1], d[2]));
    c.attr[0] = int_attr("axis", axis);
    return finish(&m, unary(&m, "Relu", apply(&m, &c)));
}

static weft_graph *make_groups(weft_rng *r)
{
    maker m = begin(r);
    int64_t groups = draw(&m, 2, 3), channels = groups * draw(&m, 1, 3);
    bool is_instance = happens(&m);
    int x = input(&m, DIMS(draw(&m, 1, 2), channels, draw(&m, 2, 5), draw(&m, 2, 5)));
    call c = {
        .op = is_instance ? "InstanceNormalization" : "GroupNormalization",
        .n_args = 3,
        .arg = {x, weight(&m, DIMS(channels)), weight(&m, DIMS(channels))},
        .n_attrs = is_instance ? 0 : 1
    };

    c.attr[0] = int_attr("num_groups", groups);
    if (!is_instance && happens(&m)) { /* as of opset 18, or 21 */
        c.arg[1] = weight(&m, DIMS(groups));
        c.arg[2] = weight(&m, DIMS(groups));
    }
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_lrn(weft_rng *r)
{
    maker m = begin(r);
    call c = {.op = "LRN", .n_args = 1, .arg = {picture(&m)}, .n_attrs = 1};

    c.attr[0] = int_attr("size", draw(&m, 1, (int)dims(&m, c.arg[0])[1]));
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_batch_norm(weft_rng *r)
{
    maker m = begin(r);

    return finish(&m, batch_norm(&m, picture(&m)));
}

static weft_graph *make_transpose(weft_rng *r)
{
    static const int64_t perm[][3] = {
        {0, 2, 1},
        {1, 0, 2},
        {2, 0, 1},
        {2, 1, 0},
        {1, 2, 0}
    };
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 6), draw(&m, 2, 6), draw(&m, 2, 6)));

    return finish(&m, transpose(&m, x, 3, perm[draw(&m, 0, 4)]));
}

static weft_graph *make_view(weft_rng *r)
{
    maker m = begin(r);
    int64_t a = draw(&m, 1, 4), b = draw(&m, 2, 5), c = draw(&m, 2, 4), d = draw(&m, 1, 4);
    int x = input(&m, DIMS(a, b, c * d));

    switch (draw(&m, 0, 5)) {
    case 0:
        return finish(&m, reshape(&m, x, DIMS(a, b, c, d)));
    case 1:
        return finish(&m, reshape(&m, x, DIMS(a * b, c * d)));
    case 2:
        return finish(&m, reshape(&m, x, DIMS(a, c, b * d))); /* across the borders */
    case 3:
        return finish(&m, with_axis(&m, "Flatten", x, draw(&m, 0, 2)));
    case 4:
        return finish(&m, reshape(&m, x, DIMS(a * b * c * d)));
    default:
        return finish(&m, binary(&m, "Unsqueeze", x, list(&m, DIMS(1))));
    }
}

static weft_graph *make_concat(weft_rng *r)
{
    maker m = begin(r);
    int64_t axis = draw(&m, 0, 2), d[3] = {draw(&m, 2, 4), draw(&m, 2, 4), draw(&m, 2, 4)};
    int n = (int)draw(&m, 2, 8), x[8];

    for (int i = 0; i < n; i++) {
        d[axis] = draw(&m, 1, 4);
        x[i] = i == 1 && happens(&m) ? weight(&m, 3, d) : input(&m, 3, d);
    }
    return finish(&m, concat(&m, n, x, axis));
}

static weft_graph *make_split(weft_rng *r)
{
    maker m = begin(r);
    int64_t axis = draw(&m, 0, 2), d[3] = {draw(&m, 2, 5), draw(&m, 2, 5), draw(&m, 2, 5)};
    int64_t part[] = {draw(&m, 1, 4), draw(&m, 1, 4), draw(&m, 1, 4)};
    call c = {.op = "Split", .n_args = 2, .n_attrs = 1};
    int y[3];

    d[axis] = part[0] + part[1] + part[2];
    c.arg[0] = input(&m, 3, d);
    c.arg[1] = list(&m, 3, part);
    c.attr[0] = int_attr("axis", axis);
    apply_all(&m, &c, 3, y);
    weft_net_output(m.net, y[0]);
    weft_net_output(m.net, y[2]);
    return finish(&m, y[1]);
}

static weft_graph *make_slice(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 3, 5), draw(&m, 7, 9), draw(&m, 2, 5)));
    bool is_backward = happens(&m);
    int64_t step = draw(&m, 1, 3), first = draw(&m, 0, 2), second = draw(&m, 0, 1);
    call c = {.op = "Slice", .n_args = 5, .arg = {x}};

    c.arg[1] = list(&m, DIMS(is_backward ? 6 : first, second));
    c.arg[2] = list(&m, DIMS(is_backward ? 0 : 7, dims(&m, x)[0]));
    c.arg[3] = list(&m, DIMS(1, 0));
    c.arg[4] = list(&m, DIMS(is_backward ? -step : step, 1));
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_gather(weft_rng *r)
{
    maker m = begin(r);
    int64_t axis = draw(&m, 0, 1);
    call c = {.op = "Gather", .n_args = 2, .n_attrs = 1};

    if (happens(&m)) /* an embedding, or a pick among activations */
        c.arg[0] = weight(&m, DIMS(draw(&m, 3, 9), draw(&m, 2, 6)));
    else
        c.arg[0] = input(&m, DIMS(draw(&m, 3, 6), draw(&m, 3, 6), draw(&m, 2, 4)));
    c.arg[1] =
        happens(&m) ? ids(&m, DIMS(draw(&m, 2, 4), draw(&m, 2, 4))) : ids(&m, DIMS(draw(&m, 2, 8)));
    c.attr[0] = int_attr("axis", axis);
    return finish(&m, apply(&m, &c));
}

/* Stride and kernel equal: parts side by side; else they overlap, or leave gaps. */
static weft_graph *make_spread(weft_rng *r)
{
    maker m = begin(r);
    int64_t groups = draw(&m, 1, 2), channels = groups * draw(&m, 1, 3), kernel = draw(&m, 1, 3);
    int64_t stride = happens(&m) ? kernel : draw(&m, 1, 2);
    int x = input(&m, DIMS(draw(&m, 1, 2), channels, draw(&m, 3, 5), draw(&m, 3, 5)));
    call c = {.op = "ConvTranspose", .n_args = happens(&m) ? 2 : 3, .arg = {x}, .n_attrs = 3};
    int64_t out = draw(&m, 1, 4), pad = kernel > 1 && happens(&m) ? 1 : 0;

    c.arg[1] = weight(&m, DIMS(channels, out, kernel, kernel));
    if (c.n_args > 2)
        c.arg[2] = weight(&m, DIMS(out * groups));
    c.attr[0] = ints_attr(&m, "strides", DIMS(stride, stride));
    c.attr[1] = ints_attr(&m, "pads", DIMS(pad, pad, pad, pad));
    c.attr[2] = int_attr("group", groups);
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_einsum(weft_rng *r)
{
    static const char *const equation[] = {"bij,bjk->bik", "bij,bkj->bki", "bij,bij->b",
                                           "bij,bjk->ikb"};
    maker m = begin(r);
    int which = (int)draw(&m, 0, 3);
    int64_t b = draw(&m, 2, 4), i = draw(&m, 2, 5), j = draw(&m, 2, 5), k = draw(&m, 2, 5);
    call c = {.op = "Einsum", .n_args = 2, .n_attrs = 1};

    c.arg[0] = input(&m, DIMS(b, i, j));
    if (which == 1)
        c.arg[1] = weight(&m, DIMS(b, k, j));
    else
        c.arg[1] = which == 2 ? input(&m, DIMS(b, i, j)) : input(&m, DIMS(b, j, k));
    c.attr[0] = (weft_attr){.name = "equation", .kind = WEFT_ATTR_TEXT, .s = equation[which]};
    return finish(&m, apply(&m, &c));
}

/* Heads that share keys and values, or do not; heads beside each other, or one after another. */
static weft_graph *make_attention(weft_rng *r)
{
    maker m = begin(r);
    int64_t b = draw(&m, 1, 2), kv = draw(&m, 1, 3), heads = kv * draw(&m, 1, 2);
    int64_t rows = draw(&m, 2, 5), keys = draw(&m, 2, 5), wide = draw(&m, 1, 3),
            out = draw(&m, 1, 3);
    bool is_flat = happens(&m);
    call c = {.op = "Attention", .n_args = happens(&m) ? 3 : 4, .n_attrs = is_flat ? 2 : 0};

    c.arg[0] =
        is_flat ? input(&m, DIMS(b, rows, heads * wide)) : input(&m, DIMS(b, heads, rows, wide));
    c.arg[1] = is_flat ? input(&m, DIMS(b, keys, kv * wide)) : input(&m, DIMS(b, kv, keys, wide));
    c.arg[2] = is_flat ? input(&m, DIMS(b, keys, kv * out)) : input(&m, DIMS(b, kv, keys, out));
    if (c.n_args > 3)
        c.arg[3] = input(&m, DIMS(rows, keys));
    c.attr[0] = int_attr("q_num_heads", heads);
    c.attr[1] = int_attr("kv_num_heads", kv);
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_vector(weft_rng *r)
{
    maker m = begin(r);
    int64_t k = draw(&m, 2, 8), b = draw(&m, 2, 4), n = draw(&m, 2, 8);

    if (happens(&m))
        return finish(&m, binary(&m, "MatMul", input(&m, DIMS(b, n, k)), weight(&m, DIMS(k))));
    return finish(&m, binary(&m, "MatMul", input(&m, DIMS(k)), weight(&m, DIMS(b, k, n))));
}

static weft_graph *make_pad(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 4), draw(&m, 2, 4), draw(&m, 2, 4)));
    int pads = list(&m, DIMS(draw(&m, 0, 4), draw(&m, 0, 2), 0, draw(&m, 0, 4), 1, draw(&m, 0, 2)));

    return finish(&m, binary(&m, "Pad", x, pads));
}

static weft_graph *make_resize(weft_rng *r)
{
    maker m = begin(r);
    call c = {
        .op = "Resize", .n_args = 4, .arg = {picture(&m), -1, -1}
    };
    const int64_t *d = dims(&m, c.arg[0]);

    c.arg[3] = list(&m, DIMS(d[0], d[1], draw(&m, 2, 9), d[3]));
    return finish(&m, apply(&m, &c));
}

static weft_graph *make_running(weft_rng *r)
{
    maker m = begin(r);
    int x = input(&m, DIMS(draw(&m, 2, 5), draw(&m, 2, 5), draw(&m, 2, 5)));

    return finish(&m, binary(&m, "CumSum", x, list(&m, DIMS(draw(&m, 0, 2)))));
}

static weft_graph *make_variance(weft_rng *r)
{
    maker m = begin(r);

    return finish(&m, unary(&m, "MeanVarianceNormalization", picture(&m)));
}

/* A choice among two, a slope for each channel, limits. */
static weft_graph *make_choice(weft_rng *r)
{
    maker m = begin(r);
    int64_t a = draw(&m, 2, 5), b = draw(&m, 2, 5), c = draw(&m, 2, 5);
    weft_value v = {.type = WEFT_BOOL, .shape = shape(DIMS(b, 1))};
    int x = input(&m, DIMS(a, b, c)), y = input(&m, DIMS(1, b, c)), is;

    CHECK_OK(weft_net_input(m.net, fresh(&m, "is"), &v, &is));
    x = apply(&m, &(call){
                      .op = "Where", .n_args = 3, .arg = {is, x, y}
    });
    x = binary(&m, "PRelu", x, weight(&m, DIMS(b, 1)));
    return finish(&m, apply(&m, &(call){
                                    .op = "Clip",
                                    .n_args = 3,
                                    .arg = {x, weight(&m, 0, NULL), weight(&m, 0, NULL)}
    }));
}

const exec_recipe exec_layers[] = {
    {"convolution",            make_conv         },
    {"convolution, batch",     make_conv_batch   },
    {"convolution, groups",    make_conv_groups  },
    {"convolution, dilated",   make_conv_dilated },
    {"convolution, followed",  make_conv_followed},
    {"product with weights",   make_matmul       },
    {"product of activations", make_matmul_both  },
    {"product with itself",    make_same         },
    {"Gemm",                   make_gemm         },
    {"pool",                   make_pool         },
    {"global pool",            make_global_pool  },
    {"reduction",              make_reduce       },
    {"element-wise",           make_elements     },
    {"softmax",                make_softmax      },
    {"layer normalisation",    make_layer_norm   },
    {"group normalisation",    make_groups       },
    {"local response",         make_lrn          },
    {"batch normalisation",    make_batch_norm   },
    {"transposition",          make_transpose    },
    {"view",                   make_view         },
    {"join",                   make_concat       },
    {"cut into three",         make_split        },
    {"slice",                  make_slice        },
    {"transposed convolution", make_spread       },
    {"labelled product",       make_einsum       },
    {"attention",              make_attention    },
    {"product with a vector",  make_vector       },
    {"padding",                make_pad          },
    {"resizing",               make_resize       },
    {"running sum",            make_running      },
    {"mean and variance",      make_variance     },
    {"choice",                 make_choice       },
    {"look-up",                make_gather       },
    {NULL,                     NULL              },
};

/* --- networks -------------------------------------------------------------------------------- */

static weft_graph *chain(weft_rng *r)
{
    maker m = begin(r);
    int x = picture(&m), n = (int)draw(&m, 2, 6);

    for (int i = 0; i < n; i++) {
        int64_t least = dims(&m, x)[2] < dims(&m, x)[3] ? dims(&m, x)[2] : dims(&m, x)[3];

        switch (draw(&m, 0, 4)) {
        case 0:
            x = unary(&m, "Relu", plain_conv(&m, x, draw(&m, 2, 6), 3, 1));
            break;
        case 1:
            x = plain_conv(&m, x, draw(&m, 2, 6), 1 + 2 * draw(&m, 0, 2), least > 3 ? 2 : 1);
            break;
        case 2:
            x = batch_norm(&m, plain_conv(&m, x, draw(&m, 2, 8), 1, 1));
            break;
        case 3:
            x = pool_of(&m, happens(&m) ? "MaxPool" : "AveragePool", x, 3, least > 3 ? 2 : 1, 1);
            break;
        default:
            x = binary(&m, "Mul", x, unary(&m, "Sigmoid", x));
        }
    }
    return finish(&m, x);
}

/* Two convolutions and a way round them, with one or without. */
static int residual(maker *m, int x, int64_t out, int64_t stride)
{
    int skip = x, y = unary(m, "Relu", plain_conv(m, x, out, 3, stride));

    y = plain_conv(m, y, out, 3, 1);
    if (stride > 1 || out != dims(m, x)[1])
        skip = plain_conv(m, x, out, 1, stride);
    return unary(m, "Relu", binary(m, "Add", y, skip));
}

static weft_graph *residual_blocks(weft_rng *r)
{
    maker m = begin(r);
    int x = picture(&m);

    x = residual(&m, plain_conv(&m, x, 4, 3, 1), 4, 1);
    x = residual(&m, x, draw(&m, 3, 6), draw(&m, 1, 2));
    return finish(&m, x);
}

static weft_graph *classifier(weft_rng *r)
{
    maker m = begin(r);
    int x = picture(&m), y[2];

    x = unary(&m, "Relu", plain_conv(&m, x, draw(&m, 3, 6), 3, 1));
    x = pool_of(&m, "MaxPool", x, 2, 2, 0);
    y[0] = plain_conv(&m, x, draw(&m, 2, 4), 1, 1);
    y[1] = plain_conv(&m, x, draw(&m, 2, 4), 3, 1);
    x = concat(&m, 2, y, 1);
    x = happens(&m) ? unary(&m, "GlobalAveragePool", x) : x;
    x = unary(&m, "Relu", linear(&m, with_axis(&m, "Flatten", x, 1), draw(&m, 4, 9)));
    return finish(&m, with_axis(&m, "Softmax", linear(&m, x, draw(&m, 3, 7)), -1));
}

/* batch x heads x tokens x width of a head */
static int heads_of(maker *m, int x, int64_t heads)
{
    const int64_t *d = dims(m, x);

    x = reshape(m, x, DIMS(d[0], d[1], heads, d[2] / heads));
    return transpose(m, x, DIMS(0, 2, 1, 3));
}

static weft_graph *attention(weft_rng *r)
{
    maker m = begin(r);
    int64_t b = draw(&m, 1, 2), tokens = draw(&m, 3, 6), heads = draw(&m, 2, 3),
            width = heads * draw(&m, 2, 3);
    int x = input(&m, DIMS(b, tokens, width)), y = layer_norm(&m, x);
    int q = heads_of(&m, project(&m, y, width), heads);
    int k = heads_of(&m, project(&m, y, width), heads);
    int v = heads_of(&m, project(&m, y, width), heads);

    k = transpose(&m, k, DIMS(0, 1, 3, 2));
    y = with_axis(&m, "Softmax", binary(&m, "MatMul", q, k), -1);
    y = transpose(&m, binary(&m, "MatMul", y, v), DIMS(0, 2, 1, 3));
    x = binary(&m, "Add", x, project(&m, reshape(&m, y, DIMS(b, tokens, width)), width));
    y = project(&m, unary(&m, "Gelu", project(&m, layer_norm(&m, x), 2 * width)), width);
    return finish(&m, binary(&m, "Add", x, y));
}

static weft_graph *recommendation(weft_rng *r)
{
    enum { N_TABLES = 3 };
    maker m = begin(r);
    int64_t b = draw(&m, 2, 4), width = draw(&m, 3, 5);
    int vector[N_TABLES + 1], x = input(&m, DIMS(b, 4)), all, dots;

    x = unary(&m, "Relu", linear(&m, unary(&m, "Relu", linear(&m, x, 6)), width));
    vector[0] = binary(&m, "Unsqueeze", x, list(&m, DIMS(1)));
    for (int i = 1; i <= N_TABLES; i++)
        vector[i] =
            binary(&m, "Gather", weight(&m, DIMS(draw(&m, 5, 9), width)), ids(&m, DIMS(b, 1)));
    all = concat(&m, N_TABLES + 1, vector, 1);
    dots = binary(&m, "MatMul", all, transpose(&m, all, DIMS(0, 2, 1)));
    dots = with_axis(&m, "Flatten", dots, 1);
    x = concat(&m, 2, (int[]){x, dots}, 1);
    return finish(&m, unary(&m, "Sigmoid", linear(&m, unary(&m, "Relu", linear(&m, x, 7)), 3)));
}

const exec_recipe exec_networks[] = {
    {"chain",          chain          },
    {"residual",       residual_blocks},
    {"classifier",     classifier     },
    {"attention",      attention      },
    {"recommendation", recommendation },
    {NULL,             NULL           },
};

weft_graph *exec_conv_graph(const exec_conv *c)
{
    weft_rng r = weft_rng_seed(1);
    maker m = begin(&r);
    int x = input(&m, DIMS(1, c->channels, c->height, c->width));
    conv k = {.out = c->out,
              .kernel = c->kernel,
              .stride = c->stride,
              .groups = 1,
              .dilation = 1,
              .is_padded = true};

    x = conv_of(&m, x, k);
    return finish(&m, c->is_chain ? conv_of(&m, x, k) : x);
}
