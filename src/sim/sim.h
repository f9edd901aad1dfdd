/* SPDX-License-Identifier: MIT */
/* The only judge: what a plan is worth. lower -> events -> measures. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- lowered plans: jobs on resources, the event loop knows nothing else --------------------- */

typedef enum weft_job_kind { WEFT_JOB_COMPUTE, WEFT_JOB_TRANSFER } weft_job_kind;

/* A job starts when its dependences have ended, its release has come, and every resource it uses
 * has ended the jobs queued before it on that resource. */
typedef struct weft_jobs {
    int n_jobs, n_resources;
    double *duration_s; /* [n_jobs] */
    double *release_s;  /* [n_jobs] */
    int *dep_at, *dep;  /* job -> jobs it waits for */
    int *use_at, *use;  /* job -> resources, ascending, each once */
    /* Order on a resource: fixed queue (devices), or first come first served among the ready
     * (links under contend), by (ready time, rank). */
    bool *is_queue; /* [n_resources] true: in order of rank */
    int64_t *rank;  /* [n_jobs] */
    /* meaning, for measures */
    weft_job_kind *kind;
    int *task, *tensor, *from, *to; /* task or -1; tensor, devices of a transfer */
    int *item;                      /* of a stream */
} weft_jobs;

typedef struct weft_timeline {
    int n_jobs;
    double *start_s, *end_s; /* [n_jobs] */
    int *waits_for; /* [n_jobs] the job whose end decided the start: dependence or resource; -1:
                       release */
    double end_of_all_s;
    bool is_stuck; /* queues contradict dependences: no such run exists */
} weft_timeline;

/* O((jobs + dependences + uses) log jobs). The arrays belong to `a`. */
weft_timeline weft_run_jobs(const weft_jobs *j, weft_arena *a);

/* --- measures -------------------------------------------------------------------------------- */

typedef enum weft_chain_kind {
    WEFT_CHAIN_COMPUTE,
    WEFT_CHAIN_TRANSFER,
    WEFT_CHAIN_WAIT
} weft_chain_kind;

/* The chain of jobs and waits that explains the makespan, first to last. */
typedef struct weft_chain_link {
    weft_chain_kind kind;
    int task, tensor, from, to; /* as they apply; -1 else */
    double start_s, end_s;
} weft_chain_link;

typedef struct weft_sample {
    double at_s, bytes;
} weft_sample;

typedef struct weft_measures {
    double makespan_s;       /* last output produced (of the last item) */
    double period_s;         /* largest load of a resource: seconds per item in steady state */
    const char *bottleneck;  /* that resource */
    double energy_j, idle_j; /* of one run; energy_j NAN if unknown */
    double sent_bytes;
    int n_transfers;
    const double *busy_s;     /* [n_devices] of one run */
    const double *load_s;     /* [n_devices] what the period counts: with transfers under block */
    const double *link_s;     /* [n_links] seconds of transfers on each directed link */
    const double *peak_bytes; /* [n_devices] weights and live tensors, largest sum */
    int over_device;          /* a device whose peak exceeds its capacity, or -1 */
    int n_chain;
    const weft_chain_link *chain;
    int n_jobs; /* the timeline, for reports */
    const weft_jobs *jobs;
    const weft_timeline *timeline;
    const weft_sample *const *memory; /* [n_devices] steps of memory over time */
    const int *n_memory;
    int n_variants;                  /* of the plan; with several: see weft_evaluate */
    int longest_way;                 /* whose run is shown: the way that takes longest */
    const struct weft_measures *way; /* [n_variants] of each way alone; NULL if there is one */
} weft_measures;

/* Lowers, runs and measures one item; writes the simulated starts into plan->start_s. Fails if the
 * plan's order contradicts dependences. Everything returned belongs to `a`.
 *
 * With several ways each is run alone. Loads, energy and bytes are means by their shares, hence the
 * period is that of the mix; n_transfers counts those of all ways. Makespan, chain, timeline, jobs
 * and memory over time are those of the way that takes longest (the first of several). The peak of
 * a device is the weights of all ways and the largest live part of any. */
