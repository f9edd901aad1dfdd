/* SPDX-License-Identifier: MIT */
/* domain.c: the devices each task may run on.
 *
 * 1. Tasks of one colocation group form a group, every other task is a group of its own.
 * 2. The weights of a group are the weights its tasks read, each counted once.
 * 3. A device leaves the domain of a group if a task of it is not supported there or is pinned
 *    elsewhere, if an input of the network cannot reach it, or if the weights exceed its memory.
 *
 * Every legal plan takes its devices from these domains, so a bound over them is valid and an empty
 * one proves that there is no plan. Time O(n log n + tasks * devices), n the tensors read. */
#include "list.h"
#include "rows.h"
#include "sort.h"

#include <math.h>

/* Numbers groups by colocation, then the tasks without one; returns how many there are. */
static int number_groups(const weft_problem *p, weft_arena *a, int *group)
{
    size_t mark = weft_arena_mark(a);
    double *key = WEFT_NEW(a, double, p->n_tasks);
    const int *order;
    int n_groups = 0;

    for (int u = 0; u < p->n_tasks; u++)
        key[u] = p->colocation[u] >= 0 ? (double)p->colocation[u] : (double)INFINITY;
    order = weft_sorted_rising(key, p->n_tasks, a);
    for (int i = 0; i < p->n_tasks; i++) {
        n_groups += i == 0 || key[order[i]] == INFINITY || key[order[i]] != key[order[i - 1]];
        group[order[i]] = n_groups - 1;
    }
    weft_arena_rewind(a, mark);
    return n_groups;
}

static void collect_weights(const weft_problem *p, weft_arena *a, weft_domain *m)
{
    weft_arena *scratch = weft_arena_new();
    weft_pair *pair = WEFT_NEW(scratch, weft_pair, p->arg_at[p->n_tasks]);
    weft_rows weight;
    int n = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            if (p->is_weight[p->arg[i]])
                pair[n++] = (weft_pair){m->group[u], p->arg[i]};
        }
    }
    weight = weft_rows_of_pairs(pair, n, m->n_groups, a);
    weft_arena_free(scratch);
    m->weight_at = weight.at;
    m->weight = weight.item;
}

bool weft_domain_has_all(const weft_domain *m, int d)
{
    for (int g = 0; g < m->n_groups; g++) {
        if (!m->has[g * m->problem->n_devices + d])
            return false;
    }
    return true;
}

double weft_domain_least_s(const weft_domain *m, int u)
{
    double least_s = INFINITY;

    for (int d = 0; d < m->problem->n_devices; d++) {
        if (weft_domain_has(m, u, d))
            least_s = fmin(least_s, weft_task_s(m->problem, u, d));
    }
    return least_s;
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

double weft_domain_bytes(const weft_domain *m, int g)
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
        double bytes = weft_domain_bytes(&m, g);

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
