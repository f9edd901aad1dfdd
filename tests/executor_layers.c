/* SPDX-License-Identifier: MIT */
/* executor_layers.c: small random layers of every kind that the executor knows. */
#include "executor_build.h"
#include "executor_nets.h"

#include "check.h"

/* --- single layers --------------------------------------------------------------------------- */

static weft_graph *make_conv(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(
        &m, DIMS(1, build_draw(&m, 1, 9), build_draw(&m, 7, 11), build_draw(&m, 7, 11)));
    build_conv_options c = {.out = build_draw(&m, 1, 9),
                            .kernel = 1 + 2 * build_draw(&m, 0, 3),
                            .stride = build_draw(&m, 1, 2),
                            .groups = 1,
                            .dilation = 1,
                            .has_bias = build_happens(&m),
                            .is_padded = build_happens(&m)};

    return build_finish(&m, build_conv_of(&m, x, c));
}

static weft_graph *make_conv_batch(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 4), build_draw(&m, 2, 5), build_draw(&m, 4, 6),
                                 build_draw(&m, 4, 6)));

    x = build_plain_conv(&m, x, build_draw(&m, 2, 5), 3, build_draw(&m, 1, 2));
    return build_finish(&m, x);
}

static weft_graph *make_conv_groups(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t groups = build_draw(&m, 2, 5);
    int x = build_input(
        &m, DIMS(1, groups * build_draw(&m, 1, 2), build_draw(&m, 5, 8), build_draw(&m, 5, 8)));
    build_conv_options c = {.out = groups * build_draw(&m, 1, 2),
                            .kernel = 3,
                            .stride = build_draw(&m, 1, 2),
                            .groups = groups,
                            .dilation = 1,
                            .has_bias = build_happens(&m),
                            .is_padded = true};

    return build_finish(&m, build_conv_of(&m, x, c));
}

static weft_graph *make_conv_dilated(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(
        &m, DIMS(1, build_draw(&m, 2, 5), build_draw(&m, 8, 11), build_draw(&m, 8, 11)));
    build_conv_options c = {.out = build_draw(&m, 2, 5),
                            .kernel = 3,
                            .stride = build_draw(&m, 1, 2),
                            .groups = 1,
                            .dilation = 2,
                            .is_padded = build_happens(&m)};

    return build_finish(&m, build_conv_of(&m, x, c));
}

/* With batch normalisation, the sum with a tensor from elsewhere, a scale for each channel. */
static weft_graph *make_conv_followed(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m,
                        DIMS(1, build_draw(&m, 2, 6), build_draw(&m, 5, 8), build_draw(&m, 5, 8))),
        scale;

    x = build_batch_norm(&m,
                         build_plain_conv(&m, x, build_draw(&m, 2, 8), 3, build_draw(&m, 1, 2)));
    x = build_unary(&m, "Relu", build_binary(&m, "Add", x, build_input_like(&m, x)));
    scale = build_input(&m, DIMS(1, build_dims(&m, x)[1], 1, 1));
    return build_finish(&m, build_binary(&m, "Mul", scale, x));
}

static weft_graph *make_matmul(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t k = build_draw(&m, 2, 9);
    int x = build_input(&m, DIMS(build_draw(&m, 1, 3), build_draw(&m, 2, 9), k));

    x = build_binary(&m, "MatMul", x, build_weight(&m, DIMS(k, build_draw(&m, 2, 9))));
    if (build_happens(&m))
        x = build_binary(&m, "Add", x, build_weight(&m, DIMS(build_dims(&m, x)[2])));
    return build_finish(&m, build_happens(&m) ? build_unary(&m, "Gelu", x) : x);
}

/* Two activations, as in attention; the batch may be broadcast. */
static weft_graph *make_matmul_both(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t b = build_draw(&m, 1, 2), h = build_draw(&m, 2, 4), k = build_draw(&m, 2, 6);
    int x = build_input(&m, DIMS(b, h, build_draw(&m, 2, 6), k));
    int y = build_happens(&m) ? build_input(&m, DIMS(b, h, k, build_draw(&m, 2, 6)))
                              : build_input(&m, DIMS(h, k, build_draw(&m, 2, 6)));

    return build_finish(&m, build_binary(&m, "MatMul", x, y));
}

