/* SPDX-License-Identifier: MIT */
/* How an operator is cut over the members of a device set, which parts of tensors each of them
 * holds, and what that costs. Nothing here knows machines: seconds of communication follow from
 * bytes by the links of a set (weft_link_cost).
 *
 * A step is cut as a whole: one operator, its head, and the operators behind it that work on the
 * same elements one by one. A split says how: factors of the axes of the head's loop nest, whose
 * product is the number of members ("exclusive shards"), and perhaps one axis whose shards rotate
 * on a ring of members ("shared shards", MARS). A mode is a split with its costs. */
#ifndef WEFT_MODE_H
#define WEFT_MODE_H

#include "cost.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_MAX_MEMBERS = 64 };

/* --- boxes: parts of tensors ----------------------------------------------------------------- */

/* lo <= index < hi in every dimension; empty if some hi <= lo. A scalar has rank 0, one element. */
typedef struct weft_box {
    int rank;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK];
} weft_box;

weft_box weft_box_whole(const weft_shape *s);
int64_t weft_box_elements(const weft_box *b);
int64_t weft_box_common(const weft_box *a, const weft_box *b); /* elements in both */

/* --- steps ----------------------------------------------------------------------------------- */

/* A tensor that a step reads and did not make: node `node` of the step reads it as operand `slot`.
 */
typedef struct weft_step_operand {
    int tensor;
    int step;   /* that makes it; -1: an input of the network */
    int result; /* which of that step's results it is; -1: an input */
    int node, slot;
} weft_step_operand;

/* An axis that may be cut. Where the head is a multiply-accumulate of two operands (left: rows of
 * a product, pictures of a convolution; right: columns, kernels), what is indexed by it. */
typedef struct weft_step_axis {
    const char *name;
    int64_t extent; /* > 1 */
    weft_axis_kind kind;
    bool in_left, in_right, in_result;
    bool is_statistic; /* summed or compared over, but the result has it: softmax, norms. A cut
                          costs an all-reduce of two numbers for each place */
} weft_step_axis;

typedef struct weft_step {
    int n_nodes; /* the head first, then what follows it, in order */
    const int *node;
    int n_operands; /* activations and inputs of the network */
    const weft_step_operand *operand;
    int n_weights; /* constants that its nodes read: (node, slot) as above */
    const weft_step_operand *weight;
    int n_results; /* tensors that other steps read or that are asked for */
    const int *result;
    int n_axes;
    weft_step_axis axis[WEFT_MAX_AXES];
    int scatter; /* axis along which partial sums may stay cut (reduce-scatter), or -1 */
    int like;    /* first step of equal work: operators, attributes, shapes, types; or itself. Equal
                    splits have equal boxes and costs, operand by operand */
} weft_step;

/* All nodes of a graph as steps, in topological order. */
typedef struct weft_steps {
    const weft_graph *graph; /* must outlive this; kernels cut at steps, or at sets of nodes */
    int n;
    const weft_step *step;
    const int *of_node;                /* [n_nodes] */
    const struct weft_step_rule *rule; /* [n] how boxes follow; split/ only */
    weft_arena *arena;
} weft_steps;

/* A shape that depends on the data is an error naming its node. The caller owns *out. */
WEFT_CHECKED weft_status weft_steps_new(const weft_graph *g, weft_steps **out);
/* The same, but nodes of a step have the same number in `device_set` ([n_nodes]; NULL: as
 * above). */
WEFT_CHECKED weft_status weft_steps_within(const weft_graph *g, const int *device_set,
                                           weft_steps **out);
void weft_steps_free(weft_steps *s);
const char *weft_step_name(const weft_steps *s, int step); /* of its head */

/* --- splits ---------------------------------------------------------------------------------- */

typedef struct weft_split {
    uint8_t n;                     /* members */
    uint8_t factor[WEFT_MAX_AXES]; /* of the step's axes; product n, or all 1: n copies */
    int8_t shared;                 /* axis whose shards rotate, or -1 */
    bool is_scattered;             /* partial sums end up cut along the step's axis `scatter` */
} weft_split;

/* Every member does all of it. */
weft_split weft_split_copies(int n);

static inline bool weft_split_is_copy(const weft_split *s)
{
    int product = 1;

    for (int i = 0; i < WEFT_MAX_AXES; i++)
        product *= s->factor[i] > 0 ? s->factor[i] : 1;
    return s->n > 1 && product == 1;
}

/* All valid splits over n members (1 .. WEFT_MAX_MEMBERS), the same order each time: exclusive ones
 * by falling factors of the first axes, scattered after plain, then shared ones, then copies. At
 * least one. Their number is returned; *out belongs to `a`. */
int weft_step_splits(const weft_steps *s, int step, int n, bool is_sharing, weft_arena *a,
                     const weft_split **out);
bool weft_split_is_valid(const weft_steps *s, int step, const weft_split *split);
/* "m=4 r=2", "k=2>scatter n=4", "r=8 share m", "copy": for people and files. Returns `to`. */
const char *weft_split_print(const weft_steps *s, int step, const weft_split *split, char to[128]);
/* The split that is printed so; an error names the text. `n` members. */
WEFT_CHECKED weft_status weft_split_parse(const weft_steps *s, int step, int n, const char *text,
                                          weft_split *out);

/* What a member has to have of an operand, or of a weight, in a phase (0 .. n_phases - 1; those
 * that do not rotate are the same in all), and what it holds of a result in the end. */
