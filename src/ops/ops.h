/* SPDX-License-Identifier: MIT */
/* The operators: one table says for each ONNX operator how shapes follow from operands, how small
 * constants are computed, which loop nest it is, and how it is differentiated. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- loop nests: the only description of work ------------------------------------------------ */

typedef enum weft_axis_kind {
    WEFT_AXIS_PARALLEL, /* indexes the result: a cut gives independent parts */
    WEFT_AXIS_SPATIAL,  /* parallel, but neighbours read overlapping operand rows (halo) */
    WEFT_AXIS_REDUCE,   /* summed or compared over: a cut leaves partial results. If it also indexes
                           the result (softmax, norms), only statistics are combined */
    WEFT_AXIS_SEQUENTIAL, /* steps depend on each other: recurrent layers, scans */
} weft_axis_kind;

typedef struct weft_axis {
    const char *name;
    weft_axis_kind kind;
    int64_t extent;
} weft_axis;

enum { WEFT_MAX_AXES = 12, WEFT_MAX_TERMS = 3, WEFT_MAX_ACCESSES = 8, WEFT_MAX_NESTS = 8 };

/* Index of one dimension: offset + sum of factor * axis, clipped to the tensor. No terms: the
 * whole dimension is touched at each point if `is_whole`, else index 0 alone (broadcast). */
typedef struct weft_index {
    int n_terms;
    int axis[WEFT_MAX_TERMS];
    int64_t factor[WEFT_MAX_TERMS];
    int64_t offset;
    bool is_whole;
} weft_index;

/* How a nest touches one tensor: operand `slot` of the node, or result `slot`. */
typedef struct weft_access {
    bool is_result;
    int slot;
    int rank;
    weft_index index[WEFT_MAX_RANK];
} weft_access;

/* for all points of the axes: result[index] (op)= operands[index]. */
typedef struct weft_nest {
    int n_axes, n_accesses;
    weft_axis axis[WEFT_MAX_AXES];
    weft_access access[WEFT_MAX_ACCESSES]; /* operands beyond these are read whole */
    bool is_mac;         /* one multiply-accumulate a point: counted in macs, 2 flops */
    int64_t point_flops; /* otherwise */
} weft_nest;

typedef struct weft_nests {
    int n; /* 0: no arithmetic (data movement described by bytes only) */
    weft_nest nest[WEFT_MAX_NESTS];
} weft_nests;

int64_t weft_nest_points(const weft_nest *n); /* -1 if it does not fit 2^62 */

/* --- rules ----------------------------------------------------------------------------------- */

/* What is known of a tensor while a network is read. */
typedef struct weft_value {
    weft_dtype type;
    weft_shape shape;
    bool is_const;            /* depends on constants only */
    bool is_parameter;        /* a constant that training changes, or one made from such */
    const weft_literal *data; /* NULL if unknown or too large */
} weft_value;

/* Constants up to this many elements are evaluated. */
enum { WEFT_MAX_LITERAL = 4096 };

/* One operator applied to its operands: what every rule sees. Omitted operands are NULL. */
typedef struct weft_call {
    const weft_node *node;
    const struct weft_op *op; /* row of the table */
    int n_args, n_results;
    const weft_value *const *arg;
    weft_value *result;
    weft_arena *arena;            /* for literals of results */
    int64_t old_batch, new_batch; /* of a network read with another batch size; else 0 */
    const weft_shape *old_shape;  /* of operand 0 with the old batch; NULL if not known */
} weft_call;

/* Records "node 'x' (Op): <message>" and returns WEFT_E_INPUT. */
weft_status weft_call_fail(const weft_call *c, const char *format, ...) WEFT_PRINTF(2, 3);

typedef enum weft_fusion {
    WEFT_FUSE_TENSOR,  /* matrix and convolution operators: may take an epilogue */
    WEFT_FUSE_ELEMENT, /* element-wise, activations */
    WEFT_FUSE_REDUCE,  /* reductions, pools, softmax */
    WEFT_FUSE_NORM,    /* normalisations */
    WEFT_FUSE_VIEW,    /* no work: another shape of the same bytes */
    WEFT_FUSE_MOVE,    /* copies */
    WEFT_FUSE_NONE,    /* everything else */
} weft_fusion;

