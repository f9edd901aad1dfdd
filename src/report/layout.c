/* SPDX-License-Identifier: MIT */
/* layout.c: where the nodes of a drawing go.
 *
 * 1. Graphs that do not touch are drawn on their own, and set side by side in shelves.
 * 2. A graph is cut at nodes that no edge passes by: u < b < v for no edge u -> v. As it hangs
 *    together, whatever is before b is connected to the rest by b alone. The node belongs to both
 *    parts, in a row of its own, and the lower part hangs from it.
 * 3. Parts with the same edges and sizes are laid out once: networks repeat their blocks.
 * 4. A part goes to Graphviz (layout_graphviz.c), or into rows (layout_rows.c) if it is a single
 *    line, if it is too large, or if Graphviz is not here.
 *
 * Boxes do not overlap: within a part by the methods above, parts share a row of one box only,
 * shelves are apart. All results of a part are rounded to 1/4 point, which all offsets keep, so
 * that equal parts look the same and numbers are short as text. */
#include "layout.h"

#include <math.h>
#include <string.h>

enum { MOST_TRIES = 5 }; /* layouts of a part */
/* Measured: a graph of n nodes, edges counted once for each row they cross, takes Graphviz
 * n (1 + n / HALF) times 20 us. */
static const double HALF = 700, MOST_WORK = 60000;
static const double MARGIN = 8, SHELF_GAP = 36, ASPECT = 2;

typedef struct drawing {
    const weft_sketch *s;
    double work; /* that Graphviz may still be given */
    weft_dot *dot;
    bool was_opened;
    double *x, *y;
    const weft_layout **part; /* [n_edges] where the line of an edge is, */
    int *edge;                /* its number there, */
    double *dx, *dy;          /* and how far the part has moved */
    weft_map *known;          /* parts that were laid out, by all that they are */
    WEFT_VEC(const weft_layout *) layout;
    bool is_graphviz;
    weft_arena *a;
} drawing;

/* Nodes and edges of a graph that hangs together. */
typedef struct component {
    int n_nodes, n_edges;
    const int *node, *edge;
    double width, height;
} component;

/* --- parts ----------------------------------------------------------------------------------- */

static double rounded(double x)
{
    return floor(x * 4 + 0.5) / 4;
}

static weft_layout *round_all(weft_layout *l, const weft_layout_part *p, weft_arena *a)
{
    double *x = weft_arena_copy(a, l->x, sizeof *x * (size_t)p->s.n_nodes);
    double *y = weft_arena_copy(a, l->y, sizeof *y * (size_t)p->s.n_nodes);
    int n = 2 * l->point_at[p->s.n_edges];
    double *point = WEFT_NEW(a, double, n);

    for (int u = 0; u < p->s.n_nodes; u++) {
        x[u] = rounded(x[u]);
        y[u] = rounded(y[u]);
    }
    for (int i = 0; i < n; i++)
        point[i] = rounded(l->point[i]);
    l->x = x;
    l->y = y;
    l->point = point;
    return l;
}

/* What one layout costs. */
static double work_of(const weft_layout_part *p, weft_arena *a)
{
    const int *depth = weft_layout_depths(p, a);
    double n = p->s.n_nodes;

    for (int e = 0; e < p->s.n_edges; e++)
        n += depth[p->s.to[e]] - depth[p->s.from[e]];
    return n * (1 + n / HALF);
}

/* By Graphviz, or NULL. */
static weft_layout *try_dot(drawing *d, const weft_layout_part *p)
{
    double work = work_of(p, d->a);
    int n_tries = (int)fmin(d->work / work, MOST_TRIES);
    weft_layout *l = NULL;

#ifdef WEFT_GRAPHVIZ
    if (n_tries > 0 && !d->was_opened) {
        d->dot = weft_dot_open(d->a);
        d->was_opened = true;
    }
    if (n_tries > 0 && d->dot != NULL) {
        l = weft_dot_layout(d->dot, p, &n_tries, d->a);
        d->work -= n_tries * work;
    }
#else
    (void)n_tries;
#endif
    return l;
}

