/* SPDX-License-Identifier: MIT */
/* configurations.c: the configurations, device sets with a design each.
 *
 * A set is known by how many accelerators of each class of equals it has (repeats.c), and by its
 * design: its kind. A configuration is a multiset of kinds that together need no more accelerators
 * than there are.
 *
 *  1. Kinds: all vectors of counts over the classes of one kind of device, times the designs.
 *  2. Configurations: kinds in rising order, depth first, as long as accelerators are left. Those
 *     to which nothing can be added are enough: a set that runs nothing costs nothing, so adding
 *     sets never hurts. If sets of one kind are as good as one (no memory binds, one step runs at a
 *     time, and a set may pause), kinds are taken once.
 *  3. More than `most`: a selection instead. Accelerators are put in the order of the hierarchy of
 *     bandwidths (from the first on, always the one with the fastest link to those before it), and
 *     sets are ranges of that order: one, two, or three ranges side by side, the sizes of three
 *     being powers of two or what is left; and one set for each kind of device. */
#include "sets.h"

#include <string.h>

typedef struct list {
    const weft_shard_problem *p;
    weft_configurations *out;
    weft_arena *a;
    int most;
    bool is_distinct, is_full;
    int *left;                    /* [n_classes] accelerators that are free */
    int *chosen;                  /* kinds on the way down */
    int most_kinds, most_configs; /* for which there is room */
} list;

/* --- kinds ----------------------------------------------------------------------------------- */

static void device_set_of(const weft_repeats *t, const uint8_t *count, const int *skip,
                          weft_device_set *out)
{
    out->n = 0;
    for (int c = 0; c < t->n_classes; c++)
        for (int i = 0; i < count[c]; i++)
            out->member[out->n++] = t->device[c][(skip ? skip[c] : 0) + i];
}

static int add_kind(list *l, const uint8_t *count, int design)
{
    weft_configurations *s = l->out;
    int n_classes = s->equals->n_classes;
    weft_set_kind *k;

    if (s->n_kinds == l->most_kinds)
        s->kind = weft_arena_grow(l->a, s->kind, s->n_kinds, &l->most_kinds, sizeof *s->kind);
    k = &s->kind[s->n_kinds];
    k->design = design;
    k->count = weft_arena_copy(l->a, count, (size_t)n_classes);
    device_set_of(s->equals, count, NULL, &k->device_set);
    k->device_set.design = design;
    k->n = k->device_set.n;
    k->link = weft_device_set_link(l->p, &k->device_set);
    k->host = weft_host_link_cost(l->p, &k->device_set);
    k->memory_bytes = weft_device_set_memory(l->p, &k->device_set);
    return s->n_kinds++;
}

static int n_designs(const list *l, const uint8_t *count)
{
    const weft_repeats *t = l->out->equals;

    for (int c = 0; c < t->n_classes; c++)
        if (count[c] > 0)
            return l->p->platform->device[t->device[c][0]].n_designs;
    return 0;
}

static void add_designs(list *l, const uint8_t *count)
{
    int n = n_designs(l, count), members = 0;
    weft_device_set device_set;

    for (int c = 0; c < l->out->equals->n_classes; c++)
        members += count[c];
    if (members > WEFT_MAX_MEMBERS)
        return;
    device_set_of(l->out->equals, count, NULL, &device_set);
    if (device_set.n > 1 && !(weft_device_set_link(l->p, &device_set).bytes_per_s > 0))
        return; /* members that are not connected cannot work together */
    for (int d = 0; d < n; d++)
        (void)add_kind(l, count, d);
}

/* All vectors over classes c.. of device kind `kind`; more than l->most ends it. */
static void add_vectors(list *l, int c, int kind, uint8_t *count, int n_members)
{
    const weft_repeats *t = l->out->equals;

    if (l->is_full)
        return;
    if (c == t->n_classes) {
        if (n_members > 0)
            add_designs(l, count);
        l->is_full = l->out->n_kinds > l->most;
        return;
    }
    for (int i = t->kind[c] == kind ? t->n_in[c] : 0; i >= 0; i--) {
        count[c] = (uint8_t)i;
        add_vectors(l, c + 1, kind, count, n_members + i);
    }
    count[c] = 0;
}

