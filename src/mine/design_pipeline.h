/* SPDX-License-Identifier: MIT */
/* The search of designs for the devices of a pipeline, and what its parts share (design_pipeline*.c). */
#ifndef WEFT_DESIGN_PIPELINE_H
#define WEFT_DESIGN_PIPELINE_H

#include "mine.h"

struct weft_pipe_stage_times;
struct weft_shared_move;

/* --- times of kinds of units on designs (design_pipeline_time.c) ----------------------------- */

/* Seconds of one kind of units on one design. */
typedef struct weft_block_time {
    double forward_s, backward_s, update_s;
    double again_s[WEFT_N_RECOMPUTES];
} weft_block_time;

/* With the seconds of jobs. */
weft_block_time weft_block_time_of(const weft_block_kind *kind, const double *key_s);
/* Times of all designs in a list: [design * n_kinds + kind]. In `a`. */
weft_block_time *weft_block_times(const weft_template *t, const weft_block_work *w, int n_points,
                                  const weft_design_point *point, weft_arena *a);

/* --- stages (design_pipeline_space.c) -------------------------------------------------------- */

/* What a stage consists of, as far as time goes. */
typedef struct weft_stage_variant {
    int recompute;
    const int *count; /* [n_kinds] units of each kind */
} weft_stage_variant;

/* Two cuts with a stage between them. */
typedef struct weft_cut_pair {
    int inner, outer;
    double sync_s;
    int variant_at; /* into weft_stage_space.variant_of: for each number of stages left, 0 .. s */
} weft_cut_pair;

/* Everything that does not depend on designs. */
typedef struct weft_stage_space {
    const weft_design_pipeline *design_pipeline;
    const weft_design_pipeline_net *net;
    int n_cuts, n_kinds, n_stages;
    int64_t n_microbatches;
    int n_pairs;
    const weft_cut_pair *pair; /* by inner cut, then outer */
    const int *pair_at;        /* [n_cuts + 1] */
    const int *variant_of;     /* -1: does not fit */
    int n_variants;
    const weft_stage_variant *variant;
    const double *send_s, *return_s, *hop_s; /* [n_cuts] of a microbatch; hop: both */
} weft_stage_space;

/* False: too many stages are possible; the network cannot be searched. In `a`. */
bool weft_stage_space_new(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                          double memory_bytes, weft_arena *a, weft_stage_space *out);

static inline int weft_stage_variant_of(const weft_stage_space *s, const weft_cut_pair *p, int left)
{
    return s->variant_of[p->variant_at + left];
}

/* Bytes that two stages exchange of a shared parameter, each way. */
double weft_pipeline_shared_bytes(const weft_design_pipeline_net *net, int shared);
/* Seconds of a variant; update_s of all its units. */
typedef struct weft_stage_load {
    double forward_s, backward_s, load_s, update_s;
} weft_stage_load;

weft_stage_load weft_stage_load_of(const weft_stage_space *s, const weft_stage_variant *v,
                                   const weft_block_time *time);

/* --- the judge (design_pipeline_sim.c) ------------------------------------------------------- */

/* Fills stages and step of a plan from its points, cuts and recomputations. Stages are in `a`. */
WEFT_CHECKED weft_status weft_pipeline_simulate(const weft_template *t,
                                                const weft_design_pipeline *f,
                                                const weft_design_pipeline_net *net, weft_arena *a,
                                                weft_design_pipeline_plan *plan);

/* What stages exchange of parameters that several of them read; outer[i]: the cut that ends stage i.
 * The number of moves, at most that of shared parameters. */
int weft_pipeline_moves(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                        const int *outer, struct weft_shared_move *move);

/* --- partitions with given loads (design_pipeline_plan.c) ------------------------------------ */

/* Pairs of a plan: stage i is pair[i]. */
typedef struct weft_partition {
    int *pair; /* [n_stages] */
} weft_partition;

weft_partition weft_partition_new(const weft_stage_space *s, weft_arena *a);

/* Tables for partitions; made once for each network. */
typedef struct weft_partitioner {
    const weft_stage_space *space;
    double *bound_s, *sum_s; /* [left * n_cuts + cut] */
    double *end_s, *least;   /* the same */
    int *next;               /* the same: pair */
    double *limit_s;         /* [n_variants] */
    weft_arena *a;           /* scratch */
} weft_partitioner;

weft_partitioner weft_partitioner_new(const weft_stage_space *s, weft_arena *a);

