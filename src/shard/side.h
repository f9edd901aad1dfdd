/* SPDX-License-Identifier: MIT */
/* Steps side by side on disjoint sets. */
#ifndef WEFT_SIDE_H
#define WEFT_SIDE_H

#include "shard.h"

/* Accelerators of which no two can form a set, each with one design, and steps that need something
 * of every operand: a problem of placement. */
bool weft_single_applies(const weft_shard_problem *p);
/* Solves it with o->placer: the plan, and a bound for all plans. */
weft_status weft_single_solve(const weft_shard_problem *p, const weft_shard_options *o,
                              weft_run *run, weft_shard_plan *plan, weft_proof *proof);

/* Any platform. */
weft_status weft_side_solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                            weft_shard_plan *plan, weft_proof *proof);

#endif
