/* SPDX-License-Identifier: MIT */
/* load_rooms.c: mappings for networks whose weights fill the memories.
 *
 * Annealing finds it hard to exchange weights between memories that are full. Here:
 * 1. A target T for the loads: the bound, or a little more.
 * 2. Groups that read weights, those first that take longest for a byte on their slowest device (of
 *    equal ones the largest; before all what had no room at first), go to the quickest device with room for their weights whose load stays
 *    within T; if there is none, to the one with room whose load becomes the least. Devices as quick
 *    are filled one after the other.
 * 3. Groups without weights go to the quickest device whose load stays within T, again one after
 *    the other, so that live tensors lie on few devices.
 * 4. A short annealing, with the room that is left.
 * 5. The mapping is simulated with its tasks in the order of the network. What live tensors took of
 *    each memory is kept free in the next attempt.
 *
 * Small problems are left to the proof.
 * Mappings that keep all memories and limits are candidates. A heuristic without guarantee;
 * deterministic. Time: N_TARGETS * N_GRAINS * ATTEMPTS simulations. */
#include "load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TARGETS = 6,
    N_GRAINS = 3,
    ATTEMPTS = 6,
    STEPS = 20000,
    MOST_FIRST = 8,
    MOST_EXCHANGES = 300,
    MOST_FAILURES = 24,
    SMALL_BITS = 17
};
/* Densities that differ by less than this factor count as equal. */
static const double grain[N_GRAINS] = {1, 1.5, 4};
static const double more[N_TARGETS] = {0.002, 0.01, 0.03, 0.08, 0.2, 0.5};

typedef struct piece {
    int group;
    double bytes, density; /* seconds of the slowest device for a byte */
} piece;

typedef struct packing {
    const weft_domain *domain;
    const weft_problem *p;
    weft_mapping map;
    piece *piece;          /* [n_groups] */
    double *bytes;         /* [n_groups] */
    double *time_s;        /* [group * n_devices + device] */
    double *load_s, *room; /* [n_devices] */
    double *free_bytes;    /* [n_devices] kept for live tensors */
    double target_s;
    weft_run *run;
    weft_arena *a;
} packing;

