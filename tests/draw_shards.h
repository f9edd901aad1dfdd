/* SPDX-License-Identifier: MIT */
/* Random plans of sharded networks, and small platforms for them. Whoever includes this links
 * draw_shards.c. */
#ifndef WEFT_DRAW_SHARDS_H
#define WEFT_DRAW_SHARDS_H

#include "kind.h"

/* Four accelerators of two designs around a host, and one of another kind; links of 1 GB/s and 10
 * us inside, 0.25 GB/s and 20 us to the host. */
extern const char draw_mixed[];
/* The same without host, and with communication hidden behind computation. */
extern const char draw_hostless[], draw_hiding[];

/* A network on a platform, which is given as YAML. */
weft_shard_case draw_case(const char *model, const char *platform_yaml,
                          const weft_shard_constraints *constraints);

/* Sets, designs and splits at random, all of them legal but for memory; steps in a random order
 * that agrees with the network, one stretch a set if that is asked for. Belongs to `a`. */
weft_shard_plan draw_shards(const weft_shard_problem *p, weft_rng *r, weft_arena *a);

#endif
