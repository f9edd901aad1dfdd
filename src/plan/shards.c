/* SPDX-License-Identifier: MIT */
/* shards.c: empty plans of sharded networks, what device sets are, and the order of steps.
 *
 * Links of sets: the slowest pair of devices, by the platform's routes in both directions. A pair
 * that is not connected makes the bandwidth 0.
 *
 * Order: steps whose predecessors are taken wait by (start, takes no time, number); the first is
 * taken. If no step starts before one that it reads from, starts never fall along this order: a
 * step that starts earlier than the one taken would itself be waiting, or one of its predecessors,
 * which start no later. So a fall is a contradiction, and the other way round. O(n log n). */
#include <math.h>
#include <string.h>

#include "weft/plan.h"

weft_shards weft_shards_new(int n_sets, int n_steps, weft_arena *a)
{
    return (weft_shards){n_sets,
                         WEFT_NEW(a, weft_team, n_sets),
                         n_steps,
                         WEFT_NEW(a, int, n_steps),
                         WEFT_NEW(a, weft_split, n_steps),
                         WEFT_NEW(a, double, n_steps)};
}

weft_shards weft_shards_copy(const weft_shards *s, weft_arena *a)
{
    size_t n = (size_t)s->n_steps;

    return (weft_shards){s->n_sets,
                         weft_arena_copy(a, s->set, (size_t)s->n_sets * sizeof *s->set),
                         s->n_steps,
                         weft_arena_copy(a, s->set_of, n * sizeof *s->set_of),
                         weft_arena_copy(a, s->split, n * sizeof *s->split),
                         weft_arena_copy(a, s->start_s, n * sizeof *s->start_s)};
}

/* --- device sets ----------------------------------------------------------------------------- */

static const weft_device *first_member(const weft_sharding *p, const weft_team *t)
{
    return &p->platform->device[t->member[0]];
}

const weft_design *weft_team_design(const weft_sharding *p, const weft_team *t)
{
    return &first_member(p, t)->design[t->design];
}

double weft_team_memory(const weft_sharding *p, const weft_team *t)
{
    return first_member(p, t)->memory_bytes;
}

static const weft_span SAME_DEVICE = {0, INFINITY};

static void slow_down(const weft_sharding *p, int from, int to, weft_span *span)
{
    const weft_route *r = &p->platform->route[from * p->platform->n_devices + to];

    if (from == to)
        return;
    span->latency_s = fmax(span->latency_s, r->n_hops < 0 ? 0 : r->latency_s);
    span->bytes_per_s = fmin(span->bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
}

weft_span weft_team_span(const weft_sharding *p, const weft_team *t)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->n; j++)
            slow_down(p, t->member[i], t->member[j], &span);
    return span;
}

weft_span weft_pair_span(const weft_sharding *p, const weft_team *from, const weft_team *to)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < from->n; i++)
        for (int j = 0; j < to->n; j++)
            slow_down(p, from->member[i], to->member[j], &span);
    return span;
}

weft_span weft_host_span(const weft_sharding *p, const weft_team *t)
{
    weft_span span = SAME_DEVICE;

    for (int i = 0; i < t->n && p->platform->host >= 0; i++) {
        slow_down(p, p->platform->host, t->member[i], &span);
        slow_down(p, t->member[i], p->platform->host, &span);
    }
    return span;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Steps that may be taken now: a binary heap. */
typedef struct waiting {
    const weft_shards *s;
    const bool *is_short;
    int *step;
    int n;
} waiting;

static bool comes_before(const waiting *w, int u, int v)
{
    const double *start_s = w->s->start_s;

    if (start_s[u] < start_s[v] || start_s[u] > start_s[v])
        return start_s[u] < start_s[v];
    if (w->is_short != NULL && w->is_short[u] != w->is_short[v])
        return w->is_short[u];
    return u < v;
}

static void push(waiting *w, int v)
{
    int i = w->n++;

    for (; i > 0 && comes_before(w, v, w->step[(i - 1) / 2]); i = (i - 1) / 2)
        w->step[i] = w->step[(i - 1) / 2];
    w->step[i] = v;
}

static int pop(waiting *w)
{
    int first = w->step[0], v = w->step[--w->n], i = 0;

    for (int child = 1; child < w->n; child = 2 * i + 1) {
        if (child + 1 < w->n && comes_before(w, w->step[child + 1], w->step[child]))
            child++;
        if (!comes_before(w, w->step[child], v))
            break;
        w->step[i] = w->step[child];
        i = child;
    }
    w->step[i] = v;
    return first;
}

/* Who reads from u, an entry for each operand: to[at[u]] .. to[at[u + 1] - 1]. */
typedef struct readers {
    int *at, *to;
} readers;

static readers list_readers(const weft_steps *s, weft_arena *a)
{
    readers r = {.at = WEFT_NEW(a, int, s->n + 2)};

    for (int v = 0; v < s->n; v++)
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                r.at[s->step[v].operand[k].step + 2]++;
    for (int u = 0; u < s->n; u++)
        r.at[u + 2] += r.at[u + 1];
    r.to = WEFT_NEW(a, int, r.at[s->n + 1]);
    for (int v = 0; v < s->n; v++) /* moves each at[u + 1] to where u ends */
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                r.to[r.at[s->step[v].operand[k].step + 1]++] = v;
    return r;
}

/* Fills order; the number of steps taken before starts fall. */
static int take_all(const weft_steps *s, waiting *w, int *order, weft_arena *scratch)
{
    readers r = list_readers(s, scratch);
    int *pending = WEFT_NEW(scratch, int, s->n), n = 0;

    for (int i = 0; i < r.at[s->n]; i++)
        pending[r.to[i]]++;
    for (int v = 0; v < s->n; v++)
        if (pending[v] == 0)
            push(w, v);
    while (w->n > 0) {
        int u = pop(w);

        if (n > 0 && w->s->start_s[u] < w->s->start_s[order[n - 1]])
            break;
        order[n++] = u;
        for (int i = r.at[u]; i < r.at[u + 1]; i++)
            if (--pending[r.to[i]] == 0)
                push(w, r.to[i]);
    }
    return n;
}

const int *weft_shards_order(const weft_sharding *p, const weft_shards *s, const bool *is_short,
                             weft_arena *a)
{
    int *order = WEFT_NEW(a, int, s->n_steps), n;
    size_t mark = weft_arena_mark(a);
    waiting w = {s, is_short, WEFT_NEW(a, int, s->n_steps), 0};

    n = take_all(p->steps, &w, order, a);
    weft_arena_rewind(a, mark);
    return n == s->n_steps ? order : NULL;
}
