/* SPDX-License-Identifier: MIT */
/* tracks.c: which lane of its row a job is drawn on.
 *
 *   1. Take the jobs of a row by start.
 *   2. Give back the lanes of those that have ended, found by a second list sorted by end.
 *   3. Take the lowest free lane, or a new one.
 *
 * Starts are taken in order, so a lane that is free at a start stays free: no two jobs of a lane
 * overlap, and a row has as many lanes as it has jobs at one time (jobs that take no time count
 * where they lie inside another). Of two with equal ends the one that started first is given back
 * first: what takes no time does not keep others from being given back.
 *
 * Time O(n log n). */
#include "tracks.h"

#include "heap.h"

#include <stdlib.h>

/* --- lanes ----------------------------------------------------------------------------------- */

static int compare(double x, double y)
{
    return (x > y) - (x < y);
}

/* Of what is equal the first in the list comes first: both are in one array. */
static int by_start(const void *a, const void *b)
{
    const weft_track *x = *(weft_track *const *)a, *y = *(weft_track *const *)b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (compare(x->start_s, y->start_s) != 0)
        return compare(x->start_s, y->start_s);
    return (x > y) - (x < y);
}

static int by_end(const void *a, const void *b)
{
    const weft_track *x = *(weft_track *const *)a, *y = *(weft_track *const *)b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (compare(x->end_s, y->end_s) != 0)
        return compare(x->end_s, y->end_s);
    return by_start(a, b);
}

/* One row: n jobs in both orders. free_lanes is empty and has room for n. */
static int assign_row(weft_track **start, weft_track **end, int n, weft_heap free_lanes)
{
    int n_used = 0, ended = 0;

    for (int i = 0; i < n; i++) {
        while (ended < n && end[ended]->lane >= 0 && end[ended]->end_s <= start[i]->start_s)
            weft_heap_push(&free_lanes, end[ended++]->lane);
        start[i]->lane = free_lanes.n > 0 ? weft_heap_pop(&free_lanes) : n_used++;
    }
    return n_used;
}

void weft_tracks_assign(weft_track *item, int n, int n_rows, int *n_lanes)
{
    weft_arena *scratch = weft_arena_new();
    weft_track **start = WEFT_NEW(scratch, weft_track *, n + 1);
    weft_track **end = WEFT_NEW(scratch, weft_track *, n + 1);
    weft_heap free_lanes = weft_heap_new(scratch, n + 1);

    for (int r = 0; r < n_rows; r++)
        n_lanes[r] = 0;
    for (int i = 0; i < n; i++) {
        start[i] = end[i] = &item[i];
        item[i].lane = -1;
    }
    qsort(start, (size_t)n, sizeof(weft_track *), by_start);
    qsort(end, (size_t)n, sizeof(weft_track *), by_end);
    for (int first = 0, k; first < n; first += k) {
        int row = start[first]->row;

        for (k = 1; first + k < n && start[first + k]->row == row; k++)
            ;
        n_lanes[row] = assign_row(start + first, end + first, k, free_lanes);
    }
    weft_arena_free(scratch);
}

/* --- transfers of a placed network ----------------------------------------------------------- */

/* True if a route, which may cross a half-duplex link twice, met its link k before. */
static bool is_repeated(const weft_problem *p, int first, int k)
{
    for (int i = first; i < k; i++)
        if (p->route[i] == p->route[k])
            return true;
    return false;
}

static size_t most_hops(const weft_problem *p, const weft_jobs *j)
{
    size_t n = 0;

    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_TRANSFER) {
            int pair = j->from[i] * p->n_devices + j->to[i];
            n += 1 + (size_t)(p->route_at[pair + 1] - p->route_at[pair]);
        }
    return n;
}

static void add_hop(weft_device_chain *h, const weft_timeline *t, int job, int row)
{
    h->hop[h->n++] =
        (weft_track){.row = row, .job = job, .start_s = t->start_s[job], .end_s = t->end_s[job]};
}

/* Rows are links, then pairs of devices. */
static void list_hops(const weft_problem *p, const weft_measures *m, weft_device_chain *h)
{
    const weft_jobs *j = m->jobs;

    for (int i = 0; i < j->n_jobs; i++) {
        bool is_sent = j->kind[i] == WEFT_JOB_TRANSFER;
        int pair = is_sent ? j->from[i] * p->n_devices + j->to[i] : 0;
        int first = p->route_at[pair], last = p->route_at[pair + 1];

        h->hop_at[i] = h->n;
        if (is_sent && (p->transfer != WEFT_CONTEND || first == last))
            add_hop(h, m->timeline, i, p->n_links + pair);
        else
            for (int k = first; is_sent && k < last; k++)
                if (!is_repeated(p, first, k))
                    add_hop(h, m->timeline, i, p->route[k]);
    }
    h->hop_at[j->n_jobs] = h->n;
}

static const char *row_name(const weft_problem *p, int row, weft_arena *a)
{
    int pair = row - p->n_links;

    return row < p->n_links ? p->link_name[row]
                            : weft_arena_print(a, "%s>%s", p->device_name[pair / p->n_devices],
                                               p->device_name[pair % p->n_devices]);
}

/* Numbers the rows that carry something, in their order. */
static void number_rows(const weft_problem *p, weft_device_chain *h, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    int n = p->n_links + p->n_devices * p->n_devices;
    int *number = WEFT_NEW(scratch, int, n);

    for (int i = 0; i < h->n; i++)
        number[h->hop[i].row] = 1;
    for (int r = 0; r < n; r++)
        h->n_rows += number[r];
    h->name = WEFT_NEW(a, const char *, h->n_rows + 1);
    h->n_lanes = WEFT_NEW(a, int, h->n_rows + 1);
    h->n_rows = 0;
    for (int r = 0; r < n; r++)
        if (number[r]) {
            h->name[h->n_rows] = row_name(p, r, a);
            number[r] = h->n_rows++;
        }
    for (int i = 0; i < h->n; i++)
        h->hop[i].row = number[h->hop[i].row];
    weft_arena_free(scratch);
}

weft_device_chain weft_device_chain_of(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    weft_device_chain h = {0};

    h.hop = WEFT_NEW(a, weft_track, most_hops(p, m->jobs) + 1);
    h.hop_at = WEFT_NEW(a, int, m->jobs->n_jobs + 1);
    list_hops(p, m, &h);
    number_rows(p, &h, a);
    weft_tracks_assign(h.hop, h.n, h.n_rows, h.n_lanes);
    return h;
}
