/* SPDX-License-Identifier: MIT */
/* document_graph.c: the network of a page, laid out.
 *
 * A box has two lines: operator and name. Its size is that of the text in a monospaced font; names
 * longer than MOST_COLUMNS are cut there by whoever draws them. A line from the middle of the lower
 * side of a box straight to the middle of the upper side of another has no points. */
#include "document.h"

#include <math.h>
#include <string.h>

#include "layout.h"

enum { MOST_COLUMNS = 28, LEAST_COLUMNS = 6 };

static const double column_pt = 6.2, line_pt = 13, margin_pt = 8;

weft_page_graph weft_page_graph_new(int n_nodes, int n_edges, weft_arena *a)
{
    return (weft_page_graph){
        .n_nodes = n_nodes,
        .n_edges = n_edges,
        .name = WEFT_NEW(a, const char *, n_nodes + 1),
        .op = WEFT_NEW(a, const char *, n_nodes + 1),
        .of = WEFT_NEW(a, int, n_nodes + 1),
        .seconds = WEFT_NEW(a, double, n_nodes + 1),
        .bytes = WEFT_NEW(a, double, n_nodes + 1),
        .from = WEFT_NEW(a, int, n_edges + 1),
        .to = WEFT_NEW(a, int, n_edges + 1),
        .edge_bytes = WEFT_NEW(a, double, n_edges + 1),
    };
}

static weft_sketch sketch_of(const weft_page_graph *g, weft_arena *a)
{
    double *w = WEFT_NEW(a, double, g->n_nodes + 1), *h = WEFT_NEW(a, double, g->n_nodes + 1);

    for (int u = 0; u < g->n_nodes; u++) {
        int name = weft_columns(g->name[u]), op = weft_columns(g->op[u]);
        int columns = name > op ? name : op;

        columns = columns > MOST_COLUMNS    ? MOST_COLUMNS
                  : columns < LEAST_COLUMNS ? LEAST_COLUMNS
                                            : columns;
        w[u] = columns * column_pt + 2 * margin_pt;
        h[u] = 2 * line_pt + margin_pt;
    }
    return (weft_sketch){g->n_nodes, g->n_edges, w, h, g->from, g->to};
}

/* A tenth of a point is less than a screen shows. */
static double tenth(double x)
{
    return floor(x * 10 + 0.5) / 10;
}

static weft_doc *tenths_doc(const double *x, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++) {
        double t = tenth(x[i]);

        weft_doc_add(a, list,
                     t == floor(t) ? weft_doc_new_int(a, (int64_t)t) : weft_doc_new_real(a, t));
    }
    return list;
}

static bool is_near(double x, double y)
{
    return fabs(x - y) < 0.5;
}

/* From the middle of the lower side straight to the middle of the upper one? */
static bool is_straight(const weft_sketch *s, const weft_layout *l, int e)
{
    const double *first = l->point + 2 * (size_t)l->point_at[e];
    int n = l->point_at[e + 1] - l->point_at[e], u = s->from[e], v = s->to[e];

    return n == 2 && is_near(first[0], l->x[u]) && is_near(first[1], l->y[u] + s->h[u] / 2) &&
           is_near(first[2], l->x[v]) && is_near(first[3], l->y[v] - s->h[v] / 2);
}

static weft_doc *points_doc(const weft_sketch *s, const weft_layout *l, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int e = 0; e < s->n_edges; e++) {
        int first = l->point_at[e], n = l->point_at[e + 1] - first;

        weft_doc_add(a, list,
                     tenths_doc(l->point + 2 * (size_t)first, is_straight(s, l, e) ? 0 : 2 * n, a));
    }
    return list;
}

static weft_doc *nodes_doc(const weft_page_graph *g, const weft_sketch *s, const weft_layout *l,
                           weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    int n = g->n_nodes;

    weft_doc_put(a, d, "name", weft_page_texts(g->name, n, a));
    weft_doc_put(a, d, "op", weft_page_texts(g->op, n, a));
    weft_doc_put(a, d, "x", tenths_doc(l->x, n, a));
    weft_doc_put(a, d, "y", tenths_doc(l->y, n, a));
    weft_doc_put(a, d, "w", tenths_doc(s->w, n, a));
    weft_doc_put(a, d, "h", tenths_doc(s->h, n, a));
    weft_doc_put(a, d, "device", weft_page_ints(g->of, n, a));
    weft_doc_put(a, d, "seconds", weft_page_reals(g->seconds, n, a));
    weft_doc_put(a, d, "bytes", weft_page_reals(g->bytes, n, a));
    weft_doc_put(a, d, "joules", weft_page_reals(g->joules, n, a));
    weft_doc_put(a, d, "shape", weft_page_texts(g->shape, n, a));
    weft_doc_put(a, d, "start", weft_page_reals(g->start_s, n, a));
    weft_doc_put(a, d, "note", weft_page_texts(g->note, n, a));
    weft_doc_put(a, d, "bar",
                 g->bar ? weft_page_ints(g->bar, n, a) : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_doc *edges_doc(const weft_page_graph *g, const weft_sketch *s, const weft_layout *l,
                           weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *is_cross = weft_doc_new(a, WEFT_DOC_LIST);

    for (int e = 0; e < g->n_edges; e++)
        weft_doc_add(a, is_cross, weft_doc_new_bool(a, g->of[g->from[e]] != g->of[g->to[e]]));
    weft_doc_put(a, d, "from", weft_page_ints(g->from, g->n_edges, a));
    weft_doc_put(a, d, "to", weft_page_ints(g->to, g->n_edges, a));
    weft_doc_put(a, d, "bytes", weft_page_reals(g->edge_bytes, g->n_edges, a));
    weft_put_text(a, d, "unit", g->edge_unit ? g->edge_unit : "B");
    weft_doc_put(a, d, "is_cross", is_cross);
    weft_doc_put(a, d, "points", points_doc(s, l, a));
    return d;
}

weft_doc *weft_page_draw(const weft_page_graph *g, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    weft_sketch s = sketch_of(g, scratch);
    const weft_layout *l = weft_layout_new(&s, scratch);
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, d, "width", tenth(l->width));
    weft_put_real(a, d, "height", tenth(l->height));
    weft_put_bool(a, d, "is_graphviz", l->is_graphviz);
    weft_doc_put(a, d, "devices", weft_page_texts(g->device, g->n_devices, a));
    weft_doc_put(a, d, "nodes", nodes_doc(g, &s, l, a));
    weft_doc_put(a, d, "edges", edges_doc(g, &s, l, a));
    weft_doc_put(a, d, "costs", g->costs ? g->costs : weft_doc_new(a, WEFT_DOC_NULL));
    weft_arena_free(scratch);
    return d;
}
