/* SPDX-License-Identifier: MIT */
/* Kernels while they are found. For fusion*.c only. */
#ifndef WEFT_OPS_FUSION_H
#define WEFT_OPS_FUSION_H

#include "ops.h"

typedef struct weft_fusing {
    const weft_graph *g;
    weft_arena *a; /* scratch */
    bool is_training;
    int *source;    /* [n_tensors] what a view shows; else itself */
    int *attention; /* [n_nodes] or -1 */
    bool *is_score; /* [n_nodes] */
    int n_attentions;
} weft_fusing;

/* The operator that says what kind of work a node does: a backward node's is that of its forward
 * node. NULL: not in the table, or the work is given with the node. */
const weft_op *weft_fuse_op(const weft_graph *g, int u);
/* Does the node multiply and sum, with the axes of a matrix product or convolution? */
bool weft_fuse_is_product(const weft_graph *g, int u);
bool weft_fuse_is_softmax(const weft_graph *g, int u); /* along the last axis */
/* The only node of the same phase that reads what u makes, views aside; -1: none, or several, or it
 * is asked for. */
int weft_fuse_reader(const weft_fusing *f, int u);
/* Finds attention (fusion_attention.c). */
void weft_fuse_attention(weft_fusing *f);

#endif