WEFT_CHECKED weft_status weft_evaluate(const weft_problem *p, weft_plan *plan, weft_arena *a,
                                       weft_measures *out);
/* Value of the goal: makespan_s or period_s. */
double weft_goal_value(const weft_problem *p, const weft_measures *m);
/* Measures as a document: value, unit, makespan, period, energy, bytes sent, transfers, devices
 * (busy seconds, utilisation, peak bytes, capacity), links, bottleneck, chain. What plan files
 * claim and `weft check` recomputes: numbers only where they are recomputable. */
weft_doc *weft_measures_doc(const weft_problem *p, const weft_measures *m, weft_arena *a);

/* Share of the time that a device computes: of the makespan, or of the period. */
double weft_utilisation(const weft_problem *p, const weft_measures *m, int device);
/* What tensors are called, [n_tensors]: by the task that makes them ("conv", or "split:1" if it
 * makes several), "input" or "input:1", "weight:1". Belongs to `a`. */
const char *const *weft_tensor_labels(const weft_problem *p, weft_arena *a);

/* --- sharded networks ------------------------------------------------------------------------ */

/* Jobs of a sharded run, in this order for every step: each operand's way to the set (first those
 * from the host and from other sets, then those between members), phases of computation and of
 * rotation in turn, sums of partial results; in the end the outputs' way to the host. Computation,
 * rotation and sums occupy all members; a step begins when its operands are there and its set is
 * free.
 *  - One after the other (not is_concurrent): every job waits for the one before it.
 *  - hides: rotation runs beside the phase before; if the first operand moves between members, what
 *    can be computed before it arrives is computed while it is on its way, as the last operand.
 * Ways, rotations and sums of no time are left out. weft_jobs.task is the step (of an output's way
 * to the host: the one that made it); tensor, from and to as they apply: devices are the host or
 * the first members of sets.
 *
 * What the jobs of a sharded run do. */
typedef enum weft_shard_part {
    WEFT_PART_COMPUTE,
    WEFT_PART_ROTATE,   /* shards go round between phases */
    WEFT_PART_REDUCE,   /* partial sums and statistics are combined */
    WEFT_PART_RESHARD,  /* an operand moves between the members of a set */
    WEFT_PART_HANDOVER, /* an operand comes from another set */
    WEFT_PART_HOST,     /* inputs come from the host, outputs go there */
    WEFT_N_PARTS
} weft_shard_part;

const char *weft_shard_part_name(weft_shard_part p);

typedef struct weft_shard_plan_measures {
    double latency_s;
    double compute_s, rotate_s, reduce_s, reshard_s, handover_s, host_s; /* sums over all jobs */
    double sent_bytes, energy_j;
    const double *start_s, *end_s; /* [n_steps] */
    const double *busy_s;          /* [n_devices of the platform] computing */
    const double *peak_bytes;      /* [n_devices] weights, live tensors and buffers */
    int over_device;               /* a device whose peak exceeds its memory, or -1 */
    const weft_jobs *jobs;
    const weft_timeline *timeline;
    const weft_shard_part *part;      /* [n_jobs] */
    const weft_sample *const *memory; /* [n_devices] steps of memory over time */
    const int *n_memory;
} weft_shard_plan_measures;

/* Lowers, runs and measures; writes the starts of steps into s->start_s. All belongs to `a`. */
WEFT_CHECKED weft_status weft_shard_plan_evaluate(const weft_shard_problem *p, weft_shard_plan *s,
                                                  weft_arena *a, weft_shard_plan_measures *out);
weft_doc *weft_shard_plan_measures_doc(const weft_shard_problem *p,
                                       const weft_shard_plan_measures *m, weft_arena *a);

/* --- training -------------------------------------------------------------------------------- */

