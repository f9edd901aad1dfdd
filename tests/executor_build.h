/* SPDX-License-Identifier: MIT */
/* Small networks from single calls, for the executor: every failure fails the test. */
#ifndef WEFT_EXECUTOR_BUILD_H
#define WEFT_EXECUTOR_BUILD_H

#include "ops.h"

enum { BUILD_MOST_ARGS = 8, BUILD_MOST_ATTRS = 6 };

typedef struct build_net {
    weft_net_builder *net;
    weft_rng *rng;
    int n_made;
} build_net;

/* A list of sizes: their number, and where they are. */
#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* An operator of ONNX's own domain; operands are values or -1. */
typedef struct build_call {
    const char *op;
    int n_args, arg[BUILD_MOST_ARGS];
    int n_attrs;
    weft_attr attr[BUILD_MOST_ATTRS];
} build_call;

typedef struct build_conv_options {
    int64_t out, kernel, stride, groups, dilation;
    bool has_bias, is_padded;
} build_conv_options;

/* --- network, values ------------------------------------------------------------------------- */

build_net build_begin(weft_rng *r);
weft_graph *build_finish(build_net *m, int output);      /* the caller owns it */
const char *build_fresh(build_net *m, const char *stem); /* a name that nothing has */
int64_t build_draw(build_net *m, int lo, int hi);        /* lo .. hi, both included */
bool build_happens(build_net *m);                        /* every second time */
weft_shape build_shape(int rank, const int64_t *dim);
int build_input(build_net *m, int rank, const int64_t *dim);
int build_ids(build_net *m, int rank, const int64_t *dim); /* an input of integers */
int build_weight(build_net *m, int rank, const int64_t *dim);
int build_list(build_net *m, int n, const int64_t *ints); /* known integers */
int build_input_like(build_net *m, int x);                /* an input of the same shape */
int build_picture(build_net *m); /* some pictures: batch, channels, rows, columns */
const int64_t *build_dims(const build_net *m, int x);
int build_rank_of(const build_net *m, int x);

/* --- operators ------------------------------------------------------------------------------- */

weft_attr build_int_attr(const char *name, int64_t value);
weft_attr build_ints_attr(build_net *m, const char *name, int n, const int64_t *ints);
int build_apply(build_net *m, const build_call *c); /* its first result */
void build_apply_all(build_net *m, const build_call *c, int n_results, int *results);
int build_unary(build_net *m, const char *op, int x);
int build_binary(build_net *m, const char *op, int x, int y);
int build_with_axis(build_net *m, const char *op, int x, int64_t axis);
int build_reshape(build_net *m, int x, int rank, const int64_t *dim);
int build_transpose(build_net *m, int x, int rank, const int64_t *perm);
int build_concat(build_net *m, int n, const int *x, int64_t axis);

/* --- layers with weights --------------------------------------------------------------------- */

int build_conv_of(build_net *m, int x, build_conv_options c);
/* Padded, with a bias every second time. */
int build_plain_conv(build_net *m, int x, int64_t out, int64_t kernel, int64_t stride);
int build_pool_of(build_net *m, const char *op, int x, int64_t kernel, int64_t stride, int64_t pad);
int build_layer_norm(build_net *m, int x); /* over the last dimension */
int build_batch_norm(build_net *m, int x);
int build_linear(build_net *m, int x, int64_t out);  /* Gemm with a bias */
int build_project(build_net *m, int x, int64_t out); /* MatMul and Add */

#endif
