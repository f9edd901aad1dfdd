/* SPDX-License-Identifier: MIT */
/* serve_flow.c: what a plan of serving is worth: a maximum flow by push and relabel, first in, first
 * out. Searches use another algorithm (serve/dinic.c).
 *
 * Every node is two vertices, in and out, with an edge of its rate between them. Labels begin with
 * the distance to the sink. A push either fills its edge (what is left becomes exactly 0) or empties
 * its vertex (exactly 0), so it ends for numbers that are rounded, too. The cut are the vertices
 * from which nothing more reaches the sink: it passes what the flow is, which is checked. */
#include "serve_flow.h"

#include <math.h>
#include <string.h>

typedef struct edge {
    int to, back; /* place of the opposite edge */
    double left;  /* what it can still take */
    double room;  /* at first */
} edge;

typedef struct network {
    int n, *at; /* vertices; [n + 1] edges of v: at[v] .. at[v + 1] - 1 */
    edge *e;
    int *label, *current, *queue, head, n_queued;
    bool *is_queued;
    double *excess;
} network;

typedef struct pair {
    int from, to;
    double room;
} pair;

/* --- the network ----------------------------------------------------------------------------- */

static int in_of(int node)
{
    return 2 * node;
}

static int out_of(int node)
{
    return 2 * node + 1;
}

typedef WEFT_VEC(pair) pairs;

static void find_pairs(const weft_serve_problem *p, const weft_serve_plan *plan, weft_arena *a,
                       pairs *out)
{
    int n = p->n_nodes, source = 2 * n, sink = 2 * n + 1;

    for (int i = 0; i < n; i++) {
        double in = weft_serve_link(p, n, i), to_sink = weft_serve_link(p, i, n + 1);
        int k = plan->end[i] - plan->start[i];

        if (k == 0)
            continue;
        WEFT_PUSH(a, *out, ((pair){in_of(i), out_of(i), p->rate[i][k - 1]}));
        if (plan->start[i] == 0 && in > 0)
            WEFT_PUSH(a, *out, ((pair){source, in_of(i), in}));
        if (plan->end[i] == p->n_layers && to_sink > 0)
            WEFT_PUSH(a, *out, ((pair){out_of(i), sink, to_sink}));
        for (int j = 0; j < n; j++)
            if (j != i && weft_serve_link(p, i, j) > 0 && weft_serve_joins(p, plan, i, j))
                WEFT_PUSH(a, *out, ((pair){out_of(i), in_of(j), weft_serve_link(p, i, j)}));
    }
}

static network build(const pairs *list, int n, weft_arena *a)
{
    network g = {.n = n,
                 .at = WEFT_NEW(a, int, n + 2),
                 .e = WEFT_NEW(a, edge, 2 * list->n + 1),
                 .label = WEFT_NEW(a, int, n),
                 .current = WEFT_NEW(a, int, n),
                 .queue = WEFT_NEW(a, int, n),
                 .is_queued = WEFT_NEW(a, bool, n),
                 .excess = WEFT_NEW(a, double, n)};
    int *next = WEFT_NEW(a, int, n + 1);

    for (int i = 0; i < list->n; i++) {
        g.at[list->at[i].from + 1]++;
        g.at[list->at[i].to + 1]++;
    }
    for (int v = 0; v < n; v++)
        g.at[v + 1] += g.at[v];
    memcpy(next, g.at, sizeof *next * (size_t)n);
    for (int i = 0; i < list->n; i++) {
        const pair *x = &list->at[i];
        int there = next[x->from]++, back = next[x->to]++;

        g.e[there] = (edge){x->to, back, x->room, x->room};
        g.e[back] = (edge){x->from, there, 0, 0};
    }
    memcpy(g.current, g.at, sizeof *g.current * (size_t)n);
    return g;
}

/* Distances to `goal` along edges that can take more than `least`; n: it cannot be reached. */
static void find_distances(network *g, int goal, double least)
{
    int head = 0, n_found = 0;

    for (int v = 0; v < g->n; v++)
        g->label[v] = g->n;
    g->label[goal] = 0;
    g->queue[n_found++] = goal;
    while (head < n_found) {
        int v = g->queue[head++];

        for (int i = g->at[v]; i < g->at[v + 1]; i++) {
            int u = g->e[i].to;

            if (g->label[u] < g->n || !(g->e[g->e[i].back].left > least))
                continue;
            g->label[u] = g->label[v] + 1;
            g->queue[n_found++] = u;
        }
    }
}

/* --- push and relabel ------------------------------------------------------------------------ */

static void queue_vertex(network *g, int v)
{
    if (g->is_queued[v])
        return;
    g->is_queued[v] = true;
    g->queue[(g->head + g->n_queued++) % g->n] = v;
}

static void push(network *g, int v, int i)
{
    edge *e = &g->e[i];

    if (e->left <= g->excess[v]) {
        g->e[e->back].left += e->left;
        g->excess[e->to] += e->left;
        g->excess[v] -= e->left;
        e->left = 0;
    } else {
        g->e[e->back].left += g->excess[v];
        g->excess[e->to] += g->excess[v];
        e->left -= g->excess[v];
        g->excess[v] = 0;
    }
}

static void relabel(network *g, int v)
{
    int least = 2 * g->n;

    for (int i = g->at[v]; i < g->at[v + 1]; i++)
        if (g->e[i].left > 0 && g->label[g->e[i].to] < least)
            least = g->label[g->e[i].to];
    g->label[v] = least + 1;
    g->current[v] = g->at[v];
}