const char *weft_fusion_name(weft_fusion f);

/* How gradients pass through an operator. */
typedef enum weft_grad {
    WEFT_GRAD_NONE, /* no gradient: integers, comparisons, shapes, random numbers */
    WEFT_GRAD_EACH, /* operands 0 and 1 a node each: the same loop nest with roles exchanged; keeps
                       the other operand. Further operands (bias) ride with the node of operand 1 */
    WEFT_GRAD_SUM,  /* an operand's gradient is the result's, summed where it was broadcast */
    WEFT_GRAD_PRODUCT, /* one node; keeps the operands other than the one differentiated */
    WEFT_GRAD_PASS, /* one node for all operands; keeps those without gradient: Reshape, Gather */
    WEFT_GRAD_OPERAND,   /* one node for all operands; keeps the operands */
    WEFT_GRAD_RESULT,    /* one node; keeps the results only */
    WEFT_GRAD_BOTH,      /* one node; keeps operands and results */
    WEFT_GRAD_RECURRENT, /* LSTM, GRU, RNN: the path back through time, dW and dR as three nodes */
} weft_grad;

const char *weft_grad_name(weft_grad g);

typedef struct weft_op {
    const char *domain, *name;
    int since;              /* first opset that has it */
    int min_args, max_args; /* max -1: any number */
    int min_results, max_results;
    const char
        *ranks; /* of operands: "2", "1-3", "1+" (at least 1) dimensions; "?": any, or none */
    weft_status (*infer)(weft_call *c);                 /* types and shapes of results */
    void (*fold)(weft_call *c);                         /* elements of results; NULL: never */
    void (*nests)(const weft_call *c, weft_nests *out); /* all shapes static; NULL: no work */
    weft_fusion fusion;
    weft_grad grad;
    unsigned grad_args; /* bit i: operand i has a gradient (bit 31: all from 31 on) */
    int flops;          /* a point of the nest, for rules that several operators share */
    int grad_flops;     /* a point in the backward nest of the one-node rules */
    bool is_random;     /* never folded */
} weft_op;

/* Does backward read which elements were dropped? */
bool weft_op_has_mask(const weft_op *op);

int weft_op_count(void);
const weft_op *weft_op_at(int i);                                  /* sorted by domain, then name */
const weft_op *weft_op_find(const char *domain, const char *name); /* NULL: not in the table */

/* Loop nests and work of a node of a finished graph, backward and update nodes included. Nodes with
 * data-dependent shapes and operators outside the table have no nests; the latter cost bytes only.
 */
void weft_node_nests(const weft_graph *g, int u, weft_nests *out);
weft_work weft_node_work(const weft_graph *g, int u);
weft_work weft_node_measure(const weft_graph *g, int u, weft_nests *nests); /* both at once */
void weft_work_add(weft_work *sum, weft_work more);                         /* stops at INT64_MAX */
/* Attention as one operator: scores, softmax and answers in one kernel. */
bool weft_node_is_attention(const weft_graph *g, int u);
bool weft_node_is_opaque(const weft_graph *g, int u); /* not in the table */
bool weft_node_is_static(const weft_graph *g, int u); /* all its shapes are known */

/* A part of a node's work, as one of several devices does it that share the node. */
typedef struct weft_work_part {
    int n;
    const weft_nest *nest;    /* those of the node, with the extents of the part */
    const int64_t *most_read; /* [operands] elements touched at most; -1, or NULL: by the nests */
    const int64_t *most_written; /* [results] */
} weft_work_part;

/* With the nests of the node as they are: weft_node_work. */
weft_work weft_part_work(const weft_graph *g, int u, const weft_work_part *p);

