/* SPDX-License-Identifier: MIT */
/* bound_hops.c: a network that no device holds must change devices on its way.
 *
 * 1. The way: the barriers, tasks that precede or follow every other one. From the end of one to
 * the end of the next, a leg, it takes at least
 *      - the difference of their tails (series.c), whichever the devices are;
 *      - on two devices: the longest way between them in least times, and the least transfer of an
 *        edge of that way, since some edge of it joins two devices; and if all devices are of one
 *        kind, what a search of the tasks between finds that must end on another device (exact.c).
 * 2. A plan cuts the barriers into runs on one device each, whose weights fit into the device:
 *
 *        enter[i][d] = least over other devices e of  done[i - 1][e] + leg i from e to d
 *        done[j][d]  = least over i of  enter[i][d] + legs i + 1 .. j on d,
 *                      own bytes of i .. j at most the room of d
 *
 *    A weight is owned by the first barrier that reads it. i moves on with j, so the least of
 *    enter[i][d] - legs up to i is kept in a queue of rising values.
 * 3. The bound is the least of done[end][d] + tail over devices.
 *
 * Proof: barriers follow each other without overlap, so latency is the sum of their legs, for the
 * devices of the plan; its runs hold no more than their devices do. A tail is at most a leg and the
 * tail after it, by its recursion, so the difference is at most the leg. That a device may come
 * back with its memory already full is left out, and so are the weights between barriers, which
 * lowers the sum only. Time O(barriers * devices^2 + edges * devices^2). */
#include "bound.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1e-11; /* relative, of all sums together */

enum { LEG_STATES = 2000, MOST_LEG = 64 };

/* Legs that were searched: equal ones are searched once. */
typedef struct searched {
    const weft_piece *part;
    double value_s;
} searched;

typedef struct hops {
    const weft_piece *x;
    const weft_tails *tails;
    bool is_one_kind;
    int n, n_known;      /* barriers; legs that were searched */
    searched *known;     /* [n_known] */
    int *task;           /* [n] */
    double *change_s;    /* [n] the leg from the barrier before to another device, at least */
    int *edge;           /* [n] straight from the barrier before, or -1 */
    double *sum_bytes;   /* [n + 1] owned before */
    double *done, *legs; /* [n_devices] of the position; legs up to it since the last gap */
} hops;

/* Where a run may begin, of one device: places ascending, values rising. */
typedef struct queue {
    int *place;
    double *value; /* enter - legs up to there */
    int head, n;
} queue;

static size_t cell(const hops *h, int u, int d)
{
    return (size_t)u * (size_t)h->x->n_devices + (size_t)d;
}

static double least_time(const hops *h, int u)
{
    double least_s = INFINITY;

    for (int d = 0; d < h->x->n_devices; d++)
        least_s = fmin(least_s, h->x->time_s[cell(h, u, d)]);
    return least_s;
}

static double least_send(const hops *h, int e)
{
    int n = h->x->n_devices;
    double least_s = INFINITY;

    for (int i = 0; i < n * n; i++)
        if (i / n != i % n)
            least_s = fmin(least_s, h->x->send_s[(size_t)e * (size_t)(n * n) + (size_t)i]);
    return least_s;
}

static bool is_same(const weft_piece *x, const weft_piece *y)
{
    size_t n = (size_t)x->n_devices, cells = (size_t)x->n_tasks * n;

    return x->n_tasks == y->n_tasks && x->n_edges == y->n_edges &&
           memcmp(x->from, y->from, sizeof *x->from * (size_t)x->n_edges) == 0 &&
           memcmp(x->to, y->to, sizeof *x->to * (size_t)x->n_edges) == 0 &&
           memcmp(x->time_s, y->time_s, sizeof *x->time_s * cells) == 0 &&
           memcmp(x->release_s, y->release_s, sizeof *x->release_s * cells) == 0 &&
           memcmp(x->send_s, y->send_s, sizeof *x->send_s * (size_t)x->n_edges * n * n) == 0;
}

/* Tasks after barrier i - 1 up to barrier i, which runs on another device than that one. */
static const weft_piece *leg_piece(const hops *h, int i, weft_arena *a)
{
    const weft_piece *x = h->tails->piece;
    size_t n = (size_t)x->n_devices;
    weft_part part = {.begin = h->task[i - 1] + 1,
                      .end = h->task[i] + 1,
                      .entry = h->task[i - 1],
                      .has_exit = true,
                      .tail_s = x->tail_s};
    weft_piece *y = weft_piece_part(x, &part, a);
    size_t n_cells = (size_t)y->n_tasks * n;
    double *time_s = weft_arena_copy(a, y->time_s, sizeof *time_s * n_cells);

    time_s[n_cells - n] = INFINITY;
    y->time_s = time_s;
    y->tail_s = WEFT_NEW(a, double, n_cells);
    return y;
}

/* No plan takes less time for the leg if it changes devices. */
static double search_leg(hops *h, int i, weft_arena *a)
{
    weft_effort e = {.upper = INFINITY, .most_states = LEG_STATES};
    const weft_piece *part;

    if (!h->is_one_kind || h->task[i] - h->task[i - 1] > MOST_LEG)
        return 0;
    part = leg_piece(h, i, a);
    for (int k = 0; k < h->n_known; k++)
        if (is_same(h->known[k].part, part))
            return h->known[k].value_s;
    h->known[h->n_known] = (searched){part, weft_piece_solve(part, &e, a).bound};
    return h->known[h->n_known++].value_s;
}

