/* SPDX-License-Identifier: MIT */
/* bound_device_chain.c: a network that no device holds must change devices on its way.
 *
 * 1. The way: the barriers, tasks that precede or follow every other one. From the end of one to
 * the end of the next, a section, it takes at least
 *      - the difference of their tails (series.c), whichever the devices are;
 *      - on two devices: the longest way between them in least times, and the least transfer of an
 *        edge of that way, since some edge of it joins two devices; and if all devices are of one
 *        kind, what a search of the tasks between finds that must end on another device (exact.c).
 * 2. A plan cuts the barriers into runs on one device each, whose weights fit into the device:
 *
 *        enter[i][d] = least over other devices e of  done[i - 1][e] + section i from e to d
 *        done[j][d]  = least over i of  enter[i][d] + sections i + 1 .. j on d,
 *                      own bytes of i .. j at most the room of d
 *
 *    A weight is owned by the first barrier that reads it. i moves on with j, so the least of
 *    enter[i][d] - sections up to i is kept in a queue of rising values, which are never
 *    formed: sections of a slow device would swallow a small enter.
 * 3. The bound is the least of done[end][d] + tail over devices.
 * 4. If all devices are of one kind, a plan follows: the runs of 2 on devices that were not used
 *    before, sections as the search found them, tasks beside the run on devices put aside for them.
 *    It is worth as much as the bound where links are equal and nothing else delays it.
 *
 * Proof: barriers follow each other without overlap, so latency is the sum of their sections, for the
 * devices of the plan; its runs hold no more than their devices do. A tail is at most a section and the
 * tail after it, by its recursion, so the difference is at most the section. That a device may come
 * back with its memory already full is left out, and so are the weights between barriers, which
 * lowers the sum only. Time O(barriers * devices^2 + edges * devices^2). */
#include "bound.h"
#include "sort.h"
#include "total.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1e-11; /* relative, of all sums together */

enum { SECTION_STATES = 2000, MOST_SECTION = 64 };

typedef struct device_chain {
    const weft_subproblem *x;
    const weft_tails *tails;
    const double *room_bytes; /* [n_devices] */
    bool is_one_kind;
    int n, n_known;        /* barriers; sections that were searched: equal ones once */
    weft_answer *known;    /* [n_known] */
    weft_map *index;       /* their content -> place in known */
    int *task;             /* [n] */
    double *change_s;      /* [n] the section from the barrier before to another device, at least */
    int *edge;             /* [n] straight from the barrier before, or -1 */
    weft_total *sum_bytes; /* [n + 1] owned before */
    double *done;          /* [n_devices] of the position */
    weft_total *sections;  /* [n_devices] up to it since the last gap */
    int *begin, *before;   /* [n * n_devices] of the run that ends here; device of the one before */
} device_chain;

/* Where a run may begin, of one device: places ascending, values rising. */
typedef struct queue {
    int *place;
    double *enter_s;      /* when the run has ended its first barrier */
    weft_total *sections; /* up to there */
    int head, n;
} queue;

static size_t cell(const device_chain *h, int u, int d)
{
    return (size_t)u * (size_t)h->x->n_devices + (size_t)d;
}

static double least_time(const device_chain *h, int u)
{
    return weft_least(h->x->time_s + cell(h, u, 0), h->x->n_devices);
}

static double least_send(const device_chain *h, int e)
{
    int n = h->x->n_devices;
    double least_s = INFINITY;

    for (int i = 0; i < n * n; i++)
        if (i / n != i % n)
            least_s = fmin(least_s, h->x->send_s[(size_t)e * (size_t)(n * n) + (size_t)i]);
    return least_s;
}

/* Tasks after barrier i - 1, which is on device 0, up to barrier i, which is on another (or not).
 */
static const weft_subproblem *section_subproblem(const device_chain *h, int i, bool is_change,
                                                 weft_arena *a)
{
    const weft_subproblem *x = h->tails->subproblem;
    int n = x->n_devices;
    weft_part part = {.begin = h->task[i - 1] + 1,
                      .end = h->task[i] + 1,
                      .entry = h->task[i - 1],
                      .has_exit = true,
                      .tail_s = x->tail_s};
    weft_subproblem *y = weft_subproblem_part(x, &part, a);
    size_t n_cells = (size_t)y->n_tasks * (size_t)n, last = n_cells - (size_t)n;
    double *time_s = weft_arena_copy(a, y->time_s, sizeof *time_s * n_cells);

    for (int d = 0; d < n; d++)
        if ((d == 0) == is_change)
            time_s[last + (size_t)d] = INFINITY;
    y->time_s = time_s;
    y->tail_s = WEFT_NEW(a, double, n_cells);
    return y;
}

