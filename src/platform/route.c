/* SPDX-License-Identifier: MIT */
/* route.c: the path that data takes between two devices.
 *
 * Switches and the host pass data on; other devices do not. From each device:
 * 1. Places are visited level by level, so every route has the fewest links.
 * 2. A place remembers the predecessor by which it is reached inside of the source's group, if there
 *    is one, of these the one with the largest bottleneck bandwidth, ties to the lowest number. All
 *    of a level is settled before it is expanded, and the bottleneck of a path is the smaller of its
 *    last link and the bottleneck before it, so the choice is optimal. A server keeps its own
 *    traffic, however wide the network between servers is.
 * 3. Each place keeps the link by which it is reached, so the way back can be walked.
 * 4. Routes of equal length, latency and bandwidth are one entry of a table: in machines of equal
 *    parts there are few.
 *
 * Two places have at most one link, so the predecessor names it. Time O(devices * (places + links
 * of switches and host) + links); 4 bytes for each pair of devices and for each device and place:
 * 143 MB for 512 servers of 8 devices, a switch each. At worst every pair has an entry of its own,
 * which takes 24 bytes more, and about as much again on the way. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "machine.h"

/* A link as seen from the place it leaves. */
typedef struct way {
    int to, hop; /* hop: 2 * link + direction */
    double bytes_per_s;
} way;

/* Links of each place, and the state of one search. */
typedef struct search {
    const weft_platform *p;
    int *at; /* CSR: ways out of place v are way[at[v]] .. way[at[v + 1] - 1] */
    way *way;
    int *level;        /* links from the source; -1: not reached */
    int *before;       /* place from which a place is reached */
    int *by;           /* directed link by which it is reached: a row of reached_by */
    int group;         /* of the source; 0: none */
    bool *is_inside;   /* reached through places of that group only */
    uint64_t *curves;  /* of the links from the source */
    double *width;     /* bottleneck bandwidth from the source */
    double *latency_s; /* from the source */
    int *queue;        /* places in the order of their levels */
    int n_queue;
} search;

static int from_of(const weft_platform *p, int hop)
{
    return hop % 2 ? p->link[hop / 2].b : p->link[hop / 2].a;
}

/* Of a direction of a link, and of what it shares with others. */
static double width_of(const weft_platform *p, int hop)
{
    double width = p->link[hop / 2].bytes_per_s;

    for (int k = p->use_at ? p->use_at[hop] : 0; p->use_at && k < p->use_at[hop + 1]; k++)
        width = fmin(width, p->resource[p->use[k]].bytes_per_s);
    return width;
}

static search new_search(const weft_platform *p, weft_arena *a)
{
    int n = p->n_devices + p->n_switches;
    search s = {.p = p};
    int *fill = WEFT_NEW(a, int, n);

    s.at = WEFT_NEW(a, int, n + 1);
    s.way = WEFT_NEW(a, way, 2 * p->n_links);
    s.level = WEFT_NEW(a, int, n);
    s.before = WEFT_NEW(a, int, n);
    s.is_inside = WEFT_NEW(a, bool, n);
    s.curves = WEFT_NEW(a, uint64_t, n);
    s.width = WEFT_NEW(a, double, n);
    s.latency_s = WEFT_NEW(a, double, n);
    s.queue = WEFT_NEW(a, int, n);
    for (int hop = 0; hop < 2 * p->n_links; hop++)
        s.at[from_of(p, hop) + 1]++;
    for (int v = 0; v < n; v++) {
        s.at[v + 1] += s.at[v];
        fill[v] = s.at[v];
    }
    for (int hop = 0; hop < 2 * p->n_links; hop++)
        s.way[fill[from_of(p, hop)]++] = (way){from_of(p, hop ^ 1), hop, width_of(p, hop)};
    return s;
}

static int group_of(const weft_platform *p, int place)
{
    if (place < p->n_devices)
        return p->device[place].group;
    return p->switch_group ? p->switch_group[place - p->n_devices] : 0;
}

/* Is the way to v over u better than the one v has? */
static bool is_better(const search *s, int u, int v, bool is_inside, double width)
{
    if (is_inside != s->is_inside[v])
        return is_inside;
    return width > s->width[v] || (width == s->width[v] && u < s->before[v]);
}

/* Reaches the places behind u, or improves how they are reached. */
static void expand(search *s, int u)
{
    int next = s->level[u] + 1;

    for (int k = s->at[u]; k < s->at[u + 1]; k++) {
        const way *e = &s->way[k];
        int v = e->to;
        bool is_inside = s->is_inside[u] && group_of(s->p, v) == s->group;
        double width = fmin(s->width[u], e->bytes_per_s);

        if (s->level[v] < 0) {
            s->level[v] = next;
            s->width[v] = 0;
            s->is_inside[v] = false;
            s->queue[s->n_queue++] = v;
        }
        if (s->level[v] != next)
            continue;
        if (is_better(s, u, v, is_inside, width)) {
            s->is_inside[v] = is_inside;
            s->width[v] = width;
            s->before[v] = u;
            s->by[v] = e->hop;
        }
    }
}

