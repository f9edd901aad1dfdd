/* SPDX-License-Identifier: MIT */
/* calls_bound.c: lower bounds of a latency under calls.
 *
 * Tasks of a path run one after the other wherever they are, each for its least time at least. */
#include "list.h"

#include <math.h>

static double least_s(const weft_domain *m, int u)
{
    double least = INFINITY;

    for (int d = 0; d < m->problem->n_devices; d++)
        if (weft_domain_has(m, u, d))
            least = fmin(least, weft_task_s(m->problem, u, d));
    return least;
}

static bool is_edge(const weft_problem *p, int u, int v)
{
    for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++)
        if (p->succ[k] == v)
            return true;
    return false;
}

double weft_calls_path_bound_of(const weft_problem *p, const int *path, int n)
{
    weft_arena *a = weft_arena_new();
    weft_domain m = weft_domain_new(p, a);
    bool is_path = p->transfer == WEFT_CALLS && p->ask.goal == WEFT_LATENCY;
    double sum_s = 0;

    for (int i = 0; i < n && is_path; i++) {
        is_path =
            path[i] >= 0 && path[i] < p->n_tasks && (i == 0 || is_edge(p, path[i - 1], path[i]));
        sum_s += is_path ? least_s(&m, path[i]) : 0;
    }
    weft_arena_free(a);
    return is_path ? sum_s : 0;
}

void weft_calls_bound(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    const weft_problem *p = m->problem;
    double *tail_s = WEFT_NEW(a, double, p->n_tasks);
    int *next = WEFT_NEW(a, int, p->n_tasks), *path = WEFT_NEW(a, int, p->n_tasks);
    int first = 0, n = 0;

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        next[u] = -1;
        for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++)
            if (next[u] < 0 || tail_s[p->succ[k]] > tail_s[next[u]])
                next[u] = p->succ[k];
        tail_s[u] = least_s(m, u) + (next[u] < 0 ? 0 : tail_s[next[u]]);
        if (tail_s[u] >= tail_s[first])
            first = u;
    }
    for (int u = first; u >= 0; u = next[u])
        path[n++] = u;
    out->path = path;
    out->n_path = n;
    out->method = "calls path";
    out->bound = weft_calls_path_bound_of(p, path, n);
}