static int by_density(const void *a, const void *b)
{
    const piece *x = a, *y = b;

    if ((x->bytes > 0) != (y->bytes > 0))
        return x->bytes > 0 ? -1 : 1;
    if (x->density != y->density)
        return x->density > y->density ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static double seconds_of(const packing *k, int g, int d)
{
    double seconds = 0;

    if (!k->domain->has[g * k->p->n_devices + d])
        return INFINITY;
    for (int i = k->map.member_at[g]; i < k->map.member_at[g + 1]; i++)
        seconds += weft_task_s(k->p, k->map.member[i], d);
    return seconds;
}

static void list_pieces(packing *k, double coarse)
{
    int n_devices = k->p->n_devices, n = k->domain->n_groups;

    for (int g = 0; g < n; g++) {
        double most = 0, bytes = weft_domain_bytes(k->domain, g);

        for (int d = 0; d < n_devices; d++) {
            double s = seconds_of(k, g, d);

            k->time_s[g * n_devices + d] = s;
            most = s < INFINITY ? fmax(most, s) : most;
        }
        k->bytes[g] = bytes;
        most /= bytes > 0 ? bytes : 1;
        if (coarse > 1)
            most = most > 0 ? floor(log(most) / log(coarse)) : -INFINITY;
        k->piece[g] = (piece){g, bytes, most};
    }
    qsort(k->piece, (size_t)n, sizeof *k->piece, by_density);
}

/* The quickest device with room whose load stays within the target; else the least load. */
static int device_for(const packing *k, const piece *x)
{
    const double *time_s = &k->time_s[x->group * k->p->n_devices];
    int within = -1, least = -1;

    for (int d = 0; d < k->p->n_devices; d++) {
        if (!(time_s[d] < INFINITY) || x->bytes > k->room[d])
            continue;
        if (k->load_s[d] + time_s[d] <= k->target_s && (within < 0 || time_s[d] < time_s[within]))
            within = d;
        if (least < 0 || k->load_s[d] + time_s[d] < k->load_s[least] + time_s[least])
            least = d;
    }
    return within >= 0 ? within : least;
}

/* -1: all have room; else the first piece that has none. */
static int pack_once(packing *k, int *device)
{
    int n_devices = k->p->n_devices;

    for (int d = 0; d < n_devices; d++) {
        k->load_s[d] = 0;
        k->room[d] = k->p->capacity[d] - k->free_bytes[d];
    }
    for (int i = 0; i < k->domain->n_groups; i++) {
        const piece *x = &k->piece[i];
        int d = device_for(k, x);

        if (d < 0)
            return i;
        k->load_s[d] += k->time_s[x->group * n_devices + d];
        k->room[d] -= x->bytes;
        for (int q = k->map.member_at[x->group]; q < k->map.member_at[x->group + 1]; q++)
            device[k->map.member[q]] = d;
    }
    return -1;
}

/* What has no room goes first. False: that does not help. */
static bool pack(packing *k, int *device)
{
    for (int i = 0; i < MOST_FIRST; i++) {
        int last = pack_once(k, device);
        piece x;

        if (last < 0)
            return true;
        x = k->piece[last];
        memmove(k->piece + 1, k->piece, (size_t)last * sizeof *k->piece);
        k->piece[0] = x;
    }
    return false;
}

/* With memories that are smaller by what is kept free. */
static void anneal(const packing *k, int *device)
{
    weft_problem p = *k->p;
    weft_domain m = *k->domain;
    double *capacity = WEFT_NEW(k->a, double, p.n_devices);
    weft_load_task task = {
        .domain = &m, .heat = 0.01, .steps = STEPS, .seed = (uint64_t)k->run->seed, .run = k->run};

    for (int d = 0; d < p.n_devices; d++)
        capacity[d] = fmax(0, p.capacity[d] - k->free_bytes[d]);
    p.capacity = capacity;
    m.problem = &p;
    (void)weft_load_search(&task, device, NULL, k->a);
}

/* Adds the mapping if it is legal, and learns what live tensors take. */
static bool judge(packing *k, const int *device, weft_candidates *found)
{
    size_t mark = weft_arena_mark(k->a);
    weft_plan plan = weft_plan_new(k->p->n_tasks, k->a);
    weft_measures measures;
    bool is_legal = false;

    memcpy(plan.device, device, (size_t)k->p->n_tasks * sizeof *device);
    for (int u = 0; u < k->p->n_tasks; u++)
        plan.start_s[u] = u;
    weft_mapping_set(&k->map, device);
    if (k->map.n_cut == 0 && weft_mapping_is_staged(&k->map) &&
        weft_evaluate(k->p, &plan, k->a, &measures) == WEFT_OK) {
        is_legal =
            measures.over_device < 0 &&
            weft_constraints_allow(&k->p->constraints, measures.makespan_s, measures.period_s);
        if (is_legal)
            weft_candidates_add(found, device, weft_mapping_period(&k->map));
        for (int d = 0; d < k->p->n_devices; d++)
            k->free_bytes[d] = fmax(0, measures.peak_bytes[d] - k->map.held_bytes[d]);
    }
    weft_arena_rewind(k->a, mark);
    return is_legal;
}

/* --- one by one ------------------------------------------------------------------------------ */

/* Group g leaves the busiest device for another, group h (-1: none) takes its place. */
typedef struct exchange {
    int g, h, device;
    double gain_s;
} exchange;

static int busiest(const packing *k)
{
    int most = 0;

    for (int d = 1; d < k->p->n_devices; d++)
        if (k->map.load_s[d] > k->map.load_s[most])
            most = d;
    return most;
}

static void consider_exchange(const packing *k, int from, int g, int h, int d, exchange *best)
{
    int n = k->p->n_devices;
    double gain_s = k->time_s[g * n + from], more_s = k->time_s[g * n + d];
    double bytes = k->bytes[g];

    if (h >= 0) {
        gain_s -= k->time_s[h * n + from];
        more_s -= k->time_s[h * n + d];
        bytes -= k->bytes[h];
    }
    if (gain_s > best->gain_s && k->map.load_s[d] + more_s < k->map.load_s[from] &&
        bytes <= k->room[d] && -bytes <= k->room[from])
        *best = (exchange){g, h, d, gain_s};
}

/* The exchange that relieves the busiest device most, by the room that seems to be left. */
static exchange best_exchange(const packing *k)
{
    int from = busiest(k), n = k->domain->n_groups;
    exchange best = {.g = -1, .gain_s = 0};

    for (int g = 0; g < n; g++) {
        if (k->map.home[g] != from)
            continue;
        for (int d = 0; d < k->p->n_devices; d++)
            if (d != from)
                consider_exchange(k, from, g, -1, d, &best);
        for (int h = 0; h < n; h++)
            if (k->map.home[h] != from)
                consider_exchange(k, from, g, h, k->map.home[h], &best);
    }
    return best;
}

static void put(const packing *k, int group, int d, int *device)
{
    for (int i = k->map.member_at[group]; i < k->map.member_at[group + 1]; i++)
        device[k->map.member[i]] = d;
}

static void find_room(packing *k)
{
    for (int d = 0; d < k->p->n_devices; d++)
        k->room[d] = k->p->capacity[d] - k->map.held_bytes[d] - k->free_bytes[d];
}

/* From a legal mapping, exchange by exchange, each simulated. */
static void squeeze(packing *k, int *device, weft_candidates *found)
{
    int n_failures = 0;

    if (!judge(k, device, found))
        return;
    find_room(k);
    for (int i = 0; i < MOST_EXCHANGES && !weft_run_is_over(k->run); i++) {
        exchange x = best_exchange(k);
        int from = busiest(k);

        if (x.g < 0 || n_failures == MOST_FAILURES)
            return;
        put(k, x.g, x.device, device);
        if (x.h >= 0)
            put(k, x.h, from, device);
        if (judge(k, device, found)) {
            find_room(k);
            continue;
        }
        n_failures++;
        put(k, x.g, from, device);
        if (x.h >= 0)
            put(k, x.h, x.device, device);
        (void)judge(k, device, found);
        find_room(k);
        k->room[x.device] -= k->bytes[x.g] * n_failures / MOST_FAILURES;
    }
}

/* Drops candidates that the simulator refuses. */
static void drop_illegal(const weft_domain *m, weft_candidates *found, weft_arena *a)
{
    weft_plan plan = weft_plan_new(m->problem->n_tasks, a);
    int n = 0;

    for (int i = 0; i < found->n; i++) {
        int *device = found->device[i];

        if (!weft_mapping_try(m, device, a, &plan).is_legal)
            continue;
        found->device[i] = found->device[n];
        found->device[n] = device;
        found->period_s[n++] = found->period_s[i];
    }
    found->n = n;
}

/* Few enough mappings that the proof looks at all of them at once? */
static bool is_small(const weft_domain *m)
{
    return m->n_groups * log2(m->problem->n_devices) < SMALL_BITS;
}

void weft_load_rooms(const weft_domain *m, double bound_s, weft_run *run, weft_candidates *found)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(run->scratch);
    int *device = WEFT_NEW(run->scratch, int, p->n_tasks);
    packing k = {.domain = m,
                 .p = p,
                 .map = weft_mapping_new(m, run->scratch),
                 .piece = WEFT_NEW(run->scratch, piece, m->n_groups),
                 .bytes = WEFT_NEW(run->scratch, double, m->n_groups),
                 .time_s =
                     WEFT_NEW(run->scratch, double, (size_t)m->n_groups *(size_t)p->n_devices),
                 .load_s = WEFT_NEW(run->scratch, double, p->n_devices),
                 .room = WEFT_NEW(run->scratch, double, p->n_devices),
                 .free_bytes = WEFT_NEW(run->scratch, double, p->n_devices),
                 .run = run,
                 .a = run->scratch};

    if (is_small(m)) {
        weft_arena_rewind(run->scratch, mark);
        return;
    }
    drop_illegal(m, found, run->scratch);
    for (int t = 0; t < N_TARGETS * N_GRAINS; t++) {
        list_pieces(&k, grain[t / N_TARGETS]);
        k.target_s = bound_s * (1 + more[t % N_TARGETS]);
        memset(k.free_bytes, 0, (size_t)p->n_devices * sizeof *k.free_bytes);
        for (int i = 0; i < ATTEMPTS && !weft_run_is_over(run); i++) {
            if (!pack(&k, device))
                break;
            (void)judge(&k, device, found);
            anneal(&k, device);
            (void)judge(&k, device, found);
        }
    }
    if (found->n > 0) {
        memcpy(device, found->device[0], (size_t)p->n_tasks * sizeof *device);
        squeeze(&k, device, found);
    }
    weft_arena_rewind(run->scratch, mark);
}
