/* SPDX-License-Identifier: MIT */
/* calls_cut.c: what a block costs its device at least, under `calls`.
 *
 * Some device has block b. If it is the host, its load is at least the time of b there. If it is
 * accelerator d with the set S of blocks, its load is
 *     sum over S of time_s + in_s of tensors read in S and made outside + out_s of tensors made in
 * S and read outside, so at least the minimum over all sets that hold b. That is a minimum cut:
 *     source -> b without limit; v -> sink with the time of v on d (v in S is the source's side);
 *     for a tensor of maker m, nodes y, z:  m -> y with out_s, y -> reader without limit,
 *                                           reader -> z without limit, z -> m with in_s.
 * The bound is the largest over blocks of the smallest over devices. Any flow is at most the
 * minimum cut, so rounding and early ends leave the bound valid.
 *
 * The flow: shortest augmenting paths in layers (Dinic 1970). Time: a flow for each block and class
 * of equal accelerators, as far as MOST_WORK goes; blocks of most work come first. */
#include "calls.h"
#include "sort.h"

#include <math.h>

static const double MOST_WORK = 4e7;    /* arcs * layers looked at, about */
static const double NEGLIGIBLE = 1e-12; /* of the largest arc: capacities below count as none */

typedef struct network {
    int n_nodes, n_arcs;
    int *first, *next, *to; /* arcs by node; arc i and i ^ 1 are opposite */
    double *room;           /* [n_arcs] */
    double *room_at_first;  /* [n_arcs] */
    int *layer, *at, *queue, *path;
    double least_room, work;
} network;

static void add_arc(network *x, int from, int to, double room)
{
    for (int i = 0; i < 2; i++) {
        int u = i == 0 ? from : to;

        x->to[x->n_arcs] = i == 0 ? to : from;
        x->room_at_first[x->n_arcs] = i == 0 ? room : 0;
        x->next[x->n_arcs] = x->first[u];
        x->first[u] = x->n_arcs++;
    }
}

/* Layers of nodes by distance from the source; true if the sink has one. */
static bool set_layers(network *x, int source, int sink)
{
    int n = 0;

    for (int u = 0; u < x->n_nodes; u++) {
        x->layer[u] = -1;
        x->at[u] = x->first[u];
    }
    x->layer[source] = 0;
    x->queue[n++] = source;
    for (int i = 0; i < n && x->layer[sink] < 0; i++) {
        for (int e = x->first[x->queue[i]]; e >= 0; e = x->next[e]) {
            int v = x->to[e];

            if (x->layer[v] < 0 && x->room[e] > x->least_room) {
                x->layer[v] = x->layer[x->queue[i]] + 1;
                x->queue[n++] = v;
            }
        }
    }
    x->work += x->n_arcs;
    return x->layer[sink] >= 0;
}

/* One path through the layers, filled; 0 if there is none left. */
static double augment(network *x, int source, int sink)
{
    int n = 0, u = source;
    double least = INFINITY;

    while (u != sink) {
        int e = x->at[u];

        if (e >= 0 && !(x->room[e] > x->least_room && x->layer[x->to[e]] == x->layer[u] + 1)) {
            x->at[u] = x->next[e];
        } else if (e >= 0) {
            x->path[n++] = e;
            u = x->to[e];
        } else if (n > 0) { /* a dead end */
            u = x->to[x->path[--n] ^ 1];
            x->at[u] = x->next[x->at[u]];
        } else {
            return 0;
        }
        x->work++;
    }
    for (int i = 0; i < n; i++)
        least = fmin(least, x->room[x->path[i]]);
    for (int i = 0; i < n; i++) {
        x->room[x->path[i]] -= least;
        x->room[x->path[i] ^ 1] += least;
    }
    return least;
}

/* A flow from source to sink: the largest, or one of at least `enough`. */
static double flow(network *x, int source, int sink, double enough)
{
    double sum = 0, more;

    if (x->work >= MOST_WORK)
        return 0;
    for (int e = 0; e < x->n_arcs; e++)
        x->room[e] = x->room_at_first[e];
    while (sum < enough && x->work < MOST_WORK && set_layers(x, source, sink)) {
        while (sum < enough && (more = augment(x, source, sink)) > 0)
            sum += more;
    }
    return sum;
}

