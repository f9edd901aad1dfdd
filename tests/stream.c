/* SPDX-License-Identifier: MIT */
/* stream.c: a stream of items, from the jobs of a single run. Transfers are buffered: they hold their
 * resources one after the other, each for its whole length, a job each.
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
 * (n - 1) P + L, whatever n: the spacing is P, the rest is filling and draining. */
#include "stream.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "parts.h"

/* --- one item -------------------------------------------------------------------------------- */

/* Resources that job i of a run holds, in order of travel: devices, then links. */
static int list_held(const weft_problem *p, const weft_jobs *run, int i, int *hold)
{
    int pair = run->from[i] * p->n_devices + run->to[i], n = 0;

    if (run->kind[i] == WEFT_JOB_COMPUTE || p->transfer == WEFT_CALLS) {
        hold[n++] = run->use[run->use_at[i]];
    } else if (p->transfer == WEFT_BLOCK && run->duration_s[i] > 0) {
        hold[n++] = run->from[i];
        hold[n++] = run->to[i];
    } else if (p->transfer == WEFT_CONTEND && run->duration_s[i] > 0) {
        for (int k = p->route_at[pair]; k < p->route_at[pair + 1]; k++) {
            bool is_new = true;

            for (int l = 0; l < n; l++)
                is_new = is_new && hold[l] != p->n_devices + p->route[k];
            if (is_new)
                hold[n++] = p->n_devices + p->route[k];
        }
    }
    return n;
}

/* hop_at[i]: the first job of the item that stands for job i of the run. */
static weft_jobs *make_item(const weft_problem *p, const weft_jobs *run, int *hop_at, weft_arena *a)
{
    int *hold = WEFT_NEW(a, int, p->n_devices + p->n_links + 2), n_deps = 0;
    weft_jobs *one;

    for (int i = 0; i < run->n_jobs; i++) {
        int n = list_held(p, run, i, hold);

        hop_at[i + 1] = hop_at[i] + (n > 1 ? n : 1);
    }
    one = weft_jobs_new(hop_at[run->n_jobs], p->n_devices + p->n_links,
                        run->dep_at[run->n_jobs] + hop_at[run->n_jobs], hop_at[run->n_jobs], a);
    for (int r = 0; r < one->n_resources; r++)
        one->is_queue[r] = true;
    for (int i = 0; i < run->n_jobs; i++) {
        int n = list_held(p, run, i, hold);

        for (int j = hop_at[i]; j < hop_at[i + 1]; j++) {
            one->duration_s[j] = run->duration_s[i];
            one->kind[j] = run->kind[i];
            for (int k = run->dep_at[i]; k < run->dep_at[i + 1] && j == hop_at[i]; k++)
                one->dep[n_deps++] = hop_at[run->dep[k] + 1] - 1;
            if (j > hop_at[i])
                one->dep[n_deps++] = j - 1;
            one->dep_at[j + 1] = n_deps;
            one->use_at[j + 1] = one->use_at[j];
            if (n > 0)
                one->use[one->use_at[j + 1]++] = hold[j - hop_at[i]];
        }
    }
    return one;
}

/* All jobs of the item by their starts in the run, in an order that agrees with dependences. */
static const int *list_jobs(const weft_jobs *run, const weft_timeline *t, const int *hop_at,
                            weft_arena *a)
{
    int *list = WEFT_NEW(a, int, hop_at[run->n_jobs] + 1), n = 0;
    bool *is_listed = WEFT_NEW(a, bool, run->n_jobs + 1);

    for (int count = 0; count < run->n_jobs; count++) {
        int next = -1;

        for (int i = 0; i < run->n_jobs; i++) {
            bool is_ready = !is_listed[i];

            for (int k = run->dep_at[i]; k < run->dep_at[i + 1] && is_ready; k++)
                is_ready = is_listed[run->dep[k]];
            if (is_ready && (next < 0 || t->start_s[i] < t->start_s[next]))
                next = i;
        }
        is_listed[next] = true;
        for (int j = hop_at[next]; j < hop_at[next + 1]; j++)
            list[n++] = j;
    }
    return list;
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
static void pack(const weft_jobs *one, const int *list, reserve *r, weft_arena *scratch)
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
static void reserve_job(const weft_jobs *one, int j, reserve *r)
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
static void reserve_all(weft_jobs *one, const int *list, weft_arena *scratch)
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
}

/* --- all items ------------------------------------------------------------------------------- */

static weft_jobs *copy_items(const weft_jobs *one, int n_items, weft_arena *a)
{
    int n = one->n_jobs;
    weft_jobs *to = weft_jobs_new(n * n_items, one->n_resources, (int64_t)one->dep_at[n] * n_items,
                                  (int64_t)one->use_at[n] * n_items, a);

    memcpy(to->is_queue, one->is_queue, (size_t)one->n_resources * sizeof *to->is_queue);
    for (int i = 0; i < n * n_items; i++) {
        int j = i % n, k = i / n;

        to->dep_at[i + 1] = to->dep_at[i];
        to->use_at[i + 1] = to->use_at[i];
        for (int d = one->dep_at[j]; d < one->dep_at[j + 1]; d++)
            to->dep[to->dep_at[i + 1]++] = k * n + one->dep[d];
        for (int u = one->use_at[j]; u < one->use_at[j + 1]; u++)
            to->use[to->use_at[i + 1]++] = one->use[u];
        to->duration_s[i] = one->duration_s[j];
        to->rank[i] = one->rank[j] + (int64_t)k * n;
        to->kind[i] = one->kind[j];
    }
    return to;
}

void run_stream(const weft_problem *p, const weft_plan *plan, int n_items, double *end_s)
{
    weft_arena *a = weft_arena_new();
    weft_problem flow = *p;
    const weft_jobs *run;
    weft_timeline t;
    weft_jobs *one, *all;
    int *hop_at;

    flow.constraints.goal = WEFT_THROUGHPUT; /* calls need not be done in one go */
    run = weft_lower(&flow, plan, a);
    t = weft_run_jobs(run, a);
    CHECK(!t.is_stuck);
    hop_at = WEFT_NEW(a, int, run->n_jobs + 1);
    one = make_item(p, run, hop_at, a);
    reserve_all(one, list_jobs(run, &t, hop_at, a), a);
    all = copy_items(one, n_items, a);
    t = weft_run_jobs(all, a);
    CHECK(!t.is_stuck);
    for (int k = 0; k < n_items; k++)
        end_s[k] = 0;
    for (int i = 0; i < all->n_jobs; i++)
        if (all->kind[i] == WEFT_JOB_COMPUTE)
            end_s[i / one->n_jobs] = fmax(end_s[i / one->n_jobs], t.end_s[i]);
    weft_arena_free(a);
}
