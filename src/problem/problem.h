/* SPDX-License-Identifier: MIT */
/* What is asked (problem) and what is answered (plan). A problem is numbers only: no operators, no
 * device models. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <math.h>

#include "block.h"
#include "model.h"
#include "split.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_goal { WEFT_LATENCY, WEFT_THROUGHPUT } weft_goal;

const char *weft_goal_name(weft_goal g);

/* Numbers of which one is allowed, ascending; none: any. */
enum { WEFT_MOST_COUNTS = 16 };
typedef struct weft_counts {
    int n;
    int64_t at[WEFT_MOST_COUNTS];
} weft_counts;

/* What is asked for besides network and machines. All zero: the least latency, nothing else. */
typedef struct weft_constraints {
    weft_goal goal;
    bool is_calls;      /* accelerators are called once (WEFT_CALLS), whatever the platform says */
    bool is_contiguous; /* the forward tasks of each device form a pipeline stage */
    bool is_mixed;      /* throughput: items of a stream may take different ways */
    /* is_mixed is left to the maker of the problem, who says so where that is possible; false in
     * every problem. */
    bool may_mix;
    double most_latency_s; /* a plan must not take longer; 0: no limit */
    double most_period_s;  /* a plan must not take longer between items; 0: no limit */
    /* Of the segments of a plan (segments.c); 0: no limit. */
    int most_segments, least_segment_tasks;
    double least_segment_s;
    /* Tasks by name or pattern (constrain.c); NULL or empty: none. */
    const char *pin;      /* "NODE=DEVICE,NODE=DEVICE" */
    const char *together; /* "A,B;C,D": A and B share a device, and so do C and D */
    /* What a plan decides besides (kind/choices.c): problems are of one choice. */
    weft_counts batches; /* throughput: of so many samples at once; none: as the network is */
    bool splits_batch;   /* latency: the batch may be cut in shares */
} weft_constraints;

/* Does a plan of this latency and period keep the limits? Times may be over by 1e-9 of them. */
static inline bool weft_constraints_allow(const weft_constraints *constraints, double latency_s,
                                          double period_s)
{
    return (!(constraints->most_latency_s > 0) ||
            latency_s <= constraints->most_latency_s * (1 + 1e-9)) &&
           (!(constraints->most_period_s > 0) ||
            period_s <= constraints->most_period_s * (1 + 1e-9));
}

/* Tasks in topological order on devices. A tensor is made by one task, or is there from the start
 * (on the host, if there is one), and read by some; it is sent once to each device that reads it
 * and did not make it. Weights are not sent: they lie where they are read, once a device. */
typedef struct weft_problem {
    const char *name;
    int n_tasks, n_devices, n_tensors;
    const char *const *task_name;   /* [n_tasks] unique */
    const char *const *device_name; /* [n_devices] unique */
    const char *const *task_kind;   /* [n_tasks] operator, for people */
    const double *seconds;          /* [task * n_devices + device]; INFINITY: not supported */
    const double *joules;           /* the same; NULL: unknown */
    const double *amount;           /* [n_tensors] bytes sent (or cost units of the literature) */
    const double *memory;           /* [n_tensors] bytes held */
    const bool *is_weight;          /* [n_tensors] */
    const int *producer;            /* [n_tensors] task, or -1 */
    const int *reader_at, *reader;  /* tensor -> tasks, ascending, each once */
    const int *arg_at, *arg;        /* task -> tensors read, ascending */
    const int *res_at, *res;        /* task -> tensors made, ascending */
    const int *pred_at, *pred;      /* task -> tasks it waits for, ascending, each once */
    const int *succ_at, *succ;
    const bool *is_output;         /* [n_tensors] asked for: kept to the end */
    const double *latency_s;       /* [from * n_devices + to]; 0 on the diagonal */
    const double *second_per_byte; /* the same; INFINITY where not connected */
    const weft_link_curve *curve;  /* of links; seconds of a message are no less than they say */
    const uint64_t *curves;        /* [from * n_devices + to] bits into curve; NULL: none */
    const double *curve_factor;    /* the same: longer by; NULL: 1 */
    const int *route_at, *route;  /* [from * n_devices + to] -> directed links, resources it uses */
    int n_links;                  /* directed links */
    const char *const *link_name; /* [n_links] "cpu>gpu0" */
    const double *capacity;       /* [n_devices] bytes; INFINITY: not limited */
    const double *idle_w;         /* [n_devices] */
    const double *switch_s; /* [n_devices] of a switch to it (switch.c); NULL: none takes time */
    int host;               /* where tensors without producer are at time 0; -1: everywhere */
    weft_transfer transfer;
    weft_constraints constraints;
    const int *pin;          /* [n_tasks] device, or -1 */
    const int *colocation;   /* [n_tasks] tasks of one colour >= 0 share a device; or -1 */
    const bool *is_backward; /* [n_tasks] of a training step: contiguity does not concern them */
    uint64_t hash;           /* of all the above */
    const bool *is_measured; /* [task * n_devices + device] time of a profile; NULL: none is */
    /* [n_tensors] Weights that change, such as KV caches: they stay where they are from one item to
     * the next, and a colocation group has all that read them or make what takes their place. NULL:
     * none. Of the problem itself these are weights like others. */
    const bool *is_state;
    const char *wide_state; /* a state that one task reads and another makes anew; NULL: none */
    weft_arena *arena;
} weft_problem;