/* --- all configurations ---------------------------------------------------------------------- */

static bool fits(const list *l, int kind)
{
    const weft_set_kind *k = &l->out->kind[kind];

    for (int c = 0; c < l->out->equals->n_classes; c++)
        if (k->count[c] > l->left[c])
            return false;
    return true;
}

static void take(list *l, int kind, int sign)
{
    for (int c = 0; c < l->out->equals->n_classes; c++)
        l->left[c] -= sign * l->out->kind[kind].count[c];
}

static void add_config(list *l, const int *kind, int n)
{
    weft_configurations *s = l->out;

    if (s->n == l->most_configs)
        s->config = weft_arena_grow(l->a, s->config, s->n, &l->most_configs, sizeof *s->config);
    s->config[s->n++] = (weft_configuration){
        n, weft_arena_copy(l->a, kind, sizeof *kind * (size_t)(n > 0 ? n : 1))};
    l->is_full = s->n > l->most;
}

static bool is_chosen(const list *l, int n, int kind)
{
    for (int i = 0; i < n; i++)
        if (l->chosen[i] == kind)
            return true;
    return false;
}

/* Could any kind be added to the chosen ones? */
static bool can_grow(const list *l, int n)
{
    for (int k = 0; k < l->out->n_kinds; k++)
        if (fits(l, k) && !(l->is_distinct && is_chosen(l, n, k)))
            return true;
    return false;
}

static void add_configs(list *l, int first, int n)
{
    bool is_end = true;

    for (int k = first; k < l->out->n_kinds && !l->is_full; k++) {
        if (!fits(l, k))
            continue;
        is_end = false;
        l->chosen[n] = k;
        take(l, k, 1);
        add_configs(l, l->is_distinct ? k + 1 : k, n + 1);
        take(l, k, -1);
    }
    if (!l->is_full && n > 0 && is_end && !can_grow(l, n))
        add_config(l, l->chosen, n);
}

/* --- a selection ----------------------------------------------------------------------------- */

static double bandwidth(const weft_platform *p, int a, int b)
{
    const weft_route *r = weft_platform_route(p, a, b);

    return r->n_hops < 0 ? 0 : r->bytes_per_s;
}

/* Places of accelerators, nearest first. */
static int *near_order(const weft_shard_problem *p, const weft_repeats *t, weft_arena *a)
{
    int n = p->n_accelerators, *order = WEFT_NEW(a, int, n);
    bool *is_taken = WEFT_NEW(a, bool, n);
    double *near = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++) {
        int best = -1;

        for (int k = 0; k < n; k++) { /* of the kind that was begun first, then by bandwidth */
            bool is_kin = i > 0 && t->kind[t->class_of[k]] == t->kind[t->class_of[order[i - 1]]];
            bool is_best_kin = best >= 0 && i > 0 &&
                               t->kind[t->class_of[best]] == t->kind[t->class_of[order[i - 1]]];

            if (!is_taken[k] && (best < 0 || (is_kin && !is_best_kin) ||
                                 (is_kin == is_best_kin && near[k] > near[best])))
                best = k;
        }
        order[i] = best;
        is_taken[best] = true;
        for (int k = 0; k < n; k++)
            if (bandwidth(p->platform, p->accelerator[best], p->accelerator[k]) > near[k])
                near[k] = bandwidth(p->platform, p->accelerator[best], p->accelerator[k]);
    }
    return order;
}

/* The first kind of the range order[from .. to) of equal devices, or -1; its designs follow. */
static int range_kind(list *l, const int *order, int from, int to)
{
    const weft_repeats *t = l->out->equals;
    uint8_t *count = WEFT_NEW(l->a, uint8_t, t->n_classes);
    int before = l->out->n_kinds;

    for (int i = from; i < to; i++) {
        if (t->kind[t->class_of[order[i]]] != t->kind[t->class_of[order[from]]])
            return -1;
        count[t->class_of[order[i]]]++;
    }
    for (int k = 0; k < before; k++)
        if (memcmp(l->out->kind[k].count, count, (size_t)t->n_classes) == 0)
            return k;
    add_designs(l, count);
    return l->out->n_kinds > before ? before : -1;
}

