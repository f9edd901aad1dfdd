/* SPDX-License-Identifier: MIT */
/* The search of designs for the devices of a pipeline, and what its parts share (fleet*.c). */
#ifndef WEFT_FLEET_H
#define WEFT_FLEET_H

#include "weft/mine.h"

struct weft_pipe_beat;

/* --- times of kinds of units on designs (fleet_time.c) -----------------------------------------
 */

/* Seconds of one kind of units on one design. */
typedef struct weft_fleet_time {
    double forward_s, backward_s, update_s;
    double again_s[WEFT_N_RECOMPUTES];
} weft_fleet_time;

/* Times of all designs in a list: [design * n_kinds + kind]. In `a`. */
weft_fleet_time *weft_fleet_times(const weft_template *t, const weft_unit_work *w, int n_points,
                                  const weft_point *point, weft_arena *a);

/* --- stages (fleet_space.c) --------------------------------------------------------------------
 */

/* What a stage consists of, as far as time goes. */
typedef struct weft_fleet_variant {
    int recompute;
    const int *count; /* [n_kinds] units of each kind */
} weft_fleet_variant;

/* Two cuts with a stage between them. */
typedef struct weft_fleet_pair {
    int inner, outer;
    double sync_s;
    int variant_at; /* into weft_fleet_space.variant_of: for each number of stages left, 0 .. s */
} weft_fleet_pair;

/* Everything that does not depend on designs. */
typedef struct weft_fleet_space {
    const weft_fleet *fleet;
    const weft_fleet_net *net;
    int n_cuts, n_kinds, n_stages;
    int64_t n_microbatches;
    int n_pairs;
    const weft_fleet_pair *pair; /* by inner cut, then outer */
    const int *pair_at;          /* [n_cuts + 1] */
    const int *variant_of;       /* -1: does not fit */
    int n_variants;
    const weft_fleet_variant *variant;
    const double *send_s, *return_s, *hop_s; /* [n_cuts] of a microbatch; hop: both */
} weft_fleet_space;

/* False: too many stages are possible; the network cannot be searched. In `a`. */
bool weft_fleet_space_new(const weft_fleet *f, const weft_fleet_net *net, double memory_bytes,
                          weft_arena *a, weft_fleet_space *out);

static inline int weft_fleet_variant_of(const weft_fleet_space *s, const weft_fleet_pair *p,
                                        int left)
{
    return s->variant_of[p->variant_at + left];
}

/* Bytes that two stages exchange of a shared parameter, each way. */
double weft_fleet_shared_bytes(const weft_fleet_net *net, int shared);
/* Bytes of a device of the stage, with the work of its largest unit. */
double weft_fleet_memory(const weft_fleet_space *x, int inner, int outer, int recompute,
                         int64_t in_flight);

/* Seconds of a variant; update_s of all its units. */
typedef struct weft_fleet_load {
    double forward_s, backward_s, load_s, update_s;
} weft_fleet_load;

weft_fleet_load weft_fleet_load_of(const weft_fleet_space *s, const weft_fleet_variant *v,
                                   const weft_fleet_time *time);

/* --- partitions with given loads (fleet_plan.c) ------------------------------------------------
 */

/* Pairs of a plan: stage i is pair[i]. */
typedef struct weft_fleet_cuts {
    int *pair; /* [n_stages] */
} weft_fleet_cuts;

weft_fleet_cuts weft_fleet_cuts_new(const weft_fleet_space *s, weft_arena *a);

/* Tables for partitions; made once for each network. */
typedef struct weft_fleet_desk {
    const weft_fleet_space *space;
    double *bound_s, *sum_s; /* [left * n_cuts + cut] */
    double *end_s, *least;   /* the same */
    int *next;               /* the same: pair */
    double *limit_s;         /* [n_variants] */
    weft_arena *a;           /* scratch */
} weft_fleet_desk;

weft_fleet_desk weft_fleet_desk_new(const weft_fleet_space *s, weft_arena *a);

/* A lower bound of the step of every partition, with loads [n_variants] that are at most those of
 * the designs (load_s may be more than forward_s + backward_s if all three are lower bounds);
 * INFINITY: there is no partition. The partition where it is least in *cuts, which may be NULL. */
