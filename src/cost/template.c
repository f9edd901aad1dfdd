/* SPDX-License-Identifier: MIT */
/* template.c: the accelerator that is searched for: tensor cores of R x C multipliers, vector cores
 * of W lanes, a shared buffer of S bytes, memory outside.
 *
 *   products       max(cycles / clock, buffer bytes / port)     systolic.c, all tensor cores
 *   element-wise   ceil(points / (W cores)) cycles of a point / clock                   vector.c
 *                  and no less than its bytes / port
 *   port           each tensor core has one to the buffer; the buffer has one for all cores, which
 *                  what several cores read passes several times
 *   core_s = the larger of the two: an epilogue runs on the vector cores beside the tensor cores
 *   bytes  = traffic of the best tiling in S                                            traffic.c
 *
 * Area in mm2, additive, without wiring, pins and control:
 *
 *   A = fixed + cores (R C a_pe + a_sram(L2)) + vector cores W a_lane + a_sram(S)
 *
 * L2 is the memory of a tensor core. Constants of designs in platform files are those of Phaze's
 * public code (ICML 2024, "22 nm" scaled from 45 nm), with L2 = R C / 64 KiB, at least 1 KiB;
 * templates of the search of designs have their own. */
#include "arrays.h"

#include <math.h>

/* Bytes a cycle between a tensor core and the shared buffer (Phaze's public code; the widest port
 * is WHAM's). */
static double port_bytes(double rows, double cols)
{
    return fmin(4096, fmax(4, 16 * fmax(rows, cols)));
}

static double layer_cycles(const weft_design *d, const weft_layer *l)
{
    return weft_device_systolic.cycles(d, l);
}

static weft_array array_of(const weft_work_key *k, const weft_tensor_cores *t)
{
    return (weft_array){t->rows,          t->cols,      1,
                        t->cores,         t->dataflow,  port_bytes(t->rows, t->cols),
                        k->element_bytes, t->port_bytes};
}

double weft_tensor_cycles(const weft_work_key *k, const weft_tensor_cores *t)
{
    weft_array a = array_of(k, t);
    double cycles = 0;

    for (int i = 0; i < k->n_layers; i++)
        cycles += weft_array_cycles(&a, &k->layer[i]);
    return cycles;
}

double weft_tensor_port_bytes(const weft_work_key *k, const weft_tensor_cores *t)
{
    weft_array a = array_of(k, t);
    double bytes = 0;

    for (int i = 0; i < k->n_layers; i++)
        bytes += weft_array_port_bytes(&a, &k->layer[i]);
    return bytes;
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    double lanes = weft_count_of(d, WEFT_P_LANES) * weft_count_of(d, WEFT_P_VECTOR_CORES);
    weft_tensor_cores t = {weft_count_of(d, WEFT_P_ROWS), weft_count_of(d, WEFT_P_COLS),
                           weft_count_of(d, WEFT_P_CORES),
                           d->value[WEFT_P_PORT] > 0 ? d->value[WEFT_P_PORT] : INFINITY,
                           (weft_dataflow)(int)d->value[WEFT_P_DATAFLOW]};
    double cycles = fmax(weft_tensor_cycles(k, &t), weft_cycles_vector(k, lanes));

    if (k->n_layers == 0 && !isinf(t.port_bytes))
        cycles = fmax(cycles, weft_compulsory_bytes(k) / t.port_bytes);
    return (weft_core_cost){cycles > 0 ? cycles / d->value[WEFT_P_CLOCK] : 0,
                            weft_key_traffic(k, d->value[WEFT_P_SRAM])};
}

/* --- area */

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* Square millimetres of memories; up to 1 MiB: L2 of a core (1 MiB: a core of 256 x 256, 51.44 mm2,
 * less its units), from 2 MiB on: shared buffer. */
static const double sram_bytes[] = {1 * KIB, 256 * KIB, 1 * MIB,  2 * MIB,  4 * MIB,
                                    8 * MIB, 16 * MIB,  32 * MIB, 64 * MIB, 128 * MIB};
static const double sram_mm2[] = {0.006134, 0.447, 1.633, 3.34,  6.08,
                                  11.95,    23.75, 46.75, 88.61, 175.4};

static const weft_area_model phaze = {
    .pe_mm2 = 760e-6,
    .lane_mm2 = 824e-6,
    .sram_scale = 1,
    .n_srams = (int)(sizeof sram_bytes / sizeof *sram_bytes),
    .sram_bytes = sram_bytes,
    .sram_mm2 = sram_mm2,
    .l2_bytes_per_pe = KIB / 64,
    .l2_least_bytes = KIB,
};

/* Between two sizes of the table a power law; beyond its ends in proportion. */
static double table_mm2(const weft_area_model *m, double bytes)
{
    const double *x = m->sram_bytes, *y = m->sram_mm2;
    int n = m->n_srams, i = 1;

    if (bytes <= x[0])
        return y[0] * bytes / x[0];
    if (bytes >= x[n - 1])
        return y[n - 1] * bytes / x[n - 1];
    while (bytes > x[i])
        i++;
    if (bytes == x[i])
        return y[i];
    return y[i - 1] * exp(log(y[i] / y[i - 1]) * log(bytes / x[i - 1]) / log(x[i] / x[i - 1]));
}

static double memory_mm2(const weft_area_model *m, double bytes)
{
    if (!(bytes > 0))
        return 0;
    return m->sram_scale * (m->n_srams > 0 ? table_mm2(m, bytes) : bytes / MIB);
}

double weft_area_mm2(const weft_area_model *m, double pes, double cores, double lanes,
                     double buffer_bytes)
{
    double l2_bytes = fmax(m->l2_least_bytes, m->l2_bytes_per_pe * pes);

    return m->fixed_mm2 + cores * (pes * m->pe_mm2 + memory_mm2(m, l2_bytes)) +
           lanes * m->lane_mm2 + memory_mm2(m, buffer_bytes);
}

static double area_mm2(const weft_design *d)
{
    return weft_area_mm2(&phaze, weft_count_of(d, WEFT_P_ROWS) * weft_count_of(d, WEFT_P_COLS),
                         weft_count_of(d, WEFT_P_CORES),
                         weft_count_of(d, WEFT_P_VECTOR_CORES) * weft_count_of(d, WEFT_P_LANES),
                         d->value[WEFT_P_SRAM]);
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;

    return 2 * v[WEFT_P_ROWS] * v[WEFT_P_COLS] * v[WEFT_P_CORES] * v[WEFT_P_CLOCK];
}

static const weft_param params[] = {
    WEFT_ROW_COUNT("rows", WEFT_P_ROWS, "rows of a tensor core"),
    WEFT_ROW_COUNT("cols", WEFT_P_COLS, "columns of a tensor core"),
    WEFT_ROW_COUNT("tensor_cores", WEFT_P_CORES, "tensor cores of the device"),
    WEFT_ROW_COUNT("lanes", WEFT_P_LANES, "lanes of a vector core"),
    WEFT_ROW_COUNT("vector_cores", WEFT_P_VECTOR_CORES, "vector cores of the device"),
    WEFT_ROW_DATAFLOW,
    WEFT_ROW_CLOCK,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_SRAM(true),
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_template = {
    .name = "template",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .cycles = layer_cycles,
    .area_mm2 = area_mm2,
};