static const weft_layout *lay_out(drawing *d, const weft_layout_part *p)
{
    weft_layout *l = NULL;

    if (p->s.n_nodes > 2) {
        l = try_dot(d, p);
        d->is_graphviz &= l != NULL;
    }
    return round_all(l != NULL ? l : weft_layout_rows(p, d->a), p, d->a);
}

/* All that a part is, as bytes. */
static const char *key_of(const weft_layout_part *p, weft_arena *a, size_t *n)
{
    size_t n_nodes = (size_t)p->s.n_nodes, n_edges = (size_t)p->s.n_edges;
    int head[3] = {p->s.n_nodes, p->has_top, p->has_bottom};
    const void *field[] = {head, p->s.w, p->s.h, p->s.from, p->s.to};
    size_t size[] = {sizeof head, sizeof(double) * n_nodes, sizeof(double) * n_nodes,
                     sizeof(int) * n_edges, sizeof(int) * n_edges};
    char *key = weft_arena_alloc(a, sizeof head + 2 * size[1] + 2 * size[3]);

    *n = 0;
    for (int i = 0; i < 5; i++) {
        if (size[i] > 0)
            memcpy(key + *n, field[i], size[i]);
        *n += size[i];
    }
    return key;
}

static const weft_layout *layout_of(drawing *d, const weft_layout_part *p)
{
    size_t n;
    const char *key = key_of(p, d->a, &n);
    int known = weft_map_get(d->known, key, n);

    if (known >= 0)
        return d->layout.at[known];
    weft_map_set(d->known, key, n, d->layout.n);
    WEFT_PUSH(d->a, d->layout, lay_out(d, p));
    return d->layout.at[d->layout.n - 1];
}

/* --- stacks of parts ------------------------------------------------------------------------- */

/* The part from node `first` to node `last` of a component, edges from edge[0] on. */
static weft_layout_part make_part(drawing *d, const component *c, int first, int last,
                                  const int *edge, const int *local)
{
    int n = last - first + 1, n_edges = 0;
    double *w = WEFT_NEW(d->a, double, n), *h = WEFT_NEW(d->a, double, n);
    const int *end = c->edge + c->n_edges;
    int *from, *to;

    for (int i = 0; i < n; i++) {
        w[i] = d->s->w[c->node[first + i]];
        h[i] = d->s->h[c->node[first + i]];
    }
    while (edge + n_edges < end && local[d->s->from[edge[n_edges]]] < last)
        n_edges++;
    from = WEFT_NEW(d->a, int, n_edges);
    to = WEFT_NEW(d->a, int, n_edges);
    for (int e = 0; e < n_edges; e++) {
        from[e] = local[d->s->from[edge[e]]] - first;
        to[e] = local[d->s->to[edge[e]]] - first;
    }
    return (weft_layout_part){
        {n, n_edges, w, h, from, to},
        first > 0, last + 1 < c->n_nodes
    };
}

/* Hangs a part from where its first node is already, or from the origin. */
static void hang(drawing *d, const component *c, int first, const weft_layout_part *p,
                 const int *edge)
{
    const weft_layout *l = layout_of(d, p);
    double dx = 0, dy = 0;

    if (p->has_top) {
        dx = d->x[c->node[first]] - l->x[0];
        dy = d->y[c->node[first]] - l->y[0];
    }
    for (int i = 0; i < p->s.n_nodes; i++) {
        d->x[c->node[first + i]] = l->x[i] + dx;
        d->y[c->node[first + i]] = l->y[i] + dy;
    }
    for (int e = 0; e < p->s.n_edges; e++) {
        d->part[edge[e]] = l;
        d->edge[edge[e]] = e;
        d->dx[edge[e]] = dx;
        d->dy[edge[e]] = dy;
    }
}

