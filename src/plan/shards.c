/* SPDX-License-Identifier: MIT */
/* shards.c: empty plans of sharded networks, what device sets are.
 *
 * Links of sets: the slowest pair of devices, by the platform's routes in both directions. A pair
 * that is not connected makes the bandwidth 0. */
#include <math.h>
#include <string.h>

#include "weft/plan.h"

weft_shards weft_shards_new(int n_sets, int n_steps, weft_arena *a)
{
    return (weft_shards){n_sets,
                         WEFT_NEW(a, weft_team, n_sets),
                         n_steps,
                         WEFT_NEW(a, int, n_steps),
                         WEFT_NEW(a, weft_split, n_steps),
                         WEFT_NEW(a, double, n_steps)};
}

weft_shards weft_shards_copy(const weft_shards *s, weft_arena *a)
{
    size_t n = (size_t)s->n_steps;

    return (weft_shards){s->n_sets,
                         weft_arena_copy(a, s->set, (size_t)s->n_sets * sizeof *s->set),
                         s->n_steps,
                         weft_arena_copy(a, s->set_of, n * sizeof *s->set_of),
                         weft_arena_copy(a, s->split, n * sizeof *s->split),
                         weft_arena_copy(a, s->start_s, n * sizeof *s->start_s)};
}

/* --- device sets ----------------------------------------------------------------------------- */

static const weft_device *first_member(const weft_sharding *p, const weft_team *t)
{
    return &p->platform->device[t->member[0]];
}

const weft_design *weft_team_design(const weft_sharding *p, const weft_team *t)
{
    return &first_member(p, t)->design[t->design];
}

double weft_team_memory(const weft_sharding *p, const weft_team *t)
{
    return first_member(p, t)->memory_bytes;
}

static const weft_span SAME_DEVICE = {0, INFINITY};

static void slow_down(const weft_sharding *p, int from, int to, weft_span *span)
{
    const weft_route *r = weft_platform_route(p->platform, from, to);

    if (from == to)
        return;
    span->latency_s = fmax(span->latency_s, r->n_hops < 0 ? 0 : r->latency_s);
    span->bytes_per_s = fmin(span->bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
}

weft_span weft_team_span(const weft_sharding *p, const weft_team *t)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->n; j++)
            slow_down(p, t->member[i], t->member[j], &span);
    return span;
}

weft_span weft_pair_span(const weft_sharding *p, const weft_team *from, const weft_team *to)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < from->n; i++)
        for (int j = 0; j < to->n; j++)
            slow_down(p, from->member[i], to->member[j], &span);
    return span;
}

weft_span weft_host_span(const weft_sharding *p, const weft_team *t)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < t->n && p->platform->host >= 0; i++) {
        slow_down(p, p->platform->host, t->member[i], &span);
        slow_down(p, t->member[i], p->platform->host, &span);
    }
    return span;
}
