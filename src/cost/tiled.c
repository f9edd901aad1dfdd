/* SPDX-License-Identifier: MIT */
/* tiled.c: convolution engines with fixed tiles, Tm x Tn multipliers, double-buffered.
 *
 * Ip, Wp, Op: elements a cycle of the streams of input, weights, output; times in cycles:
 *
 *   tComp = kh kw Tr Tc      tW = Tm Tn kh kw / Wp      tO = Tm Tr Tc / Op
 *   tI    = Tn ((Tr-1) S + kh) ((Tc-1) S + kw) / Ip
 *   Lat1  = max(tI, tW, tComp)        Lat2 = max(ceil(n/Tn) Lat1, tO)
 *   cycles = groups batch ceil(r/Tr) ceil(c/Tc) ceil(m/Tm) Lat2 + (tO + Lat1)
 *
 * The last term is the drain of the last tile. The public model (SuperLIP, read in its code) has
 * tI = Tn Tr Tc / Ip and no drain; it is kept for comparison.
 *
 * Serial devices (H2H, DAC 2022, read in its public code): nothing overlaps,
 *
 *   cycles = groups batch ceil(r/Tr) ceil(c/Tc) ceil(m/Tm) (ceil(n/Tn) (tW + tI + tC) + tO)
 *   tC = 2 Tr Tc Tm Tn kh kw / peak_flops * clock      tI = Tn max(Tr, Tc)^2 / Ip
 *
 * H2H's input tile is a square of constant side, 16 for its tiles of 16 x 14: the larger side.
 * Without peak_flops tC = tComp. A stream without a width is not limited. Element-wise operators
 * cost memory traffic only; traffic is operands and results once. */
#include "arrays.h"

#include <math.h>

/* Cycles of the parts of one tile. */
typedef struct steps {
    double compute, weights, input, output;
} steps;

static double streamed(double elements, double width)
{
    return width > 0 ? elements / width : 0;
}

static double input_tile(const weft_design *d, const weft_layer *l, weft_tiled_form form)
{
    double tr = weft_count_of(d, WEFT_P_TR), tc = weft_count_of(d, WEFT_P_TC);
    double side = fmax(tr, tc), stride = (double)l->stride;

    if (form == WEFT_TILED_SERIAL)
        return side * side;
    if (form == WEFT_TILED_PUBLIC)
        return tr * tc;
    return ((tr - 1) * stride + (double)l->kh) * ((tc - 1) * stride + (double)l->kw);
}

static steps steps_of(const weft_design *d, const weft_layer *l, weft_tiled_form form)
{
    double tm = weft_count_of(d, WEFT_P_TM), tn = weft_count_of(d, WEFT_P_TN);
    double places = weft_count_of(d, WEFT_P_TR) * weft_count_of(d, WEFT_P_TC);
    double taps = (double)l->kh * (double)l->kw;

    return (steps){
        .compute = taps * places,
        .weights = streamed(tm * tn * taps, d->value[WEFT_P_PORT_WEIGHT]),
        .input = streamed(tn * input_tile(d, l, form), d->value[WEFT_P_PORT_IN]),
        .output = streamed(tm * places, d->value[WEFT_P_PORT_OUT]),
    };
}

/* Output tiles, all groups and the whole batch. */
static double tiles(const weft_design *d, const weft_layer *l)
{
    return (double)l->groups * (double)l->batch *
           weft_n_tiles((double)l->r, weft_count_of(d, WEFT_P_TR)) *
           weft_n_tiles((double)l->c, weft_count_of(d, WEFT_P_TC)) *
           weft_n_tiles((double)l->m, weft_count_of(d, WEFT_P_TM));
}

static double serial_compute(const weft_design *d, double compute)
{
    double macs = compute * weft_count_of(d, WEFT_P_TM) * weft_count_of(d, WEFT_P_TN);

    if (!(d->value[WEFT_P_FLOPS] > 0))
        return compute;
    return 2 * macs / d->value[WEFT_P_FLOPS] * d->value[WEFT_P_CLOCK];
}

double weft_tiled_cycles(const weft_design *d, const weft_layer *l, weft_tiled_form form)
{
    steps t = steps_of(d, l, form);
    double n_inner = weft_n_tiles((double)l->n, weft_count_of(d, WEFT_P_TN));
    double first = fmax(t.input, fmax(t.weights, t.compute)), cycles;

    if (form == WEFT_TILED_SERIAL)
        return tiles(d, l) *
               (n_inner * (t.weights + t.input + serial_compute(d, t.compute)) + t.output);
    cycles = tiles(d, l) * fmax(n_inner * first, t.output);
    return form == WEFT_TILED_FULL && cycles > 0 ? cycles + t.output + first : cycles;
}

static double layer_cycles(const weft_design *d, const weft_layer *l)
{
    return weft_tiled_cycles(d, l,
                             d->value[WEFT_P_SERIAL] > 0 ? WEFT_TILED_SERIAL : WEFT_TILED_FULL);
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    return (weft_core_cost){weft_layers_s(d, k), weft_compulsory_bytes(k)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;

    return v[WEFT_P_FLOPS] > 0 ? v[WEFT_P_FLOPS]
                               : 2 * v[WEFT_P_TM] * v[WEFT_P_TN] * v[WEFT_P_CLOCK];
}

static const weft_param params[] = {
    WEFT_ROW_COUNT("Tm", WEFT_P_TM, "tile: output channels"),
    WEFT_ROW_COUNT("Tn", WEFT_P_TN, "tile: input channels"),
    WEFT_ROW_COUNT("Tr", WEFT_P_TR, "tile: output rows"),
    WEFT_ROW_COUNT("Tc", WEFT_P_TC, "tile: output columns"),
    WEFT_ROW_COUNT("port_in", WEFT_P_PORT_IN, "input elements loaded per cycle"),
    WEFT_ROW_COUNT("port_weight", WEFT_P_PORT_WEIGHT, "weight elements loaded per cycle"),
    WEFT_ROW_COUNT("port_out", WEFT_P_PORT_OUT, "output elements stored per cycle"),
    {"serial",     WEFT_P_SERIAL, WEFT_UNIT_NONE,  true, false, 0, 0, 1,
                                                                       "1: loads and arithmetic do not overlap"                              },
    {"peak_flops", WEFT_P_FLOPS,  WEFT_UNIT_FLOPS, true, false, 0, 0, WEFT_UNLIMITED,
                                                                       "arithmetic operations per second; 0: Tm x Tn multiply-adds per cycle"},
    WEFT_ROW_CLOCK,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_tiled = {
    .name = "tiled",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .cycles = layer_cycles,
};
