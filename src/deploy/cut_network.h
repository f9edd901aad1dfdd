/* SPDX-License-Identifier: MIT */
/* A document and a plan for its nodes, cut into segments. */
#ifndef WEFT_DEPLOY_CUT_H
#define WEFT_DEPLOY_CUT_H

#include "deploy.h"
#include "onnx.h"

/* Where a name of the main graph comes from. */
typedef enum weft_cut_source {
    WEFT_CUT_NOWHERE,
    WEFT_CUT_INPUT,    /* of the network */
    WEFT_CUT_WEIGHT,   /* an initializer */
    WEFT_CUT_MADE,     /* by a node that the plan places */
    WEFT_CUT_CONSTANT, /* by a node that depends on weights only: every segment has its own */
    WEFT_CUT_FOLDED,   /* known without running anything: becomes an initializer */
} weft_cut_source;

typedef struct weft_cut_value {
    weft_cut_source source;
    weft_slice name;
    int at;     /* initializer, node of the document, or input */
    int tensor; /* of the graph, or -1 */
} weft_cut_value;

typedef struct weft_cut_node {
    int device; /* -1: runs nowhere, or wherever it is read */
    bool is_constant;
    double start_s;
    int n_reads;
    const int *read; /* values, what sub-graphs read from outside too; each once */
    int n_tasks;
    const int *task;  /* of the problem, ascending, each once */
    const char *name; /* of its first node in the graph */
} weft_cut_node;

typedef struct weft_cut_segment {
    int device, n_nodes;
    const int *node; /* of the document, in the order of the plan */
} weft_cut_segment;

typedef struct weft_cut {
    const weft_deployment *plan;
    const weft_onnx *doc;
    weft_arena *arena;
    weft_map *index; /* name -> value */
    int n_values, n_segments;
    const weft_cut_value *value;
    const weft_cut_node *node;       /* [n_nodes of the document] */
    const weft_cut_segment *segment; /* in an order that runs one by one */
    const int *segment_of;           /* [n_nodes of the document] or -1 */
} weft_cut;

/* A plan that cannot be carried out with nodes as they are in the file is an error that names one. */
WEFT_CHECKED weft_status weft_cut_make(const weft_deployment *d, const weft_onnx *doc,
                                       weft_arena *a, weft_cut *out);

#endif