/* A tensor with itself, with its transposed self, or summed with itself. */
static weft_graph *make_same(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t n = build_draw(&m, 2, 8);
    int x = build_input(&m, DIMS(n, n));
    build_call c = {
        .op = "Gemm", .n_args = 3, .arg = {x, x, x},
                .n_attrs = 1
    };

    if (build_happens(&m))
        return build_finish(&m, build_binary(&m, build_happens(&m) ? "MatMul" : "Add", x, x));
    c.attr[0] = build_int_attr(build_happens(&m) ? "transA" : "transB", 1);
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_gemm(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t rows = build_draw(&m, 2, 9), k = build_draw(&m, 2, 9), columns = build_draw(&m, 2, 9);
    bool is_a = build_happens(&m), is_b = build_happens(&m);
    build_call c = {.op = "Gemm", .n_args = 2 + (build_happens(&m) ? 1 : 0), .n_attrs = 2};

    c.arg[0] = is_a ? build_input(&m, DIMS(k, rows)) : build_input(&m, DIMS(rows, k));
    c.arg[1] = is_b ? build_weight(&m, DIMS(columns, k)) : build_input(&m, DIMS(k, columns));
    if (c.n_args > 2)
        c.arg[2] =
            build_happens(&m) ? build_weight(&m, DIMS(columns)) : build_input(&m, DIMS(rows, 1));
    c.attr[0] = build_int_attr("transA", is_a);
    c.attr[1] = build_int_attr("transB", is_b);
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_pool(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t kernel = build_draw(&m, 2, 3);
    const char *op = build_happens(&m) ? "MaxPool" : "AveragePool";

    return build_finish(&m, build_pool_of(&m, op, build_picture(&m), kernel, build_draw(&m, 1, 3),
                                          build_happens(&m) ? kernel / 2 : 0));
}

static weft_graph *make_global_pool(weft_rng *r)
{
    build_net m = build_begin(r);

    return build_finish(&m,
                        build_unary(&m, build_happens(&m) ? "GlobalMaxPool" : "GlobalAveragePool",
                                    build_picture(&m)));
}

static weft_graph *make_reduce(weft_rng *r)
{
    static const char *const op[] = {"ReduceSum", "ReduceMean", "ReduceMax"};
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 5), build_draw(&m, 2, 6), build_draw(&m, 2, 6)));
    int64_t first = build_draw(&m, 0, 2), more = build_draw(&m, 0, 2);
    build_call c = {.op = op[build_draw(&m, 0, 2)], .n_args = 2, .arg = {x}, .n_attrs = 1};

    c.arg[1] = first == more ? build_list(&m, DIMS(first)) : build_list(&m, DIMS(first, more));
    c.attr[0] = build_int_attr("keepdims", build_happens(&m));
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_elements(weft_rng *r)
{
    static const char *const op[] = {"Add", "Sub", "Mul", "Max"};
    build_net m = build_begin(r);
    int64_t a = build_draw(&m, 2, 6), b = build_draw(&m, 2, 6), c = build_draw(&m, 2, 6);
    int x = build_input(&m, DIMS(a, b, c));
    int y = build_happens(&m) ? build_input(&m, DIMS(b, 1)) : build_input(&m, DIMS(a, 1, c));

    return build_finish(&m,
                        build_unary(&m, "Neg", build_binary(&m, op[build_draw(&m, 0, 3)], x, y)));
}

static weft_graph *make_softmax(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 4), build_draw(&m, 2, 5), build_draw(&m, 2, 7)));

    return build_finish(&m, build_with_axis(&m, "Softmax", x, build_draw(&m, 0, 2)));
}

static weft_graph *make_layer_norm(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 1, 3), build_draw(&m, 2, 5), build_draw(&m, 2, 8)));
    int64_t axis = build_draw(&m, 1, 2);
    const int64_t *d = build_dims(&m, x);
    build_call c = {.op = "LayerNormalization", .n_args = 3, .arg = {x}, .n_attrs = 1};

    for (int i = 1; i < 3; i++)
        c.arg[i] = axis == 2 ? build_weight(&m, DIMS(d[2])) : build_weight(&m, DIMS(d[1], d[2]));
    c.attr[0] = build_int_attr("axis", axis);
    return build_finish(&m, build_unary(&m, "Relu", build_apply(&m, &c)));
}

