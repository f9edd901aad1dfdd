/* SPDX-License-Identifier: MIT */
/* roofline.c: a device as peak arithmetic and memory bandwidth.
 *
 *   core_s = operations / (peak * efficiency of the operator's family),  2 operations a MAC
 *   bytes  = operands once + results once (what the loop nest touches)
 *
 * `peak_flops` alone is the peak of every type. With peaks by type (peaks.c), products run at that
 * of their type, and all other arithmetic at `peak_flops`, else `peak_f32`, else the largest peak.
 *
 * Williams, Waterman, Patterson, CACM 52(4), 2009. */
#include "models.h"

#include <math.h>

/* Peak of arithmetic that is no product. */
static double other_peak(const weft_design *d, double largest)
{
    const double *v = d->value;

    return v[WEFT_P_FLOPS] > 0      ? v[WEFT_P_FLOPS]
           : v[WEFT_P_PEAK_F32] > 0 ? v[WEFT_P_PEAK_F32]
                                    : largest;
}

static double arithmetic_s(const weft_design *d, const weft_work_key *k)
{
    double largest = weft_largest_peak(d), efficiency = d->efficiency[k->family], other_s;

    if (!(largest > 0))
        return weft_operations(k) / (d->value[WEFT_P_FLOPS] * efficiency);
    if (weft_missing_peak(d, k) >= 0)
        return INFINITY;
    other_s = (double)k->flops / (other_peak(d, largest) * efficiency);
    if (k->n_layers == 0)
        return other_s;
    return other_s + (weft_operations(k) - (double)k->flops) /
                         (d->value[weft_peak_place(d, k->type)] * efficiency);
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    return (weft_core_cost){arithmetic_s(d, k), weft_compulsory_bytes(k)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    return fmax(d->value[WEFT_P_FLOPS], weft_largest_peak(d));
}

static int missing(const weft_design *d, const weft_work_key *k)
{
    return weft_largest_peak(d) > 0 ? weft_missing_peak(d, k) : -1;
}

static int needed(const weft_design *d)
{
    return peak_flops(d) > 0 ? -1 : WEFT_P_FLOPS;
}

static const weft_param params[] = {
    WEFT_ROW_PEAK("peak_flops", WEFT_P_FLOPS,
                  "peak operations per second (a multiply-add counts 2)"),
    WEFT_ROWS_OF_PEAKS,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_roofline = {
    .name = "roofline",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .missing = missing,
    .needed = needed,
};
