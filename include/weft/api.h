/* SPDX-License-Identifier: MIT */
/* Whole jobs: from what a user names to a problem, and from a plan file to a verdict. */
#ifndef WEFT_API_H
#define WEFT_API_H

#include "weft/explain.h"
#include "weft/mine.h"
#include "weft/place.h"
#include "weft/shard.h"
#include "weft/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked for: a network on a platform, or a file of tasks that names its own devices. */
typedef struct weft_request {
    const char *model, *platform; /* platform NULL or empty for task files */
    const char *format;           /* NULL or "msr" for the dnn-partitioning JSON */
    weft_model_options options;
    weft_ask ask;
    const char *machine; /* NULL, or the text that takes the place of the file of the platform (of
                            task files: of the model), whose folder and name it keeps */
} weft_request;

/* A network to be sharded over the accelerators of a platform. */
typedef struct weft_shard_request {
    const char *model, *platform;
    weft_model_options options;
    const char *semantics; /* "sequential": one step after the other; "branches": side by side;
                              "auto" or NULL: branches if no two accelerators are equal */
    bool is_contiguous;    /* a set runs one stretch of the steps; one after the other only */
    bool has_no_sharing;   /* no shards that rotate */
    const char *machine;   /* NULL, or the text of the platform: as in weft_request */
} weft_shard_request;

typedef struct weft_shard_case {
    weft_model *model;
    weft_platform *platform;
    weft_sharding *sharding;
    uint64_t model_hash, platform_hash;
} weft_shard_case;

WEFT_CHECKED weft_status weft_shard_case_open(const weft_shard_request *r, weft_shard_case *out);
void weft_shard_case_close(weft_shard_case *c);

/* A network to be trained on the devices of a platform. */
typedef struct weft_train_request {
    const char *model, *platform;
    weft_model_options options; /* batch: 0, that of a step is in `ask`; train: true */
    weft_train_ask ask;
    const char *machine; /* NULL, or the text of the platform: as in weft_request */
} weft_train_request;

typedef struct weft_train_case {
    weft_platform *platform;
    weft_training *training;
    uint64_t model_hash, platform_hash;
} weft_train_case;

WEFT_CHECKED weft_status weft_train_case_open(const weft_train_request *r, weft_train_case *out);
void weft_train_case_close(weft_train_case *c);

/* Networks to be trained on an accelerator that is to be chosen. */
typedef struct weft_mine_network {
    const char *model; /* a file or a built-in model */
    /* samples of a step; 0: the largest power of two up to 64 with which training fits the memory
     * of the template, or 1 */
    int64_t batch;
    double weight; /* in the geometric mean */
} weft_mine_network;

typedef struct weft_mine_request {
    int n_networks;
    const weft_mine_network *network;
    weft_model_options options; /* batch: that of each network; train: true */
    const char *template_;      /* a preset or a file */
    /* "600mm2", "280W", or the name of a design of the template: no more than it takes. NULL or
     * empty: no limit, which one of them must have. */
    const char *area, *power;
    const char *memory; /* of a device: "32GiB"; NULL or empty: as the template says */
    weft_metric metric;
    weft_blend blend;
    double least_throughput; /* relative to the reference; 0: 0.5 per TDP, else none */
    int n_threads;
    bool has_forward;        /* the networks without training too, for the search "inference" */
    const weft_fleet *fleet; /* devices of a pipeline; NULL: one device */
    bool is_per_stage;       /* of a fleet: a design for each stage, else one for all */
} weft_mine_request;

/* What a network takes, apart from any design. */
typedef struct weft_mine_need {
    double memory_bytes; /* that training holds at least */
    bool fits;           /* into the memory of the template */
    int n_operators;     /* after fusion */
    double macs;         /* of a step */
} weft_mine_need;

typedef struct weft_mine_case {
    weft_template *template_;
    weft_quest quest;           /* without reference_s and ranks */
    const weft_mine_need *need; /* [n_workloads] */
    weft_workshop workshop;     /* valid while the case stays where it is */
    weft_model **trained, **plain;
    int n_threads;
    weft_arena *arena, *shop;
} weft_mine_case;

/* A network that does not fit into the memory of one device is searched for all the same, and
 * `need` says so: its parts would have to be spread, or results computed again. */
WEFT_CHECKED weft_status weft_mine_case_open(const weft_mine_request *r, weft_mine_case *out);
void weft_mine_case_close(weft_mine_case *c);

/* The same for the devices of a pipeline; batch and options.batch are those of the fleet. */
typedef struct weft_fleet_case {
    weft_template *template_;
    weft_fleet_net **net;
    weft_fleet_quest quest;
    weft_arena *arena;
} weft_fleet_case;

WEFT_CHECKED weft_status weft_fleet_case_open(const weft_mine_request *r, weft_fleet_case *out);
void weft_fleet_case_close(weft_fleet_case *c);

typedef struct weft_case {
    weft_model *model;       /* NULL for task files */
    weft_platform *platform; /* NULL for task files */
    weft_problem *problem;
    uint64_t model_hash, platform_hash;
    weft_shard_case
        shard; /* of plans of sharded networks, by weft_verify; the rest is empty then */
    weft_train_case train; /* of plans of training, likewise */
    weft_mine_case mine;   /* of designs of one device, likewise */
    weft_fleet_case fleet; /* of designs of pipelines, likewise */
} weft_case;

