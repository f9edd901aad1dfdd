/* SPDX-License-Identifier: MIT */
/* stages.c: pipeline stages as intervals of an order.
 *
 * 1. Groups in the order of their first forward task. A stage is an interval of this list on one
 *    device, each device has at most one, so stages never form a cycle (if every group is one
 *    task).
 * 2. For a period P: reach[S] = the longest prefix that the devices of S can take, one interval
 *    each, none above P. From reach[S - d], device d goes on as far as P, support and memory allow.
 *    Longer prefixes are never worse: what is left is a suffix, and takes less.
 * 3. The least P whose reach is the whole list, by bisection.
 *
 * Groups without forward tasks go where the load is least, afterwards.
 *
 * Exact if transfers do not count, every forward task follows the one before (then all ideals are
 * prefixes and all stages intervals), groups are single tasks, weights are not shared or memory is
 * not limited, and all devices take part; bound_s is then the P that was refuted, less rounding.
 * Else a start for the search. Time O(2^devices * devices * log tasks) for each P; of more than
 * MOST_DEVICES devices the fastest take part. Least period on chains: Tarnawski et al., NeurIPS
 * 2020, by another dynamic program. */
#include "stages.h"
#include "total.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 12, MOST_ROUNDS = 200 };
static const double ROUNDING = 1e-11;

typedef struct filling {
    const weft_mapping *map;
    const weft_problem *p;
    double part; /* of the memories that may be used */
    int n, n_devices;
    int *bead;             /* [n] groups */
    int *device;           /* [n_devices] that take part */
    weft_total *sum_s;     /* [k * (n + 1) + i] time of beads before i on device[k] */
    int *n_refused;        /* the same: beads it cannot take */
    weft_total *sum_bytes; /* [n + 1] */
    int *reach;            /* [2^n_devices] */
    int *last;             /* [2^n_devices] k of the last stage */
    weft_arena *a;
} filling;

static double group_s(const filling *f, int g, int d)
{
    double seconds = 0;

    for (int i = f->map->member_at[g]; i < f->map->member_at[g + 1]; i++)
        seconds += weft_task_s(f->p, f->map->member[i], d);
    return seconds;
}

static void list_beads(filling *f)
{
    const weft_domain *m = f->map->domain;
    bool *is_listed = WEFT_NEW(f->a, bool, m->n_groups);

    f->bead = WEFT_NEW(f->a, int, m->n_groups);
    for (int u = 0; u < f->p->n_tasks; u++) {
        if (f->p->is_backward[u] || is_listed[m->group[u]])
            continue;
        is_listed[m->group[u]] = true;
        f->bead[f->n++] = m->group[u];
    }
}

/* All devices, or of many those that would take least for all. */
static void list_devices(filling *f)
{
    int n = f->p->n_devices;
    double *total_s = WEFT_NEW(f->a, double, n);

    f->device = WEFT_NEW(f->a, int, n);
    for (int d = 0; d < n; d++) {
        int at = f->n_devices;

        for (int i = 0; i < f->n; i++)
            total_s[d] += fmin(1e30, group_s(f, f->bead[i], d));
        for (; at > 0 && n > MOST_DEVICES && total_s[d] < total_s[f->device[at - 1]]; at--)
            f->device[at] = f->device[at - 1];
        f->device[at] = d;
        f->n_devices++;
    }
    if (f->n_devices > MOST_DEVICES)
        f->n_devices = MOST_DEVICES;
}

static void sum_up(filling *f)
{
    const weft_domain *m = f->map->domain;
    size_t step = (size_t)f->n + 1;

    f->sum_s = WEFT_NEW(f->a, weft_total, step * (size_t)f->n_devices);
    f->n_refused = WEFT_NEW(f->a, int, step *(size_t)f->n_devices);
    f->sum_bytes = WEFT_NEW(f->a, weft_total, step);
    for (int i = 0; i < f->n; i++) {
        int g = f->bead[i];
        double bytes = 0;

        for (int k = m->weight_at[g]; k < m->weight_at[g + 1]; k++)
            bytes += f->p->memory[m->weight[k]];
        f->sum_bytes[i + 1] = weft_total_plus(f->sum_bytes[i], bytes);
        for (int k = 0; k < f->n_devices; k++) {
            size_t at = (size_t)k * step + (size_t)i;
            bool has = m->has[g * f->p->n_devices + f->device[k]];

            f->sum_s[at + 1] = weft_total_plus(f->sum_s[at], has ? group_s(f, g, f->device[k]) : 0);
            f->n_refused[at + 1] = f->n_refused[at] + !has;
        }
    }
}

