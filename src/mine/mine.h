/* SPDX-License-Identifier: MIT */
/* Which accelerator to build for training: a lattice of designs (template), what a design costs
 * (square millimetres, watts), how long a training step takes on it, and searches with a proof. */
#ifndef WEFT_MINE_H
#define WEFT_MINE_H

#include "train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- template: the designs that may be built ------------------------------------------------- */

enum { WEFT_MOST_SIZES = 4096 }; /* of one parameter */

/* Parameters of a design, in this order everywhere. */
typedef enum weft_parameter {
    WEFT_ROWS, /* of a tensor core */
    WEFT_COLS,
    WEFT_TENSOR_CORES,
    WEFT_LANES, /* of a vector core */
    WEFT_VECTOR_CORES,
    WEFT_BUFFER, /* bytes on the chip */
    WEFT_N_PARAMETERS
} weft_parameter;

const char *weft_parameter_name(weft_parameter k); /* "rows", "cols", "tensor_cores", ... */

/* Constants that are not certain. `error` is the relative error stated for it (0.35: +-35 %). */
typedef struct weft_constant {
    const char *name; /* as in the file: "area.pe" */
    double value, error;
} weft_constant;

typedef enum weft_constant_id {
    WEFT_AREA_FIXED, /* mm2 */
    WEFT_AREA_PE,    /* mm2 of a multiplier with its registers */
    WEFT_AREA_LANE,
    WEFT_AREA_SRAM,   /* mm2 a MiB */
    WEFT_POWER_FIXED, /* W */
    WEFT_POWER_MAC,   /* J of a multiply-accumulate at peak, delivery and wires included */
    WEFT_POWER_LANE,
    WEFT_HBM_BANDWIDTH,  /* bytes/s */
    WEFT_HBM_EFFICIENCY, /* usable part */
    WEFT_CLOCK,          /* Hz */
    WEFT_DERATE,         /* of the arithmetic */
    WEFT_PORT,           /* bytes a cycle between the buffer and all cores; INFINITY: no limit */
    WEFT_N_CONSTANTS
} weft_constant_id;

/* A design: places in the lists of the template. */
typedef struct weft_design_point {
    uint16_t at[WEFT_N_PARAMETERS];
} weft_design_point;

/* A chip that exists, as a point of the template. */
typedef struct weft_landmark {
    const char *name; /* "tpu-v2" */
    weft_design_point point;
} weft_landmark;

/* A search space (schema weft.template/1, docs/formats.md). Immutable. */
typedef struct weft_template {
    const char *name, *source;
    int n_sizes[WEFT_N_PARAMETERS];
    const double *size[WEFT_N_PARAMETERS]; /* ascending */
    weft_constant constant[WEFT_N_CONSTANTS];
    bool has_power; /* false: watts are not known, only area may be limited */
    /* Areas of memories of these sizes, ascending; between them powers are interpolated and
     * WEFT_AREA_SRAM is a factor. 0: proportional, WEFT_AREA_SRAM is mm2 a MiB. */
    int n_srams;
    const double *sram_bytes, *sram_mm2;
    double hbm_bytes;
    double l2_bytes_per_pe, l2_least_bytes; /* of a tensor core, beside the shared buffer */
    weft_dataflow dataflow;
    double state_bytes; /* a parameter, with gradient and optimizer */
    int n_landmarks;
    const weft_landmark *landmark; /* the first is the reference of searches */
    uint64_t hash;                 /* of all that a step's seconds, area and TDP depend on */
    weft_arena *arena;
} weft_template;

/* A preset by name ("mine16", "tpu16", "marginal22") or a file. The caller owns *out. */
WEFT_CHECKED weft_status weft_template_open(const char *source, weft_template **out);
WEFT_CHECKED weft_status weft_template_parse(const char *text, size_t n, const char *file,
                                             weft_template **out);
void weft_template_free(weft_template *t);
/* The same template with each constant times its factor. The caller owns the result. */
weft_template *weft_template_scaled(const weft_template *t, const double factor[WEFT_N_CONSTANTS]);
const weft_landmark *weft_landmark_find(const weft_template *t, const char *name); /* or NULL */