double weft_fleet_bound_s(weft_fleet_desk *d, const weft_fleet_load *load, weft_fleet_cuts *cuts);
/* The partition with the least sum of loads and hops, no load above most_s; that sum. */
double weft_fleet_least_sum(weft_fleet_desk *d, const weft_fleet_load *load, double most_s,
                            weft_fleet_cuts *cuts);
/* Gradients and update after the last backward of a stage. */
double weft_fleet_tail_s(const weft_fleet_pair *p, const weft_fleet_load *l);
/* What stages exchange of parameters that several of them read; outer[i]: the cut that ends stage
 * i. The beat has room for all shared parameters of the network. */
void weft_fleet_add_shared(const weft_fleet *f, const weft_fleet_net *net, const int *outer,
                           struct weft_pipe_beat *b);
/* Seconds of a step by events: load[i] of stage i. */
double weft_fleet_step_s(const weft_fleet_space *s, const weft_fleet_cuts *cuts,
                         const weft_fleet_load *load, weft_arena *scratch);
/* The bound, and a good partition for these loads by events; INFINITY: none. Counts plans. */
double weft_fleet_partition(weft_fleet_desk *d, const weft_fleet_load *load, weft_fleet_cuts *cuts,
                            double *bound_s, int64_t *n_plans);
/* After it, with the same loads: looks for a better one. True: there is none (to rounding). */
bool weft_fleet_close(weft_fleet_desk *d, const weft_fleet_load *load, int64_t most_steps,
                      weft_fleet_cuts *cuts, double *step_s, int64_t *n_plans);

/* --- searches (fleet_common.c, fleet_stages.c) -------------------------------------------------
 */

/* The best so far: of each network cuts and step; of each stage the design (common: all the same),
 * a place in the list of points. */
typedef struct weft_fleet_best {
    double value; /* 0: none */
    double throughput, tdp_w;
    weft_fleet_cuts *cuts; /* [n_nets] */
    double *step_s;        /* [n_nets] */
    double *bound_s;       /* [n_nets] */
    int *point;            /* [n_stages] */
} weft_fleet_best;

typedef struct weft_fleet_search {
    const weft_fleet_quest *q;
    weft_run *run;
    int n_points;      /* designs within the limits, by index */
    weft_point *point; /* [n_points + 1] the last: the reference */
    double *tdp_w;
    weft_fleet_space *space; /* [n_nets] */
    weft_fleet_desk *desk;   /* [n_nets] */
    weft_fleet_time **time;  /* [n_nets] of all points and the reference */
    double *reference_s;     /* [n_nets] step on the reference; INFINITY: no plan */
    double least_throughput; /* as weft_fleet_found.throughput */
    weft_fleet_best best;
    double bound; /* of the metric */
    int64_t n_partitioned, n_plans;
    weft_arena *a; /* of the search */
} weft_fleet_search;

/* Designs, times, stages and the reference of what q asks; refuses what cannot be asked. */
WEFT_CHECKED weft_status weft_fleet_prepare(weft_fleet_search *s);
/* What was found, from `best` and `bound`; in `a`. */
void weft_fleet_answer(const weft_fleet_search *s, weft_arena *a, weft_fleet_found *out);
/* Throughput of steps [n_nets] as the result has it, and the metric with the power of all devices;
 * 0 if it is below the least throughput. */
double weft_fleet_throughput(const weft_fleet_search *s, const double *step_s);
double weft_fleet_metric(const weft_fleet_search *s, double throughput, double tdp_w);
double weft_fleet_devices(const weft_fleet *f); /* of a stage */
const weft_fleet_time *weft_fleet_times_at(const weft_fleet_search *s, int net, int point);
/* Loads of all variants of a network on one design. */
void weft_fleet_loads(const weft_fleet_search *s, int net, int point, weft_fleet_load *load);
/* One design for all; fills best and bound. */
void weft_fleet_common(weft_fleet_search *s);
/* After weft_fleet_common, whose plan is where this starts: one design for each stage. */
void weft_fleet_stages(weft_fleet_search *s);

#endif