/* The best way through a section; NULL if it is too large for a search, one task, or devices
 * differ. */
static const weft_answer *search_section(device_chain *h, int i, bool is_change, weft_arena *a)
{
    weft_effort e = {.upper = INFINITY, .most_states = SECTION_STATES};
    const weft_subproblem *part;
    const char *key;
    size_t n_bytes;
    int at;

    if (!h->is_one_kind || h->task[i] - h->task[i - 1] > MOST_SECTION ||
        h->task[i] - h->task[i - 1] == 1)
        return NULL;
    part = section_subproblem(h, i, is_change, a);
    key = weft_subproblem_key(part, a, &n_bytes);
    at = weft_map_get(h->index, key, n_bytes);
    if (at >= 0)
        return &h->known[at];
    weft_map_set(h->index, key, n_bytes, h->n_known);
    h->known[h->n_known] = weft_subproblem_solve(part, &e, a);
    return &h->known[h->n_known++];
}

/* The longest way from barrier `first` to barrier i, which is the next one. */
static void measure_section(device_chain *h, int i, int first, double *length_s, int *by)
{
    const weft_subproblem *x = h->x;
    int last = h->task[i];
    double send_s = INFINITY;

    h->edge[i] = -1;
    for (int u = first; u <= last; u++) {
        by[u] = -1;
        for (int k = x->in_at[u]; k < x->in_at[u + 1] && u > first; k++) {
            int e = x->in[k], from = x->from[e];

            if (from < first)
                continue;
            if (from == first && u == last)
                h->edge[i] = e;
            if (by[u] < 0 || length_s[from] > length_s[x->from[by[u]]])
                by[u] = e;
        }
        length_s[u] = u == first ? 0 : least_time(h, u);
        if (by[u] >= 0)
            length_s[u] += length_s[x->from[by[u]]];
    }
    for (int u = last; by[u] >= 0; u = x->from[by[u]])
        send_s = fmin(send_s, least_send(h, by[u]));
    h->change_s[i] = length_s[last] + (send_s < INFINITY ? send_s : 0);
}

static void choose_way(device_chain *h, weft_arena *a)
{
    const weft_subproblem *x = h->x;
    const bool *is_barrier = weft_subproblem_barriers(x, a);
    double *length_s = WEFT_NEW(a, double, x->n_tasks);
    int *by = WEFT_NEW(a, int, x->n_tasks);

    h->task = WEFT_NEW(a, int, x->n_tasks);
    for (int u = 0; u < x->n_tasks; u++)
        if (is_barrier[u])
            h->task[h->n++] = u;
    h->change_s = WEFT_NEW(a, double, h->n);
    h->edge = WEFT_NEW(a, int, h->n);
    h->known = WEFT_NEW(a, weft_answer, 2 * h->n);
    h->index = weft_map_new(a);
    for (int i = 1; i < h->n; i++) {
        const weft_answer *section = search_section(h, i, true, a);

        measure_section(h, i, h->task[i - 1], length_s, by);
        h->change_s[i] = fmax(h->change_s[i], section != NULL ? section->bound : 0);
    }
}

static void set_bytes(device_chain *h, weft_arena *a)
{
    const weft_subproblem *x = h->x;
    bool *is_met = WEFT_NEW(a, bool, x->n_weights);

    h->sum_bytes = WEFT_NEW(a, weft_total, h->n + 1);
    for (int i = 0; i < h->n; i++) {
        int u = h->task[i];

        h->sum_bytes[i + 1] = h->sum_bytes[i];
        for (int k = x->weight_at[u]; k < x->weight_at[u + 1]; k++) {
            if (!is_met[x->weight[k]])
                h->sum_bytes[i + 1] =
                    weft_total_plus(h->sum_bytes[i + 1], x->weight_bytes[x->weight[k]]);
            is_met[x->weight[k]] = true;
        }
    }
}

static double tail_of(const device_chain *h, int i, int d)
{
    const weft_tails *t = h->tails;

    return t->subproblem
        ->tail_s[(size_t)h->task[i] * (size_t)t->subproblem->n_devices + (size_t)t->kind[d]];
}