static inline double weft_parameter_size(const weft_template *t, const weft_design_point *p,
                                         weft_parameter k)
{
    return t->size[k][p->at[k]];
}

double weft_design_point_area_mm2(const weft_template *t, const weft_design_point *p);
double weft_design_point_tdp_w(const weft_template *t,
                               const weft_design_point *p); /* 0 without power */
/* The device of a point, as cost models see it. */
weft_design weft_point_design(const weft_template *t, const weft_design_point *p);
/* The first access to memory, once for each operator: cycles of the clock, which the derate of the
 * arithmetic does not stretch. */
double weft_first_access_s(const weft_template *t);
int64_t weft_template_points(const weft_template *t); /* all, feasible or not */
/* Number of a point in the order of the lattice (the last parameter runs fastest), and back. */
int64_t weft_point_index(const weft_template *t, const weft_design_point *p);
weft_design_point weft_point_at(const weft_template *t, int64_t index);
/* "128x128 x2, 1024 lanes x2, 32 MiB". Returns `to`. */
const char *weft_point_print(const weft_template *t, const weft_design_point *p, char to[96]);

/* --- work: a training step as operators on cores --------------------------------------------- */

/* A network fused into operators (a product and the element-wise operators after it), each on
 * tensor cores, vector cores, both or none, with memoised times. Tables grow while it is asked: one
 * for each thread.
 *
 * The policy list-alap, which is part of the machine: the network is a series of blocks; a block
 * begins when the one before it has ended. Small networks are cut only where this costs
 * nothing. In a block operators start by list-alap with the best of some allotments of cores. Blocks
 * that are equal are scheduled once. */
typedef struct weft_workload_eval weft_workload_eval;

/* `g`: usually a training graph; graph and template must outlive it. A shape that depends on the
 * data is an error naming its node. The caller owns *out. */
WEFT_CHECKED weft_status weft_eval_new(const weft_graph *g, const weft_template *t,
                                       weft_workload_eval **out);
void weft_eval_free(weft_workload_eval *m); /* NULL is allowed */
int weft_eval_n_operators(const weft_workload_eval *m);
double
weft_eval_macs(const weft_workload_eval *m); /* multiply-accumulates of a step on tensor cores */
/* Bytes that training holds on the device at least: state, stash. */
double weft_eval_memory_bytes(const weft_workload_eval *m);
double weft_train_problem_bytes(const weft_graph *g, const weft_template *t); /* the same */

/* Of `eval`, a weft_workload_eval: seconds of a step by the policy, bandwidth floor included. */
double weft_eval_step_s(void *eval, const weft_design_point *p);
/* Lower bounds of any schedule on the design (5.4): critical path, work, bytes; and the stronger
 * head-tail bound, at least the simple one. */
double weft_eval_simple_s(void *eval, const weft_design_point *p);
double weft_eval_headtail_s(void *eval, const weft_design_point *p);
/* A lower bound of weft_eval_step_s alone: the simple bound block by block. Up to
 * rounding at least simple_s. */
double weft_eval_bound_s(void *eval, const weft_design_point *p);
/* No bound, but what tells designs with the same floor apart: critical path and work of each kind
 * of core one after the other, block by block. Never below the floor, but for bytes. */
double weft_eval_serial_s(void *eval, const weft_design_point *p);

/* The same with the conflicts of each kind of core, for searches (6.3): sums of delay / (slack +
 * eps) over operators that waited for tensor and for vector cores (one that has all cores of its
 * kind has waited for more: half its time); the critical path with the cores that operators got. */
typedef struct weft_conflicts {
    double step_s, path_s;
    double tensor, vector;
} weft_conflicts;
weft_conflicts weft_eval_conflicts(void *eval, const weft_design_point *p);

/* A box: all points with lo <= at <= hi in every parameter. A lower bound of step_s of each member
 * within the limits (6.2); INFINITY: no member is. */
