/* SPDX-License-Identifier: MIT */
/* fuse.c: chains of a subproblem as single tasks.
 *
 * 1. Task v joins the chain of u if the edge from u to v is the only one that leaves u and the only
 *    one that enters v. Edges enter a chain at its first task and leave it at its last, so chains
 *    numbered by their first tasks are in topological order, with at most one edge for a pair.
 * 2. A chain runs on one device without a break: its time is the sum. With before[i] and after[i]
 *    the times of its tasks before and after i on the device,
 *        release = max of release[i] - before[i],  tail = max of tail[i] - after[i].
 *
 * Proof of the value: started at s on d, task i of the chain starts at s + before[i] >= its
 * release, and its data is there, being made on d. Its end + tail[i] = s + time - after[i] +
 * tail[i], which the tail of the chain covers. Time O(tasks * devices + edges * devices^2). */
#include "fuse.h"

#include <math.h>

/* --- chains ---------------------------------------------------------------------------------- */

static int *group_sizes(const weft_subproblem *x, weft_arena *a)
{
    int *size = WEFT_NEW(a, int, x->n_groups);

    for (int u = 0; x->group != NULL && u < x->n_tasks; u++)
        size[x->group[u]]++;
    return size;
}

/* The only reader of u, if u is its only source; -1 else. */
static int only_reader(const weft_subproblem *x, int u)
{
    int v;

    if (x->out_at[u + 1] - x->out_at[u] != 1)
        return -1;
    v = x->to[x->out[x->out_at[u]]];
    return x->in_at[v + 1] - x->in_at[v] == 1 ? v : -1;
}

/* Numbers the chains; domain[chain][device] says what all of its tasks may use. */
static int number_chains(const weft_subproblem *x, int *owner, bool *domain, weft_arena *a)
{
    int n = x->n_devices, n_chains = 0, *size = group_sizes(x, a);

    for (int u = 0; u < x->n_tasks; u++)
        owner[u] = -1;
    for (int u = 0; u < x->n_tasks; u++) {
        int v = only_reader(x, u);
        bool *own, is_open = false;

        if (owner[u] < 0) {
            owner[u] = n_chains++;
            for (int d = 0; d < n; d++)
                domain[weft_cell(x, owner[u], d)] = x->time_s[weft_cell(x, u, d)] < INFINITY;
        }
        if (v < 0 || (x->group != NULL && (size[x->group[u]] > 1 || size[x->group[v]] > 1)))
            continue;
        own = domain + weft_cell(x, owner[u], 0);
        for (int d = 0; d < n; d++)
            is_open |= own[d] && x->time_s[weft_cell(x, v, d)] < INFINITY;
        if (!is_open)
            continue;
        owner[v] = owner[u];
        for (int d = 0; d < n; d++)
            own[d] &= x->time_s[weft_cell(x, v, d)] < INFINITY;
    }
    return n_chains;
}

/* --- the coarse subproblem ------------------------------------------------------------------- */

static void set_times(const weft_fused *f, weft_outline *r)
{
    const weft_subproblem *x = f->fine;

    for (int c = 0; c < r->subproblem->n_tasks; c++) {
        for (int d = 0; d < x->n_devices; d++) {
            size_t to = weft_cell(x, c, d);

            for (int i = f->part.at[c]; i < f->part.at[c + 1]; i++) {
                size_t from = weft_cell(x, f->part.item[i], d);

                if (x->time_s[from] < INFINITY)
                    r->release_s[to] = fmax(r->release_s[to], x->release_s[from] - r->time_s[to]);
                r->tail_s[to] = fmax(r->tail_s[to] - x->time_s[from], x->tail_s[from]);
                r->time_s[to] += x->time_s[from];
            }
            if (!(r->time_s[to] < INFINITY))
                r->release_s[to] = r->tail_s[to] = 0;
        }
    }
    r->subproblem->free_s = x->free_s;
}