static weft_graph *make_groups(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t groups = build_draw(&m, 2, 3), channels = groups * build_draw(&m, 1, 3);
    bool is_instance = build_happens(&m);
    int x = build_input(
        &m, DIMS(build_draw(&m, 1, 2), channels, build_draw(&m, 2, 5), build_draw(&m, 2, 5)));
    build_call c = {
        .op = is_instance ? "InstanceNormalization" : "GroupNormalization",
        .n_args = 3,
        .arg = {x, build_weight(&m, DIMS(channels)), build_weight(&m, DIMS(channels))},
        .n_attrs = is_instance ? 0 : 1
    };

    c.attr[0] = build_int_attr("num_groups", groups);
    if (!is_instance && build_happens(&m)) { /* as of opset 18, or 21 */
        c.arg[1] = build_weight(&m, DIMS(groups));
        c.arg[2] = build_weight(&m, DIMS(groups));
    }
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_lrn(weft_rng *r)
{
    build_net m = build_begin(r);
    build_call c = {.op = "LRN", .n_args = 1, .arg = {build_picture(&m)}, .n_attrs = 1};

    c.attr[0] = build_int_attr("size", build_draw(&m, 1, (int)build_dims(&m, c.arg[0])[1]));
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_batch_norm(weft_rng *r)
{
    build_net m = build_begin(r);

    return build_finish(&m, build_batch_norm(&m, build_picture(&m)));
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
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 6), build_draw(&m, 2, 6), build_draw(&m, 2, 6)));

    return build_finish(&m, build_transpose(&m, x, 3, perm[build_draw(&m, 0, 4)]));
}

static weft_graph *make_view(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t a = build_draw(&m, 1, 4), b = build_draw(&m, 2, 5), c = build_draw(&m, 2, 4),
            d = build_draw(&m, 1, 4);
    int x = build_input(&m, DIMS(a, b, c * d));

    switch (build_draw(&m, 0, 5)) {
    case 0:
        return build_finish(&m, build_reshape(&m, x, DIMS(a, b, c, d)));
    case 1:
        return build_finish(&m, build_reshape(&m, x, DIMS(a * b, c * d)));
    case 2:
        return build_finish(&m, build_reshape(&m, x, DIMS(a, c, b * d))); /* across the borders */
    case 3:
        return build_finish(&m, build_with_axis(&m, "Flatten", x, build_draw(&m, 0, 2)));
    case 4:
        return build_finish(&m, build_reshape(&m, x, DIMS(a * b * c * d)));
    default:
        return build_finish(&m, build_binary(&m, "Unsqueeze", x, build_list(&m, DIMS(1))));
    }
}

static weft_graph *make_concat(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t axis = build_draw(&m, 0, 2),
            d[3] = {build_draw(&m, 2, 4), build_draw(&m, 2, 4), build_draw(&m, 2, 4)};
    int n = (int)build_draw(&m, 2, 8), x[8];

    for (int i = 0; i < n; i++) {
        d[axis] = build_draw(&m, 1, 4);
        x[i] = i == 1 && build_happens(&m) ? build_weight(&m, 3, d) : build_input(&m, 3, d);
    }
    return build_finish(&m, build_concat(&m, n, x, axis));
}

static weft_graph *make_split(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t axis = build_draw(&m, 0, 2),
            d[3] = {build_draw(&m, 2, 5), build_draw(&m, 2, 5), build_draw(&m, 2, 5)};
    int64_t part[] = {build_draw(&m, 1, 4), build_draw(&m, 1, 4), build_draw(&m, 1, 4)};
    build_call c = {.op = "Split", .n_args = 2, .n_attrs = 1};
    int y[3];

    d[axis] = part[0] + part[1] + part[2];
    c.arg[0] = build_input(&m, 3, d);
    c.arg[1] = build_list(&m, 3, part);
    c.attr[0] = build_int_attr("axis", axis);
    build_apply_all(&m, &c, 3, y);
    weft_net_output(m.net, y[0]);
    weft_net_output(m.net, y[2]);
    return build_finish(&m, y[1]);
}

