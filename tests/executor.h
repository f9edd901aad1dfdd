/* SPDX-License-Identifier: MIT */
/* Runs networks in whole numbers, split over members with private memories, to prove the rules of
 * weft/split.h: which part of which tensor a member has to have, and how much it receives.
 *
 * A member computes only with elements it holds: every other element of its memories is poison, and
 * to read one is counted as a fault. Data moves by exec_send alone, which counts what arrives.
 * Arithmetic is that of 64-bit words that wrap, so sums are exact in any order. Operators without
 * whole numbers have stand-ins with the same reads and the same sums: a mean is a sum, a softmax or
 * a normalisation 3 x - sum - max, a sigmoid some function of its element.
 *
 * exec_reference runs the unsplit network by plain loops of its own. */
#ifndef WEFT_EXECUTOR_H
#define WEFT_EXECUTOR_H

#include "split.h"

/* --- memories -------------------------------------------------------------------------------- */

/* A tensor in one private memory. */
typedef struct exec_memory {
    weft_shape shape;
    int64_t n; /* elements */
    int element_bytes;
    int64_t *value;
    bool *held, *read; /* by element: is it there, has it been computed with */
} exec_memory;

/* All poison, nothing held. It belongs to `a`. */
exec_memory *exec_memory_new(weft_arena *a, const weft_shape *shape, int element_bytes);
void exec_forget(exec_memory *m, int64_t at);
int64_t exec_at(const weft_shape *s, const int64_t *index); /* row by row */
/* Place of an element of a larger tensor in one that is broadcast to its `rank` dimensions. */
int64_t exec_at_broadcast(const weft_shape *s, const int64_t *index, int rank);
/* Walks lo <= index < hi, the last dimension fastest: false if there is none, or no more. */
bool exec_first(int rank, const int64_t *lo, const int64_t *hi, int64_t *index);
bool exec_next(int rank, const int64_t *lo, const int64_t *hi, int64_t *index);
/* True if exactly the elements of the box are held. */
bool exec_holds_exactly(const exec_memory *m, const weft_box *b);
/* The smallest box that holds all elements that were read. */
weft_box exec_read_box(const exec_memory *m);
/* Puts a part of a tensor there without a message: weights, and operands of a single step. */
void exec_place(exec_memory *m, const exec_memory *whole, const weft_box *b);
/* One message: the elements of the box that `to` lacks and `from` has. Bytes that arrive. */
int64_t exec_send(const exec_memory *from, exec_memory *to, const weft_box *b);

/* --- one operator ---------------------------------------------------------------------------- */

typedef enum exec_combine {
    EXEC_NONE, /* the axes that are cut index the result */
    EXEC_SUM,
    EXEC_MAX,
    EXEC_STATISTIC, /* a sum and a maximum for each place, then the result */
} exec_combine;

/* What one member does of one node. */
typedef struct exec_task {
    const weft_graph *graph;
    int node;
    const weft_step *step; /* lo, hi: the points of its axes; NULL: all points */
    const int64_t *lo, *hi;
    exec_memory *const *arg; /* operands of the node; NULL where left out */
    exec_memory *const *result;
    exec_memory *sum, *max; /* statistics */
    long n_faults;          /* elements read that are not held, axes that the operator has not */
    int n_axes;             /* of the step that the operator has asked for */
} exec_task;

/* An operator as members run it: `points` adds its points to the results (or statistics), `close`
 * (may be NULL) does what follows when the sums are complete. */
typedef struct exec_kernel {
    const char *op;
    exec_combine combine;
    void (*points)(exec_task *t);
    void (*close)(exec_task *t);
} exec_kernel;

const exec_kernel *exec_kernel_find(const char *op); /* NULL: none */
/* An element-wise operator at the elements of its result that `like` holds. */
void exec_elementwise(exec_task *t, const exec_memory *like);
int64_t exec_combined(exec_combine combine, int64_t a, int64_t b);
/* Shape of the statistics of a node: reduced dimensions are 1. */
weft_shape exec_statistic_shape(const weft_graph *g, int u);

