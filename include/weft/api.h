/* SPDX-License-Identifier: MIT */
/* Whole jobs: from what a user names to a problem, and from a plan file to a verdict. */
#ifndef WEFT_API_H
#define WEFT_API_H

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
} weft_request;

/* A network to be sharded over the accelerators of a platform. */
typedef struct weft_shard_request {
    const char *model, *platform;
    weft_model_options options;
    const char *semantics; /* "sequential": one step after the other; "branches": side by side;
                              "auto" or NULL: branches if no two accelerators are equal */
    bool is_contiguous;    /* a set runs one stretch of the steps; one after the other only */
    bool has_no_sharing;   /* no shards that rotate */
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
} weft_train_request;

typedef struct weft_train_case {
    weft_platform *platform;
    weft_training *training;
    uint64_t model_hash, platform_hash;
} weft_train_case;

WEFT_CHECKED weft_status weft_train_case_open(const weft_train_request *r, weft_train_case *out);
void weft_train_case_close(weft_train_case *c);

typedef struct weft_case {
    weft_model *model;       /* NULL for task files */
    weft_platform *platform; /* NULL for task files */
    weft_problem *problem;
    uint64_t model_hash, platform_hash;
    weft_shard_case
        shard; /* of plans of sharded networks, by weft_verify; the rest is empty then */
    weft_train_case train; /* of plans of training, likewise */
} weft_case;

WEFT_CHECKED weft_status weft_case_open(const weft_request *r, weft_case *out);
void weft_case_close(weft_case *c);

/* The verdict on a plan file: one line for each thing that is wrong. */
typedef struct weft_verdict {
    int n_wrong;
    const char *const *wrong; /* at most 100 of them */
    bool is_bound_checked;    /* the whole bound follows from certificates */
    double certified;         /* the part of it that does; the rest was found by a search */
    weft_solution
        solution; /* what the simulator says of the plan; valid if n_wrong counts no missing task */
    bool has_solution;
    bool is_shard;                /* the plan is of a sharded network: */
    weft_shard_solution shards;   /* this takes the place of `solution` */
    bool is_train;                /* the plan is of training: */
    weft_train_solution training; /* this does */
} weft_verdict;

/* Opens the model and the platform that the plan names (or the given ones, if not NULL), recomputes
 * legality, times and every claimed number, for plans of all kinds. Everything returned belongs to
 * `a`; *c is to be closed. A file that cannot be read is an error, a wrong plan is a verdict. */
WEFT_CHECKED weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                                     weft_arena *a, weft_case *c, weft_verdict *out);

#ifdef __cplusplus
}
#endif
#endif
