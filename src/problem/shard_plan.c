/* SPDX-License-Identifier: MIT */
/* shard_plan.c: empty plans of sharded networks, what device sets are.
 *
 * Links of sets: the slowest pair of devices, by the platform's routes in both directions. A pair
 * that is not connected makes the bandwidth 0. What the platform shares, all receivers use at the same
 * time (members that send to the host: all senders): each gets its part. */
#include <math.h>
#include <string.h>

#include "shard_plan.h"

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

static const weft_link_cost SAME_DEVICE = {.bytes_per_s = INFINITY};

/* Receivers get their bytes at the same time, each from any of the senders. */
static void share(const weft_platform *p, const int *from, int n_from, const int *to, int n_to,
                  weft_link_cost *slowest)
{
    weft_arena *a;
    weft_users u;

    if (p->n_resources == 0 && p->transfer != WEFT_CONTEND)
        return;
    a = weft_arena_new();
    u = weft_users_new(p, true, a);
    for (int j = 0; j < n_to; j++)
        weft_users_receive(&u, from, n_from, to[j], 0);
    weft_users_slow(&u, slowest);
    weft_arena_free(a);
}

weft_link_cost weft_device_set_link(const weft_shard_problem *p, const weft_device_set *t)
{
    weft_link_cost slowest = SAME_DEVICE;

    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->n; j++)
            weft_link_cost_take(p->platform, t->member[i], t->member[j], &slowest);
    share(p->platform, t->member, t->n, t->member, t->n, &slowest);
    return slowest;
}

weft_link_cost weft_pair_link_cost(const weft_shard_problem *p, const weft_device_set *from,
                                   const weft_device_set *to)
{
    weft_link_cost slowest = SAME_DEVICE;

    for (int i = 0; i < from->n; i++)
        for (int j = 0; j < to->n; j++)
            weft_link_cost_take(p->platform, from->member[i], to->member[j], &slowest);
    share(p->platform, from->member, from->n, to->member, to->n, &slowest);
    return slowest;
}

/* Members send to the host at the same time. */
static void share_with_host(const weft_platform *p, const weft_device_set *t,
                            weft_link_cost *slowest)
{
    weft_arena *a;
    weft_users u;

    if (p->n_resources == 0 && p->transfer != WEFT_CONTEND)
        return;
    a = weft_arena_new();
    u = weft_users_new(p, true, a);
    for (int j = 0; j < t->n; j++)
        weft_users_add(&u, t->member[j], p->host, 0);
    weft_users_slow(&u, slowest);
    weft_arena_free(a);
}

weft_link_cost weft_host_link_cost(const weft_shard_problem *p, const weft_device_set *t)
{
    weft_link_cost slowest = SAME_DEVICE;
    int host = p->platform->host;

    if (host < 0)
        return slowest;
    for (int i = 0; i < t->n; i++) {
        weft_link_cost_take(p->platform, host, t->member[i], &slowest);
        weft_link_cost_take(p->platform, t->member[i], host, &slowest);
    }
    share(p->platform, &host, 1, t->member, t->n, &slowest);
    share_with_host(p->platform, t, &slowest);
    return slowest;
}

weft_shared_way weft_shared_way_of(const weft_shard_problem *p, const weft_device_set *from,
                                   const weft_device_set *to, weft_arena *a)
{
    int host = p->platform->host, n_from = from != NULL ? from->n : 1;
    const int *sender = from != NULL ? from->member : &host;
    weft_users u = weft_users_new(p->platform, true, a);
    int *list = WEFT_NEW(a, int, u.n_shared + 1), n = 0;
    weft_shared_way way = {.link = SAME_DEVICE, .n_shared = u.n_shared, .resource = list};

    if (u.n_shared == 0 || (host < 0 && (from == NULL || to == NULL)))
        return way;
    for (int j = 0; to == NULL && j < n_from; j++)
        weft_users_add(&u, sender[j], host, 0);
    for (int j = 0; to != NULL && j < to->n; j++)
        weft_users_receive(&u, sender, n_from, to->member[j], 0);
    weft_users_slow(&u, &way.link);
    for (int i = 0; i < u.n_shared; i++)
        if (u.n[i] > 0)
            list[n++] = i;
    way.n = n;
    return way;
}