/* Seconds of a message over the links of a pair, from * n_devices + to. */
static inline double weft_message_s(const weft_problem *p, int pair, double amount)
{
    double seconds = amount > 0 ? amount * p->second_per_byte[pair] : 0.0;

    if (p->curves != NULL && p->curves[pair] != 0 && amount > 0)
        seconds = fmax(seconds, weft_link_curves_s(p->curve, p->curves[pair], amount) *
                                    (p->curve_factor ? p->curve_factor[pair] : 1));
    return p->latency_s[pair] + seconds;
}

/* Seconds to send tensor t from one device to another; 0 if they are the same. */
static inline double weft_send_s(const weft_problem *p, int t, int from, int to)
{
    return from == to ? 0.0 : weft_message_s(p, from * p->n_devices + to, p->amount[t]);
}

/* Do messages of any size take as long over the links of two pairs? */
static inline bool weft_pairs_alike(const weft_problem *p, int one, int other)
{
    return p->latency_s[one] == p->latency_s[other] &&
           p->second_per_byte[one] == p->second_per_byte[other] &&
           (p->curves == NULL ||
            (p->curves[one] == p->curves[other] &&
             (p->curve_factor == NULL || p->curve_factor[one] == p->curve_factor[other])));
}

/* Seconds of a task, without a switch. */
static inline double weft_task_s(const weft_problem *p, int u, int d)
{
    return p->seconds[u * p->n_devices + d];
}

/* [n_tasks] seconds that each takes longer for a switch to its device, if all are on these; NULL:
 * the problem has no switches that take time. Belongs to `a`. */
const double *weft_switch_times(const weft_problem *p, const int *device, weft_arena *a);

/* Seconds that v takes longer if it reads from u, they are on these devices, and no other placement
 * can spare it: nobody else is first to read from u there. At most what the simulator adds. */
static inline double weft_sure_switch_s(const weft_problem *p, int u, int v, int from, int to)
{
    return p->switch_s == NULL || from == to || p->transfer == WEFT_CALLS ||
                   p->succ[p->succ_at[u]] != v
               ? 0
               : p->switch_s[to];
}

/* When something that starts at start_s and takes length_s ends. What has a length ends later than
 * it starts, by the next number at least where the sum would round the length away: so the starts
 * on a device always tell the order of its tasks. */
static inline double weft_end_s(double start_s, double length_s)
{
    double end_s = start_s + length_s;

    return length_s > 0 && end_s <= start_s ? nextafter(start_s, INFINITY) : end_s;
}

/* Does a device hold so many bytes? Sums of them, in whatever order, may be over by their rounding:
 * by less than a byte up to a terabyte. Everybody asks here: solvers, simulator and legality. */
static inline bool weft_fits(double bytes, double capacity)
{
    return bytes <= capacity * (1 + 1e-12);
}

/* --- whole numbers (grain.c) ----------------------------------------------------------------- */

/* The largest number of seconds of which every duration of the problem is a whole multiple, found
 * exactly; the value of every plan is one, too. 0: none of any use, or the plan may be a mix. What
 * else takes time in a run must be looked at there. */
double weft_problem_grain_s(const weft_problem *p);
/* A bound of the values of all plans, rounded up to the next multiple; grain 0: as it is. */
double weft_grain_up(double grain_s, double bound_s);
/* Is the value of a plan such a multiple, as far as sums of doubles can tell? */
bool weft_grain_divides(double grain_s, double value_s);

/* --- a batch in shares (shares.c) ------------------------------------------------------------ */