static void set_edges(const weft_fused *f, weft_outline *r)
{
    const weft_subproblem *x = f->fine;

    for (int c = 0; c < r->subproblem->n_tasks; c++) {
        int u = f->part.item[f->part.at[c]];

        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++)
            weft_outline_edge(r, f->owner[x->from[x->in[i]]], c, weft_sends(x, x->in[i]));
    }
}

/* Weights of a chain, each once: chains read few. */
static void set_weights(const weft_fused *f, weft_arena *a)
{
    const weft_subproblem *x = f->fine;
    weft_subproblem *y = f->coarse;
    int *at = WEFT_NEW(a, int, y->n_tasks + 1), *last, n = 0;
    int *weight = WEFT_NEW(a, int, x->weight_at[x->n_tasks]);

    last = WEFT_NEW(a, int, x->n_weights); /* 1 + the last chain that reads it */
    for (int c = 0; c < y->n_tasks; c++) {
        for (int i = f->part.at[c]; i < f->part.at[c + 1]; i++) {
            for (int j = x->weight_at[f->part.item[i]]; j < x->weight_at[f->part.item[i] + 1];
                 j++) {
                if (last[x->weight[j]] != c + 1)
                    weight[n++] = x->weight[j];
                last[x->weight[j]] = c + 1;
            }
        }
        at[c + 1] = n;
    }
    y->n_weights = x->n_weights;
    y->weight_at = at;
    y->weight = weight;
    y->weight_bytes = x->weight_bytes;
    y->room_bytes = x->room_bytes;
}

static void set_groups(const weft_fused *f, weft_arena *a)
{
    int *group = WEFT_NEW(a, int, f->coarse->n_tasks);

    for (int c = 0; c < f->coarse->n_tasks; c++)
        group[c] = f->fine->group[f->part.item[f->part.at[c]]];
    f->coarse->group = group;
    f->coarse->n_groups = f->fine->n_groups;
}

weft_fused weft_subproblem_fuse(const weft_subproblem *x, weft_arena *a)
{
    weft_fused f = {.fine = x};
    bool *domain = WEFT_NEW(a, bool, (size_t)x->n_tasks *(size_t)x->n_devices);
    weft_outline r;
    int n_chains;

    f.owner = WEFT_NEW(a, int, x->n_tasks);
    n_chains = number_chains(x, f.owner, domain, a);
    f.part = weft_rows_by(f.owner, x->n_tasks, n_chains, a);
    r = weft_outline_new(n_chains, x->n_devices, x->n_edges, a);
    set_times(&f, &r);
    set_edges(&f, &r);
    f.coarse = weft_outline_end(&r, a);
    if (x->n_weights > 0)
        set_weights(&f, a);
    if (x->group != NULL)
        set_groups(&f, a);
    return f;
}

/* --- schedules ------------------------------------------------------------------------------- */

void weft_fused_expand(const weft_fused *f, const int *device, const double *start_s,
                       int *fine_device, double *fine_start_s)
{
    for (int c = 0; c < f->coarse->n_tasks; c++) {
        double at_s = start_s[c];

        for (int i = f->part.at[c]; i < f->part.at[c + 1]; i++) {
            int u = f->part.item[i];

            fine_device[u] = device[c];
            fine_start_s[u] = at_s;
            at_s += f->fine->time_s[weft_cell(f->fine, u, device[c])];
        }
    }
}

void weft_fused_project(const weft_fused *f, const int *fine_device, const double *fine_start_s,
                        int *device, double *start_s)
{
    for (int c = 0; c < f->coarse->n_tasks; c++) {
        int most = -1;

        for (int d = 0; d < f->fine->n_devices; d++) {
            int n = 0;

            if (!(f->coarse->time_s[weft_cell(f->fine, c, d)] < INFINITY))
                continue;
            for (int i = f->part.at[c]; i < f->part.at[c + 1]; i++)
                n += fine_device[f->part.item[i]] == d;
            if (n > most) {
                most = n;
                device[c] = d;
            }
        }
        start_s[c] = fine_start_s[f->part.item[f->part.at[c]]];
    }
}