/* How far device k goes from bead i. */
static int go_on(const filling *f, int k, int i, double period_s)
{
    size_t first = (size_t)k * ((size_t)f->n + 1);
    const weft_total *sum_s = f->sum_s + first;
    const int *n_refused = f->n_refused + first;
    double capacity = f->part * f->p->capacity[f->device[k]];
    int low = i, high = f->n;

    while (low < high) {
        int middle = low + (high - low + 1) / 2;

        if (weft_total_between(sum_s[i], sum_s[middle]) <= period_s &&
            n_refused[middle] == n_refused[i] &&
            weft_fits(weft_total_between(f->sum_bytes[i], f->sum_bytes[middle]), capacity))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool is_enough(filling *f, double period_s)
{
    size_t n_sets = (size_t)1 << f->n_devices;

    f->reach[0] = 0;
    for (size_t set = 1; set < n_sets; set++) {
        f->reach[set] = -1;
        for (int k = 0; k < f->n_devices; k++) {
            int reach;

            if (!(set >> k & 1))
                continue;
            reach = go_on(f, k, f->reach[set & ~((size_t)1 << k)], period_s);
            if (reach > f->reach[set]) {
                f->reach[set] = reach;
                f->last[set] = k;
            }
        }
    }
    return f->reach[n_sets - 1] == f->n;
}

static void put_group(const filling *f, int g, int d, int *device)
{
    for (int i = f->map->member_at[g]; i < f->map->member_at[g + 1]; i++)
        device[f->map->member[i]] = d;
}

/* Devices of the last is_enough() that was true. */
static void read_stages(const filling *f, int *device)
{
    size_t set = ((size_t)1 << f->n_devices) - 1;

    while (set != 0) {
        int k = f->last[set], end = f->reach[set];

        set &= ~((size_t)1 << k);
        for (int i = f->reach[set]; i < end; i++)
            put_group(f, f->bead[i], f->device[k], device);
    }
}

/* Groups without forward tasks. */
static void put_rest(const filling *f, int *device)
{
    const weft_domain *m = f->map->domain;
    int n_devices = f->p->n_devices;
    double *load_s = WEFT_NEW(f->a, double, n_devices);
    bool *is_listed = WEFT_NEW(f->a, bool, m->n_groups);

    for (int i = 0; i < f->n; i++) {
        int g = f->bead[i], d = device[f->map->member[f->map->member_at[g]]];

        is_listed[g] = true;
        load_s[d] += group_s(f, g, d);
    }
    for (int g = 0; g < m->n_groups; g++) {
        int best = -1;

        for (int d = 0; d < n_devices && !is_listed[g]; d++)
            if (m->has[g * n_devices + d] &&
                (best < 0 || load_s[d] + group_s(f, g, d) < load_s[best] + group_s(f, g, best)))
                best = d;
        if (best < 0)
            continue;
        load_s[best] += group_s(f, g, best);
        put_group(f, g, best, device);
    }
}

static bool is_exact(const filling *f)
{
    const weft_problem *p = f->p;
    bool is_limited = false, is_shared = false;

    if (f->map->is_sending || f->n != p->n_tasks || f->n_devices < p->n_devices)
        return false;
    for (int v = 1; v < p->n_tasks; v++) { /* the one before is the largest number it waits for */
        if (p->pred_at[v] == p->pred_at[v + 1] || p->pred[p->pred_at[v + 1] - 1] != v - 1)
            return false;
    }
    for (int d = 0; d < p->n_devices; d++)
        is_limited |= p->capacity[d] < INFINITY;
    for (int t = 0; t < p->n_tensors; t++)
        is_shared |= p->is_weight[t] && p->reader_at[t + 1] - p->reader_at[t] > 1;
    return !is_limited || !is_shared;
}

static weft_stages fill(filling *f, int *device)
{
    weft_stages out = {false, 0};
    double low = 0, high = 0;

    for (int k = 0; k < f->n_devices; k++)
        high = fmax(high, f->sum_s[(size_t)k * ((size_t)f->n + 1) + (size_t)f->n].high);
    high *= 1 + ROUNDING;
    if (!is_enough(f, high))
        return out;
    if (is_enough(f, low)) /* nothing takes time */
        high = low;
    for (int i = 0; i < MOST_ROUNDS && high - low > 1e-14 * high; i++) {
        double middle = low + (high - low) / 2;

        if (is_enough(f, middle))
            high = middle;
        else
            low = middle;
    }
    out.is_found = is_enough(f, high);
    out.bound_s = is_exact(f) && f->part >= 1 ? low * (1 - ROUNDING) : 0;
    read_stages(f, device);
    put_rest(f, device);
    return out;
}

weft_stages weft_stages_fill(const weft_mapping *map, double part, weft_arena *scratch, int *device)
{
    size_t mark = weft_arena_mark(scratch);
    filling f = {.map = map, .p = map->problem, .part = part, .a = scratch};
    weft_stages out;

    list_beads(&f);
    list_devices(&f);
    sum_up(&f);
    f.reach = WEFT_NEW(scratch, int, (size_t)1 << f.n_devices);
    f.last = WEFT_NEW(scratch, int, (size_t)1 << f.n_devices);
    out = fill(&f, device);
    weft_arena_rewind(scratch, mark);
    return out;
}