/* The batch of `whole` in n > 1 shares: part[i] is the same problem with a batch of share[i]
 * samples. Each is a copy of the network, task "conv" of the first is "conv#1"; weights are held
 * once on a device, whichever copies read them there, inputs are sent in pieces, and results are
 * gathered by tasks "conv#gather" that take no time. Networks whose samples are not apart are an
 * error that names a task. The caller owns *out. */
WEFT_CHECKED weft_status weft_problem_of_shares(const weft_problem *whole,
                                                const weft_problem *const *part,
                                                const int64_t *share, int n, weft_problem **out);

/* A network on a platform. The caller owns *out; graph, costs and platform may be freed after. */
WEFT_CHECKED weft_status weft_problem_new(const weft_graph *g, const weft_costs *c,
                                          const weft_platform *p,
                                          const weft_constraints *constraints, weft_problem **out);
/* Kernels whose nodes, with all that must share a device with them, no device can run are taken
 * apart: *out is the graph without them, its arrays in `a`. False: there are none such. */
bool weft_problem_tear(const weft_graph *g, const weft_costs *c, weft_arena *a, weft_graph *out);
void weft_problem_free(weft_problem *p);

/* Problems written by hand or by other projects: weft.tasks/1, and with is_msr the JSON of the
 * public dnn-partitioning workloads (docs/formats.md). The caller owns *out. */
WEFT_CHECKED weft_status weft_problem_read(const char *path, bool is_msr,
                                           const weft_constraints *constraints, weft_problem **out);
WEFT_CHECKED weft_status weft_problem_parse(const weft_doc *d, bool is_msr,
                                            const weft_constraints *constraints,
                                            weft_problem **out);
/* Builder used by readers and tests: arrays by task and tensor in any topological numbering. */
typedef struct weft_problem_spec {
    const char *name;
    int n_tasks, n_devices, n_tensors;
    const char *const *task_name, *const *device_name;
    const double *seconds, *joules;    /* joules may be NULL */
    const double *amount, *memory;     /* memory NULL: the amount */
    const bool *is_weight, *is_output; /* NULL: none */
    const int *producer;
    const int *reader_at, *reader;
    const double *latency_s, *second_per_byte; /* NULL: 0 and 1 */
    int n_curves;
    const weft_link_curve *curve;    /* points are copied too */
    const uint64_t *curves;          /* NULL: none */
    const double *capacity, *idle_w; /* NULL: not limited; 0 */
    const double *switch_s;          /* NULL: 0 */
    const int *pin, *colocation;     /* NULL: none */
    const bool *is_backward;         /* NULL: none */
    int host;
    weft_transfer transfer;
    weft_constraints constraints;
} weft_problem_spec;

/* Sorts topologically, links by pairs of devices, copies all. A cycle is an error naming a
 * task; a task that no device supports is none: there is no plan then. */
WEFT_CHECKED weft_status weft_problem_make(const weft_problem_spec *s, weft_problem **out);

/* --- plans ----------------------------------------------------------------------------------- */

/* Decisions. The simulator takes device and order (by start, ties by task number) and says when
 * tasks start; a finished plan carries the simulator's times. */
typedef struct weft_plan {
    int n_tasks;
    int *device;     /* [n_variants * n_tasks] */
    double *start_s; /* [n_variants * n_tasks] */
    int n_variants;  /* 1, or more: items of a stream take different ways (ask.is_mixed) */
    double *share;   /* [n_variants] of the items; sum 1 */
} weft_plan;

weft_plan weft_plan_new(int n_tasks, weft_arena *a); /* one way, all on device 0 at time 0 */
weft_plan weft_plan_new_variants(int n_tasks, int n_variants, weft_arena *a);

typedef enum weft_outcome {
    WEFT_OPTIMAL,
    WEFT_BOUNDED,
    WEFT_INFEASIBLE,
    WEFT_UNKNOWN
} weft_outcome;

const char *weft_outcome_name(weft_outcome o);

/* What is proved. value is the simulator's. gap = |value - bound| / |value|. The certificates below
 * prove `certified` to anybody; a bound above that rests on the search that `method` names. */
typedef struct weft_proof {
    weft_outcome outcome;
    double value, bound, gap;
    const char *method;       /* where the bound comes from */
    double certified;         /* <= bound */
    const char *certified_by; /* the method of the certificate, of which there is one */
    double refuted_s; /* propagation finds that no plan takes less than this; 0: not claimed */
    bool is_shaved;   /* that propagation tries single decisions too */
    int n_path;       /* certificate of a path bound: tasks, first to last */
    const int *path;
    const double *price; /* certificate of a load bound: [n_devices] prices, sum 1; or NULL */
    const char *again;   /* the bound of this name, computed again, is a certificate; or NULL */
    const char *reason;  /* without a plan: why, in one line for the user; or NULL */
    const char *stopped; /* why the search ended (weft_why_stopped); NULL: there was none */
    double grain_s; /* bound or certified are rounded up to a multiple of this; 0: neither is */
} weft_proof;