/* --- attributes, for kernels and reference --------------------------------------------------- */

typedef struct exec_window { /* two spatial dimensions */
    int64_t kernel[2], stride[2], dilation[2], begin[2];
} exec_window;

exec_window exec_window_of(const weft_graph *g, int u);
const weft_tensor *exec_arg(const weft_graph *g, int u, int slot); /* NULL: left out */
const weft_tensor *exec_result(const weft_graph *g, int u, int slot);
int exec_axis_of(const weft_graph *g, int u, int64_t fallback); /* attribute axis, counted up */
unsigned exec_reduced(const weft_graph *g, int u);              /* bit i: dimension i */
int64_t exec_scalar(const char *op, const int64_t *x, int n);   /* element-wise arithmetic */

/* --- the unsplit network --------------------------------------------------------------------- */

/* All tensors of the graph, whole: inputs and weights drawn from the seed, the rest computed. */
exec_memory **exec_reference(const weft_graph *g, uint64_t seed, weft_arena *a);

/* --- one step on the members of a set -------------------------------------------------------- */

/* What is left out on purpose, once, to see that it is missed. */
typedef enum exec_drop {
    EXEC_DROP_NOTHING,
    EXEC_DROP_ROW,      /* the last row of what member 0 receives of an operand */
    EXEC_DROP_ROTATION, /* a shard that member 0 receives between phases */
    EXEC_DROP_TERM,     /* a partial sum that member 0 adds in a ring */
} exec_drop;

enum { EXEC_MOST_NODES = 16, EXEC_MOST_RESULTS = 8, EXEC_MOST_OPERANDS = 16 };

typedef struct exec_member {
    exec_memory *operand[EXEC_MOST_OPERANDS], *weight[EXEC_MOST_OPERANDS];
    exec_memory *made[EXEC_MOST_NODES][EXEC_MOST_RESULTS]; /* by the nodes of the step */
    exec_memory *sum, *max;                                /* statistics */
    int64_t rotated_bytes, most_rotated_bytes; /* received between phases: in all, at once */
    int n_partners;
    int64_t partials;          /* elements that the ring combines: sums, or statistics */
    int64_t smallest, largest; /* chunk of them */
    int64_t ring_in;           /* elements received in the ring */
} exec_member;

typedef struct exec_step {
    const weft_steps *steps;
    int step, n_members;
    weft_split split;
    exec_member *member;
    weft_arena *arena;
    exec_drop drop;
    long n_faults;
} exec_step;

/* Members with empty memories; they belong to `a`. */
exec_step *exec_step_new(const weft_steps *s, int step, const weft_split *split, weft_arena *a);
/* Puts the weights of phase 0, and of a single step its operands, where they are needed. */
void exec_place_weights(exec_step *e, exec_memory *const *whole);
void exec_place_operands(exec_step *e, exec_memory *const *whole);
/* Operand k by messages from the members of step `from`, which has made it. On the same set a
 * member keeps what it has. Bytes: largest of a member, and of all in *total. */
int64_t exec_fetch(exec_step *e, int k, const exec_step *from, bool is_same_set, int64_t *total);
/* Operand k from the host, which holds all of it. */
int64_t exec_fetch_input(exec_step *e, int k, const exec_memory *whole, int64_t *total);
/* A result to the host: bytes of the largest part that a member has, and what arrives in *total. */
int64_t exec_deliver(const exec_step *e, int result, exec_memory *host, int64_t *total);
void exec_run(exec_step *e);
/* Share of a member's points that need nothing of operand k but what the member itself has made of
 * it in step `from`, on the same set; of the member where it is least. Point by point. */
double exec_interior_share(const exec_step *e, int k, const exec_step *from,
                           exec_memory *const *whole);
/* Memory of a result of the step. */
exec_memory *exec_result_of(const exec_step *e, int member, int result);

#endif
