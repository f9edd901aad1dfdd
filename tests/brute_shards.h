/* SPDX-License-Identifier: MIT */
/* The best sharded plan by trying every one: the oracle of the search, with no code of it. Seconds
 * come from split.h and problem.h alone; where memory is limited, the simulator and the checker say
 * what fits. Whoever includes this links brute_shards.c. */
#ifndef WEFT_BRUTE_SHARDS_H
#define WEFT_BRUTE_SHARDS_H

#include "sim.h"

enum { BRUTE_MOST_ACCELERATORS = 4, BRUTE_MOST_STEPS = 6 };

typedef struct brute_shards_answer {
    double value;         /* INFINITY: there is no plan */
    weft_shard_plan plan; /* of that value; starts give the order */
    int64_t n_setups;     /* configurations: sets of any devices, with designs */
    int64_t n_plans;      /* plans that were better than all before, had they kept the limits */
} brute_shards_answer;

/* The least latency over all partitions of the accelerators into sets, all designs, all sets and
 * splits for each step, and all orders where they matter. One after the other or side by side
 * (then without `hides`), contiguous or not, as the problem asks; with has_memory only plans that
 * fit. The plan belongs to `a`. */
brute_shards_answer brute_shards(const weft_shard_problem *p, bool has_memory, weft_arena *a);
/* The same with every plan checked and valued by the simulator alone, also with `hides` side by
 * side. Plans are counted in n_plans; if there are more than most_plans, the answer says nothing.
 */
brute_shards_answer brute_shards_simulated(const weft_shard_problem *p, bool has_memory,
                                           int64_t most_plans, weft_arena *a);

#endif
