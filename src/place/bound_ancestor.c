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
 * heads of the piece run backwards.
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

static double *turned_sends(const weft_piece *x, weft_arena *a)
{
    size_t n = (size_t)x->n_devices;
    double *out = WEFT_NEW(a, double, (size_t)x->n_edges *n *n);

    for (size_t e = 0; e < (size_t)x->n_edges; e++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t l = 0; l < n; l++)
                out[(e * n + l) * n + k] = x->send_s[(e * n + k) * n + l];
        }
    }
    return out;
}

/* Offsets and lists of edges, of the tasks in reverse. */
static void turn_lists(const int *at, const int *list, int n, weft_arena *a, const int **new_at,
                       const int **new_list)
{
    int *t = WEFT_NEW(a, int, n + 1), *l = WEFT_NEW(a, int, at[n] + 1), k = 0;

    for (int u = n - 1; u >= 0; u--) {
        for (int i = at[u]; i < at[u + 1]; i++)
            l[k++] = list[i];
        t[n - u] = k;
    }
    *new_at = t;
    *new_list = l;
}

weft_piece *weft_piece_reverse(const weft_piece *x, weft_arena *a)
{
    int n = x->n_tasks, *from = WEFT_NEW(a, int, x->n_edges), *to = WEFT_NEW(a, int, x->n_edges);
    weft_piece *y = WEFT_NEW(a, weft_piece, 1);

    y->n_tasks = n;
    y->n_devices = x->n_devices;
    y->n_edges = x->n_edges;
    y->time_s = turned_rows(x->time_s, n, x->n_devices, a);
    y->release_s = turned_rows(x->tail_s, n, x->n_devices, a);
    y->tail_s = turned_rows(x->release_s, n, x->n_devices, a);
    y->free_s = WEFT_NEW(a, double, x->n_devices);
    turn_lists(x->out_at, x->out, n, a, &y->in_at, &y->in);
    turn_lists(x->in_at, x->in, n, a, &y->out_at, &y->out);
    for (int e = 0; e < x->n_edges; e++) {
        from[e] = n - 1 - x->to[e];
        to[e] = n - 1 - x->from[e];
    }
    y->from = from;
    y->to = to;
    y->send_s = turned_sends(x, a);
    return y;
}

/* --- single ways ----------------------------------------------------------------------------- */

static double send_s(const weft_piece *x, int e, int k, int l)
{
    return x
        ->send_s[((size_t)e * (size_t)x->n_devices + (size_t)k) * (size_t)x->n_devices + (size_t)l];
}

static double plain_head(const weft_piece *x, const double *head_s, int i, int k)
{
    int n = x->n_devices;
    double most_s = fmax(x->release_s[i * n + k], x->free_s[k]);

    for (int j = x->in_at[i]; j < x->in_at[i + 1]; j++) {
        int e = x->in[j], p = x->from[e];
        double least_s = INFINITY;

        for (int l = 0; l < n; l++)
            least_s = fmin(least_s, head_s[p * n + l] + x->time_s[p * n + l] + send_s(x, e, l, k));
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

/* --- ancestors ------------------------------------------------------------------------------- */

typedef struct kin {
    double away_s;
    int task;
} kin;

typedef struct lineage {
    const weft_piece *x;
    uint64_t above[WEFT_MOST_ANCESTORS]; /* ancestors of each task */
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
    const weft_piece *x = t->x;
    double most_s = 0;

    for (int j = x->in_at[i]; j < x->in_at[i + 1]; j++) {
        int e = x->in[j], p = x->from[e], n = x->n_devices;
        double least_s = INFINITY;

        if (p == a)
            least_s = send_s(x, e, l, k);
        else if (is_above(t, a, p))
            for (int m = 0; m < n; m++)
                least_s = fmin(least_s, row[p * n + m] + x->time_s[p * n + m] + send_s(x, e, m, k));
        else
            continue;
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

static void fill_ways(lineage *t)
{
    const weft_piece *x = t->x;

    for (int i = 0; i < x->n_tasks; i++) {
        for (int j = x->in_at[i]; j < x->in_at[i + 1]; j++) {
            int p = x->from[x->in[j]];

            t->above[i] |= t->above[p] | (uint64_t)1 << p;
        }
    }
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

static double deep_head(lineage *t, int i, int k)
{
    double plain_s = plain_head(t->x, t->head_s, i, k), before_s;
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

double weft_ancestor_work(const weft_piece *x)
{
    double n = x->n_tasks, d = x->n_devices;

    if (x->n_tasks > WEFT_MOST_ANCESTORS)
        return INFINITY;
    return n * d * (d * d * x->n_edges + n * d + n * n);
}

void weft_ancestor_heads(const weft_piece *x, bool is_deep, double *head_s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a), cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    lineage *t = NULL;

    if (is_deep) {
        assert(x->n_tasks <= WEFT_MOST_ANCESTORS);
        t = WEFT_NEW(a, lineage, 1);
        t->x = x;
        t->head_s = head_s;
        t->way_s = WEFT_NEW(a, double, cells *cells);
        fill_ways(t);
    }
    for (int i = 0; i < x->n_tasks; i++) {
        for (int k = 0; k < x->n_devices; k++) {
            double *head = &head_s[i * x->n_devices + k];

            if (!(x->time_s[i * x->n_devices + k] < INFINITY))
                *head = INFINITY;
            else
                *head = is_deep ? deep_head(t, i, k) : plain_head(x, head_s, i, k);
        }
    }
    weft_arena_rewind(a, mark);
}
