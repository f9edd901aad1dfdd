/* SPDX-License-Identifier: MIT */
/* Plans with fewer switches: segments moved to the devices beside them. */
#ifndef WEFT_MERGE_H
#define WEFT_MERGE_H

#include "first.h"

/* Do switches take time, or do constraints speak of segments or stages? Else nothing is to be done
 * here. */
bool weft_merge_matters(const weft_problem *p);
/* Moves segments until the plan keeps what is asked of segments and stages, and keeps it in `best` if
 * it is better. `plan` needs devices and starts of a plan that runs; it is changed. */
void weft_merge_repair(weft_best *best, const weft_problem *p, weft_plan *plan, weft_run *run);
/* Plans of intervals, and those of list schedulers repaired if segments or stages are asked for;
 * then makes the best plan better. With enough time no kernel is left alone among kernels of other devices that could go to
 * one of these without loss. */
WEFT_CHECKED weft_status weft_merge_best(weft_best *best, const weft_problem *p, weft_run *run);

/* Plans whose segments are intervals of an order of the tasks, as long and as few as is asked for;
 * the best of them, by simulation, if it is better than `best`. */
void weft_intervals_try(const weft_domain *m, weft_best *best, weft_arena *a);

#endif