static weft_graph *make_slice(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 3, 5), build_draw(&m, 7, 9), build_draw(&m, 2, 5)));
    bool is_backward = build_happens(&m);
    int64_t step = build_draw(&m, 1, 3), first = build_draw(&m, 0, 2),
            second = build_draw(&m, 0, 1);
    build_call c = {.op = "Slice", .n_args = 5, .arg = {x}};

    c.arg[1] = build_list(&m, DIMS(is_backward ? 6 : first, second));
    c.arg[2] = build_list(&m, DIMS(is_backward ? 0 : 7, build_dims(&m, x)[0]));
    c.arg[3] = build_list(&m, DIMS(1, 0));
    c.arg[4] = build_list(&m, DIMS(is_backward ? -step : step, 1));
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_gather(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t axis = build_draw(&m, 0, 1);
    build_call c = {.op = "Gather", .n_args = 2, .n_attrs = 1};

    if (build_happens(&m)) /* an embedding, or a pick among activations */
        c.arg[0] = build_weight(&m, DIMS(build_draw(&m, 3, 9), build_draw(&m, 2, 6)));
    else
        c.arg[0] =
            build_input(&m, DIMS(build_draw(&m, 3, 6), build_draw(&m, 3, 6), build_draw(&m, 2, 4)));
    c.arg[1] = build_happens(&m) ? build_ids(&m, DIMS(build_draw(&m, 2, 4), build_draw(&m, 2, 4)))
                                 : build_ids(&m, DIMS(build_draw(&m, 2, 8)));
    c.attr[0] = build_int_attr("axis", axis);
    return build_finish(&m, build_apply(&m, &c));
}

/* Stride and kernel equal: parts side by side; else they overlap, or leave gaps. */
static weft_graph *make_spread(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t groups = build_draw(&m, 1, 2), channels = groups * build_draw(&m, 1, 3),
            kernel = build_draw(&m, 1, 3);
    int64_t stride = build_happens(&m) ? kernel : build_draw(&m, 1, 2);
    int x = build_input(
        &m, DIMS(build_draw(&m, 1, 2), channels, build_draw(&m, 3, 5), build_draw(&m, 3, 5)));
    build_call c = {
        .op = "ConvTranspose", .n_args = build_happens(&m) ? 2 : 3, .arg = {x}, .n_attrs = 3};
    int64_t out = build_draw(&m, 1, 4), pad = kernel > 1 && build_happens(&m) ? 1 : 0;

    c.arg[1] = build_weight(&m, DIMS(channels, out, kernel, kernel));
    if (c.n_args > 2)
        c.arg[2] = build_weight(&m, DIMS(out * groups));
    c.attr[0] = build_ints_attr(&m, "strides", DIMS(stride, stride));
    c.attr[1] = build_ints_attr(&m, "pads", DIMS(pad, pad, pad, pad));
    c.attr[2] = build_int_attr("group", groups);
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_einsum(weft_rng *r)
{
    static const char *const equation[] = {"bij,bjk->bik", "bij,bkj->bki", "bij,bij->b",
                                           "bij,bjk->ikb"};
    build_net m = build_begin(r);
    int which = (int)build_draw(&m, 0, 3);
    int64_t b = build_draw(&m, 2, 4), i = build_draw(&m, 2, 5), j = build_draw(&m, 2, 5),
            k = build_draw(&m, 2, 5);
    build_call c = {.op = "Einsum", .n_args = 2, .n_attrs = 1};

    c.arg[0] = build_input(&m, DIMS(b, i, j));
    if (which == 1)
        c.arg[1] = build_weight(&m, DIMS(b, k, j));
    else
        c.arg[1] = which == 2 ? build_input(&m, DIMS(b, i, j)) : build_input(&m, DIMS(b, j, k));
    c.attr[0] = (weft_attr){.name = "equation", .kind = WEFT_ATTR_TEXT, .s = equation[which]};
    return build_finish(&m, build_apply(&m, &c));
}

/* Heads that share keys and values, or do not; heads beside each other, or one after another. */
static weft_graph *make_attention(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t b = build_draw(&m, 1, 2), kv = build_draw(&m, 1, 3), heads = kv * build_draw(&m, 1, 2);
    int64_t rows = build_draw(&m, 2, 5), keys = build_draw(&m, 2, 5), wide = build_draw(&m, 1, 3),
            out = build_draw(&m, 1, 3);
    bool is_flat = build_happens(&m);
    build_call c = {
        .op = "Attention", .n_args = build_happens(&m) ? 3 : 4, .n_attrs = is_flat ? 2 : 0};

    c.arg[0] = is_flat ? build_input(&m, DIMS(b, rows, heads * wide))
                       : build_input(&m, DIMS(b, heads, rows, wide));
    c.arg[1] = is_flat ? build_input(&m, DIMS(b, keys, kv * wide))
                       : build_input(&m, DIMS(b, kv, keys, wide));
    c.arg[2] = is_flat ? build_input(&m, DIMS(b, keys, kv * out))
                       : build_input(&m, DIMS(b, kv, keys, out));
    if (c.n_args > 3)
        c.arg[3] = build_input(&m, DIMS(rows, keys));
    c.attr[0] = build_int_attr("q_num_heads", heads);
    c.attr[1] = build_int_attr("kv_num_heads", kv);
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_vector(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t k = build_draw(&m, 2, 8), b = build_draw(&m, 2, 4), n = build_draw(&m, 2, 8);

    if (build_happens(&m))
        return build_finish(&m, build_binary(&m, "MatMul", build_input(&m, DIMS(b, n, k)),
                                             build_weight(&m, DIMS(k))));
    return build_finish(
        &m, build_binary(&m, "MatMul", build_input(&m, DIMS(k)), build_weight(&m, DIMS(b, k, n))));
}

static weft_graph *make_pad(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 4), build_draw(&m, 2, 4), build_draw(&m, 2, 4)));
    int pads = build_list(&m, DIMS(build_draw(&m, 0, 4), build_draw(&m, 0, 2), 0,
                                   build_draw(&m, 0, 4), 1, build_draw(&m, 0, 2)));

    return build_finish(&m, build_binary(&m, "Pad", x, pads));
}