/* Where data lies. For most operators an index of the nest is an address (or a range that holds
 * it), so that a block of points needs the elements its indices lead to, and no others. */
bool weft_node_has_addresses(const weft_graph *g, int u);
/* The access of an operand or result in nest i, those included that the nest has no room for, and
 * with whole dimensions where an index depends on data. False: all of the tensor is needed. */
bool weft_node_access(const weft_graph *g, int u, const weft_nests *nests, int i, bool is_result,
                      int slot, weft_access *out);
/* Another shape of the same elements in the same order: Reshape and the like. */
bool weft_node_is_reshape(const weft_graph *g, int u);
/* Results over parts of a reducing axis can be combined from nothing but these results. */
bool weft_node_combines(const weft_graph *g, int u);

/* --- shapes that depend on the data ---------------------------------------------------------- */

/* A size that is assumed for every such dimension of the results of a node, or of one dimension of
 * a tensor: "/m/NonZero", "/m/NonZero_output_0.1". In names of nodes '*' stands for any text. */
typedef struct weft_assumption {
    const char *name;
    int64_t size;
    int n_named; /* nodes and dimensions that are called so */
    int n_given; /* dimensions that got the size */
} weft_assumption;

/* Has the list anything to say of a node with these results? (NULL or "": not asked for) */
bool weft_assumes(const weft_assumption *list, int n, const char *node, const char *const *result,
                  int n_results);
/* Gives the results the sizes of the list where rules and declarations leave them open. */
void weft_assume(weft_assumption *list, int n, const char *node, const char *const *result,
                 weft_call *c);
/* An error if a shape depends on the data: names node, output and the --dim that gives it a size.
 * `unknown` is what cannot be known without it. */
WEFT_CHECKED weft_status weft_need_static(const weft_graph *g, const char *unknown);

/* --- a network under construction: builder, shapes, constants in one ------------------------- */

typedef struct weft_net_builder weft_net_builder;

weft_net_builder *weft_net_new(const char *name);
void weft_net_free(weft_net_builder *n);
/* Room for that many values and operators, where their numbers are known beforehand. */
void weft_net_reserve(weft_net_builder *n, int n_values, int n_nodes);
weft_arena *weft_net_arena(weft_net_builder *n); /* lives as long as the net, then as the graph */
/* The network is read with another batch size than its constants were made for; `before` is the
 * same network as it stands in the file, finished or not, and must outlive this one. */
void weft_net_rebatch(weft_net_builder *n, int64_t from, int64_t to,
                      const weft_net_builder *before);
/* The caller has seen to it that no two values have the same name: it is not checked again. */
void weft_net_unique(weft_net_builder *n);
/* Gives every floating-point tensor this type; WEFT_TYPE_UNKNOWN: as they are. */
void weft_net_dtype(weft_net_builder *n, weft_dtype type);
/* Sizes for dimensions that depend on the data. The list must outlive the net, which counts what
 * each of them named and gave. */
void weft_net_assume(weft_net_builder *n, weft_assumption *list, int n_assumptions);
int weft_net_n_nodes(const weft_net_builder *n); /* operators added, folded ones too */
int weft_net_n_kept(const weft_net_builder *n);  /* operators that are nodes of the graph */

/* Adds a graph input, or a constant (without data: weights). *out is its value number. Names and
 * literals given to a net are not copied: they are in its arena, or there for good. */
WEFT_CHECKED weft_status weft_net_input(weft_net_builder *n, const char *name,
                                        const weft_value *value, int *out);
WEFT_CHECKED weft_status weft_net_constant(weft_net_builder *n, const char *name,
                                           const weft_value *value, int *out);
/* Another constant of which the same is known as of an earlier one; returns its value number. */
int weft_net_copy(weft_net_builder *n, const char *name, int earlier);

/* An operator to be added: operands are value numbers or -1, empty names mean results not asked
 * for, `declared` (may be NULL) is what the source says of the results. */