typedef struct weft_space_box {
    weft_design_point lo, hi;
} weft_space_box;
typedef struct weft_limits {
    double area_mm2, tdp_w; /* INFINITY: none */
} weft_limits;
double weft_eval_box_s(void *eval, const weft_space_box *b, const weft_limits *l);

weft_space_box weft_template_box(const weft_template *t); /* all points */
bool weft_point_fits(const weft_template *t, const weft_design_point *p, const weft_limits *l);

/* The schedule itself, for checks and reports: start, end and cores of each operator. In `a`. */
typedef struct weft_eval_schedule {
    int n;
    const double *start_s, *end_s;
    const int *n_tensor, *n_vector; /* cores in use */
    const char *const *name;        /* of the first node of the operator */
    const int *of_node;     /* [n_nodes of the graph] the operator; -1: free (a view of an input) */
    double step_s, floor_s; /* floor_s: bytes of all operators by bandwidth, by the port */
} weft_eval_schedule;
weft_eval_schedule weft_eval_schedule_of(weft_workload_eval *m, const weft_design_point *p,
                                         weft_arena *a);

/* --- searches -------------------------------------------------------------------------------- */

typedef enum weft_metric { WEFT_METRIC_THROUGHPUT, WEFT_METRIC_PER_TDP } weft_metric;

/* What a search asks of a workload: an evaluation, or anything that keeps the same promises. The
 * answers depend on nothing but the arguments. */
typedef enum weft_gauge {
    WEFT_GAUGE_STEP,
    WEFT_GAUGE_BOUND,  /* under the policy: at most the step */
    WEFT_GAUGE_SIMPLE, /* at most any schedule takes; simple <= head-tail */
    WEFT_GAUGE_HEADTAIL,
    WEFT_GAUGE_SERIAL, /* no bound: an estimate on the high side */
    WEFT_N_GAUGES
} weft_gauge;

typedef struct weft_timer {
    double (*seconds[WEFT_N_GAUGES])(void *eval, const weft_design_point *p);
    weft_conflicts (*conflicts)(void *eval, const weft_design_point *p);
    /* at most step_s of every member within the limits */
    double (*box_s)(void *eval, const weft_space_box *b, const weft_limits *l);
} weft_timer;

extern const weft_timer weft_eval_timer; /* of weft_workload_eval */

/* One network and what it counts. */
typedef struct weft_workload {
    const char *name;
    const weft_timer *timer;
    void *const *eval;   /* [threads of the run] */
    double batch;        /* samples of a step */
    double weight;       /* in the geometric mean, positive */
    double memory_bytes; /* that training holds at least; 0: not known */
    uint64_t hash;       /* of the network: names its designs in a study */
} weft_workload;

typedef enum weft_blend { WEFT_BLEND_GEOMETRIC, WEFT_BLEND_WORST } weft_blend;

/* Processes that run the same search side by side (ranks.c). Item i of a loop belongs to process
 * i mod n; all decisions are made by all of them alike. */
typedef struct weft_ranks {
    int n, me;
    /* value[i * width ..]: everybody gets what the owner of item i has put there. */
    void (*gather)(void *context, double *value, int n_items, int width);
    void (*tell)(void *context, double *value, int n); /* everybody gets those of process 0 */
    void *context;
} weft_ranks;

typedef struct weft_objective {
    const weft_template *template_;
    int n_workloads;
    const weft_workload *workload;
    const weft_workload *forward; /* the same networks without training, for "inference"; or NULL */
    weft_blend blend; /* of throughputs relative to the reference design, if there are several */
    weft_metric metric;
    weft_limits limits;
    weft_design_point reference; /* TPU v2-like */
    double least_throughput;     /* relative to the reference; 0: none (required per-tdp: 0.5) */
    const double *reference_s;   /* [n_workloads] of a step on the reference; NULL: not known yet */
    const weft_ranks *ranks;     /* NULL: this process alone */
} weft_objective;

