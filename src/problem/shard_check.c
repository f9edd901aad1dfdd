/* SPDX-License-Identifier: MIT */
/* shard_check.c: the rules that a plan of a sharded network must keep, by their definitions alone.
 *
 * 1. Sets: of accelerators, none in two sets or twice in one, all members of one kind with equal
 *    memory and connected; the design is one that they offer.
 * 2. Steps: each on a set that exists, cut by a split that is valid over as many members, without
 *    rotating shards if these are not allowed, on a design that can run it; starts are times.
 * 3. Steps do not start before those that they read from; if asked for, the steps of each set are
 *    one stretch of the network, by number: other orders that the edges allow do not count.
 * 4. The weights of a set's steps fit into the memory of a member. (Everything else in memory
 *    depends on time: the simulator says it.)
 * A rule that cannot be looked at because an earlier one is broken is left out. */
#include <math.h>
#include <string.h>

#include "shard_plan.h"
#include "violations.h"

typedef struct checker {
    const weft_shard_problem *p;
    const weft_shard_plan *s;
    weft_violations v;
} checker;

static const char *name_of(const checker *c, int device)
{
    return c->p->platform->device[device].name;
}

/* --- sets ------------------------------------------------------------------------------------ */

/* All members are devices of the platform, and there are some. */
static bool has_devices(checker *c, int set)
{
    const weft_device_set *t = &c->s->set[set];

    if (t->n < 1 || t->n > WEFT_MAX_MEMBERS) {
        weft_violate(&c->v, "set %d has %d devices, expected 1 to %d", set, t->n,
                     (int)WEFT_MAX_MEMBERS);
        return false;
    }
    for (int i = 0; i < t->n; i++)
        if (t->member[i] < 0 || t->member[i] >= c->p->platform->n_devices) {
            weft_violate(&c->v, "set %d has device %d, expected 0 to %d", set, t->member[i],
                         c->p->platform->n_devices - 1);
            return false;
        }
    return true;
}

static bool are_equal(const weft_device *a, const weft_device *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->n_designs == b->n_designs &&
           (a->memory_bytes <= b->memory_bytes && a->memory_bytes >= b->memory_bytes);
}

static void check_members(checker *c, int set, int *set_of_device)
{
    const weft_device_set *t = &c->s->set[set];
    const weft_device *device = c->p->platform->device;

    for (int i = 0; i < t->n; i++) {
        int d = t->member[i];

        if (d == c->p->platform->host)
            weft_violate(&c->v, "set %d has '%s', which is the host", set, name_of(c, d));
        if (set_of_device[d] == set)
            weft_violate(&c->v, "set %d has '%s' twice", set, name_of(c, d));
        else if (set_of_device[d] >= 0)
            weft_violate(&c->v, "'%s' is in set %d and in set %d", name_of(c, d), set_of_device[d],
                         set);
        set_of_device[d] = set;
        if (!are_equal(&device[t->member[0]], &device[d]))
            weft_violate(&c->v,
                         "set %d has '%s' and '%s', which are not of one kind with "
                         "equal memory",
                         set, name_of(c, t->member[0]), name_of(c, d));
    }
}

