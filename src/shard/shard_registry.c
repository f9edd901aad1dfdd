/* SPDX-License-Identifier: MIT */
/* shard_registry.c: the solvers of sharded networks by number and by name, from the simplest to the
 * most elaborate; and the methods of bounds that rest on a search. A new one is a file and a row.
 */
#include "baseline.h"
#include "search.h"
#include "shard.h"

#include <string.h>

static const weft_shard_solver *const solvers[] = {
    &weft_shard_longest_group,
    &weft_shard_longest_all,
    &weft_shard_uniform,
    &weft_shard_random,
    &weft_shard_herald,
    &weft_shard_h2h,
    &weft_shard_h2h_repaired,
    &weft_shard_streams,
    &weft_shard_ga,
    &weft_shard_auto,
    NULL, /* the end */
};

int weft_shard_count(void)
{
    return (int)(sizeof solvers / sizeof *solvers) - 1;
}

const weft_shard_solver *weft_shard_at(int i)
{
    return solvers[i];
}

const weft_shard_solver *weft_shard_find(const char *name)
{
    for (int i = 0; solvers[i] != NULL; i++)
        if (strcmp(solvers[i]->name, name) == 0)
            return solvers[i];
    return NULL;
}

bool weft_shard_method_is_search(const char *method)
{
    static const char *const searches[] = {"sharding search", "placement search"};

    for (size_t i = 0; method != NULL && i < sizeof searches / sizeof *searches; i++)
        if (strcmp(method, searches[i]) == 0)
            return true;
    return false;
}
