/* SPDX-License-Identifier: MIT */
/* Formulas shared by the models of arrays. Sizes and cycles are doubles: exact up to 2^53, and no
 * network, however large, overflows them. */
#ifndef WEFT_ARRAYS_H
#define WEFT_ARRAYS_H

#include "models.h"

#include <math.h>

/* Blocks of b needed to cover a, of any size. By conversion, not by a call of ceil(): the models
 * spend their time here. */
static inline double weft_n_tiles(double a, double b)
{
    double q = a / b, whole;

    if (!(q < 4611686018427387904.0)) /* a whole number anyway, and too large for int64_t */
        return q;
    whole = (double)(int64_t)q;
    return whole < q ? whole + 1 : whole;
}

/* fmin() is a call, too. */
static inline double weft_less(double a, double b)
{
    return a < b ? a : b;
}

/* A parameter that counts things: at least 1. */
static inline double weft_count_of(const weft_design *d, int place)
{
    return d->value[place] >= 1 ? floor(d->value[place]) : 1;
}

double weft_layer_macs(const weft_layer *l);

/* Seconds of all layers of an operator, one after the other, at the design's clock. */
double weft_layers_s(const weft_design *d, const weft_work_key *k);

/* --- systolic.c */

/* Equal cores, each an array of rows x cols units of `vec` multipliers. */
typedef struct weft_array {
    double rows, cols, vec, cores;
    weft_dataflow dataflow;
    double port_bytes; /* a cycle between a core and the shared buffer; INFINITY: no limit */
    double element_bytes;
    double shared_bytes; /* a cycle between the shared buffer and all cores; INFINITY: no limit */
} weft_array;

weft_array weft_array_of(const weft_design *d);
/* Cycles of a layer on all cores, cut in the best way. */
double weft_array_cycles(const weft_array *a, const weft_layer *l);
/* Bytes of a layer between the shared buffer and one core: no cut over more cores has less. */
double weft_array_port_bytes(const weft_array *a, const weft_layer *l);

/* --- traffic.c */

/* Bytes between memory and a buffer of a size, best tiling, for a layer with all its groups. The
 * input is charged with its halo, not as the copy that makes a matrix of it. */
double weft_layer_traffic(const weft_layer *l, int element_bytes, double sram_bytes);
/* Traffic of an operator: its layers one by one, but no less than operands and results once.
 * Without a buffer size (0), just the latter. */
double weft_key_traffic(const weft_work_key *k, double sram_bytes);

/* --- tiled.c */

typedef enum weft_tiled_form {
    WEFT_TILED_FULL,   /* with halo and drain of the last tile */
    WEFT_TILED_PUBLIC, /* the public model, which leaves both out */
    WEFT_TILED_SERIAL, /* loads, arithmetic and stores one after the other (H2H's devices) */
} weft_tiled_form;

double weft_tiled_cycles(const weft_design *d, const weft_layer *l, weft_tiled_form form);

#endif
