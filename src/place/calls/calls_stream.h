/* SPDX-License-Identifier: MIT */
/* The least period under `calls`: pipelines and free placements. Both fill plan and proof as a
 * solver does; scratch memory comes from the run. */
#ifndef WEFT_PLACE_CALLS_STREAM_H
#define WEFT_PLACE_CALLS_STREAM_H

#include "place.h"

/* The forward tasks of the devices form a chain of stages (ask.is_contiguous). Optimal when it ends
 * within the limits of the run, unless backward tasks without forward partner keep a gap. */
WEFT_CHECKED weft_status weft_calls_contiguous(const weft_problem *p, weft_run *run,
                                               weft_plan *plan, weft_proof *proof);
/* Any placement. A search, with the load bound as its proof. */
WEFT_CHECKED weft_status weft_calls_free(const weft_problem *p, weft_run *run, weft_plan *plan,
                                         weft_proof *proof);

/* Anneals a pipeline, the devices of tasks, until the run is over or bound_s is met. Returns its period;
 * INFINITY: `device` is not a pipeline of whole blocks, and stays. */
double weft_calls_anneal_stages(const weft_problem *p, weft_run *run, double bound_s, int *device);

#endif