/* Rounds bound and certified up to multiples of the grain; 0: nothing happens. */
void weft_proof_round(weft_proof *proof, double grain_s);

/* Breaks of the rules, one line each. `what` names task, rule and amount. */
typedef struct weft_violation {
    const char *what;
} weft_violation;

/* Legality of a plan with its start times, by the definitions of time alone (no code of solvers or
 * simulator): device supports the task, pins and colours, start >= 0, inputs there in time, no two
 * tasks at once on a device, memory. Returns the number of breaches; at most `most` are listed.
 * Under contend and block, transfer times depend on the order of transfers, which the simulator
 * defines: then inputs are checked against the time without contention. */
int weft_plan_check(const weft_problem *p, const weft_plan *plan, weft_violation *violation,
                    int most, weft_arena *a);

/* The segments of a way: what a runtime launches at once. Arrays belong to `a`. */
typedef struct weft_segments {
    int n;
    int *of;         /* [n_tasks] segment */
    int *n_tasks;    /* [n] */
    double *seconds; /* [n] of its tasks, without a switch */
} weft_segments;

weft_segments weft_segments_of(const weft_problem *p, const int *device, weft_arena *a);
/* Do the constraints say anything of segments? Is segment i less than they allow? */
bool weft_segments_matter(const weft_constraints *c);
bool weft_segment_is_small(const weft_constraints *c, const weft_segments *s, int i);
/* How the segments of a way break what is asked of them, in one line; NULL: they do not. */
const char *weft_segments_breach(const weft_problem *p, const int *device, weft_arena *a);

/* A device that is no pipeline stage: forward tasks of the way give from it to others and back to
 * it, directly or not; or -1. device: [n_tasks]. */
int weft_plan_loop(const weft_problem *p, const int *device, weft_arena *a);

/* --- sharding: device sets, designs, and a split for every step ------------------------------ */

/* What is asked for besides network and machines. */
typedef struct weft_shard_constraints {
    bool is_concurrent;  /* steps run as soon as operands are there and their set is free; else one
                            after the other, communication included */
    bool is_contiguous;  /* a set runs one stretch of the steps, by number; not is_concurrent */
    bool has_no_sharing; /* splits without rotating shards only */
} weft_shard_constraints;

/* Accelerators are all devices but the host. A set is configured with one design; its members must
 * offer it (weft_device.kind equal, same memory). */
typedef struct weft_shard_problem {
    const char *name;
    const weft_steps *steps;       /* owned */
    const weft_platform *platform; /* must outlive this */
    int n_accelerators;
    const int *accelerator; /* devices of the platform, ascending */
    weft_shard_constraints constraints;
    bool hides;    /* of the platform: rotation and halo behind computation */
    uint64_t hash; /* of network, platform and what is asked */
    weft_arena *arena;
} weft_shard_problem;

/* The graph must outlive it. A step that no accelerator can run, or more accelerators than
 * WEFT_MAX_MEMBERS, are errors that say so. The caller owns *out. */
WEFT_CHECKED weft_status weft_shard_problem_new(const weft_graph *g, const weft_platform *p,
                                                const weft_shard_constraints *constraints,
                                                weft_shard_problem **out);
void weft_shard_problem_free(weft_shard_problem *p);

/* A device set: members in the order that splits number them. */
typedef struct weft_device_set {
    int n;
    int member[WEFT_MAX_MEMBERS]; /* devices */
    int design;                   /* of members' designs */
} weft_device_set;

const weft_design *weft_device_set_design(const weft_shard_problem *p, const weft_device_set *t);
double weft_device_set_memory(const weft_shard_problem *p,
                              const weft_device_set *t); /* bytes of one member */
/* The slowest pair of members; of members of two sets; of the host and a member. Without a host the
 * last takes no time. A set of one has latency 0 and infinite bandwidth. */
weft_link_cost weft_device_set_link(const weft_shard_problem *p, const weft_device_set *t);
weft_link_cost weft_pair_link_cost(const weft_shard_problem *p, const weft_device_set *from,
                                   const weft_device_set *to);
weft_link_cost weft_host_link_cost(const weft_shard_problem *p, const weft_device_set *t);

