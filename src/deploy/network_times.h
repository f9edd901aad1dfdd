/* SPDX-License-Identifier: MIT */
/* Measured times of a network on the devices of a platform, as a document (weft.profile/1). */
#ifndef WEFT_DEPLOY_NETWORK_TIMES_H
#define WEFT_DEPLOY_NETWORK_TIMES_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was found out about one device. */
typedef struct weft_device_times {
    int device;
    const weft_engine *engine;
    weft_measurement m;
    int n_nodes, n_noisy; /* that have times; of them, without enough undisturbed samples */
    int n_refused;        /* that the engine cannot run */
    double closure;       /* views left out */
} weft_device_times;

typedef struct weft_network_times {
    int n_devices;
    const weft_device_times *device;
    weft_doc *doc;
} weft_network_times;

typedef struct weft_network {
    const weft_model *model;
    const weft_model_options *options;
    const weft_platform *platform;
    int level;             /* to which the network was normalised; -1: it was not */
    const char *normal_by; /* "ort 1.30.0"; or NULL */
    const char *tmp;       /* a folder for files that go again */
} weft_network;

/* Measures all devices that have an engine, one after the other. All in `a`. */
WEFT_CHECKED weft_status weft_network_times_measure(const weft_network *n,
                                                    const weft_measure_options *o, weft_arena *a,
                                                    weft_network_times *out);

/* --- times that other tools measured (times_read.c) ------------------------------------------ */

typedef struct weft_read_times {
    const char *format;        /* "trtexec" */
    int n_rows, n_used;        /* times in the file; of them, those of nodes of the network */
    int n_nodes, n_timed;      /* of the network, views left out; of them, those with a time */
    double whole_s;            /* of the network, where a file says it; NAN */
    double sum_s;              /* of the times */
    const char *const *unused; /* the first names that nothing has, at most 5 */
    int n_unused;
    weft_doc *doc;
} weft_read_times;

/* Reads what a tool wrote about this network, in one file or several (',' between them), and gives its times to the device. A row that names
 * several nodes is shared out among them by their work. No name that fits is an error. */
WEFT_CHECKED weft_status weft_times_read(const char *paths, const weft_graph *g, const char *device,
                                         weft_arena *a, weft_read_times *out);
/* The same of bytes. */
WEFT_CHECKED weft_status weft_times_parse(const char *text, size_t size, const char *path,
                                          const weft_graph *g, const char *device, weft_arena *a,
                                          weft_read_times *out);

#ifdef __cplusplus
}
#endif
#endif
