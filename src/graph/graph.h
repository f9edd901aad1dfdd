/* SPDX-License-Identifier: MIT */
/* A network as every later stage sees it: an immutable operator graph in topological order.
 *
 * Invariants, checked by the tests:
 *  - a node's operands are weights, graph inputs or results of nodes with lower numbers;
 *  - a tensor has one producer or none; weights and inputs have none;
 *  - an edge (u, v, t) exists once for each pair of u's result t and reader v, and u < v;
 *  - names of tensors are unique and not empty. */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- tensors --------------------------------------------------------------------------------- */

typedef enum weft_dtype {
    WEFT_TYPE_UNKNOWN,
    WEFT_F32,
    WEFT_U8,
    WEFT_I8,
    WEFT_U16,
    WEFT_I16,
    WEFT_I32,
    WEFT_I64,
    WEFT_STRING,
    WEFT_BOOL,
    WEFT_F16,
    WEFT_F64,
    WEFT_U32,
    WEFT_U64,
    WEFT_C64,
    WEFT_C128,
    WEFT_BF16,
    WEFT_F8E4M3FN,
    WEFT_F8E4M3FNUZ,
    WEFT_F8E5M2,
    WEFT_F8E5M2FNUZ,
    WEFT_U4,
    WEFT_I4,
    WEFT_N_DTYPES, /* the numbers above are those of ONNX's TensorProto.DataType */
} weft_dtype;

const char *weft_dtype_name(weft_dtype type); /* "f32", "i64", "bool", ... */
weft_dtype weft_dtype_find(const char *name); /* WEFT_TYPE_UNKNOWN if there is none */
int weft_dtype_bits(weft_dtype type);         /* 0 for strings and unknown */
bool weft_dtype_is_float(weft_dtype type);
bool weft_dtype_is_integer(weft_dtype type); /* bool included */

enum { WEFT_MAX_RANK = 8 };
#define WEFT_UNKNOWN_DIM ((int64_t)-1)

typedef struct weft_shape {
    int rank;                   /* -1: not even the rank is known */
    int64_t dim[WEFT_MAX_RANK]; /* WEFT_UNKNOWN_DIM where it depends on the data */
} weft_shape;

bool weft_shape_is_static(const weft_shape *s);
bool weft_shape_equal(const weft_shape *a, const weft_shape *b);
/* Number of elements of a static shape; -1 if it is not static or does not fit 2^62. */
int64_t weft_shape_elements(const weft_shape *s);
/* Bytes of that many elements of a type (4-bit types: two in a byte, rounded up). */
int64_t weft_dtype_bytes(weft_dtype type, int64_t elements);
/* "1x3x224x224"; "scalar" for rank 0; "?" for what is not known. Returns `to`. */
const char *weft_shape_print(const weft_shape *s, char to[192]);

/* The elements of a small constant, row by row. Integers and booleans in `ints`, reals in `reals`;
 * single elements may be unknown: WEFT_UNKNOWN_INT, or a NaN. */
#define WEFT_UNKNOWN_INT INT64_MIN
typedef struct weft_literal {
    int n;
    const int64_t *ints;
    const double *reals;
} weft_literal;

typedef enum weft_tensor_kind {
    WEFT_INPUT,      /* given with each run */
    WEFT_WEIGHT,     /* constant: parameters and whatever was computed from constants only */
    WEFT_ACTIVATION, /* made by a node, read by others */
    WEFT_OUTPUT,     /* made by a node and asked for by the user; may be read inside too */
    WEFT_STATE, /* stays on its device: from one training step to the next (optimizer moments), or
                        from one item to the next (KV caches; these are inputs of the file, too) */
} weft_tensor_kind;

const char *weft_tensor_kind_name(weft_tensor_kind kind);

typedef struct weft_tensor {
    const char *name;
    weft_dtype type;
    weft_tensor_kind kind;
    const weft_shape *shape;   /* never NULL; tensors may share it */
    int64_t elements, bytes;   /* 0 if the shape is not static; bytes as stored */
    int producer;              /* node, or -1 */
    bool is_parameter;         /* a weight that training changes (or made from such) */
    const weft_literal *value; /* of small constants; NULL if not known */
} weft_tensor;

/* --- nodes ----------------------------------------------------------------------------------- */

typedef enum weft_attr_kind {
    WEFT_ATTR_INT,
    WEFT_ATTR_REAL,
    WEFT_ATTR_TEXT,
    WEFT_ATTR_INTS,
    WEFT_ATTR_REALS,
    WEFT_ATTR_TEXTS,
    WEFT_ATTR_LITERAL, /* a constant tensor: type, shape, and the elements if it is small */
    WEFT_ATTR_OTHER,   /* sub-graphs and what else has no plain value */
} weft_attr_kind;

