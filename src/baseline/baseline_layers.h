/* SPDX-License-Identifier: MIT */
/* The layers of a network as mappers of single accelerators see them: see baseline_layers.c. */
#ifndef WEFT_BASE_LAYERS_H
#define WEFT_BASE_LAYERS_H

#include "baseline.h"

typedef struct weft_layers {
    weft_baseline *base;
    weft_baseline_sets sets; /* one accelerator each, with the design that suits it best */
    int n;
    int *layer_of;                        /* [n_steps] -1: none */
    int *step_of;                         /* [n] in the order of steps */
    int *from_at, *from;                  /* steps that layer l of that order reads */
    int *stream, *place;                  /* [n_steps] of layers; places count from 1 */
    int *rank;                            /* [n_steps] number of a layer by stream and place */
    int *pred_at, *pred, *succ_at, *succ; /* by rank; the edge along a stream comes first */
} weft_layers;

weft_layers weft_layers_new(weft_baseline *b);
/* The first multiply-accumulate nest of a step's head; false: there is none. */
bool weft_layers_nest(const weft_steps *s, int u, weft_nest *out);
/* Sets and starts of all steps from those of layers, by rank. start_s NULL: in the order of steps.
 */
void weft_layers_ride(const weft_layers *x, const int *device, const double *start_s, weft_draft *d,
                      double *step_start_s);

#endif
