/* SPDX-License-Identifier: MIT */
/* route.c: the path that data takes between two devices.
 *
 * Switches and the host pass data on; other devices do not. From each device:
 * 1. Places are visited level by level, so every route has the fewest links.
 * 2. A place remembers the predecessor with the largest bottleneck bandwidth, ties to the lowest
 *    number. All of a level is settled before it is expanded, and the bottleneck of a path is the
 *    smaller of its last link and the bottleneck before it, so the choice is optimal.
 * 3. The links from each destination back to the source are written down in order.
 *
 * Two places have at most one link, so the predecessor names it. Time O(devices * links of
 * switches and host + links), and the length of all routes together, which is limited. */
#include <float.h>
#include <math.h>

#include "machine.h"

enum { MOST_HOPS = 1 << 27 }; /* of all routes together: 512 MiB */

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
    int *level;    /* links from the source; -1: not reached */
    int *before;   /* place from which a place is reached */
    int *by;       /* directed link by which it is reached */
    double *width; /* bottleneck bandwidth from the source */
    int *queue;    /* places in the order of their levels */
    int n_queue;
} search;

static int from_of(const weft_platform *p, int hop)
{
    return hop % 2 ? p->link[hop / 2].b : p->link[hop / 2].a;
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
    s.by = WEFT_NEW(a, int, n);
    s.width = WEFT_NEW(a, double, n);
    s.queue = WEFT_NEW(a, int, n);
    for (int hop = 0; hop < 2 * p->n_links; hop++)
        s.at[from_of(p, hop) + 1]++;
    for (int v = 0; v < n; v++) {
        s.at[v + 1] += s.at[v];
        fill[v] = s.at[v];
    }
    for (int hop = 0; hop < 2 * p->n_links; hop++)
        s.way[fill[from_of(p, hop)]++] =
            (way){from_of(p, hop ^ 1), hop, p->link[hop / 2].bytes_per_s};
    return s;
}

/* Reaches the places behind u, or improves how they are reached. */
static void expand(search *s, int u)
{
    int next = s->level[u] + 1;

    for (int k = s->at[u]; k < s->at[u + 1]; k++) {
        const way *e = &s->way[k];
        int v = e->to;
        double width;

        if (s->level[v] < 0) {
            s->level[v] = next;
            s->width[v] = 0;
            s->queue[s->n_queue++] = v;
        }
        if (s->level[v] != next)
            continue;
        width = fmin(s->width[u], e->bytes_per_s);
        if (width > s->width[v] || (width == s->width[v] && u < s->before[v])) {
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
        s->level[v] = -1;
    s->level[source] = 0;
    s->width[source] = INFINITY;
    s->queue[0] = source;
    s->n_queue = 1;
    for (int i = 0; i < s->n_queue; i++) {
        int u = s->queue[i];

        if (u == source || u == p->host || u >= p->n_devices)
            expand(s, u);
    }
}

/* The route to one destination; its hops are written to `hop`. */
static weft_route traced(const search *s, int source, int to, int *hop)
{
    weft_route r = {.n_hops = s->level[to], .hop = hop, .bytes_per_s = s->width[to]};

    if (r.n_hops < 0) /* the time of any transfer, of 0 bytes too, becomes INFINITY, never NaN */
        return (weft_route){.n_hops = -1, .latency_s = INFINITY, .bytes_per_s = DBL_MIN};
    for (int v = to, i = r.n_hops - 1; v != source; i--) {
        hop[i] = s->by[v];
        v = s->before[v];
    }
    for (int i = 0; i < r.n_hops; i++) /* in the order of travel: sums round alike everywhere */
        r.latency_s += s->p->link[hop[i] / 2].latency_s;
    return r;
}

/* The links of all routes from the source. */
static int64_t n_hops_from(const search *s)
{
    int64_t n = 0;

    for (int d = 0; d < s->p->n_devices; d++)
        n += s->level[d] > 0 ? s->level[d] : 0;
    return n;
}

static weft_status route_all(weft_platform *p, search *s)
{
    size_t n = (size_t)p->n_devices;
    weft_route *route = WEFT_NEW(p->arena, weft_route, n * n);
    int64_t total = 0;

    for (int source = 0; source < p->n_devices; source++) {
        int64_t here;
        int *hop;

        search_from(s, source);
        here = n_hops_from(s);
        total += here;
        if (total > MOST_HOPS)
            return weft_fail(WEFT_E_INPUT,
                             "the routes between the devices have more than %d links in all, "
                             "expected fewer devices or switches between them",
                             MOST_HOPS);
        hop = WEFT_NEW(p->arena, int, here);
        for (int to = 0; to < p->n_devices; to++) {
            weft_route *r = &route[(size_t)source * n + (size_t)to];

            *r = traced(s, source, to, hop);
            hop += r->n_hops > 0 ? r->n_hops : 0;
        }
    }
    p->route = route;
    return WEFT_OK;
}

weft_status weft_platform_route(weft_platform *p)
{
    weft_arena *scratch = weft_arena_new();
    search s = new_search(p, scratch);
    weft_status status = route_all(p, &s);

    weft_arena_free(scratch);
    return status;
}
