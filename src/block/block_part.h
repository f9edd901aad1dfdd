/* SPDX-License-Identifier: MIT */
/* One unit of a training graph on the members of a block: what it is made of, how its operators may
 * be cut, and what a choice costs. For unit_cost*.c only. */
#ifndef WEFT_UNIT_PART_H
#define WEFT_UNIT_PART_H

#include "block.h"

/* --- the whole graph, seen once -------------------------------------------------------------- */

/* Room for the memory of one unit after the other, by tensor; clean between them. */
typedef struct weft_block_room {
    double *bytes, *more, *gradient;
    int *root, *last;                 /* -1 */
    bool *is_kept[WEFT_N_RECOMPUTES]; /* roots in the stash */
    bool *is_listed, *is_live, *is_read;
} weft_block_room;

typedef struct weft_cost_net {
    const weft_block_request *request;
    const weft_graph *graph;
    const weft_op *const *op;  /* [nodes] of forward nodes; NULL: not in the table */
    const int *of_node;        /* unit */
    const bool *has_gradient;  /* [tensors] forward values and parameters */
    const int *update;         /* [tensors] node that changes a parameter, or -1 */
    const int *grad_of;        /* [tensors] whose gradient a tensor is, or -1 */
    const int *root;           /* [tensors] whose bytes a view shows; itself if it is none */
    const int *back_at, *back; /* backward nodes of forward node u */
    const int *node_at, *node; /* nodes of a unit, ascending */
    const int *step_at, *step; /* forward steps of a unit, ascending */
    const int *place_of_step;  /* [steps] in the list of its unit; -1: no forward step */
    weft_design free_memory;   /* the design, if memory cost no time */
    double memory_bytes_per_s;
    weft_block_room *room;
    struct weft_block_log *log; /* NULL: what choices consist of is not written down */
} weft_cost_net;

/* False: a step has nodes of two units. Lives in `a`. is_any_design: what is found out of the design
 * of the request holds for others. */
bool weft_cost_net_new(const weft_block_request *request, bool is_any_design, weft_arena *a,
                       weft_cost_net *out);
/* Scores of an attention that is one kernel: no member holds them. */
bool weft_block_is_score(const weft_cost_net *n, int tensor);
/* A number for each unit: equal for units that cost the same. [n_units] in `a`. */
int *weft_block_likes(const weft_cost_net *n, weft_arena *a);
bool weft_block_is_forward_value(const weft_graph *g, int tensor);
/* Forward nodes of other units read it. */
bool weft_block_leaves(const weft_cost_net *n, int block, int tensor);
/* A parameter that another unit owns. */
bool weft_block_borrows(const weft_cost_net *n, int block, int tensor);

/* The work of nodes in the order in which choices are priced. */
typedef struct weft_block_note {
    weft_phase phase;
    weft_work_key key;
} weft_block_note;

typedef struct weft_block_log {
    WEFT_VEC(weft_block_note) note;
    weft_arena *arena;
} weft_block_log;

/* --- parts of tensors ------------------------------------------------------------------------ */

/* What each member has of a tensor: n boxes each that do not overlap. */
typedef struct weft_layout {
    int n_members, n;
    const weft_box *box; /* [n_members * n] */
    bool is_same;        /* all members have the same */
} weft_layout;

int64_t weft_layout_most(const weft_layout *l); /* elements of the member that has most */
bool weft_layout_within(const weft_layout *inner, const weft_layout *outer);
/* Elements that a member receives at most so that it has `need`. */
int64_t weft_layout_receive(const weft_layout *own, const weft_layout *need);
/* Seconds until the sum of what members have in `from` is there as `to`. */
double weft_layout_sum_s(const weft_layout *from, const weft_layout *to, double element_bytes,
                         const weft_link_cost *inside);

/* --- choices --------------------------------------------------------------------------------- */

/* How a forward step is cut, with its gradients. */
typedef struct weft_block_choice {
    weft_split split;
    bool is_by_part;  /* a Split whose results are each cut into as many blocks as there are members
                      */
    bool has_sums;    /* members combine sums or statistics */
    bool is_sequence; /* what it leaves lies in parts of the sequence */
    bool is_merged;   /* gradients of the result are added up before members sum them */
    const weft_layout *need, *weight, *result; /* [operands], [weights], [results] of the step */
    double forward_s, forward_collective_s;    /* the second is not part of the first */
    double backward_s, backward_collective_s;  /* gradients that enter or leave the unit included */
    double update_s;
    double compute_s, memory_s; /* forward and backward */
    double extra_bytes;         /* sums before they are combined */
    double held_bytes;          /* weights and results: for ties */
    int first_note, end_note;   /* its nodes in the log, if there is one */
} weft_block_choice;

typedef struct weft_block_step {
    int step; /* of the steps */
    int n_choices;
    weft_block_choice *choice;
} weft_block_step;

/* A tensor that enters and that several steps read, with gradient. */
typedef struct weft_block_entry {
    int tensor;
    double merged_s; /* one sum of all gradients */
} weft_block_entry;

/* A backward node that belongs to no forward node (loss, sums of gradients), or an update: it is
 * done where this tensor lies. */
