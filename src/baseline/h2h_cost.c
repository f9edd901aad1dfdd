/* SPDX-License-Identifier: MIT */
/* h2h_cost.c: what a layer costs in H2H's own model, in seconds; all data have 32 bits.
 *
 * Convolution, tiles one after the other and nothing beside anything else (cd(a, b) = ceil(a / b)):
 *   load    tw = Tm Tn K K 32 / (port clock),  ti = Tn side side 32 / (port clock)
 *   compute tc = 2 Tr Tc Tm Tn K K / operations a second
 *   store   to = Tm Tr Tc 32 / (port clock)
 *   cd(R, Tr) cd(C, Tc) cd(M, Tm) (cd(N, Tn) (tw + ti + tc) + to)
 * Fully connected: the largest of loads (MN + NK), arithmetic 2 MNK and stores MK. Recurrent: steps
 * times the largest of loads (4HD + 4HH + D), arithmetic 8HD + 8HH and stores H. A transfer between
 * host and device comes on top: weights, input (four times N R C, whatever the stride) and output.
 *
 * Source: H2H (Zhang, Hao, Zhou, Jones, Hu, DAC 2022), read in its public code; the order of
 * operations is kept, since the last bit decides some moves of its step 4. */
#include "h2h.h"

#include <math.h>

static const double BITS = 32;           /* of an element */
static const double GIGA = 1e9;          /* operations */
static const double PER_MHZ = 1e6;       /* cycles a second */
static const int64_t PINNED_UNIT = 1000; /* elements */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

weft_h2h_data weft_h2h_data_of(const weft_h2h_layer *l)
{
    switch (l->kind) {
    case WEFT_H2H_CONV:
        return (weft_h2h_data){l->m * l->n * l->k, l->n * l->r * 2 * l->c * 2, l->m * l->r * l->c};
    case WEFT_H2H_LSTM:
        return (weft_h2h_data){4 * l->m * (l->m + l->n), l->n, l->m};
    default:
        return (weft_h2h_data){l->m * l->n, l->n * l->k, l->m * l->k};
    }
}

static double conv_s(const weft_h2h_layer *l, const weft_h2h_device *d)
{
    double bits_per_s = d->port_bits * d->clock_mhz * PER_MHZ;
    double weights_s = (double)(d->tm * d->tn * l->k) * BITS / bits_per_s;
    double input_s = (double)(d->tn * d->side * d->side) * BITS / bits_per_s;
    double output_s = (double)(d->tm * d->tr * d->tc) * BITS / bits_per_s;
    double ops = (double)(2 * d->tr * d->tc * d->tm * l->k * d->tn) / GIGA;
    double step_s = weights_s + input_s + ops / d->gop_per_s;
    double tile_s = (double)ceil_div(l->n, d->tn) * step_s + output_s;

    return (double)(ceil_div(l->r, d->tr) * ceil_div(l->c, d->tc) * ceil_div(l->m, d->tm)) * tile_s;
}

/* Loads, arithmetic and stores beside each other. */
static double widest_s(const weft_h2h_device *d, int64_t in, int64_t ops, int64_t out)
{
    double bits_per_s = d->port_bits * d->clock_mhz * PER_MHZ;
    double move_s = fmax((double)in * BITS / bits_per_s, (double)out * BITS / bits_per_s);

    return fmax(move_s, (double)ops / GIGA / d->gop_per_s);
}

double weft_h2h_compute_s(const weft_h2h_layer *l, const weft_h2h_device *d)
{
    switch (l->kind) {
    case WEFT_H2H_CONV:
        return conv_s(l, d);
    case WEFT_H2H_LSTM:
        return (double)l->r *
               widest_s(d, 4 * l->m * (l->n + l->m) + l->n, 8 * l->m * (l->n + l->m), l->m);
    default:
        return widest_s(d, l->m * l->n + l->n * l->k, 2 * l->m * l->n * l->k, l->m * l->k);
    }
}

int64_t weft_h2h_room(const weft_h2h_device *d)
{
    double elements = d->memory_bytes * d->pinned_share * 8 / BITS;
    double units = ceil(elements / (double)PINNED_UNIT);

    return units < (double)(INT64_MAX / 2) ? (int64_t)units : INT64_MAX / 2;
}