/* Decisions: sets are disjoint, every step has a set and a split over it. Steps run in the order of
 * start_s (ties: those that take time to get their operands if all run one after the other, those
 * that take none to run, then by number, and none before one whose result it reads); a finished
 * plan carries the simulator's starts. */
typedef struct weft_shard_plan {
    int n_sets;
    weft_device_set *set;
    int n_steps;
    int *set_of;       /* [n_steps] */
    weft_split *split; /* [n_steps] */
    double *start_s;   /* [n_steps] */
} weft_shard_plan;

weft_shard_plan weft_shard_plan_new(int n_sets, int n_steps, weft_arena *a);
weft_shard_plan weft_shard_plan_copy(const weft_shard_plan *s, weft_arena *a);
/* Rules without time: sets disjoint and of equal, connected devices, design offered and able to run
 * the steps, splits valid, weights within memory, contiguity if asked for. As weft_plan_check. */
int weft_shard_plan_check(const weft_shard_problem *p, const weft_shard_plan *s,
                          weft_violation *violation, int most, weft_arena *a);

/* --- training: pipelines of stages ----------------------------------------------------------- */

typedef enum weft_schedule {
    WEFT_GPIPE,       /* all forward, then all backward */
    WEFT_ONE_F_ONE_B, /* forward and backward in turn as soon as possible */
    WEFT_EAGER,       /* 1f1b with more microbatches ahead, so that transfers are hidden */
    WEFT_INTERLEAVED, /* 1f1b with several chunks of the network on each stage */
    WEFT_N_SCHEDULES
} weft_schedule;

const char *weft_schedule_name(weft_schedule s); /* "gpipe", "1f1b", "eager", "interleaved" */

/* Microbatches (interleaved: microbatches of chunks) whose results stage i of s keeps at most, of m
 * in all: gpipe m; 1f1b s - i; eager 2 (s - i) - 1; interleaved (with several chunks, m a multiple
 * of s) 2 (s - i - 1) + (chunks - 1) s + 1; never more than there are. */
int64_t weft_in_flight(weft_schedule schedule, int s, int i, int64_t m, int n_chunks);

/* What the replicas of a stage divide among them (ZeRO). Each level has those before it. Weights
 * that are divided (as FSDP does) are gathered unit by unit, for forward and again for backward of
 * every microbatch, and gradients that are divided are summed and scattered after the backward of
 * every microbatch, beside computation: a chunk takes the larger of the two. */
enum { WEFT_ZERO_NONE, WEFT_ZERO_MOMENTS, WEFT_ZERO_GRADIENTS, WEFT_ZERO_WEIGHTS };
enum { WEFT_MOST_ZERO = WEFT_ZERO_WEIGHTS };

bool weft_counts_allow(const weft_counts *c, int64_t value);
int64_t weft_counts_only(const weft_counts *c);  /* the one that is allowed; 0: several, or any */
int64_t weft_counts_least(const weft_counts *c); /* 1: any */
int64_t weft_counts_most(const weft_counts *c);  /* 0: any */
static inline weft_counts weft_counts_of(int64_t value) /* 0: any */
{
    weft_counts c = {value > 0, {value}};

    return c;
}
/* Reads "auto", or numbers from 1 with commas between them; `name` is that of the flag. */
WEFT_CHECKED weft_status weft_counts_read(const char *name, const char *text, weft_counts *to);
/* "2", "2,4", "auto". In `a`. */
const char *weft_counts_text(const weft_counts *c, weft_arena *a);

/* What is asked for besides network and machines. */
typedef struct weft_train_constraints {
    int64_t batch;       /* samples of one step */
    int64_t microbatch;  /* samples that enter the pipeline at once; 0: any that divides batch */
    unsigned schedules;  /* allowed: bits 1 << weft_schedule */
    unsigned recomputes; /* allowed: bits 1 << weft_recompute */
    int most_width;      /* tensor width; 0: any */
    int most_replicas;   /* 0: any */
    int most_stages;     /* 0: any */
    int most_chunks;     /* of a stage, interleaved */
    int zero;            /* WEFT_ZERO_NONE .. WEFT_ZERO_WEIGHTS; of several the lowest */
    unsigned zeros;      /* allowed levels: bits 1 << level; 0: `zero` alone (as 1 << zero) */
    int overlap;         /* 1: sums of gradients run beside the last backward pass; 0: after it */
    unsigned sps;        /* sequence parallelism: bits 1 << (0 without, 1 with); 0: without */
    /* In the words of Megatron. */
    weft_counts tp;  /* tensor widths of stages */
    weft_counts pp;  /* stages */
    weft_counts dp;  /* replicas of a stage */
    weft_counts mbs; /* samples that a replica gets of a microbatch */
    int chunks;      /* exactly so many of every stage; 1: not interleaved; 0: any */
    weft_recipe recipe;
    double memory_margin; /* share of the memory of every device that is left free */
} weft_train_constraints;

