/* SPDX-License-Identifier: MIT */
/* vector.c: lanes that work on different elements at the same time.
 *
 *   element-wise   ceil(points / lanes) * cycles of a point                             [cycles]
 *   products       the better of  ceil(outputs / lanes) K            an output a lane
 *                            and  outputs (ceil(K / lanes) + ceil(log2 lanes))   a sum over lanes
 *
 * with K = n kh kw, one multiply-accumulate a cycle and lane. Cycles of a point are its operations,
 * at least 1: addition, multiplication, comparison, table look-up and multiply-accumulate take a
 * cycle each (WHAM's public code). Time is max(cycles / clock, bytes / bandwidth): without the
 * second term normalisations and optimizers would look far too fast. */
#include "arrays.h"

#include <math.h>

double weft_cycles_vector(const weft_work_key *k, double lanes)
{
    double points = (double)k->points, flops = (double)k->flops;

    if (!(points > 0))
        return 0;
    return weft_n_tiles(points, lanes) * fmax(1, flops / points);
}

static double product_cycles(const weft_layer *l, double lanes)
{
    double outputs =
        (double)l->batch * (double)l->groups * (double)l->m * (double)l->r * (double)l->c;
    double length = (double)l->n * (double)l->kh * (double)l->kw;

    return fmin(weft_n_tiles(outputs, lanes) * length,
                outputs * (weft_n_tiles(length, lanes) + ceil(log2(lanes))));
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    double lanes = weft_count_of(d, WEFT_P_LANES) * weft_count_of(d, WEFT_P_CORES);
    double cycles = weft_cycles_vector(k, lanes);

    for (int i = 0; i < k->n_layers; i++)
        cycles += product_cycles(&k->layer[i], lanes);
    return (weft_core_cost){cycles > 0 ? cycles / d->value[WEFT_P_CLOCK] : 0,
                            weft_compulsory_bytes(k)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;

    return 2 * v[WEFT_P_LANES] * v[WEFT_P_CORES] * v[WEFT_P_CLOCK];
}

static const weft_param params[] = {
    WEFT_ROW_COUNT("lanes", WEFT_P_LANES, "lanes of a core"),
    WEFT_ROW_COUNT_OR_1("cores", WEFT_P_CORES, "cores of the device"),
    WEFT_ROW_CLOCK,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_SRAM(false),
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_vector = {
    .name = "vector",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
};