static bool check_set(checker *c, int set, int *set_of_device)
{
    const weft_device_set *t = &c->s->set[set];
    int n_designs;

    if (!has_devices(c, set))
        return false;
    check_members(c, set, set_of_device);
    if (!(weft_device_set_link(c->p, t).bytes_per_s > 0))
        weft_violate(&c->v, "set %d has devices that are not connected", set);
    n_designs = c->p->platform->device[t->member[0]].n_designs;
    if (t->design >= 0 && t->design < n_designs)
        return true;
    weft_violate(&c->v, "set %d has design %d, '%s' offers %d", set, t->design,
                 name_of(c, t->member[0]), n_designs);
    return false;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void check_split(checker *c, int v, weft_split_cost *mode)
{
    const weft_steps *steps = c->p->steps;
    const weft_split *split = &c->s->split[v];
    const weft_device_set *t = &c->s->set[c->s->set_of[v]];
    const weft_design *design = weft_device_set_design(c->p, t);

    if (split->n != t->n) {
        weft_violate(&c->v, "step '%s' is cut for %d devices, its set %d has %d",
                     weft_step_name(steps, v), split->n, c->s->set_of[v], t->n);
        return;
    }
    if (!weft_split_is_valid(steps, v, split)) {
        weft_violate(&c->v, "step '%s' is cut in a way that it does not allow",
                     weft_step_name(steps, v));
        return;
    }
    if (c->p->constraints.has_no_sharing && split->shared >= 0)
        weft_violate(&c->v, "step '%s' has shards that rotate, which is not allowed",
                     weft_step_name(steps, v));
    *mode = weft_split_cost_of(steps, v, split, design);
    if (!(mode->phase_s < INFINITY))
        weft_violate(&c->v, "step '%s' cannot run on set %d as '%s'", weft_step_name(steps, v),
                     c->s->set_of[v], design->name);
}

static void check_step(checker *c, int v, const bool *is_usable, weft_split_cost *mode)
{
    int set = c->s->set_of[v];
    const char *name = weft_step_name(c->p->steps, v);

    if (!(c->s->start_s[v] >= 0 && c->s->start_s[v] < INFINITY))
        weft_violate(&c->v, "step '%s' starts at %g s, which is no time", name, c->s->start_s[v]);
    if (set < 0 || set >= c->s->n_sets)
        weft_violate(&c->v, "step '%s' is on set %d, expected 0 to %d", name, set,
                     c->s->n_sets - 1);
    else if (is_usable[set])
        check_split(c, v, mode);
}

/* --- order and memory ------------------------------------------------------------------------ */

static void check_stretches(checker *c)
{
    bool *is_over = WEFT_NEW(c->v.a, bool, c->s->n_sets + 1);

    for (int v = 0; v < c->s->n_steps; v++) {
        int set = c->s->set_of[v], before = v > 0 ? c->s->set_of[v - 1] : set;

        if (before != set)
            is_over[before] = true;
        if (before != set && is_over[set])
            weft_violate(&c->v,
                         "step '%s' is on set %d, which ran earlier steps and then "
                         "paused: its steps are no stretch of the network",
                         weft_step_name(c->p->steps, v), set);
    }
}

static void check_order(checker *c, const weft_split_cost *mode)
{
    weft_shard_plan_costs costs = weft_shard_plan_costs_of(c->p, c->s, mode, c->v.a);

    if (weft_shard_plan_order(&costs, c->v.a) == NULL)
        weft_violate(&c->v, "the order of starts contradicts what steps read from each other");
    if (c->p->constraints.is_contiguous)
        check_stretches(c);
}

static void check_weights(checker *c, const weft_split_cost *mode)
{
    double *bytes = WEFT_NEW(c->v.a, double, c->s->n_sets + 1);

    for (int v = 0; v < c->s->n_steps; v++)
        bytes[c->s->set_of[v]] += mode[v].weight_bytes;
    for (int k = 0; k < c->s->n_sets; k++)
        if (bytes[k] > weft_device_set_memory(c->p, &c->s->set[k]))
            weft_violate(&c->v,
                         "the weights of set %d take %.12g bytes on '%s', which has "
                         "%.12g",
                         k, bytes[k], name_of(c, c->s->set[k].member[0]),
                         weft_device_set_memory(c->p, &c->s->set[k]));
}

int weft_shard_plan_form(const weft_shard_problem *p, const weft_shard_plan *s,
                         weft_violation *violation, int most, weft_arena *a, weft_split_cost *mode)
{
    checker c = {
        p, s, {violation, 0, most, a, 0}
    };
    int *set_of_device = WEFT_NEW(a, int, p->platform->n_devices);
    bool *is_usable = WEFT_NEW(a, bool, s->n_sets + 1);

    if (s->n_steps != p->steps->n) {
        weft_violate(&c.v, "the plan has %d steps, the network has %d", s->n_steps, p->steps->n);
        return c.v.n;
    }
    for (int d = 0; d < p->platform->n_devices; d++)
        set_of_device[d] = -1;
    for (int k = 0; k < s->n_sets; k++)
        is_usable[k] = check_set(&c, k, set_of_device);
    for (int v = 0; v < s->n_steps; v++)
        check_step(&c, v, is_usable, &mode[v]);
    return c.v.n;
}

int weft_shard_plan_check(const weft_shard_problem *p, const weft_shard_plan *s,
                          weft_violation *violation, int most, weft_arena *a)
{
    weft_split_cost *mode = WEFT_NEW(a, weft_split_cost, s->n_steps + 1);
    int n = weft_shard_plan_form(p, s, violation, most, a, mode);
    checker c = {
        p, s, {violation, n, most, a, 0}
    };

    if (c.v.n > 0)
        return c.v.n;
    check_order(&c, mode);
    check_weights(&c, mode);
    return c.v.n;
}
