/* SPDX-License-Identifier: MIT */
/* items.c: from the jobs of one item to the jobs of a stream.
 *
 * Items of a stream follow each other at the largest load of any resource, by a reservation that
 * repeats. Every job of a stream uses at most one resource, and all resources are queues.
 *   1. Jobs in an order that agrees with dependences and plan get a place on their resource, one
 *      after the other from 0. The period P is the largest sum, so places fit into [0, P).
 *   2. In that order, job j gets the first cycle c_j in which all it waits for has ended before
 *      c_j P + place_j.
 *   3. Job j of item k has its turn by (c_j + k, number in that order).
 * In the reservation j of item k starts at (c_j + k) P + place_j: no two jobs overlap and nothing
 * starts before its inputs. The run starts each job as early as its queue permits, hence (induction
 * along the reservation) never later than reserved: item k ends by k P + L, with L the end of item
 * 0 in the reservation. The busiest resource needs n P for n items. So n items take between n P and
 * (n - 1) P + L, whatever n: the spacing is P, the rest is filling and draining.
 *
 * Time O(jobs + dependences + uses). */
#include <math.h>
#include <string.h>

#include "parts.h"

weft_item weft_item_new(int n_jobs, int n_resources, int64_t n_deps, int64_t n_uses, weft_arena *a)
{
    weft_item one = {
        .n_jobs = n_jobs,
        .n_resources = n_resources,
        .duration_s = WEFT_NEW(a, double, n_jobs),
        .dep_at = WEFT_NEW(a, int, n_jobs + 1),
        .dep = WEFT_NEW(a, int, n_deps),
        .use_at = WEFT_NEW(a, int, n_jobs + 1),
        .use = WEFT_NEW(a, int, n_uses),
        .is_queue = WEFT_NEW(a, bool, n_resources),
        .rank = WEFT_NEW(a, int64_t, n_jobs),
        .kind = WEFT_NEW(a, weft_job_kind, n_jobs),
        .task = WEFT_NEW(a, int, n_jobs),
        .tensor = WEFT_NEW(a, int, n_jobs),
        .from = WEFT_NEW(a, int, n_jobs),
        .to = WEFT_NEW(a, int, n_jobs),
    };

    for (int j = 0; j < n_jobs; j++)
        one.task[j] = one.tensor[j] = one.from[j] = one.to[j] = -1;
    return one;
}

/* --- the reservation ------------------------------------------------------------------------- */

/* Where in which cycle a job is. */
typedef struct reserve {
    double period_s;
    double *place_s; /* [n_jobs] */
    int64_t *cycle;  /* [n_jobs] */
    int64_t furthest;
} reserve;

/* Step 1. Jobs that use nothing find their place in step 2. */
static void pack(const weft_item *one, const int *list, reserve *r, weft_arena *scratch)
{
    double *used_s = WEFT_NEW(scratch, double, one->n_resources);

    for (int i = 0; i < one->n_jobs; i++) {
        int j = list[i];
        if (one->use_at[j] == one->use_at[j + 1])
            continue;
        double *sum_s = &used_s[one->use[one->use_at[j]]];
        r->place_s[j] = *sum_s;
        *sum_s += one->duration_s[j];
        r->period_s = fmax(r->period_s, *sum_s);
    }
}

/* Whole periods in length_s, rounded up, at most `furthest` (also if the period is 0). */
static int64_t periods_in(const reserve *r, double length_s)
{
    double n = ceil(length_s / r->period_s);

    if (!(length_s > 0))
        return 0;
    return n < (double)r->furthest ? (int64_t)n : r->furthest;
}

/* Step 2 for one job. A job that uses nothing starts when it can, but its place must stay in
 * [0, P): what is beyond goes into the cycle. */
static void reserve_job(const weft_item *one, int j, reserve *r)
{
    bool is_placed = one->use_at[j] < one->use_at[j + 1];

    for (int i = one->dep_at[j]; i < one->dep_at[j + 1]; i++) {
        int k = one->dep[i];
        double end_s = r->place_s[k] + one->duration_s[k];
        int64_t cycle = r->cycle[k];
        if (is_placed) {
            cycle += periods_in(r, end_s - r->place_s[j]);
        } else if (end_s >= r->period_s && r->period_s > 0) {
            cycle += periods_in(r, end_s);
            end_s = 0; /* rounded up to the next cycle: later, never earlier */
        }
        if (!is_placed && (cycle > r->cycle[j] || (cycle == r->cycle[j] && end_s > r->place_s[j])))
            r->place_s[j] = end_s;
        if (cycle > r->cycle[j])
            r->cycle[j] = cycle;
    }
}