/* What the jobs of a training step do. */
typedef enum weft_train_part {
    WEFT_TRAIN_FORWARD,
    WEFT_TRAIN_BACKWARD, /* with what is computed again before it */
    WEFT_TRAIN_SEND,     /* activations to the next chunk */
    WEFT_TRAIN_RETURN,   /* gradients to the chunk before */
    WEFT_TRAIN_SYNC,     /* replicas sum gradients */
    WEFT_TRAIN_UPDATE,   /* optimizer */
    WEFT_TRAIN_SHARED,   /* gradient, then value, of a parameter that two stages read */
    WEFT_N_TRAIN_PARTS
} weft_train_part;

const char *weft_train_part_name(weft_train_part p);

/* Figures of one chunk of a plan, summed unit by unit (not by differences of sums). */
typedef struct weft_chunk_figures {
    double forward_s, backward_s, again_s; /* of a microbatch: the slowest part of the device set */
    double collective_s;                   /* of forward and backward: tensor width */
    double send_s, return_s; /* to the next chunk, and gradients from there; 0: none */
    double wait_s;           /* part of forward and backward: for what replicas divide and move */
} weft_chunk_figures;

/* What a device holds by kind, when it holds most. */
typedef struct weft_train_memory {
    double weight_bytes, gradient_bytes, moment_bytes;
    double stash_bytes; /* kept for backward */
    double work_bytes;  /* beside that, of the unit that runs */
} weft_train_memory;

/* Jobs of one training step. Resources are stages (queues in the order of the schedule) and, under
 * contend, directions of links between stages (first come first served).
 *  - forward of chunk c waits for its activations, backward for its forward and its gradients;
 *  - stage i sums gradients after its last backward (and after shared gradients have come), then
 *    updates; a shared value goes to the other stage after that;
 *  - jobs of no time that nothing waits for are left out.
 * weft_jobs.task is the chunk (of sync and update: the stage), item the microbatch (-1: none).
 *
 * The order in which stage i runs forward and backward of its chunks: order[k] = 2 * (chunk number
 * of the stage, 0 .. n_chunks - 1, times n_microbatches, plus microbatch) + (1 if backward). Their
 * number: 2 * n_chunks * n_microbatches. In `a`. */
int64_t weft_schedule_order(weft_schedule schedule, int n_stages, int stage, int64_t n_microbatches,
                            int n_chunks, weft_arena *a, const int64_t **order);

typedef struct weft_train_measures {
    double step_s, samples_per_s;
    double
        bubble; /* share of the time of stages (all of them, start to end of step) without work */
    double exposed; /* share of the same in sums of the tensor width, sums of gradients, and waiting
                       for what replicas divide: communication that no computation hides */
    double compute_s, collective_s, send_s, sync_s, update_s; /* sums over jobs; sends both ways */
    double
        sent_bytes; /* between stages, by replicas and by tensor width (estimated), all devices */
    double flops_utilisation;              /* of the peak of all devices in use; NAN: not known */
    const double *stage_busy_s;            /* [n_stages] */
    const double *stage_peak_bytes;        /* [n_stages] fullest device of the stage */
    const double *stage_room_bytes;        /* [n_stages] its memory */
    const weft_train_memory *stage_memory; /* [n_stages] what the peak consists of */
    int over_stage;                        /* a stage whose peak exceeds its memory, or -1 */
    const weft_chunk_figures *figures;     /* [chunks] */
    const weft_jobs *jobs;
    const weft_timeline *timeline;
    const weft_train_part *part;
    const weft_sample *const *memory; /* [n_stages] of the fullest device over time */
    const int *n_memory;
} weft_train_measures;

/* Lowers, runs and measures. Memory of a device: weights, gradients and its moments (a parameter
 * that two units of the stage share counts once), from the start of a forward to the end of its
 * backward the stash of its share, and while a chunk runs the most that one of its units needs
 * beside. All belongs to `a`. */
WEFT_CHECKED weft_status weft_train_plan_evaluate(const weft_train_problem *p,
                                                  const weft_train_plan *plan, weft_arena *a,
                                                  weft_train_measures *out);
weft_doc *weft_train_measures_doc(const weft_train_problem *p, const weft_train_plan *plan,
                                  const weft_train_measures *m, weft_arena *a);

#ifdef __cplusplus
}
#endif
#endif
