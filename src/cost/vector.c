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
    return weft_blocks(points, lanes) * fmax(1, flops / points);
}

static double product_cycles(const weft_layer *l, double lanes)
{
    double outputs =
        (double)l->batch * (double)l->groups * (double)l->m * (double)l->r * (double)l->c;
    double length = (double)l->n * (double)l->kh * (double)l->kw;

    return fmin(weft_blocks(outputs, lanes) * length,
                outputs * (weft_blocks(length, lanes) + ceil(log2(lanes))));
}

weft_effort weft_effort_vector(const weft_design *d, const weft_work_key *k)
{
    double lanes = weft_count_of(d, WEFT_P_LANES) * weft_count_of(d, WEFT_P_CORES);
    double cycles = weft_cycles_vector(k, lanes);

    for (int i = 0; i < k->n_layers; i++)
        cycles += product_cycles(&k->layer[i], lanes);
    return (weft_effort){cycles > 0 ? cycles / d->value[WEFT_P_CLOCK] : 0,
                         weft_compulsory_bytes(k)};
}
