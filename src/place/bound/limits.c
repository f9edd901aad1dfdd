/* SPDX-License-Identifier: MIT */
/* limits.c: limits that no plan can keep, and why.
 *
 * 1. A group whose domain is empty: not supported, pinned apart, cut off from its inputs, or its
 *    weights exceed every memory.
 * 2. Weights exceed all memories together. Every weight lies on at least one device, so the sum of
 *    all weights, each counted once, is needed at least.
 * 3. A deadline below the path or load bound of latency, or a period below the load bound. Bounds
 *    hold for every plan, so each of these is a proof that there is none.
 *
 * 4. More devices that some group must be on than segments are allowed, or segments that are larger
 *    than the network.
 *
 * The advice on memory packs the groups into devices of the largest kind, heaviest first, each
 * into the first that has room: so many devices are enough (for weights), fewer may be. */
#include "list.h"
#include "sort.h"

#include <math.h>

enum { N_SHOWN = 3 };
static const double EXACT = 1e-9; /* as weft_constraints_allow */

/* --- memory ---------------------------------------------------------------------------------- */

/* The first task of a group. */
static int first_task(const weft_domain *m, int g)
{
    int u = 0;

    while (m->group[u] != g)
        u++;
    return u;
}

/* Groups by the bytes of their weights, the heaviest first. */
typedef struct heavy {
    double *bytes; /* [n_groups] */
    int *group;    /* by rank */
} heavy;

static heavy list_groups(const weft_domain *m, weft_arena *a)
{
    heavy list = {.bytes = WEFT_NEW(a, double, m->n_groups)};

    for (int g = 0; g < m->n_groups; g++)
        list.bytes[g] = weft_domain_bytes(m, g);
    list.group = weft_sorted_falling(list.bytes, m->n_groups, a);
    return list;
}

/* "'fc6' (411 MB), 'fc7' (67 MB)". */
static const char *heaviest(const weft_domain *m, const heavy *list, weft_arena *a)
{
    const char *text = "";
    char bytes[32];

    for (int i = 0; i < N_SHOWN && i < m->n_groups && list->bytes[list->group[i]] > 0; i++)
        text = weft_arena_print(a, "%s%s'%s' (%s)", text, i == 0 ? "" : ", ",
                                m->problem->task_name[first_task(m, list->group[i])],
                                weft_format_bytes(list->bytes[list->group[i]], bytes));
    return text;
}

static int largest_device(const weft_problem *p)
{
    int best = 0;

    for (int d = 1; d < p->n_devices; d++)
        if (p->capacity[d] > p->capacity[best])
            best = d;
    return best;
}

/* Devices with `room` that hold all groups; weights that groups share count for each. 0: a group
 * is larger than the room. */
static int n_needed(const weft_domain *m, const heavy *list, double room, weft_arena *a)
{
    double *left = WEFT_NEW(a, double, m->n_groups);
    int n = 0;

    for (int i = 0; i < m->n_groups && list->bytes[list->group[i]] > 0; i++) {
        double bytes = list->bytes[list->group[i]];
        int k = 0;

        if (bytes > room)
            return 0;
        while (k < n && left[k] < bytes)
            k++;
        if (k == n)
            left[n++] = room;
        left[k] -= bytes;
    }
    return n;
}

static const char *advice(const weft_domain *m, const heavy *list, weft_arena *a)
{
    const weft_problem *p = m->problem;
    int d = largest_device(p), n = n_needed(m, list, p->capacity[d], a);
    char room[32];

    if (n == 0)
        return weft_arena_print(a, "no number of devices like '%s' (%s) would do",
                                p->device_name[d], weft_format_bytes(p->capacity[d], room));
    return weft_arena_print(a, "%d devices like '%s' (%s) would hold the weights", n,
                            p->device_name[d], weft_format_bytes(p->capacity[d], room));
}

static void check_memory(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    const weft_problem *p = m->problem;
    double need = 0, has = 0;
    char need_text[32], has_text[32], over[32];
    heavy list;

    for (int t = 0; t < p->n_tensors; t++)
        if (p->is_weight[t] && p->reader_at[t] < p->reader_at[t + 1])
            need += p->memory[t];
    for (int d = 0; d < p->n_devices; d++)
        has += p->capacity[d];
    if (weft_fits(need, has))
        return;
    list = list_groups(m, a);
    weft_format_bytes(need, need_text);
    weft_format_bytes(has, has_text);
    weft_format_bytes(need - has, over);
    out->outcome = WEFT_INFEASIBLE;
    out->reason = weft_arena_print(
        a,
        "memory: the weights take %s, all devices together have %s: %s too little; most by %s; %s",
        need_text, has_text, over, heaviest(m, &list, a), advice(m, &list, a));
}

/* --- a group without a device ---------------------------------------------------------------- */

static bool is_empty(const weft_domain *m, int g)
{
    for (int d = 0; d < m->problem->n_devices; d++)
        if (m->has[g * m->problem->n_devices + d])
            return false;
    return true;
}

/* Devices that all tasks of the group could run on, memory aside. */
static bool is_supported(const weft_domain *m, int g, int d)
{
    const weft_problem *p = m->problem;

    for (int u = 0; u < p->n_tasks; u++)
        if (m->group[u] == g &&
            (!(weft_task_s(p, u, d) < INFINITY) || (p->pin[u] >= 0 && p->pin[u] != d) ||
             !(weft_input_s(p, u, d) < INFINITY)))
            return false;
    return true;
}

