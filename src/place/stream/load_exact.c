/* SPDX-License-Identifier: MIT */
/* load_exact.c: the least period of one mapping, depth first.
 *
 * 1. Groups are taken by falling least time, so that the decisions that matter come first. A group
 *    goes to each device of its domain, the one with the smallest load first.
 * 2. Loads only grow when groups are added: a transfer begins as soon as its tensor's task and a
 *    reader are placed apart. So the largest load of a part is a lower bound of every completion.
 * 3. A second one is by prices pi >= 0 with sum 1: sum of pi * load of the devices so far, plus for
 *    each group to come the least pi[d] * time. Average <= maximum, as in bound_load.c. Prices
 * used: those of the load bound, and equal ones.
 * 4. A part is left when a bound reaches the best period, when weights exceed a memory, when a
 *    transfer has no route, or when devices that should be pipeline stages form a cycle: what is
 *    added later takes none of these back.
 *
 * Complete: every mapping is reached or left by a valid bound. So if it ends, the best period found
 * (or `upper`) is the least. Live tensors are not counted in memory: mappings that exceed it on
 * their account count as possible, and the least period stays a lower bound of legal ones.
 * Deterministic. Time: exponential, limited by most_nodes. */
#include "load.h"
#include "sort.h"

#include <math.h>
#include <string.h>

enum { N_PRICES = 2, CHECK_EVERY = 4096 };
static const double EXACT = 1e-12;

typedef struct search {
    weft_mapping map;
    int n_groups;
    int *order;                /* groups */
    double *time_s;            /* [group * n_devices + device] */
    double *price[N_PRICES];   /* [n_devices] */
    double *to_come[N_PRICES]; /* [n_groups + 1] priced least time of order[i] and later */
    double *saved;             /* [(n_groups + 1) * n_resources] loads by depth */
    double *saved_bytes;       /* [(n_groups + 1) * n_devices] */
    int *choice;               /* [n_groups * n_devices] devices by depth */
    double upper;
    int64_t n_nodes, most_nodes;
    weft_run *run;
    weft_candidates *found;
    bool is_over;
} search;

static void sum_times(search *s)
{
    const weft_domain *m = s->map.domain;
    int n_devices = m->problem->n_devices;

    for (int g = 0; g < s->n_groups; g++)
        for (int d = 0; d < n_devices; d++) {
            double seconds = m->has[g * n_devices + d] ? 0 : INFINITY;

            for (int i = s->map.member_at[g]; i < s->map.member_at[g + 1]; i++)
                seconds += weft_task_s(m->problem, s->map.member[i], d);
            s->time_s[g * n_devices + d] = seconds;
        }
}

static void order_groups(search *s, weft_arena *a)
{
    int n_devices = s->map.problem->n_devices;
    double *least_s = WEFT_NEW(a, double, s->n_groups);

    for (int g = 0; g < s->n_groups; g++)
        least_s[g] = weft_least(s->time_s + g * n_devices, n_devices);
    s->order = weft_sorted_falling(least_s, s->n_groups, a);
}

static void sum_prices(search *s, int k)
{
    int n_devices = s->map.problem->n_devices;

    for (int i = s->n_groups - 1; i >= 0; i--) {
        double least = INFINITY;

        for (int d = 0; d < n_devices; d++)
            if (s->map.domain->has[s->order[i] * n_devices + d])
                least = fmin(least, s->price[k][d] * s->time_s[s->order[i] * n_devices + d]);
        s->to_come[k][i] = s->to_come[k][i + 1] + least;
    }
}

