/* SPDX-License-Identifier: MIT */
/* winograd.c: engines for F(m x m, 3 x 3), tile side n = m + 2, n n Pm Pn multipliers.
 *
 *   3 x 3      ceil(r/(n-2)) ceil(c/(n-2)) ceil(M/Pm) ceil(N/Pn)      + depth           [cycles]
 *   1 x 1      ceil(r/n) ceil(c/n) ceil(M/Pm) ceil(N/Pn)              + depth
 *   larger     ceil(kh/3) ceil(kw/3) times the 3 x 3 term             + depth
 *
 * times groups and batch; `depth` is the latency of the pipeline, paid once. A stride S is computed
 * at stride 1 and thinned out: r S, c S replace r, c. 1 x 1 uses the n n multipliers of a tile for
 * as many outputs. After Lu et al., FCCM 2017; kernel sharing as in WinoCNN (ASAP 2021).
 * Element-wise operators cost memory traffic only; traffic is operands and results once. */
#include "arrays.h"

#include <math.h>

enum { KERNEL = 3 }; /* side of the kernel that a tile is transformed for */

static double layer_cycles(const weft_design *d, const weft_layer *l)
{
    double side = fmax(weft_count_of(d, WEFT_P_TILE), KERNEL);
    bool is_point = l->kh == 1 && l->kw == 1;
    double made = is_point ? side : side - (KERNEL - 1); /* outputs of a tile, each way */
    double pieces =
        is_point ? 1 : weft_n_tiles((double)l->kh, KERNEL) * weft_n_tiles((double)l->kw, KERNEL);
    double cycles = (double)l->groups * (double)l->batch * pieces *
                    weft_n_tiles((double)l->r * (double)l->stride, made) *
                    weft_n_tiles((double)l->c * (double)l->stride, made) *
                    weft_n_tiles((double)l->m, weft_count_of(d, WEFT_P_PM)) *
                    weft_n_tiles((double)l->n, weft_count_of(d, WEFT_P_PN));

    return cycles > 0 ? cycles + d->value[WEFT_P_DEPTH] : 0;
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    return (weft_core_cost){weft_layers_s(d, k), weft_compulsory_bytes(k)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;

    return 2 * v[WEFT_P_TILE] * v[WEFT_P_TILE] * v[WEFT_P_PM] * v[WEFT_P_PN] * v[WEFT_P_CLOCK];
}

static const weft_param params[] = {
    {"tile",  WEFT_P_TILE,  WEFT_UNIT_NONE, true, true,  0,   4, 16,
     "side of the transformed tile: outputs of a 3 x 3 kernel + 2"                            },
    WEFT_ROW_COUNT("Pm", WEFT_P_PM, "output channels side by side"),
    WEFT_ROW_COUNT("Pn", WEFT_P_PN, "input channels side by side"),
    {"depth", WEFT_P_DEPTH, WEFT_UNIT_NONE, true, false, 100, 0, 1e6, "cycles of the pipeline"},
    WEFT_ROW_CLOCK,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_winograd = {
    .name = "winograd",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .cycles = layer_cycles,
};