typedef struct weft_attr {
    const char *name;
    weft_attr_kind kind;
    int64_t i;
    double f;
    const char *s;
    int n; /* of ints, reals, texts */
    const int64_t *ints;
    const double *reals;
    const char *const *texts;
    weft_dtype type; /* WEFT_ATTR_LITERAL */
    weft_shape shape;
    const weft_literal *literal; /* NULL if the elements are not known */
} weft_attr;

/* Work of one node, in exact counts. */
typedef struct weft_work {
    int64_t macs;        /* multiply-accumulates of matrix and convolution operators */
    int64_t flops;       /* all arithmetic: 2 for a multiply-accumulate */
    int64_t read_bytes;  /* operands touched, each once; 0 for views */
    int64_t write_bytes; /* results written; 0 for views */
} weft_work;

typedef enum weft_phase {
    WEFT_FORWARD,
    WEFT_BACKWARD,
    WEFT_UPDATE, /* optimizer */
} weft_phase;

typedef struct weft_node {
    const char *name;   /* unique; made up as "Conv_12" where the file has none */
    const char *op;     /* as in ONNX: "Conv" */
    const char *domain; /* "" is ONNX's default domain */
    int opset;          /* version of the domain */
    int n_attrs;
    const weft_attr *attr;
    weft_phase phase;
    int forward;   /* a backward node: the forward node it belongs to; else -1 */
    int wrt;       /* a backward node: the operand whose gradient it computes; -1 for all of them */
    bool has_body; /* control flow, tasks: the work is given below, not by the operator table */
    weft_work body; /* of has_body: counted once for the branch taken, or the first one */
} weft_node;

const weft_attr *weft_node_attr(const weft_node *n, const char *name); /* NULL if absent */
/* Attributes with all they point to, in `a`. */
const weft_attr *weft_attrs_copy(const weft_attr *from, int n, weft_arena *a);
int64_t weft_node_int(const weft_node *n, const char *name, int64_t fallback);
double weft_node_real(const weft_node *n, const char *name, double fallback);
const char *weft_node_text(const weft_node *n, const char *name, const char *fallback);
/* The integers of an attribute and their number in *count; NULL and 0 if absent. */
const int64_t *weft_node_ints(const weft_node *n, const char *name, int *count);

/* --- graph ----------------------------------------------------------------------------------- */

/* Where a result is between its maker and its readers. */
typedef enum weft_storage {
    WEFT_STORED, /* in memory */
    WEFT_INNER,  /* inside a kernel: neither written nor kept */
    WEFT_STRIDED, /* another order of what is in memory: not written, but kept and read as if it were */
    WEFT_REMADE, /* inside a kernel; the backward kernel makes it again */
} weft_storage;

typedef struct weft_assumed_size {
    const char *name; /* as given: of a node, some nodes, or a dimension */
    int64_t size;
    int n_dims; /* that have it */
} weft_assumed_size;

typedef struct weft_graph {
    const char *name;
    int n_nodes, n_tensors, n_edges, n_inputs, n_outputs;
    const weft_node *node;      /* [n_nodes] */
    const weft_tensor *tensor;  /* [n_tensors] */
    const int *arg_at, *arg;    /* operands of u: arg[arg_at[u]] ..; tensor, or -1 if left out */
    const int *res_at, *res;    /* results of u; -1 if left out */
    const int *use_at, *use;    /* readers of tensor t: nodes, ascending, each once */
    const int *out_at, *out_to; /* edges leaving u, by reader */
    const int *in_at, *in_from; /* edges entering u, by producer */
    const int *input, *output;  /* tensors, in the order of the file */
    const int *like; /* [n_nodes] the first node with the same work; u itself if none is known */
    /* What becomes one kernel (ops/fusion.c); kernel NULL: each node is one, the rest is not there. */
    const int *kernel;       /* [n_nodes] nodes with the same number are one kernel */
    const int *attention;    /* [n_nodes] softmax attention that it is part of, or -1; forward
                                      and backward kernel have the same */
    const bool *is_score;    /* [n_nodes] of an attention: makes scores, or sums them up */
    const bool *is_launched; /* [n_nodes] the first with work of its kernel */
    const int *again;        /* [n_nodes] whose scores a backward node computes again, or -1 */
    const bool
        *is_causal; /* [n_nodes] a product of which attention skips the masked half; NULL: none */
    const int *source;            /* [n_tensors] what a view shows; else itself */
    const unsigned char *storage; /* [n_tensors] weft_storage */
    bool is_eager;                /* the host launches each node as it comes to it */
    int n_states;                 /* inputs that stay on their device between items */
    const int *kept; /* [n_tensors] of such an input the output that takes its place, of
                                     that output the input; else -1. NULL: none */
    int n_assumed;   /* sizes that depend on the data and were given by the user */
    const weft_assumed_size *assumed;
    weft_arena *arena; /* owns every array above */
} weft_graph;

/* The state that is changed in place into this tensor: of the same shape, and read by the node that
 * makes the tensor; -1: none. */
int weft_state_in_place(const weft_graph *g, int tensor);