static search new_search(const weft_domain *m, const weft_proof *bound, weft_arena *a)
{
    int n_devices = m->problem->n_devices;
    search s = {
        .map = weft_mapping_new(m, a),
        .n_groups = m->n_groups,
        .time_s = WEFT_NEW(a, double, (size_t)m->n_groups *(size_t)n_devices),
        .choice = WEFT_NEW(a, int, (size_t)m->n_groups *(size_t)n_devices),
    };

    s.saved = WEFT_NEW(a, double, ((size_t)m->n_groups + 1) * (size_t)s.map.n_resources);
    s.saved_bytes = WEFT_NEW(a, double, ((size_t)m->n_groups + 1) * (size_t)n_devices);
    sum_times(&s);
    order_groups(&s, a);
    for (int k = 0; k < N_PRICES; k++) {
        s.price[k] = WEFT_NEW(a, double, n_devices);
        s.to_come[k] = WEFT_NEW(a, double, s.n_groups + 1);
        for (int d = 0; d < n_devices; d++)
            s.price[k][d] = k == 0 ? bound->price[d] : 1.0 / n_devices;
        sum_prices(&s, k);
    }
    weft_mapping_clear(&s.map);
    return s;
}

/* No completion of the part with n groups placed has a smaller period. */
static double bound_of(const search *s, int n)
{
    double most = weft_mapping_period(&s->map);

    for (int k = 0; k < N_PRICES; k++) {
        double sum = s->to_come[k][n];

        for (int d = 0; d < s->map.problem->n_devices; d++)
            sum += s->price[k][d] * s->map.load_s[d];
        most = fmax(most, sum);
    }
    return most;
}

/* Devices for a group, by load with it. */
static int list_devices(const search *s, int g, int *list)
{
    int n_devices = s->map.problem->n_devices, n = 0;

    for (int d = 0; d < n_devices; d++) {
        double load_s = s->map.load_s[d] + s->time_s[g * n_devices + d];
        int at = n;

        if (!s->map.domain->has[g * n_devices + d])
            continue;
        for (; at > 0 &&
               load_s < s->map.load_s[list[at - 1]] + s->time_s[g * n_devices + list[at - 1]];
             at--)
            list[at] = list[at - 1];
        list[at] = d;
        n++;
    }
    return n;
}

static void place(search *s, int i, int d)
{
    weft_mapping_move(&s->map, s->order[i], d);
    weft_mapping_keep(&s->map);
}

static void descend(search *s, int i)
{
    size_t n_resources = (size_t)s->map.n_resources;
    size_t n_devices = (size_t)s->map.problem->n_devices;
    int *list = s->choice + (size_t)i * n_devices, n, n_over = s->map.n_over;
    double *saved = s->saved + (size_t)i * n_resources;
    double *saved_bytes = s->saved_bytes + (size_t)i * n_devices;

    if (s->map.n_cut > 0 || s->map.n_over > 0 || !weft_mapping_is_staged(&s->map) ||
        bound_of(s, i) >= s->upper * (1 - EXACT))
        return;
    if (i == s->n_groups) {
        s->upper = weft_mapping_period(&s->map);
        weft_candidates_add(s->found, s->map.device, s->upper);
        return;
    }
    n = list_devices(s, s->order[i], list);
    memcpy(saved, s->map.load_s, n_resources * sizeof *saved);
    memcpy(saved_bytes, s->map.held_bytes, n_devices * sizeof *saved_bytes);
    for (int k = 0; k < n && !s->is_over; k++) {
        if (++s->n_nodes >= s->most_nodes ||
            (s->n_nodes % CHECK_EVERY == 0 && weft_run_is_over(s->run)))
            s->is_over = true;
        place(s, i, list[k]);
        descend(s, i + 1);
        place(s, i, -1);
        memcpy(s->map.load_s, saved, n_resources * sizeof *saved); /* no rounding is left behind */
        memcpy(s->map.held_bytes, saved_bytes, n_devices * sizeof *saved_bytes);
        s->map.n_over = n_over;
    }
}

bool weft_load_exact(const weft_domain *m, const weft_proof *bound, double upper,
                     int64_t most_nodes, weft_run *run, weft_candidates *found, double *least_s)
{
    size_t mark = weft_arena_mark(run->scratch);
    search s = new_search(m, bound, run->scratch);

    s.upper = upper;
    s.most_nodes = most_nodes;
    s.run = run;
    s.found = found;
    descend(&s, 0);
    *least_s = s.upper;
    weft_arena_rewind(run->scratch, mark);
    return !s.is_over;
}