/* The longest way from barrier `first` to barrier i, which is the next one. */
static void measure_leg(hops *h, int i, int first, double *length_s, int *by)
{
    const weft_piece *x = h->x;
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

static void choose_way(hops *h, weft_arena *a)
{
    const weft_piece *x = h->x;
    bool *is_barrier = WEFT_NEW(a, bool, x->n_tasks);
    double *length_s = WEFT_NEW(a, double, x->n_tasks);
    int *by = WEFT_NEW(a, int, x->n_tasks);

    weft_piece_barriers(x, is_barrier, a);
    h->task = WEFT_NEW(a, int, x->n_tasks);
    for (int u = 0; u < x->n_tasks; u++)
        if (is_barrier[u])
            h->task[h->n++] = u;
    h->change_s = WEFT_NEW(a, double, h->n);
    h->edge = WEFT_NEW(a, int, h->n);
    h->known = WEFT_NEW(a, searched, h->n);
    for (int i = 1; i < h->n; i++) {
        measure_leg(h, i, h->task[i - 1], length_s, by);
        h->change_s[i] = fmax(h->change_s[i], search_leg(h, i, a));
    }
}

static void set_bytes(hops *h, weft_arena *a)
{
    const weft_piece *x = h->x;
    bool *is_met = WEFT_NEW(a, bool, x->n_weights);

    h->sum_bytes = WEFT_NEW(a, double, h->n + 1);
    for (int i = 0; i < h->n; i++) {
        int u = h->task[i];

        h->sum_bytes[i + 1] = h->sum_bytes[i];
        for (int k = x->weight_at[u]; k < x->weight_at[u + 1]; k++) {
            if (!is_met[x->weight[k]])
                h->sum_bytes[i + 1] += x->weight_bytes[x->weight[k]];
            is_met[x->weight[k]] = true;
        }
    }
}

static double tail_of(const hops *h, int i, int d)
{
    const weft_tails *t = h->tails;

    return t->piece->tail_s[(size_t)h->task[i] * (size_t)t->piece->n_devices + (size_t)t->kind[d]];
}

/* From the end of barrier i - 1 on e to the end of barrier i on d. */
static double leg_s(const hops *h, int i, int e, int d)
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

/* When barrier i can be over as the first of a run on d. */
static double enter_s(const hops *h, int i, int d)
{
    double least_s = INFINITY;

    if (i == 0)
        return h->x->release_s[cell(h, h->task[0], d)] + h->x->time_s[cell(h, h->task[0], d)];
    for (int e = 0; e < h->x->n_devices; e++)
        if (e != d && h->done[e] < INFINITY)
            least_s = fmin(least_s, h->done[e] + leg_s(h, i, e, d));
    return least_s;
}

static void push(queue *q, int place, double value)
{
    while (q->n > q->head && q->value[q->n - 1] >= value)
        q->n--;
    q->place[q->n] = place;
    q->value[q->n++] = value;
}

/* The least time when barrier i is over on d. */
static double step(const hops *h, queue *q, int i, int d)
{
    double begin_s = enter_s(h, i, d), most_bytes = h->x->room_bytes[d] * (1 + ROUNDING);

    if (!(h->x->time_s[cell(h, h->task[i], d)] < INFINITY)) { /* no run has it */
        q->n = q->head = 0;
        h->legs[d] = 0;
        return INFINITY;
    }
    if (q->n > q->head)
        h->legs[d] += leg_s(h, i, d, d);
    if (begin_s < INFINITY)
        push(q, i, begin_s - h->legs[d]);
    while (q->head < q->n && h->sum_bytes[i + 1] - h->sum_bytes[q->place[q->head]] > most_bytes)
        q->head++;
    return q->head < q->n ? q->value[q->head] + h->legs[d] : INFINITY;
}

static double shortest(hops *h, weft_arena *a)
{
    int n = h->x->n_devices;
    queue *q = WEFT_NEW(a, queue, n);
    double *next = WEFT_NEW(a, double, n), least_s = INFINITY;

    h->done = WEFT_NEW(a, double, n);
    h->legs = WEFT_NEW(a, double, n);
    for (int d = 0; d < n; d++)
        q[d] = (queue){WEFT_NEW(a, int, h->n), WEFT_NEW(a, double, h->n), 0, 0};
    for (int i = 0; i < h->n; i++) {
        double *swap = h->done;

        for (int d = 0; d < n; d++)
            next[d] = step(h, &q[d], i, d);
        h->done = next;
        next = swap;
    }
    for (int d = 0; d < n; d++)
        least_s = fmin(least_s, h->done[d] + tail_of(h, h->n - 1, d));
    return least_s * (1 - ROUNDING);
}

double weft_hops_bound(const weft_piece *x, const weft_tails *t, weft_arena *a)
{
    hops h = {.x = x, .tails = t, .is_one_kind = t->piece->n_devices > 1};
    size_t mark = weft_arena_mark(a);
    double bound_s = 0;

    for (int d = 1; d < x->n_devices; d++)
        h.is_one_kind &= t->kind[d] == t->kind[0];
    if (x->n_weights > 0)
        choose_way(&h, a);
    if (h.n > 0) {
        set_bytes(&h, a);
        bound_s = shortest(&h, a);
    }
    weft_arena_rewind(a, mark);
    return bound_s;
}