/* The network of device d; block b is node b, the sink is node n_blocks. */
static network new_network(const weft_calls *m, int d, weft_arena *a)
{
    int k = m->n_devices, n_arcs = m->n_blocks + 2 * m->n_tensors + 2 * m->reader_at[m->n_tensors];
    network x = {.n_nodes = m->n_blocks + 1 + 2 * m->n_tensors};
    double most = 0;

    x.first = WEFT_NEW(a, int, x.n_nodes);
    x.layer = WEFT_NEW(a, int, x.n_nodes);
    x.at = WEFT_NEW(a, int, x.n_nodes);
    x.queue = WEFT_NEW(a, int, x.n_nodes);
    x.path = WEFT_NEW(a, int, x.n_nodes);
    x.next = WEFT_NEW(a, int, 2 * (size_t)n_arcs);
    x.to = WEFT_NEW(a, int, 2 * (size_t)n_arcs);
    x.room = WEFT_NEW(a, double, 2 * (size_t)n_arcs);
    x.room_at_first = WEFT_NEW(a, double, 2 * (size_t)n_arcs);
    for (int u = 0; u < x.n_nodes; u++)
        x.first[u] = -1;
    for (int b = 0; b < m->n_blocks; b++) {
        add_arc(&x, b, m->n_blocks, m->time_s[b * k + d]);
        most = isfinite(m->time_s[b * k + d]) ? fmax(most, m->time_s[b * k + d]) : most;
    }
    for (int t = 0; t < m->n_tensors; t++) {
        int out = m->n_blocks + 1 + 2 * t, in = out + 1;

        add_arc(&x, m->maker[t], out, m->out_s[t * k + d]);
        add_arc(&x, in, m->maker[t], m->in_s[t * k + d]);
        most = fmax(most, fmax(m->out_s[t * k + d], m->in_s[t * k + d]));
        for (int i = m->reader_at[t]; i < m->reader_at[t + 1]; i++) {
            add_arc(&x, out, m->reader[i], INFINITY);
            add_arc(&x, m->reader[i], in, INFINITY);
        }
    }
    x.least_room = most * NEGLIGIBLE;
    return x;
}

/* Accelerators, one of each class of equal ones. */
static int list_accelerators(const weft_calls *m, int *device, weft_arena *a)
{
    const int *first = weft_calls_first_same(m, a);
    int n = 0;

    for (int d = 0; d < m->n_devices; d++) {
        if (first[d] == d && d != m->problem->host)
            device[n++] = d;
    }
    return n;
}

double weft_calls_cut_bound(const weft_calls *m, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int *device = WEFT_NEW(a, int, m->n_devices), n = list_accelerators(m, device, a);
    network *x = WEFT_NEW(a, network, n);
    double *time_s = WEFT_NEW(a, double, m->n_blocks), bound_s = 0;
    int *order;

    for (int i = 0; i < n; i++)
        x[i] = new_network(m, device[i], a);
    for (int b = 0; b < m->n_blocks; b++)
        time_s[b] = weft_least(m->time_s + b * m->n_devices, m->n_devices);
    order = weft_sorted_falling(time_s, m->n_blocks, a);
    for (int j = 0; j < m->n_blocks; j++) {
        int b = order[j];
        double least_s = m->time_s[b * m->n_devices + m->problem->host];

        for (int i = 0; i < n && least_s > bound_s; i++) {
            if (isfinite(m->time_s[b * m->n_devices + device[i]]))
                least_s = fmin(least_s, flow(&x[i], b, m->n_blocks, least_s));
        }
        bound_s = fmax(bound_s, least_s);
    }
    weft_arena_rewind(a, mark);
    return bound_s;
}

double weft_calls_cut_of(const weft_problem *p, bool is_contiguous, double upper_s)
{
    weft_arena *a = weft_arena_new();
    weft_calls *m = weft_calls_new(p, is_contiguous, upper_s, NULL, a);
    double bound_s = 0;

    if (!m->is_restricted)
        bound_s = fmin(upper_s, m->is_empty ? INFINITY : weft_calls_cut_bound(m, a));
    weft_arena_free(a);
    return bound_s;
}