static void discharge(network *g, int v, int source, int sink)
{
    while (g->excess[v] > 0 && g->label[v] < 2 * g->n) {
        int i = g->current[v];

        if (i == g->at[v + 1]) {
            relabel(g, v);
        } else if (g->e[i].left > 0 && g->label[v] == g->label[g->e[i].to] + 1) {
            int to = g->e[i].to;

            push(g, v, i);
            if (to != source && to != sink)
                queue_vertex(g, to);
        } else {
            g->current[v]++;
        }
    }
}

static void find_flow(network *g, int source, int sink)
{
    find_distances(g, sink, 0);
    g->label[source] = g->n;
    for (int i = g->at[source]; i < g->at[source + 1]; i++) {
        g->excess[source] = g->e[i].left;
        push(g, source, i);
        queue_vertex(g, g->e[i].to);
    }
    while (g->n_queued > 0) {
        int v = g->queue[g->head];

        g->head = (g->head + 1) % g->n;
        g->n_queued--;
        g->is_queued[v] = false;
        discharge(g, v, source, sink);
    }
}

/* --- what is found --------------------------------------------------------------------------- */

static double flow_of(const edge *e)
{
    return fmax(0, e->room - e->left);
}

/* The links that take part, and what they pass. */
static void list_links(const network *g, int n, weft_arena *a, weft_serve_flow *out)
{
    WEFT_VEC(weft_serve_passing) list = {0};

    for (int v = 0; v < g->n; v++)
        for (int i = g->at[v]; i < g->at[v + 1]; i++) {
            int from = v == 2 * n ? n : v / 2,
                to = g->e[i].to == 2 * n + 1 ? n + 1 : g->e[i].to / 2;
            double tokens = flow_of(&g->e[i]);

            if (from != to && g->e[i].room > 0 && tokens > 0)
                WEFT_PUSH(a, list, ((weft_serve_passing){from, to, tokens, g->e[i].room}));
        }
    out->link = list.at;
    out->n_links = list.n;
}

/* Labels are distances to the sink in what is left: n is the side of the source. */
static void find_cut(const network *g, int n, weft_arena *a, weft_serve_flow *out)
{
    WEFT_VEC(weft_serve_passing) list = {0};

    for (int v = 0; v < g->n; v++)
        for (int i = g->at[v]; i < g->at[v + 1]; i++) {
            const edge *e = &g->e[i];
            int from = v == 2 * n ? n : v / 2, to = e->to == 2 * n + 1 ? n + 1 : e->to / 2;

            if (g->label[v] < g->n || g->label[e->to] == g->n || !(e->room > 0))
                continue;
            WEFT_PUSH(a, list, ((weft_serve_passing){from, to, flow_of(e), e->room}));
            out->cut_tokens_per_s += e->room;
        }
    out->cut = list.at;
    out->n_cut = list.n;
}

/* The longest way from the source, in nodes; ways that carry nothing do not count. */
static int find_depth(const weft_serve_problem *p, const weft_serve_flow *f,
                      const weft_serve_plan *plan, weft_arena *a)
{
    int n = p->n_nodes, most = 0, *depth = WEFT_NEW(a, int, n + 2);

    for (int layer = 0; layer <= p->n_layers; layer++) /* nodes by where they end */
        for (int i = 0; i < f->n_links; i++) {
            const weft_serve_passing *x = &f->link[i];

            if (x->from == n && layer == 0)
                depth[x->to] = 1;
            else if (x->from < n && x->to < n && plan->end[x->from] == layer &&
                     depth[x->to] < depth[x->from] + 1)
                depth[x->to] = depth[x->from] + 1;
        }
    for (int i = 0; i < n; i++)
        most = depth[i] > most ? depth[i] : most;
    return most;
}

weft_status weft_serve_evaluate(const weft_serve_problem *p, const weft_serve_plan *plan,
                                weft_arena *a, weft_serve_flow *out)
{
    int n = p->n_nodes, source = 2 * n, sink = 2 * n + 1;
    pairs list = {0};
    network g;

    *out = (weft_serve_flow){.node = WEFT_NEW(a, double, n)};
    find_pairs(p, plan, a, &list);
    g = build(&list, 2 * n + 2, a);
    find_flow(&g, source, sink);
    out->tokens_per_s = g.excess[sink];
    for (int i = 0; i < n; i++)
        for (int k = g.at[in_of(i)]; k < g.at[in_of(i) + 1]; k++)
            if (g.e[k].to == out_of(i))
                out->node[i] = flow_of(&g.e[k]);
    list_links(&g, n, a, out);
    find_distances(&g, sink, 1e-13 * out->tokens_per_s);
    find_cut(&g, n, a, out);
    if (!(fabs(out->cut_tokens_per_s - out->tokens_per_s) <= 1e-9 * out->tokens_per_s))
        return weft_fail(WEFT_E_INTERNAL,
                         "internal error: a flow of %.17g tokens per second, its cut passes %.17g",
                         out->tokens_per_s, out->cut_tokens_per_s);
    for (int i = 0; i < n; i++)
        out->n_used += out->node[i] > 0;
    out->depth = find_depth(p, out, plan, a);
    return WEFT_OK;
}

weft_doc *weft_serve_measures_doc(const weft_serve_problem *p, const weft_serve_flow *f,
                                  weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_real(a, d, "flow_tokens_per_s", f->tokens_per_s);
    weft_put_int(a, d, "nodes_used", f->n_used);
    weft_put_int(a, d, "longest_chain", f->depth);
    for (int i = 0; i < f->n_cut; i++) {
        weft_doc *x = weft_add_map(a, list);

        weft_put_text(a, x, "from", weft_serve_end_name(p, f->cut[i].from));
        weft_put_text(a, x, "to", weft_serve_end_name(p, f->cut[i].to));
        weft_put_real(a, x, "tokens_per_s", f->cut[i].room);
    }
    weft_doc_put(a, d, "cut", list);
    return d;
}