WEFT_CHECKED weft_status weft_case_open(const weft_request *r, weft_case *out);
void weft_case_close(weft_case *c);

enum { WEFT_MOST_UNCHECKED = 16 };

/* The verdict on a plan file: one line for each thing that is wrong. */
typedef struct weft_verdict {
    weft_plan_origin origin; /* as the file has it; of designs empty */
    int n_wrong;
    bool is_bound_checked; /* the whole bound follows from certificates */
    bool has_solution;
    /* Of what the file is: of a placed network if none of these. */
    bool is_shard, is_train, is_mine, is_fleet; /* mine: one device; fleet: a pipeline */
    const char *const *wrong;                   /* at most 100 of them */
    /* Fields whose claims were neither found again nor compared: who made the plan, and what rests
     * on a search. Everything else was. */
    int n_unchecked;
    const char *unchecked[WEFT_MOST_UNCHECKED];
    double certified;    /* the part of the bound that certificates prove; the rest was found by a
                         search. Of designs, where more is better: no more than this without a
                         search */
    const char *outside; /* of training: why the plan is none of the space that searches cover */
    /* What the simulator says, of the one that the file is of; valid if n_wrong counts no missing
     * task. */
    weft_solution solution;
    weft_shard_solution shards;
    weft_train_solution training;
    weft_mine_report mine;
    weft_fleet_report fleet;
} weft_verdict;

/* Opens the model and the platform that the plan names (or the given ones, if not NULL; of a design
 * the template takes the place of the platform), recomputes legality, times and every claimed
 * number, for plans of all kinds. Everything returned belongs to `a`; *c is to be closed. A file
 * that cannot be read is an error, a wrong plan is a verdict. */
WEFT_CHECKED weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                                     weft_arena *a, weft_case *c, weft_verdict *out);

/* The network that a plan is about, node by node. */
typedef struct weft_case_nodes {
    const weft_graph *graph;
    const int *part;   /* [n_nodes] task, step or unit that the node is part of; -1: none */
    weft_model *model; /* that had to be opened for it, or NULL */
} weft_case_nodes;

/* Of a verified plan; source: the model. Plans without a network, of tasks, and designs are an
 * error. part is in `a`; *out is to be closed before the case. */
WEFT_CHECKED weft_status weft_case_nodes_open(const weft_case *c, const weft_verdict *v,
                                              const char *source, weft_arena *a,
                                              weft_case_nodes *out);
void weft_case_nodes_close(weft_case_nodes *n);

/* Two plans to be set side by side, and their verdicts. */
typedef struct weft_pair {
    weft_case c[2];
    weft_verdict verdict[2];
    weft_side side[2]; /* valid while the pair stays where it is; of plans with nothing wrong */
} weft_pair;

/* Opens and verifies both as weft_verify does; those of different kinds are an error. All belongs
 * to `a`; *out is to be closed. */
WEFT_CHECKED weft_status weft_pair_open(const char *const path[2], const char *model,
                                        const char *platform, weft_arena *a, weft_pair *out);
void weft_pair_close(weft_pair *p);

/* --- asking again ---------------------------------------------------------------------------- */

/* What a plan file is an answer to. */
typedef struct weft_question {
    bool is_shard, is_train; /* else a placement */
    weft_request place;      /* the one of these that applies */
    weft_shard_request shard;
    weft_train_request train;
    const weft_plan_file *placed; /* and the file itself; the others are NULL */
    const weft_shards_file *sharded;
    const weft_pipeline_file *trained;
    const weft_plan_origin *origin;
} weft_question;

/* Reads a plan file; model and platform, if not NULL, take the place of those that it names. All
 * belongs to `a`. */
WEFT_CHECKED weft_status weft_question_read(const char *plan_path, const char *model,
                                            const char *platform, weft_arena *a,
                                            weft_question *out);
/* The document of the platform, or of the file of tasks. In `a`. */
WEFT_CHECKED weft_status weft_question_machine(const weft_question *q, weft_arena *a,
                                               const weft_doc **out);

/* How the question is asked again. */
typedef struct weft_pricing {
    const char *solver; /* NULL: the one of the plan */
    weft_run run;       /* seed, limit_s and steps of each solve; n_threads solves run side by side;
                           stop; the rest is not used */
    void (*told)(void *context, int n_done, int n); /* at first, and after each by any thread */
    void *context;
} weft_pricing;

/* Solves for each of the n upgraded machines, as `weft place --on EDITED` does (or shard, or
 * train), and sets the old plan beside it: an upgrade that the solver makes less of than the old
 * plan does is worth what the old plan is. `before`: the value of the plan. out[n]: best value
 * first, ties by bound, then as listed. Same bytes for any number of threads, unless limit_s ends a
 * solve. In `a`. */
WEFT_CHECKED weft_status weft_price(const weft_question *q, double before,
                                    const weft_upgrade *upgrade, int n, const weft_pricing *how,
                                    weft_arena *a, weft_priced *out);

/* As weft_place_doubt, for plans of sharded networks and of training: what is in doubt are the
 * times of the devices and links of each entry of the platform file; samples change all of them.
 * solver NULL: the one of the plan; that of the options does not count. */
WEFT_CHECKED weft_status weft_question_doubt(const weft_question *q, const char *solver,
                                             const weft_doubt_options *o, weft_arena *a,
                                             weft_doubt *out);

#ifdef __cplusplus
}
#endif
#endif