/* Reads "tp=8,pp=8,dp=1,mbs=1,schedule=1f1b,recompute=full,chunks=3,zero=1" into `to`: each key at
 * most once, what is left out stays as it is. `flag` names the text in messages. */
WEFT_CHECKED weft_status weft_train_exactly(const char *flag, const char *text,
                                            weft_train_constraints *to);
/* The lowest of the allowed levels becomes `zero`; what is not said becomes the usual. */
void weft_train_settle_zero(weft_train_constraints *x);
/* What is wrong, contradictory, or impossible on this cluster with these units, is an error that
 * says why. NULL: not looked at. */
WEFT_CHECKED weft_status weft_train_constraints_check(const weft_train_constraints *constraints,
                                                      const weft_cluster *cluster,
                                                      const weft_blocks *blocks);

/* A network to be trained on a cluster: numbers only. Immutable.
 *
 * Table (class, width, share) is number (class * n_widths + width) * n_shares + share. Sums run
 * over the units of a cut (maxima, work_bytes, are 0 there); a stage is the difference of two of
 * them. */
typedef struct weft_train_problem {
    const char *name;
    const weft_cluster *cluster; /* owned */
    weft_blocks blocks;
    weft_train_constraints constraints;
    weft_transfer transfer; /* WEFT_OVERLAP or WEFT_CONTEND */
    int n_widths;
    const int *width; /* ascending, the first is 1 */
    int n_shares;
    const int64_t *share;                     /* samples that a block of devices may get of a
                                              microbatch; ascending, the first is 1 */
    const weft_block_cost *const *cost;       /* [tables][n_units]; NULL: not possible */
    const weft_block_cost *const *cost_sum;   /* [tables][n_cuts] */
    const weft_block_state *const *state;     /* [tables][n_units]; NULL: as above */
    const weft_block_state *const *state_sum; /* [tables][n_cuts] */
    bool is_sequence;                         /* tensor cuts with sequence parallelism */
    /* What a plan decides once, for all its stages (the level of ZeRO, sequence parallelism), as
     * problems that leave one choice each; plans say which one they are of. 0: there is one choice, this problem. Tables
     * above are those of the first. */
    int n_variants;
    const struct weft_train_problem *const *variant;
    uint64_t hash;  /* of all the above and of the platform */
    int64_t tokens; /* of a sample, if its input is a sequence of numbers of words; else 0 */
    /* Products of forward and backward of one sample, and the type of most of them; 0: not known. */
    double sample_flops;
    weft_dtype product_type;
    int n_warnings; /* of reading the network */
    const char *const *warning;
    weft_arena *arena;
} weft_train_problem;

/* What a plan may use of the memory of a device. */
static inline double weft_train_room_bytes(const weft_train_problem *p, int class_id)
{
    return p->cluster->classes[class_id].memory_bytes * (1 - p->constraints.memory_margin);
}

static inline int weft_train_problem_table(const weft_train_problem *p, int class_id, int width,
                                           int share)
{
    return (class_id * p->n_widths + width) * p->n_shares + share;
}

/* Networks: `source` is opened once for each share with that batch (a network that cannot be given
 * another batch has the share 1 only: its own batch counts as one sample, and a warning says so).
 * Widths are powers of two up to the largest island, shares as described in
 * problem/train_problem.c. The platform must outlive it. The caller owns *out. */
WEFT_CHECKED weft_status weft_train_problem_new(const char *source,
                                                const weft_model_options *options,
                                                const weft_platform *platform,
                                                const weft_train_constraints *constraints,
                                                weft_train_problem **out);

/* Numbers made up by tests: arrays as in weft_train_problem, sums are computed. All is copied. */
typedef struct weft_train_problem_spec {
    const char *name;
    const weft_platform *platform;
    weft_blocks blocks; /* with cuts, see weft_blocks_chain and weft_blocks_dag */
    weft_train_constraints constraints;
    int n_widths, n_shares;
    const int *width;
    const int64_t *share;
    const weft_block_cost *const *cost;   /* [tables][n_units] */
    const weft_block_state *const *state; /* [tables][n_units] */
    /* The same with sequence parallelism; needed where the constraints allow it. */
    const weft_block_cost *const *sequence_cost;
    const weft_block_state *const *sequence_state;
} weft_train_problem_spec;