/* Refuses limits that are none, and power where the template says nothing of it. */
WEFT_CHECKED weft_status weft_mine_limits_check(const weft_template *t, const weft_limits *l,
                                                weft_metric metric, double least_throughput);
/* Refuses what cannot be asked, with a message. */
WEFT_CHECKED weft_status weft_objective_check(const weft_objective *q);
/* Samples a second of one workload; of several the blend of throughputs relative to the reference.
 * step_s: [n_workloads], a lower bound gives an upper bound. Needs reference_s. */
double weft_objective_throughput(const weft_objective *q, const double *step_s);
/* Value of one design: the metric by schedules; 0 if it breaks a limit. Needs reference_s. */
double weft_objective_value(const weft_objective *q, int thread, const weft_design_point *p);

/* A design and what it is worth. */
typedef struct weft_mined {
    weft_design_point point;
    double throughput, tdp_w, area_mm2;
} weft_mined;

typedef struct weft_found {
    weft_design_point point; /* if value > 0 */
    double value;            /* of the metric; larger is better; 0: no design found */
    double throughput;       /* as weft_objective_throughput */
    double bound;            /* no design within the limits has more under list-alap */
    double schedule_bound;   /* no schedule on any design has more; INFINITY: not known */
    weft_outcome outcome;
    const char *reason; /* without a design: why; or NULL */
    /* designs: in the limits (0: not counted), bounded, bounded strongly, scheduled (those that a
     * cache of evaluations knew included: n_recalled) */
    int64_t n_feasible, n_bounds, n_strong, n_evaluated, n_recalled;
    /* Designs evaluated that no other evaluated one beats in throughput, TDP and area together, by
     * falling throughput. */
    int n_front;
    const weft_mined *front;
    bool is_front_proved; /* no design within the limits beats one of them */
} weft_found;

/* Told of every design that is evaluated; may answer from memory (a study). Both are called by one
 * thread, of process 0. */
typedef struct weft_eval_cache {
    /* The seconds of a step [n_workloads] on a design that is known. */
    bool (*find)(void *context, int64_t index, double *step_s);
    /* All of them or none: step_s [n][n_workloads]. */
    weft_status (*put)(void *context, int n, const int64_t *index, const double *step_s);
    void *context;
} weft_eval_cache;

typedef struct weft_miner {
    const char *name, *summary;
    /* most_evaluations: 0: no limit. cache of evaluations: NULL: none. The result lies in `a`. */
    weft_status (*mine)(const weft_objective *q, const weft_eval_cache *eval_cache,
                        int64_t most_evaluations, weft_run *run, weft_arena *a, weft_found *out);
} weft_miner;

/* "auto" (fast path, then certified, or boxes if the lattice is large), "fast" (bounds first),
 * "climb" (counts by conflicts), "certified", "exhaustive", "boxes" (branch and bound over boxes),
 * "front" (the proved front), and baselines: "random", "anneal", "genetic", "surrogate",
 * "inference". */
int weft_miner_count(void);
const weft_miner *weft_miner_at(int i);
const weft_miner *weft_miner_find(const char *name);

/* --- clusters: designs for the devices of a pipeline ----------------------------------------- */

/* A pipeline of n_stages stages under 1f1b; each is `replicas` blocks of `width` equal devices.
 * Transfers between stages go beside computation, without contention. */
typedef struct weft_design_pipeline {
    int n_stages, width, replicas;
    int64_t batch;          /* samples of a step; microbatch * replicas divides it */
    int64_t microbatch;     /* samples that a block works on at once */
    unsigned recomputes;    /* allowed: bits 1 << weft_recompute */
    bool is_split_moments;  /* each replica keeps its part of the optimizer's state only */
    weft_link_cost inside;  /* links of a block */
    weft_link_cost between; /* links between stages and between replicas */
} weft_design_pipeline;

/* 1 stage of 1 device, batch and microbatch 1, any recomputation; links as assumed where nothing is
 * known: 300 GB/s and 1 us inside a block, 25 GB/s and 5 us between. */