static void search_from(search *s, int source)
{
    const weft_platform *p = s->p;

    for (int v = 0; v < p->n_devices + p->n_switches; v++)
        s->level[v] = s->by[v] = -1;
    s->level[source] = 0;
    s->group = p->device[source].group;
    s->is_inside[source] = s->group > 0;
    s->width[source] = INFINITY;
    s->latency_s[source] = 0;
    s->curves[source] = 0;
    s->queue[0] = source;
    s->n_queue = 1;
    for (int i = 0; i < s->n_queue; i++) {
        int u = s->queue[i];

        if (u == source || u == p->host || u >= p->n_devices)
            expand(s, u);
    }
}

/* In the order of travel: sums round alike everywhere. */
static void sum_latencies(search *s)
{
    for (int i = 1; i < s->n_queue; i++) {
        int v = s->queue[i];

        const weft_link *l = &s->p->link[s->by[v] / 2];

        s->latency_s[v] = s->latency_s[s->before[v]] + l->latency_s;
        s->curves[v] = s->curves[s->before[v]] | (l->curve ? UINT64_C(1) << (l->curve - 1) : 0);
    }
}

static weft_route route_to(const search *s, int to)
{
    if (s->level[to] < 0) /* the time of any transfer, of 0 bytes too, is INFINITY, never NaN */
        return (weft_route){.n_hops = -1, .latency_s = INFINITY, .bytes_per_s = DBL_MIN};
    return (weft_route){s->level[to], s->latency_s[to], s->width[to], s->curves[to]};
}

/* --- the table of different routes ----------------------------------------------------------- */

typedef struct table {
    weft_arena *scratch;
    WEFT_VEC(weft_route) route;
    int *slot; /* [n_slots] number of a route + 1; 0: free */
    size_t n_slots;
} table;

static bool is_equal(const weft_route *a, const weft_route *b)
{
    return a->n_hops == b->n_hops && a->latency_s == b->latency_s &&
           a->bytes_per_s == b->bytes_per_s && a->curves == b->curves;
}

static size_t slot_of(const table *t, const weft_route *r)
{
    uint64_t h = (uint64_t)(int64_t)r->n_hops, bits[2];
    size_t i;

    memcpy(&bits[0], &r->latency_s, sizeof bits[0]);
    memcpy(&bits[1], &r->bytes_per_s, sizeof bits[1]);
    for (int k = 0; k < 2; k++) {
        h = (h ^ bits[k]) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
    }
    i = (size_t)(h ^ h >> 32) & (t->n_slots - 1);
    while (t->slot[i] != 0 && !is_equal(&t->route.at[t->slot[i] - 1], r))
        i = (i + 1) & (t->n_slots - 1);
    return i;
}

static void grow_slots(table *t)
{
    t->n_slots = t->n_slots == 0 ? 256 : 2 * t->n_slots;
    t->slot = WEFT_NEW(t->scratch, int, t->n_slots);
    for (int k = 0; k < t->route.n; k++)
        t->slot[slot_of(t, &t->route.at[k])] = k + 1;
}

static int number_of(table *t, const weft_route *r)
{
    size_t i;

    if (2 * (size_t)t->route.n >= t->n_slots)
        grow_slots(t);
    i = slot_of(t, r);
    if (t->slot[i] == 0) {
        WEFT_PUSH(t->scratch, t->route, *r);
        t->slot[i] = t->route.n;
    }
    return t->slot[i] - 1;
}

/* --- all routes ------------------------------------------------------------------------------ */

void weft_platform_find_routes(weft_platform *p)
{
    weft_arena *scratch = weft_arena_new();
    size_t n = (size_t)p->n_devices, n_places = n + (size_t)p->n_switches;
    int *route_of = WEFT_NEW_RAW(p->arena, int, n *n);
    int *reached_by = WEFT_NEW_RAW(p->arena, int, n *n_places);
    search s = new_search(p, scratch);
    table t = {.scratch = scratch};

    for (int source = 0; source < p->n_devices; source++) {
        int *row = route_of + (size_t)source * n, last = -1;

        s.by = reached_by + (size_t)source * n_places;
        search_from(&s, source);
        sum_latencies(&s);
        for (int to = 0; to < p->n_devices; to++) { /* neighbours are often alike */
            weft_route r = route_to(&s, to);

            if (last < 0 || !is_equal(&t.route.at[last], &r))
                last = number_of(&t, &r);
            row[to] = last;
        }
    }
    p->route_of = route_of;
    p->reached_by = reached_by;
    p->routes = weft_arena_copy(p->arena, t.route.at, (size_t)t.route.n * sizeof *t.route.at);
    weft_arena_free(scratch);
}

void weft_platform_hops(const weft_platform *p, int from, int to, int *hop)
{
    const int *by = p->reached_by + (size_t)from * (size_t)(p->n_devices + p->n_switches);

    for (int v = to, i = weft_platform_route(p, from, to)->n_hops - 1; i >= 0; i--) {
        hop[i] = by[v];
        v = from_of(p, by[v]);
    }
}