typedef struct weft_net_op {
    weft_node node;
    const char *name; /* n_name bytes, as long as the net's arena lives; NULL: that of `node` */
    size_t n_name;
    int n_args, n_results;
    const int *arg;
    const char *const *result_name;
    const weft_value *declared;
    /* Operators with the same number > 0 have the same operator, domain, opset and attributes, and
     * these are not copied: they are in the arena of the net, or there for good. */
    int form;
    int twin; /* 1 + the number of an operator that is likely to be the same; 0: none is known */
} weft_net_op;

/* Adds an operator and fills results with value numbers, or -1 where none was asked for. Constant
 * results become weights and the node disappears. Operators outside the table take the declared
 * shapes and are warned about. */
WEFT_CHECKED weft_status weft_net_node(weft_net_builder *n, const weft_net_op *op, int *results);

/* An operator of the same form as an earlier one, with as many operands, none of them left out, and
 * one result with a name of which nothing is declared. Names are as those of weft_net_op. */
typedef struct weft_net_again {
    int twin; /* number of the earlier one */
    int n_args;
    const int *arg;
    const char *name; /* n_name bytes */
    size_t n_name;
    const char *result_name;
} weft_net_again;

/* Adds it if it is known to do what the earlier one did; else *result is -1 and the operator is not
 * there: weft_net_node adds it. */
WEFT_CHECKED weft_status weft_net_repeat(weft_net_builder *n, const weft_net_again *a, int *result);
void weft_net_output(weft_net_builder *n, int value);
int weft_net_count(const weft_net_builder *n); /* values so far */
/* Lives as long as the arena of the net. */
const weft_value *weft_net_value(const weft_net_builder *n, int value);
const char *weft_net_name(const weft_net_builder *n, int value);
bool weft_net_is_given(const weft_net_builder *n,
                       int value); /* an input or constant, not a result */
/* Whatever is not a given constant: its value, else NULL. */
const weft_value *weft_net_live(const weft_net_builder *n, int value, const char **name);
void weft_net_warn(weft_net_builder *n, const char *format, ...) WEFT_PRINTF(2, 3);
int weft_net_n_warnings(const weft_net_builder *n);
const char *weft_net_warning(const weft_net_builder *n, int i);
/* The finished graph; the caller owns it. */
WEFT_CHECKED weft_status weft_net_finish(weft_net_builder *n, weft_graph **out);

/* --- kernels --------------------------------------------------------------------------------- */

/* Marks which nodes are one kernel; with is_flash, softmax attention too (fusion.c says which). Once,
 * when the graph is complete: backward nodes are not made for marks. */
void weft_graph_fuse(weft_graph *g, bool is_flash);
/* Then: attention whose Where reads a constant of a name that begins so has a causal mask. */
void weft_graph_mark_causal(weft_graph *g, const char *mask);
/* The same graph, with kernels cut where nodes are in different parts: part[n_nodes]. What is no
 * longer inside one kernel pays for its traffic. Arrays of *out live in `a`, or are those of g. */
void weft_graph_cut_kernels(const weft_graph *g, const int *part, weft_arena *a, weft_graph *out);
/* An operand that a node of a kernel finds there: made, made again or read by the kernel already. */
bool weft_operand_is_inner(const weft_graph *g, int u, int slot);
/* A node whose result shows its first operand without work, and that waits for nothing else. */
bool weft_node_is_free_view(const weft_graph *g, int u);

/* --- training -------------------------------------------------------------------------------- */

typedef enum weft_optimizer { WEFT_SGD, WEFT_MOMENTUM, WEFT_ADAM } weft_optimizer;

/* Forward graph -> forward, backward and update nodes. Gradients of operands and of weights are
 * separate nodes; a loss node a differentiable output starts them. The caller owns *out. */
WEFT_CHECKED weft_status weft_graph_train(const weft_graph *g, weft_optimizer optimizer,
                                          weft_graph **out);
/* Bytes of forward activations (inputs included) that backward nodes read. */
int64_t weft_graph_stash_bytes(const weft_graph *g);

#ifdef __cplusplus
}
#endif
#endif