/* The nodes that no edge passes by; first and last are two of them. */
static int *find_cuts(const drawing *d, const component *c, const int *local, int *n_cuts)
{
    int *cut = WEFT_NEW(d->a, int, c->n_nodes + 1), *passing = WEFT_NEW(d->a, int, c->n_nodes + 1);
    int n_passing = 0;

    for (int e = 0; e < c->n_edges; e++) {
        passing[local[d->s->from[c->edge[e]]] + 1]++;
        passing[local[d->s->to[c->edge[e]]]]--;
    }
    *n_cuts = 0;
    for (int u = 0; u < c->n_nodes; u++) {
        n_passing += passing[u];
        if (n_passing == 0)
            cut[(*n_cuts)++] = u;
    }
    return cut;
}

static void stack(drawing *d, component *c, const int *local)
{
    int n_cuts;
    const int *cut = find_cuts(d, c, local, &n_cuts), *edge = c->edge;

    for (int k = 0; k < (n_cuts > 1 ? n_cuts - 1 : 1); k++) {
        int last = n_cuts > 1 ? cut[k + 1] : 0;
        weft_layout_part p = make_part(d, c, cut[k], last, edge, local);

        hang(d, c, cut[k], &p, edge);
        edge += p.s.n_edges;
    }
}

/* --- components ------------------------------------------------------------------------------ */

/* Components by their first node, nodes and edges in order; local: number of a node in its own. */
static component *find_components(const weft_sketch *s, weft_arena *a, int *n_components,
                                  int *local)
{
    int n = s->n_nodes, *parent = WEFT_NEW(a, int, n), *of = WEFT_NEW(a, int, n), n_found = 0;
    int *node = WEFT_NEW(a, int, n), *edge = WEFT_NEW(a, int, s->n_edges);
    component *c = WEFT_NEW(a, component, n);

    for (int u = 0; u < n; u++)
        parent[u] = u;
    for (int e = 0; e < s->n_edges; e++) {
        int u = weft_root(parent, s->from[e]), v = weft_root(parent, s->to[e]);

        parent[u > v ? u : v] = u > v ? v : u;
    }
    for (int u = 0; u < n; u++) { /* a root is the first node of its own */
        of[u] = weft_root(parent, u) == u ? n_found++ : of[weft_root(parent, u)];
        local[u] = c[of[u]].n_nodes++;
    }
    for (int e = 0; e < s->n_edges; e++)
        c[of[s->from[e]]].n_edges++;
    for (int k = 0; k < n_found; k++) {
        c[k].node = node;
        c[k].edge = edge;
        node += c[k].n_nodes;
        edge += c[k].n_edges;
        c[k].n_edges = 0;
    }
    for (int u = 0; u < n; u++)
        ((int *)c[of[u]].node)[local[u]] = u;
    for (int e = 0; e < s->n_edges; e++) {
        component *k = &c[of[s->from[e]]];

        ((int *)k->edge)[k->n_edges++] = e;
    }
    *n_components = n_found;
    return c;
}

static void move(drawing *d, const component *c, double dx, double dy)
{
    for (int i = 0; i < c->n_nodes; i++) {
        d->x[c->node[i]] += dx;
        d->y[c->node[i]] += dy;
    }
    for (int i = 0; i < c->n_edges; i++) {
        d->dx[c->edge[i]] += dx;
        d->dy[c->edge[i]] += dy;
    }
}

typedef struct extent {
    double left, right, top, bottom;
} extent;

static void widen(extent *b, double x, double y, double w, double h)
{
    b->left = fmin(b->left, x - w / 2);
    b->right = fmax(b->right, x + w / 2);
    b->top = fmin(b->top, y - h / 2);
    b->bottom = fmax(b->bottom, y + h / 2);
}