/* A lower bound of the step of every partition, with loads [n_variants] that are at most those of
 * the designs (load_s may be more than forward_s + backward_s if all three are lower bounds);
 * INFINITY: there is no partition. The partition where it is least in *cuts, which may be NULL. */
double weft_partition_bound_s(weft_partitioner *d, const weft_stage_load *load,
                              weft_partition *cuts);
/* The partition with the least sum of loads and hops, no load above most_s; that sum. */
double weft_pipeline_least_sum(weft_partitioner *d, const weft_stage_load *load, double most_s,
                               weft_partition *cuts);
/* A lower bound of the step: every block of kind k takes load_s[k] at least. */
double weft_pipeline_floor_s(const weft_stage_space *x, const double *load_s);
/* The recomputation that takes least; forward and backward with it. */
double weft_pipeline_least_load_s(const weft_design_pipeline *f, const weft_block_time *t);
/* Gradients and update after the last backward of a stage. */
double weft_pipeline_tail_s(const weft_cut_pair *p, const weft_stage_load *l);
/* The same, into times of stages: *b has room for all shared parameters of the network. */
void weft_pipeline_add_shared(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                              const int *outer, struct weft_pipe_stage_times *b);
/* Seconds of a step by recurrence (train/pipe_time.c): load[i] of stage i. */
double weft_partition_step_s(const weft_stage_space *s, const weft_partition *cuts,
                             const weft_stage_load *load, weft_arena *scratch);
/* The bound, and a good partition for these loads by events; INFINITY: none. Counts plans. */
double weft_partition_find(weft_partitioner *d, const weft_stage_load *load, weft_partition *cuts,
                           double *bound_s, int64_t *n_plans);
/* After it, with the same loads: looks for a better one. True: there is none (to rounding). */
bool weft_partition_close(weft_partitioner *d, const weft_stage_load *load, int64_t most_steps,
                          weft_partition *cuts, double *step_s, int64_t *n_plans);

/* --- searches (design_pipeline_common.c, design_pipeline_stages.c) --------------------------- */

/* The best so far: of each network cuts and step; of each stage the design (common: all the same),
 * a place in the list of points. */
typedef struct weft_pipeline_best {
    double value; /* 0: none */
    double throughput, tdp_w;
    weft_partition *cuts; /* [n_nets] */
    double *step_s;       /* [n_nets] */
    double *bound_s;      /* [n_nets] */
    int *point;           /* [n_stages] */
} weft_pipeline_best;

typedef struct weft_pipeline_search {
    const weft_design_pipeline_objective *q;
    weft_run *run;
    int n_points;             /* designs within the limits, by index */
    weft_design_point *point; /* [n_points + 1] the last: the reference */
    double *tdp_w;
    weft_stage_space *space; /* [n_nets] */
    weft_partitioner *work;  /* [n_nets] */
    weft_block_time **time;  /* [n_nets] of all points and the reference */
    double *reference_s;     /* [n_nets] step on the reference; INFINITY: no plan */
    double least_throughput; /* as weft_design_pipeline_found.throughput */
    weft_pipeline_best best;
    double bound; /* of the metric */
    int64_t n_partitioned, n_plans;
    weft_arena *a; /* of the search */
} weft_pipeline_search;

/* Designs, times, stages and the reference of what q asks; refuses what cannot be asked. */
WEFT_CHECKED weft_status weft_pipeline_prepare(weft_pipeline_search *s);
/* What plans [n_nets] of stages with points, cuts and recomputation are worth by the simulator:
 * fills the rest of the plans, value, throughput and power; 0: below the least throughput. */
WEFT_CHECKED weft_status weft_pipeline_judge(const weft_pipeline_search *s,
                                             weft_design_pipeline_plan *plan, weft_arena *a,
                                             weft_design_pipeline_found *out);
/* Throughput of steps [n_nets] as the result has it, and the metric with the power of all devices;
 * 0 if it is below the least throughput. */
double weft_pipeline_throughput(const weft_pipeline_search *s, const double *step_s);
double weft_pipeline_metric(const weft_pipeline_search *s, double throughput, double tdp_w);
double weft_pipeline_devices(const weft_design_pipeline *f); /* of a stage */
const weft_block_time *weft_block_times_at(const weft_pipeline_search *s, int net, int point);
/* Loads of all variants of a network on one design. */
void weft_stage_loads(const weft_pipeline_search *s, int net, int point, weft_stage_load *load);
/* One design for all; fills best and bound. */
void weft_pipeline_common(weft_pipeline_search *s);
/* After weft_pipeline_common, whose plan is where this starts: one design for each stage. */
void weft_pipeline_stages(weft_pipeline_search *s);

#endif
