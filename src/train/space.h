/* SPDX-License-Identifier: MIT */
/* The space of plans that the planner of training searches, and what its parts share. The space is
 * defined in the head comment of pipe_space.c. Nothing here is public. */
#ifndef WEFT_SPACE_H
#define WEFT_SPACE_H

#include "train.h"

/* --- costs by cut (stage_cost.c) ------------------------------------------------------------- */

/* One table: a block of a class at a width with a share of samples. Sums over the units of cuts;
 * backward with what is computed again before it. */
typedef struct weft_pipe_row {
    bool is_there;
    double *forward_s;                      /* [n_cuts] */
    double *backward_s[WEFT_N_RECOMPUTES];  /* [n_cuts] */
    double *stash_bytes[WEFT_N_RECOMPUTES]; /* [n_cuts] */
    double most_work_bytes[WEFT_N_RECOMPUTES];
    double least_s; /* all units, each with its quickest allowed recomputation */
} weft_pipe_row;

/* What a device of the same holds: sums over the units of cuts. Nothing, where there is no row. */
typedef struct weft_pipe_store {
    double *weight_bytes, *gradient_bytes, *moment_bytes, *sync_bytes, *update_s;
    double *n_weights, *n_syncs; /* units that have some */
    double most_zero_bytes;      /* weft_zero_work_bytes of several replicas */
    double *shared_bytes;        /* [n_shared] of a parameter that two units read */
} weft_pipe_store;

typedef struct weft_pipe_costs {
    const weft_train_problem *p;
    int n_classes;          /* of the cluster, at most WEFT_MAX_PARTS: the first ones */
    weft_pipe_row *row;     /* [tables] */
    weft_pipe_store *store; /* [tables] */
    int n_recomputes;
    weft_recompute recompute[WEFT_N_RECOMPUTES]; /* allowed */
    /* Cuts that contain a cut; of a chain NULL: all that follow. */
    const int *outer_at, *outer;
    int64_t n_tried;   /* stages evaluated */
    signed char *like; /* [n_classes * n_classes] see weft_pipe_is_alike; -1: not known yet */
} weft_pipe_costs;

/* What a stage may be made of: blocks of one width, of one class or several, and the ways to share
 * a microbatch between them. */
typedef struct weft_pipe_group {
    int width; /* place in the list of widths */
    int n_parts, n_blocks;
    int class_id[WEFT_MAX_PARTS], count[WEFT_MAX_PARTS];
    int n_mixes;
    const int *mix; /* [n_mixes * n_parts] places in the list of shares */
} weft_pipe_group;

/* The units of `outer` that are not in `inner`, with so many microbatches kept. */
typedef struct weft_pipe_range {
    int inner, outer;
    int64_t in_flight;
} weft_pipe_range;

typedef struct weft_pipe_stage {
    double forward_s, backward_s;
    int mix;
    weft_recompute recompute;
} weft_pipe_stage;

void weft_pipe_costs_new(const weft_train_problem *p, weft_arena *a, weft_pipe_costs *out);
/* The units between the cuts, shared by a mix of the device group, with the quickest recomputation
 * that fits: forward seconds do not depend on it, so no other gives a shorter step. Ties: less
 * memory. False: none fits and takes less than most_s, forward and backward. */
bool weft_pipe_stage_of(weft_pipe_costs *c, const weft_pipe_group *group,
                        const weft_pipe_range *range, int mix, double most_s, weft_pipe_stage *out);
/* Bytes by which the stage is over at least, of the class *class_id; not positive: it fits. */
double weft_pipe_stage_over(weft_pipe_costs *c, const weft_pipe_group *group,
                            const weft_pipe_range *range, int *class_id);
/* Raises the times of a stage to those of what its replicas divide and must move, if these are
 * longer; n_ways and way as in weft_pipe_links. */
void weft_pipe_hold_up(const weft_pipe_costs *c, const weft_pipe_group *group,
                       const weft_pipe_range *range, const weft_levels *way, int n_ways,
                       weft_pipe_stage *s);
/* What its replicas sum at the end takes after the last backward pass, and the seconds of its
 * update. */
double weft_pipe_sync_s(const weft_pipe_costs *c, const weft_pipe_group *group,
                        const weft_pipe_range *range, const weft_levels *way, int n_ways,
                        const weft_pipe_stage *s);
double weft_pipe_update_s(const weft_pipe_costs *c, const weft_pipe_group *group,
                          const weft_pipe_range *range, int mix);

/* --- time of a plan (pipe_time.c) ------------------------------------------------------------ */

/* A parameter that two stages read. */
typedef struct weft_pipe_shared {
    int owner, other;           /* stage that updates it; chunk that reads it too */
    double gradient_s, value_s; /* to the owner; back */
} weft_pipe_shared;