/* Moves a component to the origin, boxes and lines. */
static void normalise(drawing *d, component *c)
{
    extent b = {INFINITY, -INFINITY, INFINITY, -INFINITY};

    for (int i = 0; i < c->n_nodes; i++)
        widen(&b, d->x[c->node[i]], d->y[c->node[i]], d->s->w[c->node[i]], d->s->h[c->node[i]]);
    for (int i = 0; i < c->n_edges; i++) {
        int e = c->edge[i], k = d->edge[e];
        const weft_layout *l = d->part[e];

        for (int j = l->point_at[k]; j < l->point_at[k + 1]; j++)
            widen(&b, l->point[2 * j] + d->dx[e], l->point[2 * j + 1] + d->dy[e], 0, 0);
    }
    b.left = floor(b.left * 4) / 4;
    b.top = floor(b.top * 4) / 4;
    c->width = ceil((b.right - b.left) * 4) / 4;
    c->height = ceil((b.bottom - b.top) * 4) / 4;
    move(d, c, -b.left, -b.top);
}

/* Side by side, in several shelves if there are many. */
static void shelve(drawing *d, const component *c, int n, weft_layout *out)
{
    double area = 0, limit = 0, x = MARGIN, y = MARGIN, height = 0;

    for (int k = 0; k < n; k++) {
        area += (c[k].width + SHELF_GAP) * (c[k].height + SHELF_GAP);
        limit = fmax(limit, c[k].width);
    }
    limit = fmax(limit, sqrt(ASPECT * area)) + MARGIN;
    for (int k = 0; k < n; k++) {
        if (x > MARGIN && x + c[k].width > limit) {
            x = MARGIN;
            y += height + SHELF_GAP;
            height = 0;
        }
        move(d, &c[k], x, y);
        out->width = fmax(out->width, x + c[k].width + MARGIN);
        height = fmax(height, c[k].height);
        x += c[k].width + SHELF_GAP;
    }
    out->height = y + height + MARGIN;
}

static void copy_lines(const drawing *d, weft_layout *out)
{
    int *point_at = WEFT_NEW(d->a, int, d->s->n_edges + 1), n = 0;
    double *point;

    for (int e = 0; e < d->s->n_edges; e++) {
        const int *at = d->part[e]->point_at + d->edge[e];

        point_at[e] = n;
        n += at[1] - at[0];
    }
    point_at[d->s->n_edges] = n;
    point = WEFT_NEW(d->a, double, 2 * (size_t)n);
    for (int e = 0; e < d->s->n_edges; e++) {
        const double *from = d->part[e]->point + 2 * (size_t)d->part[e]->point_at[d->edge[e]];
        double *to = point + 2 * (size_t)point_at[e];

        for (int i = 0; i < 2 * (point_at[e + 1] - point_at[e]); i += 2) {
            to[i] = from[i] + d->dx[e];
            to[i + 1] = from[i + 1] + d->dy[e];
        }
    }
    out->point_at = point_at;
    out->point = point;
}

weft_layout *weft_layout_limited(const weft_sketch *s, double most_work, weft_arena *a)
{
    weft_layout *out = WEFT_NEW(a, weft_layout, 1);
    drawing d = {.s = s, .work = most_work, .is_graphviz = true, .a = a};
    int n_components, *local = WEFT_NEW(a, int, s->n_nodes);
    component *c = find_components(s, a, &n_components, local);

    d.x = WEFT_NEW(a, double, s->n_nodes);
    d.y = WEFT_NEW(a, double, s->n_nodes);
    d.part = WEFT_NEW(a, const weft_layout *, s->n_edges);
    d.edge = WEFT_NEW(a, int, s->n_edges);
    d.dx = WEFT_NEW(a, double, s->n_edges);
    d.dy = WEFT_NEW(a, double, s->n_edges);
    d.known = weft_map_new(a);
    for (int k = 0; k < n_components; k++) {
        stack(&d, &c[k], local);
        normalise(&d, &c[k]);
    }
#ifdef WEFT_GRAPHVIZ
    weft_dot_close(d.dot);
#endif
    shelve(&d, c, n_components, out);
    copy_lines(&d, out);
    out->x = d.x;
    out->y = d.y;
    out->is_graphviz = d.is_graphviz;
    return out;
}

weft_layout *weft_layout_new(const weft_sketch *s, weft_arena *a)
{
    return weft_layout_limited(s, MOST_WORK, a);
}
