/* SPDX-License-Identifier: MIT */
/* roofline.c: a device as peak arithmetic and memory bandwidth.
 *
 *   core_s = operations / (peak * efficiency of the operator's family),  2 operations a MAC
 *   bytes  = operands once + results once (what the loop nest touches)
 *
 * Williams, Waterman, Patterson, CACM 52(4), 2009. */
#include "models.h"

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    return (weft_core_cost){weft_operations(k) /
                                (d->value[WEFT_P_FLOPS] * d->efficiency[k->family]),
                            weft_compulsory_bytes(k)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    return d->value[WEFT_P_FLOPS];
}

static const weft_param params[] = {
    WEFT_ROW_FLOPS, WEFT_ROW_BANDWIDTH, WEFT_ROW_ETA, WEFT_ROW_OVERHEAD, WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_roofline = {
    .name = "roofline",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
};