/* All that the time of a step depends on; chunks by number, chunk c on stage c % n_stages. */
typedef struct weft_pipe_stage_times {
    weft_schedule schedule;
    int n_stages, n_chunks; /* chunks of each stage */
    int64_t n_microbatches;
    bool is_contend;
    double *forward_s, *backward_s; /* [chunks] */
    double *send_s, *return_s;      /* [chunks] to the next chunk; gradients from there */
    double *sync_s, *update_s;      /* [n_stages] */
    /* Where starts are kept: [stage * n_microbatches + microbatch], one chunk a stage; or NULL. */
    double *forward_at_s, *backward_at_s;
    int n_shared;
    weft_pipe_shared *shared;
} weft_pipe_stage_times;

weft_pipe_stage_times weft_pipe_stage_times_new(int n_stages, int n_chunks, int n_shared,
                                                weft_arena *a);
/* Seconds of a step: what the simulator says, to rounding. */
double weft_pipe_step_s(const weft_pipe_stage_times *b, weft_arena *scratch);
/* The same of a legal plan, its figures summed unit by unit. */
double weft_pipe_plan_s(const weft_train_problem *p, const weft_train_plan *plan,
                        weft_arena *scratch);
/* A stage with `left` stages from it to the end (gpipe, 1f1b, eager). */
static inline int64_t weft_pipe_in_flight(weft_schedule schedule, int left, int64_t m)
{
    return weft_in_flight(schedule, left, 0, m, 1);
}

/* --- the space (pipe_space.c) ---------------------------------------------------------------- */

/* A stage of `device group` in front of the suffix `next`. */
typedef struct weft_pipe_move {
    int group, next;
} weft_pipe_move;

/* Suffixes of pipelines by what they use. Node 0 is the empty one; moves lead to lower numbers. */
typedef struct weft_pipe_nodes {
    int n_nodes;
    int *n_stages; /* [n_nodes] */
    int *used;     /* [n_nodes * WEFT_MAX_PARTS] blocks of each class */
    int *move_at;  /* [n_nodes + 1] */
    weft_pipe_move *move;
} weft_pipe_nodes;

/* Plans with one microbatch and one width for each class. */
typedef struct weft_pipe_family {
    int64_t microbatch, n_microbatches;
    int replicas; /* uniform: of every stage; 0: device sets */
    bool is_row;  /* device group c is the stage with c behind it, and there is no other */
    int width[WEFT_MAX_PARTS]; /* of each class, place in the list; -1: the class is not used */
    int n_blocks[WEFT_MAX_PARTS];
    int n_groups;
    weft_pipe_group *group;
    int most_stages;
    double floor_s; /* no plan of the family takes less, whatever the schedule */
} weft_pipe_family;

typedef struct weft_pipe_families {
    int n;
    weft_pipe_family *at;
    bool is_complete; /* else some were left out: too many */
} weft_pipe_families;

/* May a pipeline have so many stages? */
static inline bool weft_pipe_is_length(const weft_train_problem *p, int n_stages)
{
    return weft_counts_allow(&p->constraints.pp, n_stages);
}

/* All families; they live in `a`. */
weft_pipe_families weft_pipe_families_of(weft_pipe_costs *c, weft_arena *a);
/* NULL: more than `most` nodes. */
weft_pipe_nodes *weft_pipe_nodes_of(const weft_pipe_family *f, int most, weft_arena *a);
/* The same whatever the number of stages, for bounds: n_stages is 1. */
weft_pipe_nodes *weft_pipe_flat_nodes_of(const weft_pipe_family *f, int most, weft_arena *a);

/* Which blocks of a class a stage has: see pipe_space.c. Front: handed out from the first stage. */
typedef enum weft_pipe_layout {
    WEFT_PIPE_WIDE,
    WEFT_PIPE_NEAR,
    WEFT_PIPE_WIDE_FRONT,
    WEFT_PIPE_NEAR_FRONT,
    WEFT_PIPE_N_LAYOUTS
} weft_pipe_layout;

static inline bool weft_pipe_is_near(weft_pipe_layout layout)
{
    return layout == WEFT_PIPE_NEAR || layout == WEFT_PIPE_NEAR_FRONT;
}

/* A part of a stage whose class has `used` blocks in later stages and `all` in the whole pipeline.
 */
weft_device_set_part weft_pipe_part_at(weft_pipe_layout layout, int class_id, int n_blocks,
                                       int used, int all);

/* The stage of a move as it stands in a plan. `root`: node of the whole pipeline (wide: any). */
weft_stage weft_pipe_stage_at(const weft_train_problem *p, const weft_pipe_family *f,
                              const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root,
                              int move, int mix);

/* The orders of classes of which rows are made: of n classes, at least two. */
typedef struct weft_pipe_order {
    int n, class_id[WEFT_MAX_PARTS];
} weft_pipe_order;

int weft_pipe_orders_of(int n_classes, weft_arena *a, const weft_pipe_order **out);
/* The stage with `after` stages behind it takes the next d blocks along the order; false: there are
 * too few. Parts in the order of classes, without samples. */
bool weft_pipe_row_stage(const weft_train_problem *p, const weft_pipe_order *order, int width,
                         int d, int after, weft_stage *out);
/* Few enough devices for device sets, with these widths of classes (0: not used, as few blocks as any)?
 */