typedef struct weft_block_loose {
    int node, tensor;
    bool is_placed; /* with a step of the unit */
} weft_block_loose;

typedef struct weft_block_part {
    const weft_cost_net *net;
    int block, n_steps;
    weft_block_step *step;
    int n_entries;
    weft_block_entry *entry;
    int n_loose;
    weft_block_loose *loose;
    weft_block_choice fixed; /* nodes that are not cut: seconds only */
    weft_arena *arena;
} weft_block_part;

static inline const weft_step *weft_block_step_at(const weft_block_part *p, int place)
{
    return &p->net->request->steps->step[p->step[place].step];
}

static inline double weft_block_element_bytes(const weft_block_part *p, int tensor)
{
    const weft_tensor *t = &p->net->graph->tensor[tensor];

    return t->elements > 0 ? (double)t->bytes / (double)t->elements : 0;
}

/* Layouts live in the arena of the part. */
void weft_block_layouts(const weft_block_part *p, int v, const weft_split *split,
                        weft_block_choice *out); /* need, weight, result */
weft_layout weft_block_whole(const weft_block_part *p, int tensor);
/* Steps of the unit that read the tensor and leave a gradient of it, counted by operand. */
int weft_block_n_gradients(const weft_block_part *p, int tensor);
/* Choices without costs; then each again, with merged gradients of the result. */
void weft_block_list_choices(const weft_block_part *p, weft_block_step *to);
void weft_block_list_merged(const weft_block_part *p, weft_block_step *to);

/* All choices with their costs. False: an operator is not supported. */
bool weft_block_part_new(const weft_cost_net *n, int block, weft_arena *a, weft_block_part *out);
/* The choices whose sum of seconds is least: state[n_steps], and for each entry whether its
 * gradients are merged. Choose: on the nominal machine of block_choose.c, whatever the device. */
void weft_block_best(const weft_block_part *p, weft_arena *a, int *state, bool *is_merged);
void weft_block_choose(const weft_block_part *p, weft_arena *a, int *state, bool *is_merged);

/* An operand of a step of the unit: place of the step that makes it, or -1: it enters. */
int weft_block_maker(const weft_block_part *p, int place, int operand);
/* Seconds from the maker's result to what the reader needs, and of the gradient back; INFINITY:
 * the two do not go together. */
double weft_block_edge_s(const weft_block_part *p, int place, int operand,
                         const weft_block_choice *from, const weft_block_choice *to);
double weft_block_return_s(const weft_block_part *p, int place, int operand,
                           const weft_block_choice *from, const weft_block_choice *to);
/* The same for an operand that enters, whole on each member. */
double weft_block_leave_s(const weft_block_part *p, int place, int operand,
                          const weft_block_choice *to);
/* Does each member have the sum of the gradient already? If not, is it all of the tensor? */
bool weft_block_is_full(const weft_block_part *p, int place, int operand,
                        const weft_block_choice *c);
bool weft_block_has_gradient(const weft_cost_net *n, const weft_step *s,
                             const weft_step_operand *x);

/* A unit with its best choices: choices in state, seconds and memory. False: as above. */
typedef struct weft_block_solved {
    weft_block_part part;
    int *state;
    bool *is_merged;
} weft_block_solved;
bool weft_block_solve(const weft_cost_net *n, int block, weft_arena *a, weft_block_solved *out,
                      weft_block_cost *cost, weft_block_state *hold);

/* --- sequence parallelism (block_sequence.c) -------------------------------------------------- */

/* Does what crosses between units, or is made by a step in parts, lie in parts of the sequence? */
bool weft_block_in_parts(const weft_block_part *p, int tensor);
weft_layout weft_block_parts(const weft_block_part *p, int tensor); /* these parts */
/* Steps that are done in parts get one more choice each, and their state is that. Does nothing unless
 * the request asks for it. */
void weft_block_sequence(weft_block_part *p, int *state);
/* Is the operand there in parts, so that its seconds are those of weft_block_exchange_s? */
bool weft_block_is_exchanged(const weft_block_part *p, const int *state, int place, int operand);
/* Gathering it for all that read it, and scattering its gradient; counted where it is read first. */
void weft_block_exchange_s(const weft_block_part *p, const int *state, int place, int operand,
                           double *forward_s, double *backward_s);
/* Seconds more (or less, if negative) of a step's results that leave the unit in parts. */
void weft_block_border_s(const weft_block_part *p, const int *state, int place, double *forward_s,
                         double *backward_s);
/* A choice with layouts gets its costs; false: an operator is not supported. */
bool weft_block_price(const weft_block_part *p, int v, weft_block_choice *c);

/* --- memory ---------------------------------------------------------------------------------- */

/* stash_bytes and work_bytes of the chosen states. */
void weft_block_memory(const weft_block_part *p, const int *state, weft_block_cost *cost);
/* All but update_s. */
void weft_block_hold(const weft_block_part *p, const int *state, weft_block_state *out);
bool weft_block_is_tensor_step(const weft_cost_net *n, int step);
bool weft_block_is_kept_step(const weft_cost_net *n, int step); /* by WEFT_KEEP_SOME */

#endif