/* From the end of barrier i - 1 on e to the end of barrier i on d. */
static double section_s(const device_chain *h, int i, int e, int d)
{
    size_t n = (size_t)h->x->n_devices;
    double time_s = h->x->time_s[cell(h, h->task[i], d)];
    double least_s = fmax(tail_of(h, i - 1, e) - tail_of(h, i, d), time_s);

    if (e == d)
        return least_s;
    least_s = fmax(least_s, h->change_s[i]);
    if (h->edge[i] >= 0)
        least_s = fmax(least_s,
                       h->x->send_s[((size_t)h->edge[i] * n + (size_t)e) * n + (size_t)d] + time_s);
    return least_s;
}

/* When barrier i can be over as the first of a run on d, and the device before. */
static double enter_s(const device_chain *h, int i, int d, int *before)
{
    double least_s = INFINITY;

    *before = -1;
    if (i == 0)
        return h->x->release_s[cell(h, h->task[0], d)] + h->x->time_s[cell(h, h->task[0], d)];
    for (int e = 0; e < h->x->n_devices; e++) {
        double at_s =
            e == d || !(h->done[e] < INFINITY) ? INFINITY : h->done[e] + section_s(h, i, e, d);

        if (at_s < least_s) {
            least_s = at_s;
            *before = e;
        }
    }
    return least_s;
}

/* A run that begins here ends no later than one that began before, wherever both end. */
static void push(queue *q, int place, double enter_s, weft_total sections)
{
    while (q->n > q->head &&
           q->enter_s[q->n - 1] + weft_total_between(q->sections[q->n - 1], sections) >= enter_s)
        q->n--;
    q->place[q->n] = place;
    q->sections[q->n] = sections;
    q->enter_s[q->n++] = enter_s;
}

/* The least time when barrier i is over on d. */
static double step(const device_chain *h, queue *q, int i, int d)
{
    double begin_s = enter_s(h, i, d, &h->before[cell(h, i, d)]);

    if (!(h->x->time_s[cell(h, h->task[i], d)] < INFINITY)) { /* no run has it */
        q->n = q->head = 0;
        h->sections[d] = (weft_total){0, 0};
        return INFINITY;
    }
    if (q->n > q->head && section_s(h, i, d, d) < INFINITY) {
        h->sections[d] = weft_total_plus(h->sections[d], section_s(h, i, d, d));
    } else { /* nothing comes from before */
        q->n = q->head = 0;
        h->sections[d] = (weft_total){0, 0};
    }
    if (begin_s < INFINITY)
        push(q, i, begin_s, h->sections[d]);
    while (q->head < q->n &&
           weft_total_between(h->sum_bytes[q->place[q->head]], h->sum_bytes[i + 1]) >
               h->room_bytes[d] * (1 + ROUNDING))
        q->head++;
    if (q->head == q->n)
        return INFINITY;
    h->begin[cell(h, i, d)] = q->place[q->head];
    return q->enter_s[q->head] + weft_total_between(q->sections[q->head], h->sections[d]);
}

/* The least time, and the device on which it ends. */
static double shortest(device_chain *h, weft_arena *a, int *end)
{
    int n = h->x->n_devices;
    queue *q = WEFT_NEW(a, queue, n);
    double *next = WEFT_NEW(a, double, n), least_s = INFINITY;

    h->done = WEFT_NEW(a, double, n);
    h->sections = WEFT_NEW(a, weft_total, n);
    h->begin = WEFT_NEW(a, int, (size_t)h->n *(size_t)n);
    h->before = WEFT_NEW(a, int, (size_t)h->n *(size_t)n);
    for (int d = 0; d < n; d++)
        q[d] = (queue){.place = WEFT_NEW(a, int, h->n),
                       .enter_s = WEFT_NEW(a, double, h->n),
                       .sections = WEFT_NEW(a, weft_total, h->n)};
    for (int i = 0; i < h->n; i++) {
        double *swap = h->done;

        for (int d = 0; d < n; d++)
            next[d] = step(h, &q[d], i, d);
        h->done = next;
        next = swap;
    }
    for (int d = 0; d < n; d++) {
        double at_s = h->done[d] + tail_of(h, h->n - 1, d);

        if (at_s < least_s) {
            least_s = at_s;
            *end = d;
        }
    }
    return least_s;
}

static device_chain chain_of(const weft_subproblem *x, const weft_tails *t,
                             const double *room_bytes, weft_arena *a)
{
    device_chain h = {.x = x, .tails = t, .room_bytes = room_bytes};

    h.is_one_kind = t->subproblem->n_devices > 1;
    for (int d = 1; d < x->n_devices; d++)
        h.is_one_kind &= t->kind[d] == t->kind[0];
    if (x->n_weights == 0)
        return h;
    choose_way(&h, a);
    if (h.n > 0)
        set_bytes(&h, a);
    return h;
}

