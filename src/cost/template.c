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
 * Area, from Phaze's public code (ICML 2024, "22 nm" scaled from 45 nm; additive, without wiring,
 * pins and control), in mm2:
 *
 *   A = cores (R C a_pe + a_sram(L2)) + vector cores W a_lane + a_sram(S)
 *
 * with L2 = R C / 64 KiB, at least 1 KiB, for each tensor core. */
#include "arrays.h"

#include <math.h>

/* Bytes a cycle between a tensor core and the shared buffer (Phaze's public code; the widest port
 * is WHAM's). */
static double port_bytes(double rows, double cols)
{
    return fmin(4096, fmax(4, 16 * fmax(rows, cols)));
}

double weft_cycles_template(const weft_design *d, const weft_layer *l)
{
    return weft_cycles_systolic(d, l);
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

weft_effort weft_effort_template(const weft_design *d, const weft_work_key *k)
{
    double lanes = weft_count_of(d, WEFT_P_LANES) * weft_count_of(d, WEFT_P_VECTOR_CORES);
    weft_tensor_cores t = {weft_count_of(d, WEFT_P_ROWS), weft_count_of(d, WEFT_P_COLS),
                           weft_count_of(d, WEFT_P_CORES),
                           d->value[WEFT_P_PORT] > 0 ? d->value[WEFT_P_PORT] : INFINITY,
                           (weft_dataflow)(int)d->value[WEFT_P_DATAFLOW]};
    double cycles = fmax(weft_tensor_cycles(k, &t), weft_cycles_vector(k, lanes));

    if (k->n_layers == 0 && !isinf(t.port_bytes))
        cycles = fmax(cycles, weft_compulsory_bytes(k) / t.port_bytes);
    return (weft_effort){cycles > 0 ? cycles / d->value[WEFT_P_CLOCK] : 0,
                         weft_key_traffic(k, d->value[WEFT_P_SRAM])};
}

/* --- area */

static const double unit_mm2 = 760e-6; /* multiplier-accumulator with its registers */
static const double lane_mm2 = 824e-6;

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* Square millimetres of memories; up to 1 MiB: L2 of a core (1 MiB: a core of 256 x 256, 51.44 mm2,
 * less its units), from 2 MiB on: shared buffer. */
static const struct {
    double bytes, mm2;
} sram[] = {
    {1 * KIB,   0.006134},
    {256 * KIB, 0.447   },
    {1 * MIB,   1.633   },
    {2 * MIB,   3.34    },
    {4 * MIB,   6.08    },
    {8 * MIB,   11.95   },
    {16 * MIB,  23.75   },
    {32 * MIB,  46.75   },
    {64 * MIB,  88.61   },
    {128 * MIB, 175.4   },
};

/* Between two sizes of the table a power law; beyond its ends in proportion. */
static double sram_mm2(double bytes)
{
    int last = (int)(sizeof sram / sizeof sram[0]) - 1, i = 1;

    if (!(bytes > 0))
        return 0;
    if (bytes <= sram[0].bytes)
        return sram[0].mm2 * bytes / sram[0].bytes;
    if (bytes >= sram[last].bytes)
        return sram[last].mm2 * bytes / sram[last].bytes;
    while (bytes > sram[i].bytes)
        i++;
    return sram[i - 1].mm2 *
           pow(bytes / sram[i - 1].bytes,
               log(sram[i].mm2 / sram[i - 1].mm2) / log(sram[i].bytes / sram[i - 1].bytes));
}

double weft_area_template(const weft_design *d)
{
    double units = weft_count_of(d, WEFT_P_ROWS) * weft_count_of(d, WEFT_P_COLS);
    double l2_bytes = fmax(units / 64, 1) * KIB;

    return weft_count_of(d, WEFT_P_CORES) * (units * unit_mm2 + sram_mm2(l2_bytes)) +
           weft_count_of(d, WEFT_P_VECTOR_CORES) * weft_count_of(d, WEFT_P_LANES) * lane_mm2 +
           sram_mm2(d->value[WEFT_P_SRAM]);
}
