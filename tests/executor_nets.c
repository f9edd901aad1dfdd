/* SPDX-License-Identifier: MIT */
/* executor_nets.c: small random networks. */
#include "executor_nets.h"
#include "executor_build.h"

/* --- networks -------------------------------------------------------------------------------- */

static weft_graph *chain(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_picture(&m), n = (int)build_draw(&m, 2, 6);

    for (int i = 0; i < n; i++) {
        int64_t least = build_dims(&m, x)[2] < build_dims(&m, x)[3] ? build_dims(&m, x)[2]
                                                                    : build_dims(&m, x)[3];

        switch (build_draw(&m, 0, 4)) {
        case 0:
            x = build_unary(&m, "Relu", build_plain_conv(&m, x, build_draw(&m, 2, 6), 3, 1));
            break;
        case 1:
            x = build_plain_conv(&m, x, build_draw(&m, 2, 6), 1 + 2 * build_draw(&m, 0, 2),
                                 least > 3 ? 2 : 1);
            break;
        case 2:
            x = build_batch_norm(&m, build_plain_conv(&m, x, build_draw(&m, 2, 8), 1, 1));
            break;
        case 3:
            x = build_pool_of(&m, build_happens(&m) ? "MaxPool" : "AveragePool", x, 3,
                              least > 3 ? 2 : 1, 1);
            break;
        default:
            x = build_binary(&m, "Mul", x, build_unary(&m, "Sigmoid", x));
        }
    }
    return build_finish(&m, x);
}

/* Two convolutions and a way round them, with one or without. */
static int residual(build_net *m, int x, int64_t out, int64_t stride)
{
    int skip = x, y = build_unary(m, "Relu", build_plain_conv(m, x, out, 3, stride));

    y = build_plain_conv(m, y, out, 3, 1);
    if (stride > 1 || out != build_dims(m, x)[1])
        skip = build_plain_conv(m, x, out, 1, stride);
    return build_unary(m, "Relu", build_binary(m, "Add", y, skip));
}

static weft_graph *residual_blocks(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_picture(&m);

    x = residual(&m, build_plain_conv(&m, x, 4, 3, 1), 4, 1);
    x = residual(&m, x, build_draw(&m, 3, 6), build_draw(&m, 1, 2));
    return build_finish(&m, x);
}

static weft_graph *classifier(weft_rng *r)
{
    build_net m = build_begin(r);
    int x = build_picture(&m), y[2];

    x = build_unary(&m, "Relu", build_plain_conv(&m, x, build_draw(&m, 3, 6), 3, 1));
    x = build_pool_of(&m, "MaxPool", x, 2, 2, 0);
    y[0] = build_plain_conv(&m, x, build_draw(&m, 2, 4), 1, 1);
    y[1] = build_plain_conv(&m, x, build_draw(&m, 2, 4), 3, 1);
    x = build_concat(&m, 2, y, 1);
    x = build_happens(&m) ? build_unary(&m, "GlobalAveragePool", x) : x;
    x = build_unary(&m, "Relu",
                    build_linear(&m, build_with_axis(&m, "Flatten", x, 1), build_draw(&m, 4, 9)));
    return build_finish(
        &m, build_with_axis(&m, "Softmax", build_linear(&m, x, build_draw(&m, 3, 7)), -1));
}

/* batch x heads x tokens x width of a head */
static int heads_of(build_net *m, int x, int64_t heads)
{
    const int64_t *d = build_dims(m, x);

    x = build_reshape(m, x, DIMS(d[0], d[1], heads, d[2] / heads));
    return build_transpose(m, x, DIMS(0, 2, 1, 3));
}

static weft_graph *attention(weft_rng *r)
{
    build_net m = build_begin(r);
    int64_t b = build_draw(&m, 1, 2), tokens = build_draw(&m, 3, 6), heads = build_draw(&m, 2, 3),
            width = heads * build_draw(&m, 2, 3);
    int x = build_input(&m, DIMS(b, tokens, width)), y = build_layer_norm(&m, x);
    int q = heads_of(&m, build_project(&m, y, width), heads);
    int k = heads_of(&m, build_project(&m, y, width), heads);
    int v = heads_of(&m, build_project(&m, y, width), heads);

    k = build_transpose(&m, k, DIMS(0, 1, 3, 2));
    y = build_with_axis(&m, "Softmax", build_binary(&m, "MatMul", q, k), -1);
    y = build_transpose(&m, build_binary(&m, "MatMul", y, v), DIMS(0, 2, 1, 3));
    x = build_binary(&m, "Add", x,
                     build_project(&m, build_reshape(&m, y, DIMS(b, tokens, width)), width));
    y = build_project(
        &m, build_unary(&m, "Gelu", build_project(&m, build_layer_norm(&m, x), 2 * width)), width);
    return build_finish(&m, build_binary(&m, "Add", x, y));
}

static weft_graph *recommendation(weft_rng *r)
{
    enum { N_TABLES = 3 };
    build_net m = build_begin(r);
    int64_t b = build_draw(&m, 2, 4), width = build_draw(&m, 3, 5);
    int vector[N_TABLES + 1], x = build_input(&m, DIMS(b, 4)), all, dots;

    x = build_unary(&m, "Relu",
                    build_linear(&m, build_unary(&m, "Relu", build_linear(&m, x, 6)), width));
    vector[0] = build_binary(&m, "Unsqueeze", x, build_list(&m, DIMS(1)));
    for (int i = 1; i <= N_TABLES; i++)
        vector[i] = build_binary(&m, "Gather", build_weight(&m, DIMS(build_draw(&m, 5, 9), width)),
                                 build_ids(&m, DIMS(b, 1)));
    all = build_concat(&m, N_TABLES + 1, vector, 1);
    dots = build_binary(&m, "MatMul", all, build_transpose(&m, all, DIMS(0, 2, 1)));
    dots = build_with_axis(&m, "Flatten", dots, 1);
    x = build_concat(&m, 2, (int[]){x, dots}, 1);
    return build_finish(
        &m, build_unary(&m, "Sigmoid",
                        build_linear(&m, build_unary(&m, "Relu", build_linear(&m, x, 7)), 3)));
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
    build_net m = build_begin(&r);
    int x = build_input(&m, DIMS(1, c->channels, c->height, c->width));
    build_conv_options k = {.out = c->out,
                            .kernel = c->kernel,
                            .stride = c->stride,
                            .groups = 1,
                            .dilation = 1,
                            .is_padded = true};

    x = build_conv_of(&m, x, k);
    return build_finish(&m, c->is_chain ? build_conv_of(&m, x, k) : x);
}