weft_design_pipeline weft_design_pipeline_default(void);

/* A network in training, cut for the stages of a pipeline. Units are made of the graph of one
 * microbatch; operators are cut as is best on the reference design. */
typedef struct weft_design_pipeline_net {
    const char *name;
    weft_blocks blocks;
    weft_block_work work;
    double weight;     /* in the geometric mean; 1 */
    uint64_t hash;     /* of the training graph of a microbatch */
    weft_arena *arena; /* owns all this */
} weft_design_pipeline_net;

/* `reference`: NULL: the first landmark. The caller owns *out. */
WEFT_CHECKED weft_status weft_design_pipeline_net_new(const char *source,
                                                      const weft_model_options *options,
                                                      const weft_template *t,
                                                      const weft_design_point *reference,
                                                      const weft_design_pipeline *f,
                                                      weft_design_pipeline_net **out);
void weft_design_pipeline_net_free(weft_design_pipeline_net *n); /* NULL is allowed */

typedef struct weft_design_pipeline_objective {
    const weft_template *template_;
    weft_design_pipeline design_pipeline;
    int n_nets;
    const weft_design_pipeline_net *const *net;
    bool is_per_stage; /* a design for each stage (one network only); else one for all */
    weft_metric metric;
    weft_limits limits; /* of each device */
    weft_design_point
        reference;           /* the design that throughputs are relative to, if there are several
                                networks, or a least throughput */
    double least_throughput; /* relative to the reference; 0: none (not allowed per TDP) */
} weft_design_pipeline_objective;

typedef struct weft_design_pipeline_stage {
    weft_design_point point;
    int first_cut, last_cut; /* units of the second that are not in the first */
    weft_recompute recompute;
    double forward_s, backward_s; /* of a microbatch; backward with what is computed again */
    double send_s, return_s;      /* to the next stage; gradients from there */
    double sync_s, update_s;
    double memory_bytes; /* of a device */
    double tdp_w;        /* of a device */
} weft_design_pipeline_stage;

/* The plan of one network; stages as weft_train_plan has them. */
typedef struct weft_design_pipeline_plan {
    int n_stages;
    const weft_design_pipeline_stage *stage; /* [n_stages] */
    double step_s;                           /* by events */
    double bound_s; /* no partition takes less, with the designs that may be chosen:
                                      common: the one chosen; per stage: any within the limits */
    double samples_per_s;
} weft_design_pipeline_plan;

typedef struct weft_design_pipeline_found {
    double value;                /* of the metric; larger is better; 0: none found */
    double throughput;           /* samples/s; of several networks relative to the reference */
    double tdp_w;                /* of all devices */
    double bound;                /* no designs within the limits, and no partition, have more */
    double gap;                  /* bound / value - 1 */
    double reference_throughput; /* the same partitioned for the reference; 0: it has no plan */
    weft_outcome outcome;
    const char *reason;                    /* without a plan: why; or NULL */
    const weft_design_pipeline_plan *plan; /* [n_nets]; NULL if value is 0 */
    /* designs within the limits; partitioned with a bound; plans by events */
    int64_t n_feasible, n_partitioned, n_plans;
} weft_design_pipeline_found;

/* Which designs, and which partition on them. One thread. The result lies in `a`. Time limit and
 * stop of the run are heeded: then the bound is larger. */
WEFT_CHECKED weft_status weft_mine_cluster(const weft_design_pipeline_objective *q, weft_run *run,
                                           weft_arena *a, weft_design_pipeline_found *out);

/* --- studies: what was evaluated, kept in a file --------------------------------------------- */

typedef struct weft_study weft_study;

/* Opens or makes a file. The caller owns *out. */
WEFT_CHECKED weft_status weft_study_open(const char *path, weft_study **out);
/* Opens a file that is there to read it alone: neither it nor its folder need to be writable. */
WEFT_CHECKED weft_status weft_study_open_to_read(const char *path, weft_study **out);
void weft_study_close(weft_study *s);
/* The part of the study about this template and these workloads; lives as long as the study. */
WEFT_CHECKED weft_status weft_study_eval_cache(weft_study *s, const weft_objective *q,
                                               weft_eval_cache *out);