void weft_limits_explain(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    const weft_problem *p = m->problem;
    int g = 0, n_tasks = 0, best = -1;
    const char *name, *others;
    char need[32], has[32], over[32];

    while (!is_empty(m, g))
        g++;
    for (int u = 0; u < p->n_tasks; u++)
        n_tasks += m->group[u] == g;
    for (int d = 0; d < p->n_devices; d++)
        if (is_supported(m, g, d) && (best < 0 || p->capacity[d] > p->capacity[best]))
            best = d;
    name = p->task_name[first_task(m, g)];
    others = n_tasks == 1 ? ""
                          : weft_arena_print(a, " and %d task%s that must share its device",
                                             n_tasks - 1, n_tasks == 2 ? "" : "s");
    if (best < 0) {
        out->reason = weft_arena_print(a, "no device can run task '%s'%s", name, others);
        return;
    }
    weft_format_bytes(weft_domain_bytes(m, g), need);
    weft_format_bytes(p->capacity[best], has);
    weft_format_bytes(weft_domain_bytes(m, g) - p->capacity[best], over);
    out->reason = weft_arena_print(
        a,
        "memory: task '%s'%s takes %s of weights, the largest device that can run it, '%s', has "
        "%s: %s too little",
        name, others, need, p->device_name[best], has, over);
}

/* --- time ------------------------------------------------------------------------------------ */

static void check_deadline(const weft_domain *m, double load_s, weft_arena *a, weft_proof *out)
{
    const weft_constraints *constraints = &m->problem->constraints;
    weft_proof path = {.bound = 0};
    double least_s;
    char most[48], least[48];

    if (!(constraints->most_latency_s > 0))
        return;
    if (m->problem->transfer ==
        WEFT_CALLS) { /* the host runs tasks side by side, inputs are free */
        load_s = 0;
        weft_calls_bound(m, a, &path);
    } else {
        weft_path_bound(m, 0, a, &path);
    }
    least_s = fmax(path.bound, load_s);
    if (!(least_s > constraints->most_latency_s * (1 + EXACT)))
        return;
    out->outcome = WEFT_INFEASIBLE;
    out->reason = weft_arena_print(
        a, "deadline %s: no plan takes less than %s (%s bound)",
        weft_unit_print(constraints->most_latency_s, WEFT_UNIT_SECONDS, most),
        weft_unit_print(least_s, WEFT_UNIT_SECONDS, least), path.bound >= load_s ? "path" : "load");
}

static void check_rate(const weft_domain *m, double period_s, weft_arena *a, weft_proof *out)
{
    const weft_constraints *constraints = &m->problem->constraints;
    char asked[32], most[32];

    if (!(constraints->most_period_s > 0) || !(period_s > constraints->most_period_s * (1 + EXACT)))
        return;
    out->outcome = WEFT_INFEASIBLE;
    out->reason =
        weft_arena_print(a, "at least %s items/s: no plan makes more than %s items/s (load bound)",
                         weft_format_count(1 / constraints->most_period_s, asked),
                         weft_format_count(1 / period_s, most));
}

/* --- segments -------------------------------------------------------------------------------- */

/* Devices that some group must be on: each has a segment at least. */
static int n_forced(const weft_domain *m, weft_arena *a)
{
    int n_devices = m->problem->n_devices, n = 0;
    bool *is_forced = WEFT_NEW(a, bool, n_devices);

    for (int g = 0; g < m->n_groups; g++) {
        int only = -1, n_has = 0;

        for (int d = 0; d < n_devices; d++)
            if (m->has[g * n_devices + d]) {
                only = d;
                n_has++;
            }
        if (n_has == 1)
            is_forced[only] = true;
    }
    for (int d = 0; d < n_devices; d++)
        n += is_forced[d];
    return n;
}

static void check_segments(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    const weft_problem *p = m->problem;
    const weft_constraints *c = &p->constraints;
    int forced = c->most_segments > 0 ? n_forced(m, a) : 0;
    double all_s = 0; /* every task where it takes longest */
    char all[48], least[48];

    for (int u = 0; u < p->n_tasks; u++) {
        double most_s = 0;

        for (int d = 0; d < p->n_devices; d++)
            most_s = weft_domain_has(m, u, d) ? fmax(most_s, weft_task_s(p, u, d)) : most_s;
        all_s += most_s;
    }
    if (forced > c->most_segments)
        out->reason = weft_arena_print(
            a, "at most %d segments: %d devices have nodes that can run nowhere else",
            c->most_segments, forced);
    else if (c->least_segment_tasks > p->n_tasks)
        out->reason = weft_arena_print(a, "segments of at least %d nodes: the network has %d",
                                       c->least_segment_tasks, p->n_tasks);
    else if (c->least_segment_s > all_s * (1 + EXACT))
        out->reason =
            weft_arena_print(a, "segments of at least %s: all nodes together take %s at most",
                             weft_unit_print(c->least_segment_s, WEFT_UNIT_SECONDS, least),
                             weft_unit_print(all_s, WEFT_UNIT_SECONDS, all));
    else
        return;
    out->outcome = WEFT_INFEASIBLE;
}

void weft_limits_check(const weft_domain *m, double period_s, weft_arena *a, weft_proof *out)
{
    check_rate(m, period_s, a, out);
    check_deadline(m, period_s, a, out);
    check_memory(m, a, out);
    check_segments(m, a, out);
}
