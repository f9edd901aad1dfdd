/* SPDX-License-Identifier: MIT */
/* Networks: open one and look at its nodes, tensors, shapes and work. */
#ifndef WEFT_PUBLIC_MODEL_H
#define WEFT_PUBLIC_MODEL_H

#include <stdint.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_model weft_model;

/* Opens an ONNX file (anything with a '/' or that ends in ".onnx") or a built-in model
 * ("gpt2:layers=48,hidden=1600"; weft_names_open("models")). options: NULL, or texts that end with
 * NULL, as the flags of `weft inspect` without "--": "batch=8", "dim=N=4", "dtype=f16", "train",
 * "optimizer=sgd". The caller frees *out with weft_model_close. */
WEFT_CHECKED weft_status weft_model_load(const char *source, const char *const *options,
                                         weft_model **out);
void weft_model_close(weft_model *m); /* NULL is allowed */

/* --- the whole network ----------------------------------------------------------------------- */

const char *weft_model_name(const weft_model *m);   /* "resnet50" */
const char *weft_model_origin(const weft_model *m); /* "ONNX, opset 13, ...", "built-in" */
int64_t weft_model_parameters(const weft_model *m); /* elements of floating-point initializers */
int64_t weft_model_macs(const weft_model *m);       /* multiply-accumulates of all nodes */
int64_t weft_model_flops(const weft_model *m); /* all arithmetic; 2 for a multiply-accumulate */
int64_t weft_model_weight_bytes(const weft_model *m);
/* Most bytes of activations alive at once when the nodes run in order. */
int64_t weft_model_peak_bytes(const weft_model *m);
/* What the reader wants to be known, a line each. */
int weft_model_n_warnings(const weft_model *m);
const char *weft_model_warning(const weft_model *m, int i);
int weft_model_n_inputs(const weft_model *m); /* tensors, in the order of the file */
int weft_model_input(const weft_model *m, int i);
int weft_model_n_outputs(const weft_model *m);
int weft_model_output(const weft_model *m, int i);

/* --- nodes, in topological order; constant sub-graphs are folded ----------------------------- */

int weft_model_n_nodes(const weft_model *m);
const char *weft_model_node_name(const weft_model *m, int node); /* unique */
const char *weft_model_node_op(const weft_model *m, int node);   /* as in ONNX: "Conv" */
int64_t weft_model_node_macs(const weft_model *m, int node);
int64_t weft_model_node_flops(const weft_model *m, int node);
/* Bytes read and written, operands and results each once; 0 for views. */
int64_t weft_model_node_bytes(const weft_model *m, int node);
int weft_model_node_n_operands(const weft_model *m, int node);
int weft_model_node_operand(const weft_model *m, int node, int i); /* tensor; -1: left out */
int weft_model_node_n_results(const weft_model *m, int node);
int weft_model_node_result(const weft_model *m, int node, int i); /* tensor; -1: left out */

/* --- tensors --------------------------------------------------------------------------------- */

int weft_model_n_tensors(const weft_model *m);
const char *weft_model_tensor_name(const weft_model *m, int tensor);
const char *weft_model_tensor_type(const weft_model *m, int tensor); /* "f32", "i64", ... */
/* "input", "weight", "activation", "output" or "state". */
const char *weft_model_tensor_kind(const weft_model *m, int tensor);
int weft_model_tensor_producer(const weft_model *m, int tensor);          /* node; -1: none */
int weft_model_tensor_rank(const weft_model *m, int tensor);              /* -1: not known */
int64_t weft_model_tensor_dim(const weft_model *m, int tensor, int axis); /* -1: not known */
int64_t weft_model_tensor_bytes(const weft_model *m, int tensor); /* 0: depends on the data */

#ifdef __cplusplus
}
#endif
#endif