bool weft_pipe_are_device_sets(const weft_pipe_costs *c, const int *width);
/* May the first n of so many stages of an interleaved plan have these classes? */
bool weft_pipe_is_sequence(const int *class_id, int n_stages, int n);
/* Are all blocks of these classes (bits) equally far from each other? Then it does not matter which
 * of them a stage has. */
bool weft_pipe_is_alike(const weft_pipe_costs *c, unsigned classes);

/* --- bounds (pipe_bound.c) ------------------------------------------------------------------- */

/* A pipeline of any cuts with l the seconds of all units takes at least this with s stages, from
 * the first forward to the last backward. */
double weft_pipe_fill_s(double l, int64_t m, int s);
/* A stage with in_flight microbatches that are gone for rest_s between forward and backward needs
 * at least this from its first forward to its last backward. */
double weft_pipe_own_s(weft_schedule schedule, int64_t m, int64_t in_flight, double forward_s,
                       double backward_s, double rest_s);
/* Prices of a second of a device of each class; all work of a step, priced; and over all devices. */
typedef struct weft_pipe_pool {
    double price[WEFT_MAX_PARTS], work, work_s;
} weft_pipe_pool;

weft_pipe_pool weft_pipe_pool_of(const weft_pipe_costs *c, const weft_pipe_family *f);
/* Bounds 3 and 4 of a family that is not of device sets; the pool may be that of another with the
 * same classes, widths and share. */
double weft_pipe_pool_s(const weft_pipe_costs *c, const weft_pipe_family *f,
                        const weft_pipe_pool *prices, bool is_chunks);
/* All work over all devices: price-weighted, see pipe_bound.c. kind: 0 seconds as they are, 1
 * compute_s, 2 memory_s. */
double weft_pipe_work_s(const weft_pipe_costs *c, const weft_pipe_family *f, int kind);

/* --- links (pipe_links.c) -------------------------------------------------------------------- */

/* Hops and sums of gradients of the moves of a family, for one layout. Pairs: move t and each move
 * of the node it leads to. */
typedef struct weft_pipe_links {
    bool is_exact;                        /* hops of pairs are the real ones; else lower bounds */
    int *pair_at;                         /* [n_moves] */
    weft_affine *send, *back;             /* [n_pairs] of the bytes of one sample */
    weft_affine *least_send, *least_back; /* [n_moves] over what may come next */
    int *n_ways;                          /* [n_moves] */
    weft_levels *way;                     /* [2 * n_moves] sums of gradients */
} weft_pipe_links;

/* For suffixes that are part of `root`; wide: -1 for all. */
weft_pipe_links weft_pipe_links_of(const weft_pipe_costs *c, const weft_pipe_family *f,
                                   const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root,
                                   weft_arena *a);
weft_pipe_links weft_pipe_links_free(const weft_pipe_nodes *nodes, weft_arena *a); /* no time */

/* --- search (pipe_search.c, pipe_branch_bound.c) --------------------------------------------- */

/* The best plan so far, and what the search may still do. */
typedef struct weft_pipe_best {
    weft_pipe_costs *costs;
    weft_run *run;
    double value_s; /* INFINITY: none */
    weft_train_plan plan;
    weft_arena *a; /* of the plan */
    int64_t n_plans;
    int64_t n_steps, most_steps;
    bool is_over; /* steps or time are used up */
} weft_pipe_best;

/* Counts steps; true: stop. */
bool weft_pipe_spend(weft_pipe_best *b, int64_t steps);
/* Bounds at or above this need no further look: no plan there is better by more than rounding. */
#define WEFT_PIPE_ROUNDING 5e-10
static inline double weft_pipe_target_s(const weft_pipe_best *b)
{
    return b->value_s * (1 - WEFT_PIPE_ROUNDING);
}

/* Suffix bounds of one family under one schedule: [node * n_cuts + cut]. */
typedef struct weft_pipe_table {
    const weft_pipe_family *family;
    const weft_pipe_nodes *nodes;
    const weft_pipe_links *links;
    weft_schedule schedule;
    bool is_relaxed;   /* whatever the schedule and the stages behind: one microbatch in flight */
    double *bound_s;   /* from the first forward to the last backward of the suffix */
    double *sum_s;     /* least sum of forward, backward and hops there and back */
    int *first, *last; /* [node] cuts with a bound; first > last: none */
} weft_pipe_table;

/* Fills the table for suffixes that are part of `root` (-1: of any). False: stopped. */
bool weft_pipe_suffixes(weft_pipe_best *best, weft_pipe_table *t, int root, weft_arena *a);
/* Searches all plans of a root, at most `most_steps`; returns the least bound of what is left, or
 * INFINITY if nothing is. */
double weft_pipe_branch_bound(weft_pipe_best *best, const weft_pipe_table *t,
                              weft_pipe_layout layout, int root, int64_t most_steps,
                              weft_arena *scratch);

/* --- solvers --------------------------------------------------------------------------------- */

extern const weft_train_solver weft_train_equal;
extern const weft_train_solver weft_train_dp;
extern const weft_train_solver weft_train_auto;

#endif
