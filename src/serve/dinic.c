/* SPDX-License-Identifier: MIT */
/* dinic.c: maximum flows for searches, by blocking flows in levels (Dinic). Memory is reserved once
 * for all links; a plan takes time in its own nodes and the pairs of them that meet. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

typedef struct arc {
    int to, next; /* the next of the same vertex; -1: none. The opposite arc is its number ^ 1 */
    double left;
} arc;

struct weft_dinic {
    const weft_serve_problem *p;
    int n, source, sink, n_arcs;
    arc *arc;
    int *head, *level, *current, *queue;
    double *most; /* [n_nodes] with the best number of layers */
};

weft_dinic *weft_dinic_new(const weft_serve_problem *p, weft_arena *a)
{
    weft_dinic *d = WEFT_NEW(a, weft_dinic, 1);
    int n = 2 * p->n_nodes + 2;

    *d = (weft_dinic){.p = p,
                      .n = n,
                      .source = n - 2,
                      .sink = n - 1,
                      .arc = WEFT_NEW(a, arc, 2 * (p->n_links + p->n_nodes) + 2),
                      .head = WEFT_NEW(a, int, n),
                      .level = WEFT_NEW(a, int, n),
                      .current = WEFT_NEW(a, int, n),
                      .queue = WEFT_NEW(a, int, n),
                      .most = WEFT_NEW(a, double, p->n_nodes)};
    for (int i = 0; i < p->n_nodes; i++)
        for (int k = 0; k < p->most[i]; k++)
            d->most[i] = fmax(d->most[i], p->rate[i][k]);
    return d;
}

static void clear(weft_dinic *d)
{
    d->n_arcs = 0;
    for (int v = 0; v < d->n; v++)
        d->head[v] = -1;
}

static void add(weft_dinic *d, int from, int to, double room)
{
    if (!(room > 0))
        return;
    d->arc[d->n_arcs] = (arc){to, d->head[from], room};
    d->head[from] = d->n_arcs++;
    d->arc[d->n_arcs] = (arc){from, d->head[to], 0};
    d->head[to] = d->n_arcs++;
}

static bool find_levels(weft_dinic *d)
{
    int n_found = 0;

    for (int v = 0; v < d->n; v++)
        d->level[v] = -1;
    d->level[d->source] = 0;
    d->queue[n_found++] = d->source;
    for (int i = 0; i < n_found; i++) {
        int v = d->queue[i];

        for (int e = d->head[v]; e >= 0; e = d->arc[e].next)
            if (d->arc[e].left > 0 && d->level[d->arc[e].to] < 0) {
                d->level[d->arc[e].to] = d->level[v] + 1;
                d->queue[n_found++] = d->arc[e].to;
            }
    }
    return d->level[d->sink] >= 0;
}

static double send(weft_dinic *d, int v, double most)
{
    double sent = 0;

    if (v == d->sink)
        return most;
    for (; d->current[v] >= 0; d->current[v] = d->arc[d->current[v]].next) {
        arc *e = &d->arc[d->current[v]];
        double part;

        if (!(e->left > 0) || d->level[e->to] != d->level[v] + 1)
            continue;
        part = send(d, e->to, fmin(most - sent, e->left));
        e->left -= part;
        d->arc[d->current[v] ^ 1].left += part;
        sent += part;
        if (!(sent < most))
            return most;
    }
    return sent;
}

static double flow(weft_dinic *d)
{
    double sum = 0, part;

    while (find_levels(d)) {
        memcpy(d->current, d->head, sizeof *d->current * (size_t)d->n);
        part = send(d, d->source, INFINITY);
        if (!(part > 1e-14 * sum))
            break;
        sum += part;
    }
    return sum;
}

double weft_dinic_flow(weft_dinic *d, const weft_serve_plan *plan)
{
    const weft_serve_problem *p = d->p;
    int n = p->n_nodes;

    clear(d);
    for (int i = 0; i < n; i++) {
        int k = plan->end[i] - plan->start[i];

        if (k == 0)
            continue;
        add(d, 2 * i, 2 * i + 1, p->rate[i][k - 1]);
        if (plan->start[i] == 0)
            add(d, d->source, 2 * i, weft_serve_link(p, n, i));
        if (plan->end[i] == p->n_layers)
            add(d, 2 * i + 1, d->sink, weft_serve_link(p, i, n + 1));
        for (int j = 0; j < n; j++)
            if (weft_serve_joins(p, plan, i, j) && i != j)
                add(d, 2 * i + 1, 2 * j, weft_serve_link(p, i, j));
    }
    return flow(d);
}

double weft_dinic_most(weft_dinic *d)
{
    const weft_serve_problem *p = d->p;
    int n = p->n_nodes;

    clear(d);
    for (int i = 0; i < n; i++) {
        add(d, 2 * i, 2 * i + 1, d->most[i]);
        add(d, d->source, 2 * i, weft_serve_link(p, n, i));
        add(d, 2 * i + 1, d->sink, weft_serve_link(p, i, n + 1));
        for (int j = 0; j < n; j++)
            add(d, 2 * i + 1, 2 * j, i == j ? 0 : weft_serve_link(p, i, j));
    }
    return flow(d);
}
