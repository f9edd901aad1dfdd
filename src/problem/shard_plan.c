/* SPDX-License-Identifier: MIT */
/* shard_plan.c: empty plans of sharded networks, what device sets are.
 *
 * Links of sets: the slowest pair of devices, by the platform's routes in both directions. A pair
 * that is not connected makes the bandwidth 0. */
#include <math.h>
#include <string.h>

#include "problem.h"

weft_shard_plan weft_shard_plan_new(int n_sets, int n_steps, weft_arena *a)
{
    return (weft_shard_plan){n_sets,
                             WEFT_NEW(a, weft_device_set, n_sets),
                             n_steps,
                             WEFT_NEW(a, int, n_steps),
                             WEFT_NEW(a, weft_split, n_steps),
                             WEFT_NEW(a, double, n_steps)};
}

weft_shard_plan weft_shard_plan_copy(const weft_shard_plan *s, weft_arena *a)
{
    size_t n = (size_t)s->n_steps;

    return (weft_shard_plan){s->n_sets,
                             weft_arena_copy(a, s->set, (size_t)s->n_sets * sizeof *s->set),
                             s->n_steps,
                             weft_arena_copy(a, s->set_of, n * sizeof *s->set_of),
                             weft_arena_copy(a, s->split, n * sizeof *s->split),
                             weft_arena_copy(a, s->start_s, n * sizeof *s->start_s)};
}

/* --- device sets ----------------------------------------------------------------------------- */

static const weft_device *first_member(const weft_shard_problem *p, const weft_device_set *t)
{
    return &p->platform->device[t->member[0]];
}

const weft_design *weft_device_set_design(const weft_shard_problem *p, const weft_device_set *t)
{
    return &first_member(p, t)->design[t->design];
}

double weft_device_set_memory(const weft_shard_problem *p, const weft_device_set *t)
{
    return first_member(p, t)->memory_bytes;
}

static const weft_link_cost SAME_DEVICE = {0, INFINITY};

weft_link_cost weft_device_set_link(const weft_shard_problem *p, const weft_device_set *t)
{
    weft_link_cost slowest = SAME_DEVICE;

    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->n; j++)
            weft_link_cost_take(p->platform, t->member[i], t->member[j], &slowest);
    return slowest;
}

weft_link_cost weft_pair_link_cost(const weft_shard_problem *p, const weft_device_set *from,
                                   const weft_device_set *to)
{
    weft_link_cost slowest = SAME_DEVICE;

    for (int i = 0; i < from->n; i++)
        for (int j = 0; j < to->n; j++)
            weft_link_cost_take(p->platform, from->member[i], to->member[j], &slowest);
    return slowest;
}

weft_link_cost weft_host_link_cost(const weft_shard_problem *p, const weft_device_set *t)
{
    weft_link_cost slowest = SAME_DEVICE;

    for (int i = 0; i < t->n && p->platform->host >= 0; i++) {
        weft_link_cost_take(p->platform, p->platform->host, t->member[i], &slowest);
        weft_link_cost_take(p->platform, t->member[i], p->platform->host, &slowest);
    }
    return slowest;
}
