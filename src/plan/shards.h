/* SPDX-License-Identifier: MIT */
/* Shared by the rules and the simulator of sharded networks. */
#ifndef WEFT_PLAN_SHARDS_H
#define WEFT_PLAN_SHARDS_H

#include "weft/plan.h"

/* Rules that hold whatever the order and the memory are (1 and 2 of shards_check.c); fills
 * mode[n_steps]. A plan without breaches can be simulated. */
int weft_shards_form(const weft_sharding *p, const weft_shards *s, weft_breach *breach, int most,
                     weft_arena *a, weft_mode *mode);
/* Which steps take no time once their operands are there, [n_steps] in `a`. */
const bool *weft_shards_short(const weft_sharding *p, const weft_shards *s, const weft_mode *mode,
                              weft_arena *a);

#endif
