/* SPDX-License-Identifier: MIT */
/* Layers from which built-in models are put together. The first failure is kept in `status` and
 * later calls do nothing, so that a model reads like its description; build functions end with
 * `return z.status`. All layers return value numbers of the net (-1 after a failure). */
#ifndef WEFT_ZOO_H
#define WEFT_ZOO_H

#include "weft/model.h"

typedef struct weft_zoo {
    weft_net *net;
    weft_dtype type; /* of weights and activations */
    int64_t batch;
    bool keep_norms; /* BatchNormalization as nodes; else folded into the convolution before it */
    weft_status status;
    int n_made; /* for unique names */
} weft_zoo;

/* Type and batch from the common options (defaults f32, 1). Batch normalisations are kept for
 * training. */
weft_zoo weft_zoo_begin(weft_net *net, const weft_model_options *common);

int weft_zoo_input(weft_zoo *z, const char *name, weft_dtype type, int rank, const int64_t *dim);
/* A weight of the network's type, named "<name>_<number>". */
int weft_zoo_weight(weft_zoo *z, const char *name, int rank, const int64_t *dim);
/* Constants with known elements. */
int weft_zoo_ints(weft_zoo *z, int n, const int64_t *value); /* i64, rank 1 */
int weft_zoo_int(weft_zoo *z, int64_t value);                /* i64, rank 0 */
int weft_zoo_real(weft_zoo *z, double value);                /* the network's type, rank 0 */
void weft_zoo_output(weft_zoo *z, int x);
/* Dimension d of a value (negative d from the end); 0 after a failure. */
int64_t weft_zoo_dim(const weft_zoo *z, int x, int d);

/* Any operator of the default domain (opset 20). */
typedef struct weft_zoo_call {
    const char *op;
    int n_args, n_attrs, n_results; /* n_results 0 means 1 */
    int arg[8];                     /* -1: left out */
    weft_attr attr[6];
} weft_zoo_call;

weft_attr weft_zoo_attr_int(const char *name, int64_t value);
weft_attr weft_zoo_attr_real(const char *name, double value);
weft_attr weft_zoo_attr_ints(weft_zoo *z, const char *name, int n, const int64_t *value);
weft_attr weft_zoo_attr_text(const char *name, const char *value);
int weft_zoo_call1(weft_zoo *z, const weft_zoo_call *call);                /* first result */
void weft_zoo_calls(weft_zoo *z, const weft_zoo_call *call, int *results); /* all of them */
int weft_zoo_unary(weft_zoo *z, const char *op, int x);
int weft_zoo_binary(weft_zoo *z, const char *op, int x, int y);

/* Convolutions; 0 in a field means: kernel 1, stride 1, groups 1, dilation 1. */
typedef struct weft_zoo_conv {
    int64_t out; /* output channels */
    int64_t kernel_h, kernel_w;
    int64_t stride, pad_h, pad_w, groups, dilation;
    bool norm;    /* followed by batch normalisation (folded: the convolution gets a bias) */
    bool no_bias; /* without norm: no bias */
    const char
        *act; /* operator name after it, or NULL: "Relu", "HardSwish", "Silu" (Sigmoid, Mul) */
} weft_zoo_conv;

int weft_zoo_conv2d(weft_zoo *z, int x, const weft_zoo_conv *c);
/* k x k, stride s, "same" padding (k / 2), batch norm, Relu. */
int weft_zoo_conv_relu(weft_zoo *z, int x, int64_t out, int64_t k, int64_t s);
int weft_zoo_batch_norm(weft_zoo *z, int x); /* always a node */
int weft_zoo_act(weft_zoo *z, const char *act, int x);
int weft_zoo_pool(weft_zoo *z, const char *op, int x, int64_t kernel, int64_t stride, int64_t pad);
int weft_zoo_global_pool(weft_zoo *z, int x);         /* N x C x 1 x 1 */
int weft_zoo_linear(weft_zoo *z, int x, int64_t out); /* rank 2: Gemm with bias */
int weft_zoo_flatten(weft_zoo *z, int x);             /* from axis 1 */
int weft_zoo_concat(weft_zoo *z, const int *x, int n, int64_t axis);

/* Transformers: x is batch x tokens x width. */
int weft_zoo_matmul(weft_zoo *z, int x, int64_t out, bool bias); /* MatMul with a weight, Add */
int weft_zoo_layer_norm(weft_zoo *z, int x); /* over the last axis, scale and bias */
int weft_zoo_reshape(weft_zoo *z, int x, int rank, const int64_t *dim);
int weft_zoo_transpose(weft_zoo *z, int x, int rank, const int64_t *perm);

/* The rows of the list of models, by family; NULL name ends each. */
extern const weft_zoo_model weft_zoo_cnns[];
extern const weft_zoo_model weft_zoo_transformers[];
extern const weft_zoo_model weft_zoo_others[]; /* recurrent, recommendation, random graphs */

#endif
