/* SPDX-License-Identifier: MIT */
/* bound_ancestor.c: the earliest start of each task on each device.
 *
 * Along single ways: i on k starts no earlier than its release, than k is free, and than
 *     max over predecessors p of min over devices l of p of  head[p][l] + time[p][l] + send.
 *
 * With ancestors together (is_deep): let i run on k. An ancestor on k occupies k before i starts;
 * an ancestor a elsewhere forces i to start no earlier than
 *     away[a] = min over l != k of  head[a][l] + time[a][l] + way(a on l, i on k).
 *
 * 1. way(a on l, i on k) = the least delay from the end of a to the start of i: max over the
 *    predecessors p of i that are a or below it of send (p = a), or min over l' of
 *    way(a on l, p on l') + time[p][l'] + send. One pass in topological order for each (a, l).
 * 2. Tasks in topological order, devices k: `plain` as above, from the heads so far. Ancestors with
 *    away[a] > plain, by increasing away.
 * 3. If i starts at or before s, all ancestors with away > s are on k. So the head is the least
 *    over s in {plain} and {away[a]} of max(s, the one-machine bound of the ancestors with
 *    away > s: heads head[a][k], times time[a][k], tails way(a on k, i on k)).
 *
 * Proof. In a schedule with i on k let s be the larger of `plain` and of away of the ancestors that
 * are not on k; i does not start before s. Every ancestor with away > s is on k, ends a way before
 * i starts, and one machine cannot do that faster; s is one of the numbers tried. Tails are the
 * heads of the subproblem run backwards.
 *
 * The one-machine bound falls as s grows, so the best s is where the two meet, found by bisection.
 * Time O(n devices^3 edges) for the ways and O(n devices (ancestors^2 log)) for the rest. The form
 * follows heads and tails of Carlier and Pinson, Management Science 35(2), 1989. */
#include "bound.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* --- backwards ------------------------------------------------------------------------------- */

static double *turned_rows(const double *row, int n, int n_devices, weft_arena *a)
{
    double *out = WEFT_NEW(a, double, (size_t)n *(size_t)n_devices);

    for (int u = 0; u < n; u++) {
        for (int d = 0; d < n_devices; d++)
            out[(n - 1 - u) * n_devices + d] = row[u * n_devices + d];
    }
    return out;
}

weft_subproblem *weft_subproblem_reverse(const weft_subproblem *x, weft_arena *a)
{
    int n = x->n_tasks, k = x->n_devices;
    weft_subproblem turned = {.n_tasks = n, .n_devices = k};
    weft_outline r = weft_outline_copy(&turned, x->n_edges, a);

    r.subproblem->time_s = turned_rows(x->time_s, n, k, a);
    r.subproblem->release_s = turned_rows(x->tail_s, n, k, a);
    r.subproblem->tail_s = turned_rows(x->release_s, n, k, a);
    r.subproblem->free_s = WEFT_NEW(a, double, k);
    for (int e = 0; e < x->n_edges; e++) {
        double *send_s = weft_outline_edge(&r, n - 1 - x->to[e], n - 1 - x->from[e], NULL);

        for (int i = 0; i < k * k; i++)
            send_s[i] = weft_edge_s(x, e, i % k, i / k);
    }
    return weft_outline_end(&r, a);
}

/* --- ancestors ------------------------------------------------------------------------------- */

typedef struct kin {
    double away_s;
    int task;
} kin;

typedef struct lineage {
    const weft_subproblem *x;
    const uint64_t *above; /* ancestors of each task */
    double
        *way_s; /* [((ancestor * n_devices + its device) * n_tasks + task) * n_devices + device] */
    double *head_s;
    kin list[WEFT_MOST_ANCESTORS];
    weft_job job[WEFT_MOST_ANCESTORS];
    double scratch[WEFT_MOST_ANCESTORS];
} lineage;

static bool is_above(const lineage *t, int a, int i)
{
    return t->above[i] >> a & 1;
}

static double *ways_from(const lineage *t, int a, int l)
{
    size_t n = (size_t)t->x->n_devices;

    return &t->way_s[((size_t)a * n + (size_t)l) * (size_t)t->x->n_tasks * n];
}