static inline weft_storage weft_storage_of(const weft_graph *g, int tensor)
{
    return g->kernel ? (weft_storage)g->storage[tensor] : WEFT_STORED;
}
/* Never in memory, neither for readers nor for a backward pass. */
static inline bool weft_tensor_is_inner(const weft_graph *g, int tensor)
{
    weft_storage s = weft_storage_of(g, tensor);

    return s == WEFT_INNER || s == WEFT_REMADE;
}

void weft_graph_free(weft_graph *g); /* NULL is allowed */
/* Largest sum of live activation bytes when the nodes run in order: a tensor lives from its
 * producer (inputs: from the start) to its last reader (outputs: to the end); weights and states
 * not counted. */
int64_t weft_graph_peak_bytes(const weft_graph *g);
/* Nodes on a longest path, counted in nodes. */
int weft_graph_depth(const weft_graph *g);

/* --- builder: grows, then freezes ------------------------------------------------------------ */

typedef struct weft_builder weft_builder;

weft_builder *weft_builder_new(const char *name);
/* Room for that many tensors and nodes, where their numbers are known beforehand. */
void weft_builder_reserve(weft_builder *b, int n_tensors, int n_nodes);
void weft_builder_free(weft_builder *b); /* NULL is allowed; a finished graph stays */
/* Lives as long as the builder, then as long as the graph. */
weft_arena *weft_builder_arena(weft_builder *b);
/* From now on nothing that tensors and nodes point to is copied: texts, attributes and literals are
 * in the builder's arena, or there for good. */
void weft_builder_share(weft_builder *b);
/* Adds a tensor (deep copy; producer is ignored) and returns its number. Kind WEFT_ACTIVATION for
 * results. */
int weft_builder_tensor(weft_builder *b, const weft_tensor *t);
/* The same with another name and kind; what is no weight has no value and is no parameter. */
int weft_builder_tensor_as(weft_builder *b, const weft_tensor *t, const char *name,
                           weft_tensor_kind kind);
/* Adds a node (deep copy) and returns its number. Operands and results are tensor numbers or -1. */
int weft_builder_node(weft_builder *b, const weft_node *n, const int *args, int n_args,
                      const int *results, int n_results);
/* The caller has seen to it that each tensor has a name of its own: it is not checked again. */
void weft_builder_unique(weft_builder *b);
/* Gives the node that is added next this name of n bytes, not copied; false if it is empty or a
 * node has it. Without this call names are checked in the end. */
bool weft_builder_claim(weft_builder *b, const char *name, size_t n);
/* The node has the same work as an earlier one: operator, attributes, types and shapes of operands
 * and results are equal, and so is which operands are the same tensor. */
void weft_builder_like(weft_builder *b, int node, int earlier);
/* An earlier node again, with the same work, another name (n bytes, not copied), and as many other
 * operands; its only result is added with it, as weft_builder_tensor_as does. */
typedef struct weft_again {
    int earlier;
    const char *name;
    size_t n;
    const int *args;
    const weft_tensor *result;
    const char *result_name;
} weft_again;

/* Adds both; false, and nothing is changed, if the name is empty or a node has it. */
bool weft_builder_again(weft_builder *b, const weft_again *a, int *result);
void weft_builder_output(weft_builder *b, int tensor); /* asks for a tensor; twice is harmless */
/* The tensor as added so far (valid until the next call that adds one). */
const weft_tensor *weft_builder_get(const weft_builder *b, int tensor);
/* Checks and freezes; afterwards the builder can only be freed. Nodes come in topological order
 * (ties: as added). Wrong: an empty graph, two producers, a tensor read but never made, duplicate
 * names, a cycle (named by one of its nodes). Weights that nothing reads are left out. The caller
 * owns *out. */
WEFT_CHECKED weft_status weft_builder_finish(weft_builder *b, weft_graph **out);

/* --- reachability and separators ------------------------------------------------------------- */

/* Row u of `below` has bit v if a path leads from u to v (u itself not included); `above` reverse.
 */
typedef struct weft_closure {
    int n, words;
    const uint64_t *below, *above;
} weft_closure;

weft_closure weft_graph_closure(const weft_graph *g, weft_arena *a);
static inline bool weft_closure_has(const weft_closure *c, int from, int to)
{
    return weft_bit_get(c->below + (size_t)from * (size_t)c->words, to);
}

/* A barrier is a node comparable with all others; a tensor is live at a barrier v if made before v
 * and read after v; a cut is a barrier without live tensors: it alone joins the two sides. */
typedef struct weft_separators {
    int n_barriers, n_cuts;
    const int *barrier; /* [n_barriers] nodes, ascending */
    const int *n_live;  /* [n_barriers] nodes before the barrier read after it; 0: a cut */
} weft_separators;

weft_separators weft_graph_separators(const weft_graph *g, weft_arena *a);

#ifdef __cplusplus
}
#endif
#endif
