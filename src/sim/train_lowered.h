/* SPDX-License-Identifier: MIT */
/* A step of training on its way from plan to measures (pipeline_*.c). */
#ifndef WEFT_SIM_TRAIN_LOWERED_H
#define WEFT_SIM_TRAIN_LOWERED_H

#include "sim.h"
#include "train_plan.h"

/* What a device of one part of a device set does and holds; sums over units. */
typedef struct weft_part_figures {
    double weight_bytes, gradient_bytes, moment_bytes;
    double sync_bytes, update_s;
    double n_syncs; /* units that have some of these bytes */
} weft_part_figures;

/* The same for one chunk and one microbatch. */
typedef struct weft_part_chunk {
    double forward_s, backward_s, again_s;
    double forward_collective_s, backward_collective_s;
    double compute_s;
    double stash_bytes, work_bytes;
} weft_part_chunk;

/* A parameter that two stages read, and what it takes to move it. */
typedef struct weft_shared_move {
    int shared; /* of the units */
    int owner_chunk, other_chunk;
    double bytes;               /* of one pair of members */
    double gradient_s, value_s; /* to the owner; back */
} weft_shared_move;

typedef struct weft_train_lowered {
    const weft_train_problem *p;
    const weft_train_plan *plan;
    int n_chunks; /* in all */
    int64_t n_microbatches;
    weft_chunk_figures *figures;              /* [n_chunks] */
    weft_part_chunk *chunk;                   /* [n_chunks * WEFT_MAX_PARTS + part] */
    weft_part_figures *state;                 /* [n_stages * WEFT_MAX_PARTS + part] */
    double *sync_s, *update_s;                /* [n_stages] */
    double *sync_bytes;                       /* [n_stages] of a device */
    double *gathered_bytes, *scattered_bytes; /* [n_chunks] of a microbatch: weights (as often for
                                                 backward), gradients that replicas divide */
    double *
        ring_bytes; /* [n_stages] of a device, in a step: gathered or scattered; sums count twice */
    int n_moves;
    weft_shared_move *move;
    const int64_t **order; /* [n_stages] weft_schedule_order; its length: */
    int64_t n_order;
    weft_jobs *jobs;
    weft_train_part *part; /* [n_jobs] */
} weft_train_lowered;

static inline double weft_static_bytes(const weft_part_figures *f)
{
    return f->weight_bytes + f->gradient_bytes + f->moment_bytes;
}

static inline int weft_chunk_stage(const weft_train_lowered *d, int chunk)
{
    return chunk % d->plan->n_stages;
}

/* The job that entry k of the order of a stage stands for. Forward of chunk c and microbatch j is
 * job 2 (c m + j), backward the next one. */
static inline int weft_order_job(const weft_train_lowered *d, int stage, int64_t k)
{
    int64_t entry = d->order[stage][k], chunk = entry / 2 / d->n_microbatches;

    return (int)(entry + 2 * d->n_microbatches * (stage + chunk * (d->plan->n_stages - 1)));
}

enum { WEFT_MOST_TRAIN_JOBS = 1 << 24 }; /* of a step; about 200 bytes each */

/* So many chunks in all can be simulated, whatever they send: 4 jobs for each microbatch, 2 for the
 * last chunk, and the end of the step. */
static inline int64_t weft_train_plan_most_chunks(const weft_train_problem *p, int64_t microbatch)
{
    int64_t m = p->constraints.batch / microbatch;

    return (WEFT_MOST_TRAIN_JOBS - 2 * p->blocks.n_shared + 2 * m) / (4 * m + 4);
}

/* Everything but order and jobs; the plan keeps the rules. In `a`. */
void weft_train_lower_figures(const weft_train_problem *p, const weft_train_plan *plan,
                              weft_arena *a, weft_train_lowered *out);
/* Makes what stages share of the platform's resources longer by what others bring there. */
void weft_train_share(weft_train_lowered *d, weft_arena *a);
/* Order and jobs of figures that are there: chunks, sums, updates, moves, number of microbatches. Of
 * the problem transfer, blocks and cluster are looked at (NULL: stages have no devices), of the plan
 * schedule and numbers. */
WEFT_CHECKED weft_status weft_train_lower_jobs(weft_train_lowered *d, weft_arena *a);
/* Figures, order and jobs. A plan that breaks rules, a step of too many jobs, or stages that are
 * not connected fail; the message says why. In `a`. */
WEFT_CHECKED weft_status weft_train_lower(const weft_train_problem *p, const weft_train_plan *plan,
                                          weft_arena *a, weft_train_lowered *out);

#endif
