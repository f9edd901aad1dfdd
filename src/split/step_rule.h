/* SPDX-License-Identifier: MIT */
/* How boxes of tensors follow from blocks of points of a step's axes, and splits made ready for
 * many questions. For split/ only. */
#ifndef WEFT_STEP_RULE_H
#define WEFT_STEP_RULE_H

#include "split.h"

/* --- points and boxes ------------------------------------------------------------------------ */

/* A block of the points of a step's axes: lo <= point < hi. */
typedef struct weft_design_points {
    int64_t lo[WEFT_MAX_AXES], hi[WEFT_MAX_AXES];
} weft_design_points;

/* One dimension: value = (lo .. hi) + sum of factor * point, over the axes that may be cut; what
 * other axes add is in the range. Plain (stride 0): the value is the index, clipped to the
 * dimension. Reshapes: value / stride % size is. */
typedef struct weft_dim_rule {
    int n_terms;
    int8_t axis[WEFT_MAX_RANK];
    int64_t factor[WEFT_MAX_RANK];
    int64_t lo, hi;
    int64_t stride, size;
} weft_dim_rule;

typedef struct weft_way {
    int rank;
    weft_dim_rule dim[WEFT_MAX_RANK];
} weft_way;

typedef struct weft_tensor_rule {
    int n_variants; /* the box is the smallest that holds those of all; 0: the whole tensor */
    const weft_way *way;
    weft_box whole;
    bool is_final; /* follows what members hold in the end; else what they compute */
    double element_bytes;
    int same_as; /* an earlier entry of its list that reads the same tensor, or -1 */
} weft_tensor_rule;

weft_box weft_rule_box(const weft_tensor_rule *t, const weft_design_points *p);

/* --- steps ----------------------------------------------------------------------------------- */

/* An operand that is one of the two factors of a product: place in the step's list. */
typedef struct weft_factor_place {
    bool is_weight;
    int at;
} weft_factor_place;

struct weft_step_rule {
    const weft_tensor_rule *operand, *weight, *result; /* as in the step */
    weft_tensor_rule last; /* what the head makes and its followers work on, type as of the head */
    int n_nests;           /* of the head */
    const weft_nest *nest;
    int8_t axis_of[WEFT_MAX_NESTS][WEFT_MAX_AXES]; /* the step's axis of a nest's, or -1 */
    const weft_nest *follower;                     /* [n_nodes - 1] */
    const int8_t (*dim_of)[WEFT_MAX_AXES]; /* [n_nodes - 1] dimension that a follower's axis is */
    bool has_factors;                      /* the head multiplies and sums two operands */
    weft_factor_place left, right;
};
typedef struct weft_step_rule weft_step_rule;

/* May the node follow another one: does it work element by element? */
bool weft_node_follows(const weft_graph *g, int u, const weft_nests *nests);
/* Tensors that the head makes and somebody reads or asks for: the step's results, or the one that
 * its first follower reads. */
int weft_made_count(const weft_step *step);
int weft_made(const weft_graph *g, const weft_step *step, int i);
/* The tensor's number among the results of the node; -1 if it is none of them. */
int weft_result_slot(const weft_graph *g, int u, int tensor);

/* Axes along which the head may be cut, in nests whose accesses are addresses; fills axis, n_axes,
 * scatter of the step and axis_of, has_factors of the rule. */
void weft_find_axes(const weft_graph *g, const weft_nests *nests, weft_step *step,
                    weft_step_rule *rule);
/* Axes and all rules of a step whose lists are filled. */
void weft_fill_rule(const weft_graph *g, weft_step *step, weft_step_rule *rule, weft_arena *a);

/* --- splits made ready ----------------------------------------------------------------------- */

typedef struct weft_cut {
    const weft_step *step;
    const weft_step_rule *rule;
    int n;
    int factor[WEFT_MAX_AXES];
    int shared;   /* axis, or -1 */
    int n_phases; /* 1, or shards */
    bool left_rotates, right_rotates;
    int n_reduce, n_statistic; /* members that share partial sums, statistics */
    bool is_scattered;
    bool is_cut; /* some factor is more than 1 */
} weft_cut;

/* What a member computes in a phase (head), in all phases, and holds in the end. */
typedef struct weft_member {
    weft_design_points phase, all, final;
} weft_member;

weft_cut weft_cut_of(const weft_steps *s, int step, const weft_split *split);
weft_member weft_cut_member(const weft_cut *c, int member, int phase);
bool weft_cut_rotates(const weft_cut *c, bool is_weight, int at);
weft_box weft_cut_need(const weft_cut *c, const weft_member *m, int operand);
weft_box weft_cut_weight(const weft_cut *c, const weft_member *m, int weight);
weft_box weft_cut_result(const weft_cut *c, const weft_member *m, int result);

/* Phases if the shards of `axis` rotate; 0 if they cannot. */
int weft_rotation(const weft_step *step, const weft_step_rule *rule, const int *factor, int axis,
                  bool *left, bool *right);

static inline bool weft_axis_is_sum(const weft_step_axis *a)
{
    return a->kind == WEFT_AXIS_REDUCE && !a->is_statistic;
}

#endif