double weft_device_chain_bound(const weft_subproblem *x, const weft_tails *t, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    device_chain h = chain_of(x, t, x->room_bytes, a);
    int end = -1;
    double bound_s = h.n > 0 ? shortest(&h, a, &end) * (1 - ROUNDING) : 0;

    weft_arena_rewind(a, mark);
    return bound_s;
}

/* --- the plan -------------------------------------------------------------------------------- */

/* The device with the fastest way from another, of those that are not taken; -1: none is left. */
static int nearest(const device_chain *h, int from, const bool *is_taken)
{
    int n = h->x->n_devices, best = -1;
    double best_s = INFINITY;

    for (int d = 0; d < n; d++) {
        double sum_s = 0;

        for (int i = 1; i < h->n && from >= 0 && !is_taken[d]; i++)
            if (h->edge[i] >= 0)
                sum_s += h->x->send_s[((size_t)h->edge[i] * (size_t)n + (size_t)from) * (size_t)n +
                                      (size_t)d];
        if (!is_taken[d] && (best < 0 || sum_s < best_s)) {
            best = d;
            best_s = sum_s;
        }
    }
    return best;
}

/* Barriers on devices that are used once, in run[n]; devices for the tasks beside, in aside[]. */
static bool choose_devices(const device_chain *h, int end, int *run, int *aside, weft_arena *a)
{
    bool *is_taken = WEFT_NEW(a, bool, h->x->n_devices), *is_first = WEFT_NEW(a, bool, h->n);
    int d = -1;

    for (int i = h->n - 1; i >= 0;) {
        int begin = h->begin[cell(h, i, end)];

        is_first[begin] = true;
        end = h->before[cell(h, begin, end)];
        i = begin - 1;
    }
    for (int i = 0; i < h->n; i++) {
        if (is_first[i])
            d = nearest(h, d, is_taken);
        if (d < 0)
            return false;
        is_taken[d] = true;
        run[i] = d;
    }
    for (int k = 1; k < h->tails->subproblem->n_devices; k++) {
        aside[k] = nearest(h, run[0], is_taken);
        if (aside[k] < 0)
            return false;
        is_taken[aside[k]] = true;
    }
    return true;
}

/* Tasks of section i as the search has them, from begin_s on; false if it has nothing. */
static bool put_section(device_chain *h, int i, const int *run, const int *aside, double begin_s,
                        weft_plan *plan, weft_arena *a)
{
    const weft_answer *section = search_section(h, i, run[i] != run[i - 1], a);
    int first = h->task[i - 1] + 1, exit;

    if (first == h->task[i]) {
        plan->device[first] = run[i];
        plan->start_s[first] = begin_s;
        return true;
    }
    if (section == NULL || section->device == NULL)
        return false;
    exit = section->device[h->task[i] - first];
    for (int u = first; u <= h->task[i]; u++) {
        int d = section->device[u - first];

        plan->device[u] = d == exit ? run[i] : d == 0 ? run[i - 1] : aside[d];
        plan->start_s[u] = begin_s + section->start_s[u - first];
    }
    return true;
}

bool weft_device_chain_plan(const weft_subproblem *x, const weft_tails *t, const double *room_bytes,
                            weft_arena *a, weft_plan *plan)
{
    device_chain h = chain_of(x, t, room_bytes, a);
    int *run, *aside = WEFT_NEW(a, int, t->subproblem->n_devices), end = -1;

    if (!h.is_one_kind || h.n == 0 || !(shortest(&h, a, &end) < INFINITY))
        return false;
    run = WEFT_NEW(a, int, h.n);
    if (!choose_devices(&h, end, run, aside, a))
        return false;
    for (int u = 0; u < x->n_tasks; u++) { /* those before the first barrier and after the last */
        plan->device[u] = u <= h.task[0] ? run[0] : run[h.n - 1];
        plan->start_s[u] = u;
    }
    for (int i = 1; i < h.n; i++) {
        double begin_s = plan->start_s[h.task[i - 1]] + 1 + least_time(&h, h.task[i - 1]);

        if (!put_section(&h, i, run, aside, begin_s, plan, a))
            return false;
    }
    for (int u = h.task[h.n - 1] + 1; u < x->n_tasks; u++)
        plan->start_s[u] += plan->start_s[h.task[h.n - 1]] + 1;
    return true;
}
