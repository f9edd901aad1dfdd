/* SPDX-License-Identifier: MIT */
/* Shared by the two halves of the ONNX importer: graphs and functions, and control flow. */
#ifndef WEFT_IMPORT_H
#define WEFT_IMPORT_H

#include "onnx.h"

/* What a form of the document (onnx.h) is in the main graph, made when it is first met. */
typedef struct weft_import_form {
    bool is_made;
    bool is_operator, is_control,
        is_constant;                    /* a call of a function is neither of the first two */
    const weft_onnx_function *function; /* that it calls, or NULL */
    int64_t n_elements;                 /* of constants, once one of them is imported */
    weft_net_op op;                     /* of operators: what all of them have in common */
} weft_import_form;

/* Where a node of the main graph went, as far as nodes were imported as they stand. */
typedef struct weft_import_place {
    int operand; /* its first one in the list of its scope */
    int before;  /* the same of its twin, or -1 */
    int op;      /* number of the operator in the net */
} weft_import_place;

/* Names that a sub-graph reads from outside. */
typedef struct weft_import_reads {
    int n;
    const weft_slice *name;
} weft_import_reads;

typedef struct weft_import {
    const weft_onnx *doc;
    const weft_model_options *options;
    const weft_net_builder *before; /* for --batch: the network as it stands in the file; or NULL */
    weft_arena *arena;              /* as long as the import */
    weft_arena *lasting;            /* as long as the model's graph: names, attributes, literals */
    weft_arena *scratch;            /* of one node; rewound, so sub-graphs and functions nest */
    char *text;                     /* room for n_text bytes of names in `lasting` */
    size_t n_text;
    weft_import_form *form;   /* [doc->n_forms] */
    weft_import_place *place; /* [doc->graph->n_nodes] */
    weft_map *bodies;         /* address of a sub-graph -> place in reads, once it was met */
    WEFT_VEC(const weft_import_reads *) reads;
    int64_t n_runs;        /* of sub-graphs */
    int64_t n_budget;      /* nodes that may still be imported: functions and loops can explode */
    size_t unfolded_bytes; /* taken by functions and sub-graphs so far, for the same reason */
    size_t arena_bytes;    /* of the arenas and of `seen` when a node was last begun */
    size_t net_bytes;
    const weft_net_builder *seen;
    weft_map *prefixes; /* of inlined functions and branches, each once */
    bool has_prefixes;
    weft_map *functions;         /* domain, name and overload -> local function */
    int64_t n_constants;         /* elements in Constant nodes of the main graph */
    weft_map *dim_names;         /* symbolic dimensions met */
    WEFT_VEC(weft_slice) dims;   /* the same in a row */
    weft_assumption *assumption; /* [options->n_dims] */
    int64_t file_batch;          /* first dimension of the first input; 0 if it is symbolic */
    const char *batch_name;      /* of the symbolic first dimension that --batch binds, or NULL */
    const weft_dim_binding *batch_dim; /* of --dim for that dimension, or NULL */
} weft_import;

/* Where names are looked up: one for each graph, sub-graph and function call. */
typedef struct weft_scope {
    weft_net_builder *net;
    weft_map *values;         /* local name -> value of `net` */
    struct weft_scope *outer; /* of sub-graphs: names not found here are captured from there */
    const char *prefix;       /* of value and node names, "" in the main graph */
    int n_renamed;            /* results of an inlined body that have a name outside */
    weft_map *renamed;        /* name inside -> index into new_name */
    const char *const *new_name;
    bool shares_net; /* outer->net == net: an inlined sub-graph */
    int n_opsets;
    const weft_onnx_opset *opset;
    weft_map *declared; /* name -> index into graph->value, then graph->output; or NULL */
    const weft_onnx_graph *graph;
    int n_bound, n_given; /* of functions: attributes of the call, then defaults */
    const weft_onnx_attr *const *bound;
    struct weft_scope *bound_in; /* the scope in which those attributes stand */
    int depth;                   /* of function calls and sub-graphs */
    const weft_onnx_node *ready; /* its operands are in `operand`, from `first` on; or NULL */
    int first, n_args;
    WEFT_VEC(int) operand;  /* of the main graph: those of all nodes before, too */
    WEFT_VEC(int) captured; /* values of outer->net read inside */
} weft_scope;