WEFT_CHECKED weft_status weft_train_problem_make(const weft_train_problem_spec *s,
                                                 weft_train_problem **out);
void weft_train_problem_free(weft_train_problem *p);

/* Equal devices that work on a stage: n_blocks blocks of the stage's width (weft_class_block),
 * numbers first, first + step, ...; each gets `samples` of every microbatch. */
typedef struct weft_device_set_part {
    int class_id; /* of the cluster */
    int n_blocks, first, step;
    int64_t samples;
} weft_device_set_part;

enum { WEFT_MAX_PARTS = 8 };

typedef struct weft_stage {
    int width; /* devices of a block */
    int n_parts;
    weft_device_set_part part[WEFT_MAX_PARTS]; /* together they get every sample of a microbatch */
    weft_recompute recompute;
} weft_stage;

/* Decisions. Chunk c holds the units in cut[c + 1] that are not in cut[c] and is run by stage
 * c % n_stages. */
typedef struct weft_train_plan {
    weft_schedule schedule;
    int64_t microbatch;
    int n_stages, n_chunks; /* chunks of each stage; 1 unless interleaved */
    int *cut;               /* [n_stages * n_chunks + 1] */
    weft_stage *stage;      /* [n_stages] */
    int variant;            /* of the problem; 0 if it has none */
} weft_train_plan;

/* Of a problem that was made: what is known of the network besides becomes known to its variants. */
void weft_train_problem_note(weft_train_problem *p);
/* The problem that the plan is of: the variant, or `p` itself. */
const weft_train_problem *weft_train_variant(const weft_train_problem *p,
                                             const weft_train_plan *plan);
/* Variant i of the problem, of at least one: `p` itself if it has none. */
static inline int weft_train_n_variants(const weft_train_problem *p)
{
    return p->n_variants > 0 ? p->n_variants : 1;
}
static inline const weft_train_problem *weft_train_variant_at(const weft_train_problem *p, int i)
{
    return p->n_variants > 0 ? p->variant[i] : p;
}

/* Breaks of the rules but memory, which the simulator measures: cuts ascend from nothing to all,
 * every stage has units and devices, blocks exist and no device is used twice, shares and widths
 * have tables, samples add up to the microbatch, which divides the batch, what is asked for is kept
 * (interleaved: several chunks, and a number of microbatches that n_stages divides). */
int weft_train_plan_check(const weft_train_problem *p, const weft_train_plan *plan,
                          weft_violation *violation, int most, weft_arena *a);

/* Replicas of a stage sum gradients: member q of every block on a ring in the order of blocks, or,
 * if every island has equally many of the blocks and more than one, a reduce-scatter inside islands,
 * an all-reduce between them, an all-gather inside: the faster of the two for that many bytes. One block: 0. */
double weft_sync_s(const weft_train_problem *p, const weft_stage *s, double bytes);
/* The two ways, for searches; their number (0: one block, no time); seconds of the faster one. */
int weft_sync_ways(const weft_train_problem *p, const weft_stage *s, weft_levels way[2]);
double weft_ways_s(const weft_levels *way, int n_ways, double bytes);
/* One microbatch from one stage to another: blocks get samples in order, first part first; what two
 * blocks have in common goes from one to the other, member q to member q (counted round the
 * narrower of the two). Of the devices, the one whose transfers take longest together, and the
 * largest latency. */
double weft_hop_s(const weft_train_problem *p, const weft_stage *from, const weft_stage *to,
                  double sample_bytes);
/* The same as a function of the bytes of a sample; a lower bound if links have curves. */
weft_affine weft_hop_line(const weft_train_problem *p, const weft_stage *from,
                          const weft_stage *to);

/* --- plan files (weft.plan/1) ---------------------------------------------------------------- */

/* How the problem came about, so that it can be made again. */
typedef struct weft_plan_origin {
    const char *model, *platform, *format; /* sources as given; platform NULL for task files */
    weft_model_options options;
    const char *solver;
    int64_t seed;
    uint64_t model_hash, platform_hash, problem_hash;
} weft_plan_origin;

const char *weft_optimizer_name(weft_optimizer o); /* "sgd", "momentum", "adam" */