/* Ranges one after the other from `at` on; `most` of them, sizes as step 3 says. */
static void add_ranges(list *l, const int *order, int at, int n, int most)
{
    int end = l->p->n_accelerators;

    if (n > 0 && (at == end || most == 0)) {
        add_config(l, l->chosen, n);
        return;
    }
    for (int to = end; to > at && !l->is_full; to--) {
        int size = to - at, first;
        bool is_power = (size & (size - 1)) == 0;

        if ((most == 1 && to != end) || (most == 3 && !is_power) ||
            (most == 2 && n == 1 && to != end && !is_power))
            continue;
        first = range_kind(l, order, at, to);
        for (int d = 0; first >= 0 && d < n_designs(l, l->out->kind[first].count); d++) {
            l->chosen[n] = first + d;
            add_ranges(l, order, to, n + 1, most - 1);
        }
    }
}

/* One set for each kind of device: what there is if ranges do not work out. */
static void add_whole_kinds(list *l)
{
    const weft_repeats *t = l->out->equals;
    int n = 0;

    for (int c = 0; c < t->n_classes; c++) {
        uint8_t *count = WEFT_NEW(l->a, uint8_t, t->n_classes);
        int before = l->out->n_kinds;

        if (t->kind[c] != c)
            continue;
        for (int b = 0; b < t->n_classes; b++)
            count[b] = (uint8_t)(t->kind[b] == c ? t->n_in[b] : 0);
        add_designs(l, count);
        if (l->out->n_kinds > before)
            l->chosen[n++] = before;
    }
    if (n > 0)
        add_config(l, l->chosen, n);
}

static void select_configs(list *l, int most)
{
    int *order = near_order(l->p, l->out->equals, l->a);

    l->out->n_kinds = l->out->n = 0;
    l->out->is_complete = false;
    l->most = most;
    for (int n_ranges = 1; n_ranges <= 3; n_ranges++) {
        l->is_full = false;
        add_ranges(l, order, 0, 0, n_ranges);
    }
    add_whole_kinds(l);
}

weft_configurations *weft_configurations_new(const weft_shard_problem *p, int most,
                                             bool is_distinct, weft_arena *a)
{
    weft_configurations *s = WEFT_NEW(a, weft_configurations, 1);
    weft_repeats *t = WEFT_NEW(a, weft_repeats, 1);
    list l = {.p = p, .out = s, .a = a, .most = most, .is_distinct = is_distinct};

    *t = weft_repeats_find(p, a);
    s->equals = t;
    s->is_complete = true;
    l.left = weft_arena_copy(a, t->n_in, sizeof *t->n_in * (size_t)t->n_classes);
    l.chosen = WEFT_NEW(a, int, p->n_accelerators + 1);
    for (int c = 0; c < t->n_classes; c++)
        if (t->kind[c] == c)
            add_vectors(&l, 0, c, WEFT_NEW(a, uint8_t, t->n_classes), 0);
    if (!l.is_full)
        add_configs(&l, 0, 0);
    if (l.is_full)
        select_configs(&l, most);
    return s;
}

void weft_configuration_device_sets(const weft_shard_problem *p, const weft_configurations *s,
                                    int config, weft_device_set *out)
{
    const weft_configuration *u = &s->config[config];
    int used[WEFT_MAX_MEMBERS] = {0}; /* of each class; there are no more classes than members */

    (void)p;
    for (int i = 0; i < u->n_sets; i++) {
        const weft_set_kind *k = &s->kind[u->kind[i]];

        device_set_of(s->equals, k->count, used, &out[i]);
        out[i].design = k->design;
        for (int c = 0; c < s->equals->n_classes; c++)
            used[c] += k->count[c];
    }
}
