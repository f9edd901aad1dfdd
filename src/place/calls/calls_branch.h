/* SPDX-License-Identifier: MIT */
/* On which assumption a search for pipelines branches next (calls_branch.c). */
#ifndef WEFT_PLACE_CALLS_BRANCH_H
#define WEFT_PLACE_CALLS_BRANCH_H

#include "calls.h"

/* Blocks from `first` on were left to themselves by a bound, and placed as in `l`. Fills *rule with two tasks
 * to assume together or apart. False if every such block is apart from all its neighbours already. */
bool weft_calls_next_rule(const weft_calls_loads *l, int first, weft_calls_rule *rule);

#endif
