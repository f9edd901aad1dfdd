/* SPDX-License-Identifier: MIT */
/* problem_check.c: the invariants of problems in problem.h, spelled out. A broken one is a defect
 * of weft, so it aborts. Used by tests. */
#include "invariants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_names(const char *const *name, int n)
{
    weft_arena *scratch = weft_arena_new();
    weft_map *seen = weft_map_new(scratch);

    for (int i = 0; i < n; i++)
        must(weft_map_put(seen, name[i], strlen(name[i]), i));
    weft_arena_free(scratch);
}

/* Offsets grow; the items of each of the n rows ascend and lie in 0 .. n_items - 1. */
static void check_rows(const int *at, const int *to, int n, int n_items)
{
    must(at[0] == 0);
    for (int i = 0; i < n; i++) {
        must(at[i] <= at[i + 1]);
        for (int k = at[i]; k < at[i + 1]; k++)
            must(to[k] >= 0 && to[k] < n_items && (k == at[i] || to[k - 1] < to[k]));
    }
}

static bool has(const int *at, const int *to, int row, int item)
{
    int low = at[row], high = at[row + 1];

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (to[middle] == item)
            return true;
        if (to[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void check_task(const weft_problem *p, int u)
{
    bool is_supported = false;

    for (int d = 0; d < p->n_devices; d++) {
        must(weft_task_s(p, u, d) >= 0);
        is_supported = is_supported || isfinite(weft_task_s(p, u, d));
    }
    must(is_supported);
    must(p->task_kind[u] != NULL);
    must(p->pin[u] >= -1 && p->pin[u] < p->n_devices && p->colocation[u] >= -1);
    must(p->pin[u] < 0 || isfinite(weft_task_s(p, u, p->pin[u])));
    for (int k = p->res_at[u]; k < p->res_at[u + 1]; k++)
        must(p->producer[p->res[k]] == u);
    for (int k = p->arg_at[u]; k < p->arg_at[u + 1]; k++)
        must(has(p->reader_at, p->reader, p->arg[k], u));
    for (int k = p->pred_at[u]; k < p->pred_at[u + 1]; k++)
        must(p->pred[k] < u && has(p->succ_at, p->succ, p->pred[k], u));
}

static void check_tensor(const weft_problem *p, int t)
{
    int u = p->producer[t];

    must(u >= -1 && u < p->n_tasks);
    must(isfinite(p->amount[t]) && p->amount[t] >= 0);
    must(isfinite(p->memory[t]) && p->memory[t] >= 0);
    must(!p->is_weight[t] || (u < 0 && p->amount[t] == 0));
    must(u < 0 || has(p->res_at, p->res, u, t));
    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
        must(has(p->arg_at, p->arg, p->reader[k], t));
        must(u < 0 || has(p->pred_at, p->pred, p->reader[k], u));
    }
}

/* A task that waits for u reads something that u makes. */
static void check_waits(const weft_problem *p, int v)
{
    for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++) {
        bool reads = false;

        for (int i = p->arg_at[v]; i < p->arg_at[v + 1]; i++)
            reads = reads || p->producer[p->arg[i]] == p->pred[k];
        must(reads);
    }
}

static void check_pair(const weft_problem *p, int from, int to)
{
    int k = from * p->n_devices + to;
    int n_hops = p->route_at[k + 1] - p->route_at[k];

    must(p->latency_s[k] >= 0 && p->second_per_byte[k] >= 0 && n_hops >= 0);
    must(isinf(p->latency_s[k]) == isinf(p->second_per_byte[k]));
    must((n_hops > 0) == (from != to && isfinite(p->latency_s[k])));
    must(from != to || (p->latency_s[k] == 0 && p->second_per_byte[k] == 0));
    for (int i = p->route_at[k]; i < p->route_at[k + 1]; i++)
        must(p->route[i] >= 0 && p->route[i] < p->n_links);
}

static void check_devices(const weft_problem *p)
{
    must(p->route_at[0] == 0);
    for (int from = 0; from < p->n_devices; from++) {
        must(p->capacity[from] >= 0 && p->idle_w[from] >= 0);
        for (int to = 0; to < p->n_devices; to++)
            check_pair(p, from, to);
    }
    must(p->host >= -1 && p->host < p->n_devices);
}

void weft_problem_check(const weft_problem *p)
{
    must(p->n_tasks >= 1 && p->n_devices >= 1 && p->n_tensors >= 0 && p->n_links >= 0);
    check_names(p->task_name, p->n_tasks);
    check_names(p->device_name, p->n_devices);
    check_names(p->link_name, p->n_links);
    check_rows(p->reader_at, p->reader, p->n_tensors, p->n_tasks);
    check_rows(p->arg_at, p->arg, p->n_tasks, p->n_tensors);
    check_rows(p->res_at, p->res, p->n_tasks, p->n_tensors);
    check_rows(p->pred_at, p->pred, p->n_tasks, p->n_tasks);
    check_rows(p->succ_at, p->succ, p->n_tasks, p->n_tasks);
    must(p->arg_at[p->n_tasks] == p->reader_at[p->n_tensors]);
    must(p->pred_at[p->n_tasks] == p->succ_at[p->n_tasks]);
    for (int u = 0; u < p->n_tasks; u++) {
        check_task(p, u);
        check_waits(p, u);
    }
    for (int t = 0; t < p->n_tensors; t++)
        check_tensor(p, t);
    check_devices(p);
}
