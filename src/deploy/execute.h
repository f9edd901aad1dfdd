/* SPDX-License-Identifier: MIT */
/* A split network, run on this machine. */
#ifndef WEFT_DEPLOY_EXECUTE_H
#define WEFT_DEPLOY_EXECUTE_H

#include <signal.h>

#include "deploy.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_execute_options {
    int n_items;  /* one after the other, timed */
    int n_stream; /* several at once, timed as a whole; 0: none */
    bool
        uses_sockets; /* between devices, which have memories of their own then; else shared memory */
    bool is_realtime;   /* SCHED_FIFO */
    int level;          /* of the runtimes' own optimisations of segments */
    double limit_s;     /* of the whole run */
    uint64_t seed;      /* of the inputs */
    const char *inputs; /* a folder with NAME.bin for inputs, NULL: random */
    const char *model;  /* the whole network, to compare with; NULL: it is not here */
    weft_engine_places places;
    const volatile sig_atomic_t *stop;
} weft_execute_options;

typedef struct weft_execution {
    int n_compared;         /* outputs of items that were compared with the whole network */
    bool is_equal;          /* bit for bit */
    double difference;      /* largest, as a part of the largest element of the output; 0: none */
    double tolerance;       /* that the engines are allowed; 0: none */
    const char *whole_by;   /* engine that ran the whole network */
    int n_items, n_kept;    /* kept: nothing disturbed them */
    double median_s, mad_s; /* of the kept ones; NAN: none is */
    double all_median_s, least_s;
    double replay_s;               /* median over all items: the simulator with their own times */
    double structure;              /* median of replay / measured - 1 */
    const double *segment_s;       /* [n_segments] median over kept items; of none: the least */
    const double *begin_s, *end_s; /* [n_segments] of the item whose latency is the median */
    double shown_s;                /* that latency */
    double period_s;               /* of the stream; NAN: none */
    int n_stream;
    const char *const *version; /* [n_devices] of the engines */
    double pacer_s;             /* the fastest */
} weft_execution;

/* A process for each device, pinned to its processors. Any failure ends all of them, within seconds.
 * All of *out is in `a`. */
WEFT_CHECKED weft_status weft_execute(const weft_split_net *s, const weft_execute_options *o,
                                      weft_arena *a, weft_execution *out);

#ifdef __cplusplus
}
#endif
#endif
