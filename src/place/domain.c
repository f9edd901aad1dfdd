/* SPDX-License-Identifier: MIT */
/* domain.c: the devices each task may run on.
 *
 * 1. Tasks of one colour form a group, every other task is a group of its own.
 * 2. The weights of a group are the weights its tasks read, each counted once.
 * 3. A device leaves the domain of a group if a task of it is not supported there or is pinned
 *    elsewhere, if an input of the network cannot reach it, or if the weights exceed its memory.
 *
 * Every legal plan takes its devices from these domains, so a bound over them is valid and an empty
 * one proves that there is no plan. Time O(n log n + tasks * devices), n the tensors read. */
#include "list.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Two numbers as one that sorts by the first, then by the second. */
static int64_t pair_of(int first, int second)
{
    return (int64_t)first << 32 | (int64_t)second;
}

/* Numbers groups by colour, then the tasks without one; returns how many there are. */
static int number_groups(const weft_problem *p, weft_arena *a, int *group)
{
    size_t mark = weft_arena_mark(a);
    int64_t *pair = WEFT_NEW(a, int64_t, p->n_tasks);
    int n_groups = 0, n = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        if (p->colour[u] >= 0)
            pair[n++] = pair_of(p->colour[u], u);
    }
    qsort(pair, (size_t)n, sizeof *pair, by_number);
    for (int i = 0; i < n; i++) {
        n_groups += i == 0 || pair[i] >> 32 != pair[i - 1] >> 32;
        group[pair[i] & INT32_MAX] = n_groups - 1;
    }
    for (int u = 0; u < p->n_tasks; u++) {
        if (p->colour[u] < 0)
            group[u] = n_groups++;
    }
    weft_arena_rewind(a, mark);
    return n_groups;
}

static void collect_weights(const weft_problem *p, weft_arena *a, weft_domain *m)
{
    int n_args = p->arg_at[p->n_tasks], n = 0, n_kept = 0;
    int *at = WEFT_NEW(a, int, m->n_groups + 1), *weight = WEFT_NEW(a, int, n_args);
    size_t mark = weft_arena_mark(a);
    int64_t *pair = WEFT_NEW(a, int64_t, n_args);

    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            if (p->is_weight[p->arg[i]])
                pair[n++] = pair_of(m->group[u], p->arg[i]);
        }
    }
    qsort(pair, (size_t)n, sizeof *pair, by_number);
    for (int i = 0; i < n; i++) {
        if (i > 0 && pair[i] == pair[i - 1])
            continue;
        weight[n_kept++] = (int)(pair[i] & INT32_MAX);
        at[(pair[i] >> 32) + 1]++;
    }
    for (int g = 0; g < m->n_groups; g++)
        at[g + 1] += at[g];
    weft_arena_rewind(a, mark);
    m->weight_at = at;
    m->weight = weight;
}

double weft_input_s(const weft_problem *p, int u, int d)
{
    double ready_s = 0;

    if (p->host < 0)
        return 0;
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        if (p->producer[p->arg[i]] < 0)
            ready_s = fmax(ready_s, weft_data_s(p, p->arg[i], p->host, d));
    }
    return ready_s;
}

static bool is_possible(const weft_problem *p, int u, int d)
{
    return weft_task_s(p, u, d) < INFINITY && (p->pin[u] < 0 || p->pin[u] == d) &&
           weft_input_s(p, u, d) < INFINITY;
}

static double weight_bytes(const weft_domain *m, int g)
{
    double bytes = 0;

    for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++)
        bytes += m->problem->memory[m->weight[i]];
    return bytes;
}

weft_domain weft_domain_new(const weft_problem *p, weft_arena *a)
{
    int n_devices = p->n_devices, *group = WEFT_NEW(a, int, p->n_tasks);
    weft_domain m = {.problem = p, .group = group};
    bool *has;

    m.n_groups = number_groups(p, a, group);
    collect_weights(p, a, &m);
    m.has = has = weft_arena_array(a, (size_t)m.n_groups * (size_t)n_devices, sizeof *has);
    for (int g = 0; g < m.n_groups; g++) {
        double bytes = weight_bytes(&m, g);

        for (int d = 0; d < n_devices; d++)
            has[g * n_devices + d] = weft_fits(bytes, p->capacity[d]);
    }
    for (int u = 0; u < p->n_tasks; u++) {
        for (int d = 0; d < n_devices; d++)
            has[group[u] * n_devices + d] &= is_possible(p, u, d);
    }
    for (int g = 0; g < m.n_groups; g++) {
        bool is_empty = true;

        for (int d = 0; d < n_devices; d++)
            is_empty &= !has[g * n_devices + d];
        m.is_empty |= is_empty;
    }
    return m;
}
