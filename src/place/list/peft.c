/* SPDX-License-Identifier: MIT */
/* peft.c: predict earliest finish time.
 *
 * 1. Optimistic cost table, from the last task to the first:
 *    table[u][d] = max over successors v of min over devices e of
 *                  table[v][e] + time of v on e + (mean transfer of u's tensor, 0 if e = d).
 * 2. Of the ready tasks the one with the highest mean of its row is placed, on the device where
 *    finish + table is least, by insertion.
 *
 * A heuristic without guarantee. The least over e is either the least of all, with transfer, or the
 * entry of d itself: time O(tensors read * devices).
 * Arabnejad, Barbosa, IEEE Trans. Parallel and Distributed Systems 25(3), 2014. */
#include "list.h"

#include <math.h>

/* Time of v on d and what must follow it; INFINITY outside its domain. */
static double rest_s(const weft_list *l, const double *table, int v, int d)
{
    int n_devices = l->problem->n_devices;

    if (!weft_domain_has(&l->domain, v, d))
        return INFINITY;
    return table[(size_t)v * (size_t)n_devices + (size_t)d] + weft_task_s(l->problem, v, d);
}

/* Raises the row of a producer to what reader v of its tensor forces. */
static void raise_row(const weft_list *l, const double *table, int v, double send_s, double *row)
{
    double least = INFINITY;

    for (int d = 0; d < l->problem->n_devices; d++)
        least = fmin(least, rest_s(l, table, v, d));
    for (int d = 0; d < l->problem->n_devices; d++)
        row[d] = fmax(row[d], fmin(least + send_s, rest_s(l, table, v, d)));
}

static double *optimistic_table(const weft_list *l, const double *send_s)
{
    const weft_problem *p = l->problem;
    size_t n_devices = (size_t)p->n_devices;
    double *table = WEFT_NEW(l->arena, double, (size_t)p->n_tasks *n_devices);

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
            int t = p->res[i];

            for (int j = p->reader_at[t]; j < p->reader_at[t + 1]; j++)
                raise_row(l, table, p->reader[j], send_s[t], table + (size_t)u * n_devices);
        }
    }
    return table;
}

static weft_choice predicted(weft_list *l, int u, void *context)
{
    const double *table = context;

    return weft_list_earliest(l, u, table + (size_t)u * (size_t)l->problem->n_devices);
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    double *table = optimistic_table(&l, weft_list_mean_send(&l));
    weft_list_rule rule = {weft_list_means(&l, table), predicted, table};

    (void)options;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_peft = {
    .name = "peft",
    .summary = "PEFT: each task where it and its best continuation finish first",
    .solve = solve};
