/* SPDX-License-Identifier: MIT */
/* Improves a plan by simulation. */
#ifndef WEFT_IMPROVE_H
#define WEFT_IMPROVE_H

#include "first.h"

/* Anneals the best plan, if there is one, until run->steps simulations are done or the run is over; at
 * least one of both must be limited. Keeps what is better. */
void weft_improve(weft_best *best, const weft_problem *p, weft_run *run);

#endif