/* A name as text, as long as the graph; the empty name is "". */
const char *weft_import_text(weft_import *m, weft_slice s);
/* The same with the prefix of the scope, or as it is called outside. */
const char *weft_import_name(weft_import *m, const weft_scope *s, weft_slice name);
/* Value of a name, captured from outer scopes if need be; -1 if nobody makes it. */
WEFT_CHECKED weft_status weft_import_resolve(weft_import *m, weft_scope *s, weft_slice name,
                                             int *out);
/* Imports the nodes of the main graph from *u on as long as they do what their twins did. */
WEFT_CHECKED weft_status weft_import_repeats(weft_import *m, weft_scope *s, int *u);
/* Refuses what has used up n_budget. */
WEFT_CHECKED weft_status weft_import_budget(const weft_import *m);
/* One node: an operator, a call of a function, control flow. */
WEFT_CHECKED weft_status weft_import_node(weft_import *m, weft_scope *s, const weft_onnx_node *n);
/* All nodes of a list, in topological order. */
WEFT_CHECKED weft_status weft_import_nodes(weft_import *m, weft_scope *s,
                                           const weft_onnx_node *node, int n_nodes);
/* Initializers of a graph. */
WEFT_CHECKED weft_status weft_import_weights(weft_import *m, weft_scope *s);
/* Where the graph declares a tensor: index into its values, then its outputs; -1 if nowhere. */
int weft_import_find_declared(const weft_scope *s, weft_slice name);
/* Looks up the shapes a graph declares for its values. */
void weft_import_declared(weft_import *m, weft_scope *s, const weft_onnx_graph *graph);
/* Type and shape as declared; unknown dimensions stay unknown. */
weft_value weft_import_value_info(weft_import *m, const weft_onnx_value_info *info);
/* Version of the operators of a domain; an error if it is the default domain and not named. */
WEFT_CHECKED weft_status weft_import_opset(const weft_scope *s, weft_slice domain, int *out);
/* All of a node but its name and operands. The attributes are in `a`. */
WEFT_CHECKED weft_status weft_import_form_header(weft_import *m, weft_scope *s,
                                                 const weft_onnx_node *n, weft_arena *a,
                                                 weft_node *out);
/* The node's own fields and attributes, without operands. */
WEFT_CHECKED weft_status weft_import_header(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                            weft_node *out);
/* Names of results, with the prefix; what the file says of these, NULL if nothing. */
const weft_value *weft_import_results(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                      const char **names);
/* Counts the elements of a Constant node of the main graph, which has this form. */
void weft_import_add_constant(weft_import *m, const weft_import_form *form);
/* Makes the node's results known in the scope. */
WEFT_CHECKED weft_status weft_import_define(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                            const int *results);

/* Prefix of the names inside an inlined body: "call:"; never the same twice. */
const char *weft_import_prefix(weft_import *m, const weft_scope *s, weft_slice node, weft_slice op);
/* The first n results of a body, called `inside`, are the results of node n: they get its names. */
void weft_import_rename(weft_import *m, const weft_scope *s, const weft_onnx_node *n,
                        const weft_slice *inside, weft_scope *inner);

/* If, Loop, Scan. */
WEFT_CHECKED weft_status weft_import_control(weft_import *m, weft_scope *s,
                                             const weft_onnx_node *n);
bool weft_import_is_control(const weft_onnx_node *n);

bool weft_slice_is(weft_slice s, const char *text);
bool weft_slice_same(weft_slice a, weft_slice b);
/* "ai.onnx" is another spelling of the default domain. */
weft_slice weft_import_domain(weft_slice domain);

/* Reads the document into the net. `before`, for another batch size: the net of the file. */
weft_status weft_import_net(const weft_onnx *doc, const weft_model_options *options,
                            const weft_net_builder *before, weft_net_builder *net, weft_import *m);

/* Finishes the net: graph, tensors and warnings of the model. */
/* Marks inputs that stay on their device between items (state.c), before kernels are marked. */
WEFT_CHECKED weft_status weft_model_mark_states(weft_graph *g, const weft_model_options *o);
WEFT_CHECKED weft_status weft_model_from_net(weft_net_builder *net, weft_model *model);
/* The document as a model whose name, source and arena are set. */
WEFT_CHECKED weft_status weft_onnx_to_model(const weft_onnx *doc, const weft_model_options *options,
                                            weft_model *model);

#endif
