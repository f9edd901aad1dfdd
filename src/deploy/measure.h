/* SPDX-License-Identifier: MIT */
/* What this machine takes: times of single nodes, of whole networks, of sending. */
#ifndef WEFT_DEPLOY_MEASURE_H
#define WEFT_DEPLOY_MEASURE_H

#include <signal.h>

#include "deploy.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples of one thing. */
typedef struct weft_timing {
    double seconds; /* median of the kept ones; of all that there is where the caller says so */
    double mad_s, least_s;
    int n_kept, n_tried; /* kept: nothing disturbed them */
} weft_timing;

typedef struct weft_measure_options {
    double budget_s; /* of a device: measuring ends when it is used up */
    int level;       /* of the runtime's own optimisations: 0 for normalised files */
    bool is_realtime;
    weft_engine_places places;
    const volatile sig_atomic_t *stop;
} weft_measure_options;

/* A network whose nodes are segments, on one device. */
typedef struct weft_measurement {
    const char *version;     /* of the engine */
    const weft_timing *node; /* [n_segments] without the launch */
    weft_timing whole;       /* the network in one session */
    weft_timing launch;      /* of a session that does nothing */
    double pacer_s;          /* the fastest */
    double closure;          /* sum of the nodes, with one launch, as a part of the whole */
    bool is_complete;        /* every node has samples that were not disturbed */
} weft_measurement;

enum { WEFT_LEAST_KEPT = 3 };

/* Runs on the first device of the segments, in a process of its own; `model` is the whole network. In
 * `a`. */
WEFT_CHECKED weft_status weft_measure_nodes(const weft_split_net *s, const char *model,
                                            const weft_measure_options *o, weft_arena *a,
                                            weft_measurement *out);

/* What an engine is on this machine: found out in a process of its own. Not there: a message. */
WEFT_CHECKED weft_status weft_engine_look(const weft_engine *e, const weft_engine_places *where,
                                          weft_arena *a, const char **version);
/* As weft_engine.normalise, in a process of its own. */
WEFT_CHECKED weft_status weft_normalise(const weft_engine *e, const weft_engine_places *where,
                                        const char *from, int level, const char *to);

/* --- links ----------------------------------------------------------------------------------- */

typedef struct weft_link_timing {
    int64_t bytes;
    weft_timing time;
} weft_link_timing;

enum { WEFT_N_LINK_SIZES = 6 };
/* From one processor to another: until the reader has seen and read a message that lies in shared
 * memory, beyond what reading it once more takes. */
WEFT_CHECKED weft_status weft_measure_link(int from_cpu, int to_cpu,
                                           weft_link_timing out[WEFT_N_LINK_SIZES]);

#ifdef __cplusplus
}
#endif
#endif