/* What a study holds, for people: no template file is needed to read it. */
typedef struct weft_study_design {
    int64_t index;
    double size[WEFT_N_PARAMETERS];
    double area_mm2, tdp_w;
    const double *step_s; /* [n_workloads] */
} weft_study_design;

typedef struct weft_study_part {
    const char *template_name;
    int n_workloads;
    const char *const *workload;
    const double *batch;
    int n_designs;
    const weft_study_design *design; /* by index */
} weft_study_part;

/* All parts of a study, in the order in which they were begun. In `a`. */
WEFT_CHECKED weft_status weft_study_read(weft_study *s, weft_arena *a, int *n,
                                         const weft_study_part **out);

/* --- many processes -------------------------------------------------------------------------- */

/* The processes that mpirun started; one without MPI, or if weft was built without it. */
WEFT_CHECKED weft_status weft_ranks_open(weft_ranks *out);
void weft_ranks_close(weft_ranks *r);
bool weft_ranks_is_built(void); /* with MPI */

/* --- how certain the winner is --------------------------------------------------------------- */

/* Makes the workloads of a template whose constants were changed. */
typedef struct weft_workload_maker {
    weft_status (*make)(void *context, const weft_template *t, const weft_workload **out);
    void (*drop)(void *context, const weft_workload *w);
    void *context;
} weft_workload_maker;

/* One constant at one end of its error. */
typedef struct weft_shift {
    weft_constant_id constant;
    double factor;
    double winner_value; /* 0: the winner breaks a limit or misses the least throughput */
    double best_value;   /* 0: every design does */
    weft_design_point best;
    bool is_flip; /* the winner is not within the tolerance of the best */
} weft_shift;

typedef struct weft_design_sensitivity {
    /* all constants drawn at once: the winner stays within the tolerance of the best; it breaks a
     * limit */
    int n_draws, n_stays, n_breaks;
    double worst_loss; /* 1 - winner / best over draws where it breaks none */
    int n_shifts;
    const weft_shift *shift; /* every uncertain constant at both ends */
} weft_design_sensitivity;

WEFT_CHECKED weft_status weft_objective_sensitivity(const weft_objective *q,
                                                    const weft_design_point *winner,
                                                    const weft_workload_maker *w, int n_draws,
                                                    double tolerance, weft_run *run, weft_arena *a,
                                                    weft_design_sensitivity *out);

/* --- what a search is reported as, and design files (weft.design/1) -------------------------- */

/* A network on the design that was found, and on the reference design. */
typedef struct weft_mine_figure {
    double step_s, reference_s;
    double schedule_s;   /* no schedule on the design is shorter */
    double macs;         /* of a step */
    double memory_bytes; /* that training holds at least */
    bool fits;           /* into the memory of the template */
} weft_mine_figure;

/* Everything a report of a search shows. */
typedef struct weft_mine_report {
    const weft_objective *objective;
    const weft_found *found;
    const weft_mine_figure *figure; /* [n_workloads] */
    const char *solver;
    const char *dtype, *optimizer;     /* as given */
    const weft_model_options *options; /* sizes of dimensions are taken from it; NULL: none */
    int64_t seed, evaluations;         /* evaluations: the most allowed, 0: no limit */
    const weft_design_sensitivity *sensitivity; /* NULL: not asked for */
} weft_mine_report;

/* Everything a report of designs for a pipeline shows. */
typedef struct weft_design_pipeline_report {
    const weft_design_pipeline_objective *objective;
    const weft_design_pipeline_found *found;
    /* One design for all stages: what of it is claimed; NULL: that is what was asked for. */
    const weft_design_pipeline_found *common;
    const char *dtype, *optimizer;     /* as given */
    const weft_model_options *options; /* as above */
} weft_design_pipeline_report;