/* way(a on l, i on k), from the row of (a, l). */
static double way_to(const lineage *t, const double *row, int a, int l, int i, int k)
{
    const weft_subproblem *x = t->x;
    double most_s = 0;

    for (int j = x->in_at[i]; j < x->in_at[i + 1]; j++) {
        int e = x->in[j], p = x->from[e], n = x->n_devices;
        double least_s = INFINITY;

        if (p == a)
            least_s = weft_edge_s(x, e, l, k);
        else if (is_above(t, a, p))
            for (int m = 0; m < n; m++)
                least_s =
                    fmin(least_s, row[p * n + m] + x->time_s[p * n + m] + weft_edge_s(x, e, m, k));
        else
            continue;
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

static void fill_ways(lineage *t)
{
    const weft_subproblem *x = t->x;

    for (int a = 0; a < x->n_tasks; a++) {
        for (int l = 0; l < x->n_devices; l++) {
            double *row = ways_from(t, a, l);

            if (!(x->time_s[a * x->n_devices + l] < INFINITY))
                continue;
            for (int i = a + 1; i < x->n_tasks; i++) {
                for (int k = 0; is_above(t, a, i) && k < x->n_devices; k++)
                    row[i * x->n_devices + k] = way_to(t, row, a, l, i, k);
            }
        }
    }
}

/* The earliest start of i on k if ancestor a is elsewhere. */
static double away_s(const lineage *t, int a, int i, int k)
{
    int n = t->x->n_devices;
    double least_s = INFINITY;

    for (int l = 0; l < n; l++) {
        if (l != k && t->x->time_s[a * n + l] < INFINITY)
            least_s = fmin(least_s, t->head_s[a * n + l] + t->x->time_s[a * n + l] +
                                        ways_from(t, a, l)[i * n + k]);
    }
    return least_s;
}

static int by_away(const void *left, const void *right)
{
    const kin *a = left, *b = right;

    if (a->away_s != b->away_s)
        return a->away_s < b->away_s ? -1 : 1;
    return a->task - b->task;
}

/* One-machine bound of the kin on k before i. */
static double together_s(lineage *t, const kin *list, int n_list, int i, int k)
{
    int n = t->x->n_devices;

    for (int j = 0; j < n_list; j++) {
        int a = list[j].task;

        if (!(t->x->time_s[a * n + k] < INFINITY))
            return INFINITY;
        t->job[j] = (weft_job){t->head_s[a * n + k], t->x->time_s[a * n + k],
                               ways_from(t, a, k)[i * n + k]};
    }
    return weft_machine_bound(t->job, n_list, t->scratch);
}

/* The head of i on k, which is plain_s along single ways. */
static double deep_head(lineage *t, int i, int k, double plain_s)
{
    double before_s;
    kin *list = t->list;
    int n = 0, low = 0, high;

    for (int a = 0; a < i; a++) {
        double away = is_above(t, a, i) ? away_s(t, a, i, k) : 0;

        if (away > plain_s)
            list[n++] = (kin){away, a};
    }
    before_s = together_s(t, list, n, i, k); /* s = plain: all of them are on k */
    if (before_s <= plain_s)
        return plain_s;
    qsort(list, (size_t)n, sizeof *list, by_away);
    /* the first s = away of the kin `low` that is not below the bound of those behind it */
    for (high = n; low < high;) {
        int middle = low + (high - low) / 2, next = middle + 1;
        double s = list[middle].away_s, bound_s = together_s(t, list + next, n - next, i, k);

        if (bound_s <= s) {
            high = middle;
        } else {
            before_s = bound_s;
            low = next;
        }
    }
    return low < n ? fmin(before_s, list[low].away_s) : before_s;
}

double weft_ancestor_work(const weft_subproblem *x)
{
    double n = x->n_tasks, d = x->n_devices;

    if (x->n_tasks > WEFT_MOST_ANCESTORS)
        return INFINITY;
    return n * d * (d * d * x->n_edges + n * d + n * n);
}

void weft_ancestor_heads(const weft_subproblem *x, bool is_deep, double *head_s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a), cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    lineage *t = NULL;

    if (is_deep) {
        assert(x->n_tasks <= WEFT_MOST_ANCESTORS);
        t = WEFT_NEW(a, lineage, 1);
        t->x = x;
        t->head_s = head_s;
        t->above = weft_subproblem_ancestors(x, a);
        t->way_s = WEFT_NEW(a, double, cells *cells);
        fill_ways(t);
    }
    for (int i = 0; i < x->n_tasks; i++) {
        double *head = head_s + weft_cell(x, i, 0);

        weft_subproblem_head_of(x, i, head_s, head);
        for (int k = 0; k < x->n_devices; k++) {
            if (!(x->time_s[weft_cell(x, i, k)] < INFINITY))
                head[k] = INFINITY;
            else if (is_deep)
                head[k] = deep_head(t, i, k, head[k]);
        }
    }
    weft_arena_rewind(a, mark);
}