static weft_graph *make_resize(weft_rng *r)
{
    build_net m = build_begin(r);
    build_call c = {
        .op = "Resize", .n_args = 4, .arg = {build_picture(&m), -1, -1}
    };
    const int64_t *d = build_dims(&m, c.arg[0]);

    c.arg[3] = build_list(&m, DIMS(d[0], d[1], build_draw(&m, 2, 9), d[3]));
    return build_finish(&m, build_apply(&m, &c));
}

static weft_graph *make_running(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_input(&m, DIMS(build_draw(&m, 2, 5), build_draw(&m, 2, 5), build_draw(&m, 2, 5)));

    return build_finish(&m,
                        build_binary(&m, "CumSum", x, build_list(&m, DIMS(build_draw(&m, 0, 2)))));
}

static weft_graph *make_variance(weft_rng *r)
{
    build_net m = build_begin(r);

    return build_finish(&m, build_unary(&m, "MeanVarianceNormalization", build_picture(&m)));
}

/* A choice among two, a slope for each channel, limits. */
static weft_graph *make_choice(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t a = build_draw(&m, 2, 5), b = build_draw(&m, 2, 5), c = build_draw(&m, 2, 5);
    weft_value v = {.type = WEFT_BOOL, .shape = build_shape(DIMS(b, 1))};
    int x = build_input(&m, DIMS(a, b, c)), y = build_input(&m, DIMS(1, b, c)), is;

    CHECK_OK(weft_net_input(m.net, build_fresh(&m, "is"), &v, &is));
    x = build_apply(&m, &(build_call){
                            .op = "Where", .n_args = 3, .arg = {is, x, y}
    });
    x = build_binary(&m, "PRelu", x, build_weight(&m, DIMS(b, 1)));
    return build_finish(
        &m, build_apply(&m, &(build_call){
                                .op = "Clip",
                                .n_args = 3,
                                .arg = {x, build_weight(&m, 0, NULL), build_weight(&m, 0, NULL)}
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
