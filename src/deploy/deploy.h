/* SPDX-License-Identifier: MIT */
/* What a plan becomes on real machines: segments of the network, a manifest, settings for runtimes.
 *
 * A segment is what one device runs without looking at the others: it begins before a node that
 * reads something new from another device and ends after one that makes something for another
 * device. So a tensor leaves when it is made and a node waits for what it reads only, as in the
 * simulator. */
#ifndef WEFT_DEPLOY_H
#define WEFT_DEPLOY_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a kind of plan says of its network: which node runs where, and in which order. */
typedef struct weft_deployment {
    const char *source; /* the network, as it can be opened from here */
    const weft_model_options *options;
    const weft_graph *graph;
    const weft_platform *platform;
    const weft_problem *problem;
    const int *task;            /* [n_nodes] of the problem */
    const int *device;          /* [n_nodes] */
    const double *start_s;      /* [n_nodes] order on a device; ties by number */
    double latency_s, period_s; /* as the simulator says */
    uint64_t model_hash, problem_hash;
    const weft_doc *plan; /* the document of the file; NULL: none, then no settings either */
    bool is_chain;        /* every node is a segment */
} weft_deployment;

/* --- the split network ----------------------------------------------------------------------- */

/* What goes from one segment to another, comes in, or is asked for. */
typedef struct weft_segment_tensor {
    const char *name;
    weft_dtype type;
    const weft_shape *shape;
    int64_t bytes;
    int producer; /* segment; -1: an input of the network */
    bool is_output;
    const char *state; /* the output that takes the place of this input in the next item, or that
                          input; "" where nothing does; NULL: no state */
} weft_segment_tensor;

typedef struct weft_segment {
    const char *file; /* in the folder of the manifest */
    uint64_t hash;    /* of its bytes */
    int device;
    double start_s, seconds; /* as planned; seconds of its nodes and of switches to them */
    double paced_s;          /* what the device's model says, for the engine `paced` */
    int n_nodes, n_reads, n_makes;
    const char *const *node;  /* names, as in the plan */
    const int *reads, *makes; /* tensors */
} weft_segment;

/* A file of weights that segments keep outside of themselves, in the folder. */
typedef struct weft_weight_file {
    const char *file;
    uint64_t hash; /* of its bytes */
} weft_weight_file;

typedef struct weft_segment_device {
    const char *name, *engine; /* engine: NULL: not given */
    int n_cores;
    const int *cores;
} weft_segment_device;

typedef struct weft_split_net {
    const char *folder;
    const char *model;   /* the whole network: as it can be opened from here */
    uint64_t model_hash; /* of its bytes; 0: a built-in network */
    const char *whole;   /* of a built-in network: its file in the folder; or NULL */
    int n_devices, n_segments, n_tensors;
    const weft_segment_device *device;
    const weft_segment *segment;       /* in an order that runs one by one */
    const weft_segment_tensor *tensor; /* inputs of the network first, in the order of the file */
    int n_inputs, n_weights;
    const weft_weight_file *weight; /* [n_weights] */
    weft_transfer transfer;
    int host; /* device on which inputs lie; -1: everywhere */
    const double *latency_s,
        *second_per_byte; /* [from * n_devices + to], of single tensors below */
    const double *send_s; /* [tensor * n_devices + to] as planned; 0: not sent */
    double plan_latency_s, plan_period_s;
} weft_split_net;

/* Cuts the network and writes the folder: segments, manifest, plan, settings. A folder that holds
 * anything but an earlier split is refused. *out in `a`. */
WEFT_CHECKED weft_status weft_split_net_write(const weft_deployment *d, const char *folder,
                                              weft_arena *a, weft_split_net *out);
/* Reads a manifest; segments that have changed are an error. */
WEFT_CHECKED weft_status weft_split_net_read(const char *folder, weft_arena *a,
                                             weft_split_net *out);
/* Devices that read a tensor which another one makes. */
int weft_split_net_sent_to(const weft_split_net *s, int tensor);
/* Removes what weft_split_net_write has written, and the folder if nothing else is in it. */
void weft_split_net_remove(const char *folder);

/* Seconds of a plan of segments by the simulator, with these times of segments and of what they
 * send: seconds[n_segments], send_s as in weft_split_net. Ends of segments go to end_s (or NULL). */
WEFT_CHECKED weft_status weft_split_net_replay(const weft_split_net *s, const double *seconds,
                                               const double *send_s, double *latency_s,
                                               double *end_s);

uint64_t weft_file_hash(const void *data, size_t size);
WEFT_CHECKED weft_status weft_file_hash_of(const char *path, uint64_t *out);

/* While folders and processes of ours are there, signals that end the program wait: what takes long
 * asks whether one does, and ends early. */
void weft_ends_wait(bool wait);
bool weft_end_is_near(void);

/* --- settings of other runtimes (settings.c) ------------------------------------------------- */

typedef struct weft_setting_file {
    const char *name; /* in the folder */
    const weft_bytes *part;
    int n_parts;
} weft_setting_file;

/* Files that tell other runtimes of the plan; their number. In `a`. */
WEFT_CHECKED weft_status weft_settings_make(const weft_deployment *d, weft_bytes document,
                                            weft_arena *a, const weft_setting_file **out, int *n);

#ifdef __cplusplus
}
#endif
#endif
