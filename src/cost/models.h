/* SPDX-License-Identifier: MIT */
/* The device models: one function each, seconds of the cores and bytes of memory traffic. */
#ifndef WEFT_MODELS_H
#define WEFT_MODELS_H

#include "weft/cost.h"

/* What a model says of one operator; cost.c adds overhead, bandwidth and energy. */
typedef struct weft_effort {
    double core_s;       /* seconds of the cores; INFINITY: cannot do it */
    double memory_bytes; /* traffic between memory and chip */
} weft_effort;

weft_effort weft_effort_roofline(const weft_design *d, const weft_work_key *k);
weft_effort weft_effort_systolic(const weft_design *d, const weft_work_key *k);
weft_effort weft_effort_tiled(const weft_design *d, const weft_work_key *k);
weft_effort weft_effort_winograd(const weft_design *d, const weft_work_key *k);
weft_effort weft_effort_vector(const weft_design *d, const weft_work_key *k);
weft_effort weft_effort_template(const weft_design *d, const weft_work_key *k);

/* Cycles of one multiply-accumulate layer. */
double weft_cycles_systolic(const weft_design *d, const weft_layer *l);
double weft_cycles_tiled(const weft_design *d, const weft_layer *l);
double weft_cycles_winograd(const weft_design *d, const weft_layer *l);
double weft_cycles_template(const weft_design *d, const weft_layer *l);
/* Cycles of element-wise work on vector lanes. */
double weft_cycles_vector(const weft_work_key *k, double lanes);
/* Tensor cores of rows x cols, and the port of the shared buffer. */
typedef struct weft_tensor_cores {
    double rows, cols, cores;
    double port_bytes; /* a cycle, of all cores together; INFINITY: no limit */
    weft_dataflow dataflow;
} weft_tensor_cores;
/* Cycles of the products of an operator, ports included. */
double weft_tensor_cycles(const weft_work_key *k, const weft_tensor_cores *t);
/* Bytes of the products through the port at least, however they are cut. */
double weft_tensor_port_bytes(const weft_work_key *k, const weft_tensor_cores *t);
double weft_area_template(const weft_design *d);

/* Traffic without reuse beyond one pass: operands once, results once. */
static inline double weft_compulsory_bytes(const weft_work_key *k)
{
    return (double)k->read_bytes + (double)k->write_bytes;
}

/* Measured times (weft.profile/1). */
typedef struct weft_profile weft_profile;
WEFT_CHECKED weft_status weft_profile_read(const char *path, weft_arena *a, weft_profile **out);
/* Seconds of a node on a device, or NAN if it was not measured. */
double weft_profile_s(const weft_profile *p, const char *node, const char *device);

#endif