/* "samples/s", "samples/J", or of several networks, relative to the reference: "x", "x/W". */
const char *weft_mine_unit(const weft_objective *q);
const char *weft_design_pipeline_unit(const weft_design_pipeline_objective *q);
/* Units of a stage. */
int weft_design_pipeline_stage_units(const weft_design_pipeline_net *net,
                                     const weft_design_pipeline_stage *s);
/* All networks fit into the memory of one device. */
bool weft_mine_report_fits(const weft_mine_report *r);
/* Put what a report shows into a map, as numbers; without a design or plan most of it is null. */
void weft_mine_report_put(const weft_mine_report *r, weft_doc *map, weft_arena *a);
void weft_design_pipeline_report_put(const weft_design_pipeline_report *r, weft_doc *map,
                                     weft_arena *a);
/* The design, or designs and partition, with all that is needed to find and to check it; NULL
 * without one. */
weft_doc *weft_mine_design_doc(const weft_mine_report *r, weft_arena *a);
weft_doc *weft_design_pipeline_design_doc(const weft_design_pipeline_report *r, weft_arena *a);

typedef struct weft_design_network {
    const char *model;
    int64_t batch; /* 0: that of the pipeline */
    double weight;
    uint64_t hash;
} weft_design_network;

/* What a design file holds, as far as it can be read without template and networks. */
typedef struct weft_design_file {
    bool is_design_pipeline;
    const char *template_; /* source as given */
    uint64_t template_hash;
    weft_limits limits;
    double memory_bytes, least_throughput;
    weft_metric metric;
    weft_blend blend;
    weft_model_options options; /* batch: 0 */
    const char *dtype, *optimizer, *solver;
    int64_t seed, evaluations;
    int n_networks;
    const weft_design_network *network;
    weft_design_pipeline design_pipeline; /* of pipelines */
    bool is_per_stage;
    weft_outcome outcome;
    double value, bound; /* bound: INFINITY: none is claimed */
    const weft_doc *doc;
} weft_design_file;

/* Of everything that a design file says but this hash itself, in whatever order: what a file says
 * of a search that is not repeated is at least as it was written. Finds changes, is no
 * signature. */
uint64_t weft_design_hash(const weft_doc *file);
/* Reads and validates a design file; everything lives in `a`. */
WEFT_CHECKED weft_status weft_design_read(const char *path, weft_arena *a, weft_design_file *out);
/* The design, and what is claimed of its search: bounds, counts, designs of the front without what
 * they are worth, sensitivity (n_shifts and n_draws 0: none). Sizes that the template does not have
 * are errors with file and line. */
WEFT_CHECKED weft_status weft_design_decide(const weft_design_file *f, const weft_template *t,
                                            weft_arena *a, weft_found *out,
                                            weft_design_sensitivity *more, bool *has_more);
/* The same for pipelines: points, cuts and recomputation of every stage, counts, claims about one
 * common design (value 0: none was found; has_common: there are any). */
WEFT_CHECKED weft_status weft_design_decide_design_pipeline(const weft_design_file *f,
                                                            const weft_template *t, weft_arena *a,
                                                            weft_design_pipeline_found *out,
                                                            weft_design_pipeline_found *common,
                                                            bool *has_common);

/* Designs within the limits; 0: too many are to be looked at. */
int64_t weft_objective_feasible(const weft_objective *q);
/* No design within the limits has more: the bound of the whole lattice as one box, without a
 * search. Needs reference_s. */
double weft_objective_top(const weft_objective *q);
/* What designs and partition of a plan are worth, computed again from points, cuts and
 * recomputation of its stages: a plan that is not legal is an error that names the stage. Bounds
 * and counts of `plan` are kept. *top: no designs and no partition have more, by the work of units
 * alone, without a search. */
WEFT_CHECKED weft_status weft_design_pipeline_measure(const weft_design_pipeline_objective *q,
                                                      weft_arena *a,
                                                      weft_design_pipeline_found *plan,
                                                      double *top);

#ifdef __cplusplus
}
#endif
#endif
