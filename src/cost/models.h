/* SPDX-License-Identifier: MIT */
/* What the device models share. */
#ifndef WEFT_MODELS_H
#define WEFT_MODELS_H

#include "cost.h"
#include "params.h"

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

/* Parameter that holds the peak of products of a type (peaks.c). */
int weft_peak_place(const weft_design *d, weft_dtype type);
/* The peak that the products of an operator need and that is not given, or -1. */
int weft_missing_peak(const weft_design *d, const weft_work_key *k);
/* Of types of 16 bits and more, of 8 bits if there are no others; 0: none is given. */
double weft_largest_peak(const weft_design *d);

/* Constants of the area of a chip; see template.c. */
typedef struct weft_area_model {
    double fixed_mm2, pe_mm2, lane_mm2;
    /* Areas of memories of these sizes, ascending, of which sram_scale is a factor; n_srams 0:
     * proportional, sram_scale is mm2 of a MiB. */
    double sram_scale;
    int n_srams;
    const double *sram_bytes, *sram_mm2;
    double l2_bytes_per_pe, l2_least_bytes; /* of a tensor core */
} weft_area_model;

/* `cores` tensor cores of `pes` multipliers, `lanes` lanes of all vector cores. */
double weft_area_mm2(const weft_area_model *m, double pes, double cores, double lanes,
                     double buffer_bytes);

/* Arithmetic operations; a multiply-add counts 2. */
static inline double weft_operations(const weft_work_key *k)
{
    double flops = (double)k->flops;

    for (int i = 0; i < k->n_layers; i++)
        flops += 2.0 * (double)k->layer[i].batch * (double)k->layer[i].groups *
                 (double)k->layer[i].m * (double)k->layer[i].n * (double)k->layer[i].r *
                 (double)k->layer[i].c * (double)k->layer[i].kh * (double)k->layer[i].kw;
    return flops;
}

/* Traffic without reuse beyond one pass: operands once, results once. */
static inline double weft_compulsory_bytes(const weft_work_key *k)
{
    return (double)k->read_bytes + (double)k->write_bytes;
}

#endif