/* Step 3 ends here. Sums along the longest chain of jobs stay below 2^62, since `furthest` allows
 * for it. */
void weft_item_reserve(weft_item *one, const int *list, weft_arena *scratch)
{
    int64_t n = one->n_jobs > 1 ? one->n_jobs : 1;
    reserve r = {
        .place_s = WEFT_NEW(scratch, double, n),
        .cycle = WEFT_NEW(scratch, int64_t, n),
        .furthest = INT64_C(1) << 20, /* cycles that one job may wait for another */
    };

    if (n > INT64_C(1) << 20)
        r.furthest = (INT64_C(1) << 61) / n / n + 1;
    pack(one, list, &r, scratch);
    for (int i = 0; i < one->n_jobs; i++)
        reserve_job(one, list[i], &r);
    for (int i = 0; i < one->n_jobs; i++)
        one->rank[list[i]] = r.cycle[list[i]] * n + i;
    one->rank_step = n;
}

/* --- copies ---------------------------------------------------------------------------------- */

/* The arrays of weft_jobs while they are written. */
typedef struct writing {
    double *duration_s;
    int *dep_at, *dep, *use_at, *use;
    int64_t *rank;
    weft_job_kind *kind;
    int *task, *tensor, *from, *to, *item;
} writing;

static writing new_writing(const weft_item *one, int n_items, weft_arena *a)
{
    size_t k = (size_t)n_items, n = (size_t)one->n_jobs * k;

    return (writing){
        .duration_s = WEFT_NEW(a, double, n),
        .dep_at = WEFT_NEW(a, int, n + 1),
        .dep = WEFT_NEW(a, int, (size_t)one->dep_at[one->n_jobs] * k),
        .use_at = WEFT_NEW(a, int, n + 1),
        .use = WEFT_NEW(a, int, (size_t)one->use_at[one->n_jobs] * k),
        .rank = WEFT_NEW(a, int64_t, n),
        .kind = WEFT_NEW(a, weft_job_kind, n),
        .task = WEFT_NEW(a, int, n),
        .tensor = WEFT_NEW(a, int, n),
        .from = WEFT_NEW(a, int, n),
        .to = WEFT_NEW(a, int, n),
        .item = WEFT_NEW(a, int, n),
    };
}

static void copy_lists(const weft_item *one, int j, int k, writing *w)
{
    int to = k * one->n_jobs + j, n_deps = w->dep_at[to], n_uses = w->use_at[to];

    for (int i = one->dep_at[j]; i < one->dep_at[j + 1]; i++)
        w->dep[n_deps++] = k * one->n_jobs + one->dep[i];
    for (int i = one->use_at[j]; i < one->use_at[j + 1]; i++)
        w->use[n_uses++] = one->use[i];
    w->dep_at[to + 1] = n_deps;
    w->use_at[to + 1] = n_uses;
}

static void copy_item(const weft_item *one, int k, writing *w)
{
    for (int j = 0; j < one->n_jobs; j++) {
        int to = k * one->n_jobs + j;
        copy_lists(one, j, k, w);
        w->duration_s[to] = one->duration_s[j];
        w->rank[to] = one->rank[j] + one->rank_step * k;
        w->item[to] = k;
        w->kind[to] = one->kind[j];
        w->task[to] = one->task[j];
        w->tensor[to] = one->tensor[j];
        w->from[to] = one->from[j];
        w->to[to] = one->to[j];
    }
}

weft_jobs *weft_item_copies(const weft_item *one, int n_items, weft_arena *a)
{
    weft_jobs *out = WEFT_NEW(a, weft_jobs, 1);
    writing w = new_writing(one, n_items, a);
    int n_jobs = one->n_jobs * n_items;

    for (int k = 0; k < n_items; k++)
        copy_item(one, k, &w);
    *out = (weft_jobs){
        .n_jobs = n_jobs,
        .n_resources = one->n_resources,
        .duration_s = w.duration_s,
        .release_s = WEFT_NEW(a, double, n_jobs), /* all items are there from time 0 */
        .dep_at = w.dep_at,
        .dep = w.dep,
        .use_at = w.use_at,
        .use = w.use,
        .is_queue = weft_arena_copy(a, one->is_queue, (size_t)one->n_resources * sizeof(bool)),
        .rank = w.rank,
        .kind = w.kind,
        .task = w.task,
        .tensor = w.tensor,
        .from = w.from,
        .to = w.to,
        .item = w.item,
    };
    return out;
}