/* What a plan file holds. Arrays and texts live in the arena of the reader. */
typedef struct weft_plan_file {
    weft_plan_origin origin;
    weft_constraints constraints;
    weft_transfer transfer;
    int n_variants; /* 1, or more: a mix */
    double *share;  /* [n_variants] */
    int n_tasks;
    const char **task;   /* [n_tasks] names */
    const char **device; /* [n_variants * n_tasks] in the order of `task` */
    double *start_s;     /* the same */
    weft_proof proof;    /* path as places in `task` */
    int n_prices;
    const weft_doc *measures; /* claimed numbers, as written */
    const weft_doc *doc;
} weft_plan_file;

/* The plan as a document; `measures` is what is claimed of it. */
weft_doc *weft_plan_doc(const weft_problem *p, const weft_plan *plan, const weft_proof *proof,
                        const weft_plan_origin *origin, weft_doc *measures, weft_arena *a);
/* Reads and validates a plan file; everything lives in `a`. */
WEFT_CHECKED weft_status weft_plan_read(const char *path, weft_arena *a, weft_plan_file *out);
/* The same of its document, which is complete; so for the other kinds below. */
WEFT_CHECKED weft_status weft_plan_take(const weft_doc *d, weft_arena *a, weft_plan_file *out);

/* The kind of a plan file: "place", "shard" or "train", and "design" for a design file; any other
 * is an error. The text lives in `a`. */
WEFT_CHECKED weft_status weft_plan_kind(const char *path, weft_arena *a, const char **out);

/* The same of a file of decisions that were made elsewhere (weft.decisions/1), which the readers of
 * plan files take, too: they then claim nothing, and hashes are 0. */
WEFT_CHECKED weft_status weft_decisions_kind(const char *path, weft_arena *a, const char **out);

/* What a plan file of a sharded network holds, as far as it can be read without the network. */
typedef struct weft_shard_plan_file {
    weft_plan_origin origin;
    weft_shard_constraints constraints;
    weft_proof proof;
    const weft_doc *sets, *steps; /* decisions, as written: see weft_shard_plan_decide */
    const weft_doc *measures;     /* claimed numbers, as written */
    const weft_doc *doc;
} weft_shard_plan_file;

/* As weft_plan_doc and weft_plan_read. */
weft_doc *weft_shard_plan_doc(const weft_shard_problem *p, const weft_shard_plan *s,
                              const weft_proof *proof, const weft_plan_origin *origin,
                              weft_doc *measures, weft_arena *a);
WEFT_CHECKED weft_status weft_shard_plan_read(const char *path, weft_arena *a,
                                              weft_shard_plan_file *out);
WEFT_CHECKED weft_status weft_shard_plan_take(const weft_doc *d, weft_arena *a,
                                              weft_shard_plan_file *out);
/* What is asked for, as the key "ask" of plans has it. */
weft_doc *weft_shard_constraints_doc(const weft_shard_constraints *constraints, weft_arena *a);
/* The decisions of a file, for the problem that its origin and ask describe. A step, device, design
 * or split that is not there, and a step that is decided twice or never, are errors with file and
 * line; the rules are the business of weft_shard_plan_check. */
WEFT_CHECKED weft_status weft_shard_plan_decide(const weft_shard_plan_file *f,
                                                const weft_shard_problem *p, weft_arena *a,
                                                weft_shard_plan *out);

/* What a plan file of a training run holds, as far as it can be read without the network. */
typedef struct weft_train_plan_file {
    weft_plan_origin origin;
    weft_train_constraints constraints;
    weft_proof proof;
    const weft_doc *decisions; /* as written: see weft_train_plan_decide */
    const weft_doc *measures;
    const weft_doc *doc;
} weft_train_plan_file;

/* As for sharded networks. Plan kind: "train". */
weft_doc *weft_train_plan_doc(const weft_train_problem *p, const weft_train_plan *plan,
                              const weft_proof *proof, const weft_plan_origin *origin,
                              weft_doc *measures, weft_arena *a);
WEFT_CHECKED weft_status weft_train_plan_read(const char *path, weft_arena *a,
                                              weft_train_plan_file *out);
WEFT_CHECKED weft_status weft_train_plan_take(const weft_doc *d, weft_arena *a,
                                              weft_train_plan_file *out);
/* What is asked for, as the key "ask" of plans has it. */
weft_doc *weft_train_constraints_doc(const weft_train_constraints *constraints, weft_arena *a);
WEFT_CHECKED weft_status weft_train_plan_decide(const weft_train_plan_file *f,
                                                const weft_train_problem *p, weft_arena *a,
                                                weft_train_plan *out);

/* The hash of a network: operators, attributes, shapes, names, edges. */
uint64_t weft_graph_hash(const weft_graph *g);

#ifdef __cplusplus
}
#endif
#endif
