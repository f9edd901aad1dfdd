/* SPDX-License-Identifier: MIT */
/* parts.c: plans with each part of the graph on one device.
 *
 * Parts have no tensor in common but weights and inputs, such as the copies of a network whose batch is
 * cut in shares (problem/shares.c); tasks that take no time anywhere, which may join them in the end,
 * belong to none and go where the last task before them is. All ways to give few parts devices are
 * looked at; those with the least load of a device are simulated. Time O(n + devices^parts). */
#include "first.h"

#include <math.h>
#include <string.h>

enum { MOST_PARTS = 6, MOST_WAYS = 4096, N_TRIED = 12 };

typedef struct parts {
    const weft_problem *p;
    int n, *of;     /* [n_tasks] part, or -1 */
    double *load_s; /* [n * n_devices] */
    int n_best;     /* ways with the least loads, ascending */
    double best_s[N_TRIED];
    int best[N_TRIED];
} parts;

static bool takes_time(const weft_problem *p, int u)
{
    for (int d = 0; d < p->n_devices; d++)
        if (weft_task_s(p, u, d) > 0)
            return true;
    return false;
}

static bool find(parts *x, weft_arena *a)
{
    const weft_problem *p = x->p;
    int *group = WEFT_NEW(a, int, p->n_tasks), *number = WEFT_NEW(a, int, p->n_tasks);

    x->of = WEFT_NEW(a, int, p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++)
        group[u] = u;
    for (int u = 0; u < p->n_tasks; u++)
        for (int i = p->succ_at[u]; takes_time(p, u) && i < p->succ_at[u + 1]; i++) {
            int one = weft_root(group, u), other = weft_root(group, p->succ[i]);

            if (takes_time(p, p->succ[i]))
                group[one < other ? other : one] = one < other ? one : other;
        }
    for (int u = 0; u < p->n_tasks; u++) {
        int root = weft_root(group, u);

        x->of[u] = -1;
        if (!takes_time(p, u))
            continue;
        if (number[root] == 0)
            number[root] = ++x->n;
        x->of[u] = number[root] - 1;
    }
    return x->n > 1 && x->n <= MOST_PARTS && pow(p->n_devices, x->n) <= MOST_WAYS;
}

static void add_loads(parts *x, weft_arena *a)
{
    const weft_problem *p = x->p;

    x->load_s = WEFT_NEW(a, double, x->n * p->n_devices);
    for (int u = 0; u < p->n_tasks; u++)
        for (int d = 0; x->of[u] >= 0 && d < p->n_devices; d++)
            x->load_s[x->of[u] * p->n_devices + d] +=
                p->pin[u] < 0 || p->pin[u] == d ? weft_task_s(p, u, d) : INFINITY;
}

/* Part i is on digit i of the number of the way. */
static double load_of(const parts *x, int way, double *sum)
{
    double most = 0;
    int n = x->p->n_devices;

    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int i = 0; i < x->n; i++, way /= n) {
        sum[way % n] += x->load_s[i * n + way % n];
        most = fmax(most, sum[way % n]);
    }
    return most;
}

static void keep_best(parts *x, weft_arena *a)
{
    int n_ways = (int)pow(x->p->n_devices, x->n);
    double *sum = WEFT_NEW(a, double, x->p->n_devices);

    for (int way = 0; way < n_ways; way++) {
        double load_s = load_of(x, way, sum);
        int k = x->n_best;

        if (!isfinite(load_s) || (k == N_TRIED && load_s >= x->best_s[k - 1]))
            continue;
        if (k < N_TRIED)
            x->n_best++;
        else
            k--;
        for (; k > 0 && x->best_s[k - 1] > load_s; k--) {
            x->best_s[k] = x->best_s[k - 1];
            x->best[k] = x->best[k - 1];
        }
        x->best_s[k] = load_s;
        x->best[k] = way;
    }
}

static void fill_plan(const parts *x, int way, weft_plan *plan)
{
    const weft_problem *p = x->p;
    int device[MOST_PARTS] = {0};

    for (int i = 0; i < x->n; i++, way /= p->n_devices)
        device[i] = way % p->n_devices;
    for (int u = 0; u < p->n_tasks; u++) {
        int last = p->pred_at[u + 1] > p->pred_at[u] ? p->pred[p->pred_at[u + 1] - 1] : -1;

        plan->start_s[u] = u;
        plan->device[u] = x->of[u] >= 0    ? device[x->of[u]]
                          : p->pin[u] >= 0 ? p->pin[u]
                          : last >= 0      ? plan->device[last]
                                           : device[0];
    }
}

void weft_best_parts(weft_best *b, const weft_problem *p, weft_run *run)
{
    weft_arena *scratch = weft_arena_new();
    parts x = {.p = p};

    if (find(&x, scratch)) {
        add_loads(&x, scratch);
        keep_best(&x, scratch);
    }
    for (int i = 0; i < x.n_best && !weft_run_is_over(run); i++) {
        weft_plan plan = weft_plan_new(p->n_tasks, scratch);

        fill_plan(&x, x.best[i], &plan);
        weft_best_try(b, p, &plan, scratch);
    }
    weft_arena_free(scratch);
}
