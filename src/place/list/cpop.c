/* SPDX-License-Identifier: MIT */
/* cpop.c: critical path on a processor.
 *
 * 1. priority = upward rank + downward rank, from mean times and mean transfers.
 * 2. The critical path starts at the source of highest priority and follows the successor of
 *    highest priority. Its device is the one that runs most of its tasks, and those fastest.
 * 3. Of the ready tasks the one of highest priority is placed: a task of the path on the path's
 *    device if it may go there, any other where it finishes first; both by insertion.
 *
 * A heuristic without guarantee. Time O(tensors read * devices), plus the search for gaps.
 * Topcuoglu, Hariri, Wu, IEEE Trans. Parallel and Distributed Systems 13(3), 2002. */
#include "list.h"

#include <math.h>

typedef struct critical_path {
    bool *has; /* [n_tasks] */
    int device;
} critical_path;

/* Mean time and transfers of the longest way from the beginning to the start of each task. */
static double *downward(const weft_list *l, const double *mean_s, const double *send_s)
{
    const weft_problem *p = l->problem;
    double *rank = WEFT_NEW(l->arena, double, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            int t = p->arg[i], from = p->producer[t];

            if (from >= 0)
                rank[u] = fmax(rank[u], rank[from] + mean_s[from] + send_s[t]);
        }
    }
    return rank;
}

static void mark_path(const weft_problem *p, const double *priority, bool *has)
{
    int u = -1;

    for (int v = 0; v < p->n_tasks; v++) {
        if (p->pred_at[v + 1] == p->pred_at[v] && (u < 0 || priority[v] > priority[u]))
            u = v;
    }
    while (u >= 0) {
        int next = -1;

        has[u] = true;
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
            if (next < 0 || priority[p->succ[i]] > priority[next])
                next = p->succ[i];
        }
        u = next;
    }
}

static int path_device(const weft_list *l, const bool *has)
{
    const weft_problem *p = l->problem;
    int best = 0, most = -1;
    double least_s = INFINITY;

    for (int d = 0; d < p->n_devices; d++) {
        double sum_s = 0;
        int n = 0;

        for (int u = 0; u < p->n_tasks; u++) {
            if (has[u] && weft_domain_has(&l->domain, u, d)) {
                sum_s += weft_task_s(p, u, d);
                n++;
            }
        }
        if (n > most || (n == most && sum_s < least_s)) {
            best = d;
            most = n;
            least_s = sum_s;
        }
    }
    return best;
}

static weft_choice on_path_or_earliest(weft_list *l, int u, void *context)
{
    const critical_path *path = context;

    if (path->has[u] && weft_list_allows(l, u, path->device)) {
        weft_choice c = {path->device, weft_list_insert(l, u, path->device)};

        if (c.start_s < INFINITY)
            return c;
    }
    return weft_list_earliest(l, u, NULL);
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    double *mean_s = weft_list_means(&l, p->seconds), *send_s = weft_list_mean_send(&l);
    double *up = weft_list_upward(&l, mean_s, send_s), *priority = downward(&l, mean_s, send_s);
    critical_path path = {WEFT_NEW(run->scratch, bool, p->n_tasks), 0};
    weft_list_rule rule = {priority, on_path_or_earliest, &path};

    (void)options;
    for (int u = 0; u < p->n_tasks; u++)
        priority[u] += up[u];
    mark_path(p, priority, path.has);
    path.device = path_device(&l, path.has);
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_cpop = {
    .name = "cpop",
    .summary = "CPOP: the critical path on one device, the other tasks where they finish first",
    .solve = solve};
