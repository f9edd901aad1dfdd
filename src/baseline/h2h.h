/* SPDX-License-Identifier: MIT */
/* The mapper H2H (Zhang, Hao, Zhou, Jones, Hu, DAC 2022), on its own terms: layers in streams,
 * single devices around a host, its own costs. A re-implementation; see h2h.c. */
#ifndef WEFT_H2H_H
#define WEFT_H2H_H

#include "solve.h"

typedef enum weft_h2h_kind { /* in the order in which step 1 takes them */
                             WEFT_H2H_CONV,
                             WEFT_H2H_LSTM,
                             WEFT_H2H_FC,
                             WEFT_N_H2H_KINDS,
} weft_h2h_kind;

/* Convolution: out[m][r][c], n input channels, k points of the kernel. Fully connected: m x n
 * weights, k columns. Recurrent: m hidden, n inputs, r steps. */
typedef struct weft_h2h_layer {
    weft_h2h_kind kind;
    int stream, place; /* neighbours in a stream have consecutive places; 1 is the first */
    int64_t m, n, r, c, k;
} weft_h2h_layer;

typedef struct weft_h2h_device {
    double gop_per_s, clock_mhz, port_bits; /* bits a cycle between its memory and itself */
    int64_t tm, tn, tr, tc, side;           /* tile of convolutions; side of its input tile */
    double memory_bytes, pinned_share;      /* part of the memory that may hold weights */
    double host_bytes_per_s;
} weft_h2h_device;

/* Elements of 32 bits that travel between host and device. */
typedef struct weft_h2h_data {
    int64_t weights, input, output;
} weft_h2h_data;

weft_h2h_data weft_h2h_data_of(const weft_h2h_layer *l);
/* Seconds on a device with everything in the device's memory. */
double weft_h2h_compute_s(const weft_h2h_layer *l, const weft_h2h_device *d);
/* Units of 1000 elements that pinned weights may take. */
int64_t weft_h2h_room(const weft_h2h_device *d);

/* Layers in an order that runs every stream from its start, streams one after the other; edges say
 * what reads whose output, each stream's own edge first. */
typedef struct weft_h2h {
    int n_layers, n_devices;
    const weft_h2h_layer *layer;
    const weft_h2h_data *data;
    const int *pred_at, *pred, *succ_at, *succ;
    const double *compute_s;       /* [layer * n_devices + device]; INFINITY: not there */
    const double *host_bits_per_s; /* [n_devices] */
    const int64_t *room;           /* [n_devices] units of 1000 elements */
} weft_h2h;

typedef struct weft_h2h_rule {
    bool is_repaired;  /* else as the public code */
    double least_gain; /* part of the latency by which a move must shorten it; 0: any */
} weft_h2h_rule;

typedef struct weft_h2h_result {
    double after_s[4];       /* latency that the method claims after steps 1 .. 4 */
    bool is_cyclic;          /* the orders of devices contradict the data: there is no timetable */
    double retimed_s;        /* latency of mapping and order of step 4, as soon as possible */
    const int *device;       /* [n_layers] */
    const double *start_s;   /* [n_layers] as soon as possible; if cyclic as claimed */
    const int *step1_device; /* the same after step 1 alone */
    const double *step1_start_s;
    int n_trials, n_moves; /* of step 4: tried, accepted */
} weft_h2h_result;

/* Everything returned belongs to `a`. run->stop and run->limit_s end step 4 early. */
void weft_h2h_run(const weft_h2h *p, const weft_h2h_rule *rule, const weft_run *run, weft_arena *a,
                  weft_h2h_result *out);

#endif