int weft_split_phases(const weft_steps *s, int step, const weft_split *split);
weft_box weft_split_need(const weft_steps *s, int step, const weft_split *split, int member,
                         int operand, int phase);
weft_box weft_split_weight(const weft_steps *s, int step, const weft_split *split, int member,
                           int weight, int phase);
weft_box weft_split_result(const weft_steps *s, int step, const weft_split *split, int member,
                           int result);
/* All of these at once, of phase 0: box[k * n + member] of operand, weight and result k. */
void weft_split_boxes(const weft_steps *s, int step, const weft_split *split, weft_box *operand,
                      weft_box *weight, weft_box *result);
/* The member from which `member` takes the next shard of an operand (or weight) between phases; -1
 * if that one does not rotate. */
int weft_split_source(const weft_steps *s, int step, const weft_split *split, int member,
                      bool is_weight, int operand);
/* The points of the head's axes (step->axis, others whole) that a member computes in a phase. */
void weft_split_points(const weft_steps *s, int step, const weft_split *split, int member,
                       int phase, int64_t lo[WEFT_MAX_AXES], int64_t hi[WEFT_MAX_AXES]);
/* Members that hold partial sums (or statistics) of the same places as `member`, itself included,
 * in ring order. Their number; 1: nothing to combine. */
int weft_split_partners(const weft_steps *s, int step, const weft_split *split, int member,
                        int partner[WEFT_MAX_MEMBERS]);

/* --- costs ----------------------------------------------------------------------------------- */

/* Costs of the slowest or fullest member. */
typedef struct weft_split_cost {
    double phase_s;         /* computing in one phase; INFINITY: the design cannot do it */
    int n_phases;           /* 1, or the number of shards */
    double rotate_bytes;    /* received between two phases */
    double reduce_bytes;    /* partial sums that a member holds */
    int n_reduce;           /* members that share them; 1: none */
    bool is_scattered;      /* they stay cut; else an all-reduce */
    double statistic_bytes; /* statistics that a member holds */
    int n_statistic;        /* members that share them; 1: none */
    double weight_bytes;    /* stored from the start to the end */
    double operand_bytes, result_bytes;
    double extra_bytes; /* second shards while they rotate, and sums before they are reduced */
    double joules;      /* of all members */
    double sent_bytes;  /* received by all members in all of that */
} weft_split_cost;

/* Bytes of a partial sum or a statistic on the wire and in memory: as the tensor's elements, but
 * at least this many bytes for statistics. */
enum { WEFT_STATISTIC_BYTES = 4 };

/* A split on devices configured as `d`; followers of the head are costed on what is left in the
 * end. An operator that `d` does not support makes phase_s INFINITY. */
weft_split_cost weft_split_cost_of(const weft_steps *s, int step, const weft_split *split,
                                   const weft_design *d);

/* The work of the member that has most, of a split whose shards do not rotate: of nodes of the
 * step, and of backward nodes of them, which are done where their forward node is: from the
 * gradients of the results and the operands that a member has to those of its operands. */
void weft_split_keys(const weft_steps *s, int step, const weft_split *split, int n, const int *node,
                     weft_work_key *out);

/* Seconds from the operands being there to the results being there. With `hides`, rotation goes on
 * behind computation: c + (s-1) max(c, rotation); else s c + (s-1) rotation. Rings of r members:
 * all-reduce 2 (r-1) latency + 2 (r-1)/r bytes/bandwidth, reduce-scatter half of it. */
double weft_split_cost_s(const weft_split_cost *m, const weft_link_cost *inside, bool hides);
double weft_split_compute_s(const weft_split_cost *m); /* n_phases * phase_s */
double weft_split_reduce_s(const weft_split_cost *m,
                           const weft_link_cost *inside); /* sums and statistics */

/* Operand k of step v, made with split `from` and read with split `to` by the same set in the same
 * order of members: bytes that the member receives that receives most, and in *total (may be NULL)
 * those of all. Both splits have the same n. */
double weft_reshard_bytes(const weft_steps *s, int v, int k, const weft_split *from,
                          const weft_split *to, double *total);
/* The same for all pairs of splits over equally many members at once: out[from * n_to + to]. */
void weft_reshard_table(const weft_steps *s, int v, int k, const weft_split *from, int n_from,
                        const weft_split *to, int n_to, double *out);
/* The same for operands that are on another set or on the host: the largest need; *total: all. */
double weft_need_bytes(const weft_steps *s, int v, int k, const weft_split *to, double *total);
/* Largest part of a result that a member holds, in bytes; all of the tensor in *total. */
double weft_result_bytes(const weft_steps *s, int v, int result, const weft_split *split,
                         double *total);
/* Share of the points of step v, of the member where it is least, that can be computed before
 * anything of operand k is received (halo: all but the border); 0 if shards rotate. */
double weft_interior_share(const weft_steps *s, int v, int k, const weft_split *from,
                           const weft_split *to);

/* Seconds of the two kinds of edges. Between sets: every sender sends at once, so at least the
 * tensor's bytes over the number of senders pass. */
double weft_reshard_s(const weft_link_cost *inside, double largest_bytes);
double weft_handover_s(const weft_link_cost *between, double need_bytes, double tensor_bytes,
                       int n_senders);

#ifdef __cplusplus
}
#endif
#endif
