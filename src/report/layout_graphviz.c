/* SPDX-License-Identifier: MIT */
/* layout_graphviz.c: a part of a drawing laid out by dot, a program of Graphviz, as a library.
 *
 * 1. Nodes become boxes of fixed size without text, so that no fonts are loaded.
 * 2. dot ranks, orders and places (Gansner, Koutsofios, North, Vo, IEEE Trans. Software
 *    Engineering 19(3), 1993) with limits on its iterations, and routes the edges as Bezier curves.
 * 3. A curve becomes a line with few corners: sampled, then thinned by the method of Douglas and
 *    Peucker (Cartographica 10(2), 1973), nowhere further than TOLERANCE from the curve.
 * 4. The nodes where parts meet must be alone in their rows. Another source beside the first node,
 *    or another sink beside the last one, gets an edge that is not drawn, and the part is laid out
 *    again. (Edges for all of them would be long, and dot slow.)
 * 5. The last node moves straight below the first one, and both to the middle, each free to do so
 * in its row: else the drawing of a network of many such parts would wander off to a side.
 *
 * What has to be known of that library (2.42, Debian's libgvc6):
 * - It prints warnings unless it is given a function that takes them.
 * - It aborts if a box is wider than 65,535 points: such parts are not given to it.
 * - It keeps tables until the program ends, which leak checkers report; only what it allocates
 *   itself is exempt from them (tools/valgrind.supp for valgrind).
 * - Its own means for that, rank=source, makes it crash if there are further sources.
 * - It has hidden state: one thread at a time. */
#include "dynload.h"
#include "layout.h"

#include <math.h>
#include <stdio.h>

#include <graphviz/gvc.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_CHECK 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAS_LEAK_CHECK)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() (void)0
#define __lsan_enable() (void)0
#endif

static const double INCH = 72, TOLERANCE = 0.5, LARGEST_BOX = 5000;
static const double AT_BOX = 1; /* points: lines that end so near to a box touch it */
enum { SAMPLES = 8 };           /* points of each piece of a curve */

#define GRAPHVIZ_CALLS(X)                                                                          \
    X(Agdirected)                                                                                  \
    X(agattr)                                                                                      \
    X(agclose)                                                                                     \
    X(agedge)                                                                                      \
    X(agnode)                                                                                      \
    X(agopen)                                                                                      \
    X(agseterrf)                                                                                   \
    X(agxset)                                                                                      \
    X(gvContext)                                                                                   \
    X(gvFreeContext)                                                                               \
    X(gvFreeLayout)                                                                                \
    X(gvLayout)
#define FIELD(call) __typeof__(call) *call;
#define SYMBOL(call) {#call, offsetof(graphviz, call)},

typedef struct graphviz {
    GRAPHVIZ_CALLS(FIELD)
} graphviz;

static const weft_symbol symbols[] = {GRAPHVIZ_CALLS(SYMBOL)};
static const weft_dynload library = {"Graphviz", WEFT_GRAPHVIZ_LIBRARY, "libgvc6", symbols,
                                     sizeof symbols / sizeof symbols[0]};

struct weft_dot {
    graphviz lib;
    GVC_t *context;
    agusererrf before; /* who took messages before */
};

static int take_message(char *text) // NOLINT(readability-non-const-parameter): the type is theirs
{
    (void)text;
    return 0;
}

weft_dot *weft_dot_open(weft_arena *a)
{
    weft_dot *d = WEFT_NEW(a, weft_dot, 1);

    if (weft_dynload_open(&library, &d->lib) != WEFT_OK)
        return NULL;
    __lsan_disable();
    d->before = d->lib.agseterrf(take_message);
    d->context = d->lib.gvContext();
    __lsan_enable();
    return d;
}

void weft_dot_close(weft_dot *d)
{
    if (d == NULL)
        return;
    __lsan_disable();
    d->lib.gvFreeContext(d->context);
    d->lib.agseterrf(d->before);
    __lsan_enable();
}

/* --- the graph as Graphviz has it ------------------------------------------------------------ */

/* Graphviz takes text that it does not change as char *. */
static Agsym_t *set_default(const graphviz *lib, graph_t *g, int kind, const char *name,
                            const char *value)
{
    return lib->agattr(g, kind, (char *)name, (char *)value);
}

static graph_t *new_graph(const graphviz *lib)
{
    static const char *const settings[][2] = {
        {"nslimit",  "2"     },
        {"nslimit1", "4"     },
        {"mclimit",  "0.5"   },
        {"splines",  "spline"},
    };
    graph_t *g = lib->agopen((char *)"part", *lib->Agdirected, NULL);
    char text[32];

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        set_default(lib, g, AGRAPH, settings[i][0], settings[i][1]);
    snprintf(text, sizeof text, "%g", WEFT_LAYOUT_ROW_GAP / INCH);
    set_default(lib, g, AGRAPH, "ranksep", text);
    snprintf(text, sizeof text, "%g", WEFT_LAYOUT_BOX_GAP / INCH);
    set_default(lib, g, AGRAPH, "nodesep", text);
    set_default(lib, g, AGNODE, "shape", "box");
    set_default(lib, g, AGNODE, "fixedsize", "true");
    set_default(lib, g, AGNODE, "label", "");
    set_default(lib, g, AGEDGE, "dir", "none");
    return g;
}

static void set_points(const graphviz *lib, node_t *n, Agsym_t *side, double points)
{
    char text[32];

    snprintf(text, sizeof text, "%.6f", points / INCH);
    lib->agxset(n, side, text);
}

/* What a graph is to Graphviz. */
typedef struct part_graph {
    graph_t *g;
    node_t **node;
    edge_t **edge;
    Agsym_t *weight, *style; /* of edges */
} part_graph;

/* What keeps the first and the last node alone in their rows. */
typedef struct holds {
    bool *is_source, *is_sink; /* [n_nodes] of the nodes between them */
    bool *is_below, *is_above; /* [n_nodes] those that Graphviz has to be told to keep there */
} holds;

static void add_nodes(const graphviz *lib, part_graph *x, const weft_sketch *s)
{
    Agsym_t *width = set_default(lib, x->g, AGNODE, "width", "1");
    Agsym_t *height = set_default(lib, x->g, AGNODE, "height", "1");

    for (int u = 0; u < s->n_nodes; u++) {
        x->node[u] = lib->agnode(x->g, NULL, 1);
        set_points(lib, x->node[u], width, s->w[u]);
        set_points(lib, x->node[u], height, s->h[u]);
    }
}

static void add_edges(const graphviz *lib, part_graph *x, const weft_sketch *s)
{
    for (int e = 0; e < s->n_edges; e++)
        x->edge[e] = lib->agedge(x->g, x->node[s->from[e]], x->node[s->to[e]], NULL, 1);
}

/* An edge that is not drawn and pulls at nothing. */
static void add_hidden(const graphviz *lib, part_graph *x, int from, int to)
{
    edge_t *e = lib->agedge(x->g, x->node[from], x->node[to], NULL, 1);

    lib->agxset(e, x->weight, (char *)"0");
    lib->agxset(e, x->style, (char *)"invis");
}

static void add_holds(const graphviz *lib, part_graph *x, const weft_sketch *s, const holds *h)
{
    int last = s->n_nodes - 1;

    x->weight = set_default(lib, x->g, AGEDGE, "weight", "1");
    x->style = set_default(lib, x->g, AGEDGE, "style", "");
    for (int u = 0; u <= last; u++) {
        if (h->is_below[u])
            add_hidden(lib, x, 0, u);
        if (h->is_above[u])
            add_hidden(lib, x, u, last);
    }
}

static bool lay_out(weft_dot *d, const weft_sketch *s, const holds *h, part_graph *x)
{
    x->g = new_graph(&d->lib);
    add_nodes(&d->lib, x, s);
    add_edges(&d->lib, x, s);
    add_holds(&d->lib, x, s, h);
    return d->lib.gvLayout(d->context, x->g, "dot") == 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

typedef struct line {
    WEFT_VEC(double) xy;
    double top; /* what Graphviz counts upwards from */
    weft_arena *a;
} line;

static void add_point(line *l, double x, double y)
{
    WEFT_PUSH(l->a, l->xy, x);
    WEFT_PUSH(l->a, l->xy, l->top - y);
}

/* Points of a cubic Bezier curve, without its first one. */
static void add_curve(line *l, const pointf c[4])
{
    for (int i = 1; i <= SAMPLES; i++) {
        double t = (double)i / SAMPLES, s = 1 - t;
        double f[4] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};

        add_point(l, f[0] * c[0].x + f[1] * c[1].x + f[2] * c[2].x + f[3] * c[3].x,
                  f[0] * c[0].y + f[1] * c[1].y + f[2] * c[2].y + f[3] * c[3].y);
    }
}

static void add_splines(line *l, const splines *curves)
{
    for (int i = 0; i < curves->size; i++) {
        const bezier *b = &curves->list[i];

        add_point(l, b->list[0].x, b->list[0].y);
        for (int k = 0; k + 3 < b->size; k += 3)
            add_curve(l, b->list + k);
    }
}

/* Distance of point i from the straight line between points j and k. */
static double distance(const double *xy, int i, int j, int k)
{
    double dx = xy[2 * k] - xy[2 * j], dy = xy[2 * k + 1] - xy[2 * j + 1];
    double px = xy[2 * i] - xy[2 * j], py = xy[2 * i + 1] - xy[2 * j + 1];
    double length = hypot(dx, dy);

    return length > 0 ? fabs(dx * py - dy * px) / length : hypot(px, py);
}

/* Marks the corners to keep between j and k, both of which stay. The depth is at most the number of
 * points of an edge, a few hundred. */
static void thin(const double *xy, int j, int k, bool *keep) // NOLINT(misc-no-recursion)
{
    int furthest = -1;
    double most = TOLERANCE;

    for (int i = j + 1; i < k; i++) {
        double far = distance(xy, i, j, k);

        if (far > most) {
            most = far;
            furthest = i;
        }
    }
    if (furthest < 0)
        return;
    keep[furthest] = true;
    thin(xy, j, furthest, keep);
    thin(xy, furthest, k, keep);
}

/* --- ends ------------------------------------------------------------------------------------ */

/* How far the first and the last node move sideways, and with them the ends of their edges: all of
 * it at the box, nothing beyond the row next to it. */
typedef struct shift {
    double first, last;        /* points */
    double first_y, last_y;    /* lower side of the first box, upper side of the last one */
    double second_y, before_y; /* the nearest sides of other boxes */
} shift;

static shift make_shift(const weft_layout_part *p, const weft_layout *l)
{
    int last = p->s.n_nodes - 1;
    double middle = (l->x[0] + l->x[last]) / 2;
    shift f = {middle - l->x[0],
               middle - l->x[last],
               l->y[0] + p->s.h[0] / 2 + AT_BOX,
               l->y[last] - p->s.h[last] / 2 - AT_BOX,
               INFINITY,
               -INFINITY};

    for (int u = 1; u < last; u++) {
        f.second_y = fmin(f.second_y, l->y[u] - p->s.h[u] / 2);
        f.before_y = fmax(f.before_y, l->y[u] + p->s.h[u] / 2);
    }
    return f;
}

static double clamp(double x)
{
    return fmin(fmax(x, 0), 1);
}

static void shift_line(const shift *f, double *xy, int n, bool is_first, bool is_last)
{
    for (int i = 0; i < n; i++) {
        double y = xy[2 * i + 1];

        if (is_first)
            xy[2 * i] += f->first * clamp((f->second_y - y) / (f->second_y - f->first_y));
        if (is_last)
            xy[2 * i] += f->last * clamp((y - f->before_y) / (f->last_y - f->before_y));
    }
}

/* --- results --------------------------------------------------------------------------------- */

/* Where Graphviz has the boxes, then with the ends moved. */
static shift read_nodes(const part_graph *g, const weft_layout_part *p, weft_arena *a,
                        weft_layout *out)
{
    int n = p->s.n_nodes;
    double *x = WEFT_NEW(a, double, n), *y = WEFT_NEW(a, double, n);
    shift f = {0};

    for (int u = 0; u < n; u++) {
        x[u] = ND_coord(g->node[u]).x;
        y[u] = GD_bb(g->g).UR.y - ND_coord(g->node[u]).y;
    }
    out->x = x;
    out->y = y;
    if (p->has_top && p->has_bottom) {
        f = make_shift(p, out);
        x[0] += f.first;
        x[n - 1] += f.last;
    }
    return f;
}

/* Graphviz misses boxes by some points where lines are almost level. */
static void snap(const weft_sketch *s, const weft_layout *l, int u, double xy[2])
{
    xy[0] = fmin(fmax(xy[0], l->x[u] - s->w[u] / 2), l->x[u] + s->w[u] / 2);
    xy[1] = fmin(fmax(xy[1], l->y[u] - s->h[u] / 2), l->y[u] + s->h[u] / 2);
}

/* Appends a line to the points of all, without the corners that are hardly seen. */
static void keep_corners(const line *l, line *all)
{
    int n = l->xy.n / 2;
    bool *keep = WEFT_NEW(l->a, bool, n);

    keep[0] = keep[n - 1] = true;
    thin(l->xy.at, 0, n - 1, keep);
    for (int i = 0; i < n; i++) {
        if (!keep[i])
            continue;
        WEFT_PUSH(l->a, all->xy, l->xy.at[2 * i]);
        WEFT_PUSH(l->a, all->xy, l->xy.at[2 * i + 1]);
    }
}

static bool read_edges(const part_graph *x, const weft_sketch *s, const shift *f, weft_arena *a,
                       weft_layout *out)
{
    int *point_at = WEFT_NEW(a, int, s->n_edges + 1), last = s->n_nodes - 1;
    line all = {.a = a};

    for (int e = 0; e < s->n_edges; e++) {
        line l = {.top = GD_bb(x->g).UR.y, .a = a};

        if (ED_spl(x->edge[e]) == NULL)
            return false;
        add_splines(&l, ED_spl(x->edge[e]));
        shift_line(f, l.xy.at, l.xy.n / 2, f->first != 0 && s->from[e] == 0,
                   f->last != 0 && s->to[e] == last);
        snap(s, out, s->from[e], l.xy.at);
        snap(s, out, s->to[e], l.xy.at + l.xy.n - 2);
        keep_corners(&l, &all);
        point_at[e + 1] = all.xy.n / 2;
    }
    out->point_at = point_at;
    out->point = all.xy.at;
    return true;
}

static bool fits(const weft_sketch *s)
{
    for (int u = 0; u < s->n_nodes; u++)
        if (s->w[u] > LARGEST_BOX || s->h[u] > LARGEST_BOX)
            return false;
    return true;
}

static weft_layout *try_layout(weft_dot *d, const weft_layout_part *p, const holds *h,
                               weft_arena *a)
{
    part_graph x = {.node = WEFT_NEW(a, node_t *, p->s.n_nodes),
                    .edge = WEFT_NEW(a, edge_t *, p->s.n_edges)};
    weft_layout *out = WEFT_NEW(a, weft_layout, 1);
    bool is_done;

    __lsan_disable();
    is_done = lay_out(d, &p->s, h, &x);
    __lsan_enable();
    if (is_done) {
        shift f = read_nodes(&x, p, a, out);

        is_done = read_edges(&x, &p->s, &f, a, out);
        d->lib.gvFreeLayout(d->context, x.g);
    }
    d->lib.agclose(x.g);
    return is_done ? out : NULL;
}

/* --- tries ----------------------------------------------------------------------------------- */

static holds make_holds(const weft_layout_part *p, weft_arena *a)
{
    int n = p->s.n_nodes;
    holds h = {WEFT_NEW(a, bool, n), WEFT_NEW(a, bool, n), WEFT_NEW(a, bool, n),
               WEFT_NEW(a, bool, n)};

    for (int u = 0; u < n; u++) {
        h.is_source[u] = p->has_top && u > 0;
        h.is_sink[u] = p->has_bottom && u < n - 1;
    }
    for (int e = 0; e < p->s.n_edges; e++)
        h.is_source[p->s.to[e]] = h.is_sink[p->s.from[e]] = false;
    return h;
}

/* Adds what the layout shows to be missing; returns how many. */
static int mend(const weft_layout_part *p, const weft_layout *l, holds *h)
{
    int last = p->s.n_nodes - 1, n_added = 0;

    for (int u = 0; u <= last; u++) {
        bool is_high = h->is_source[u] && l->y[u] < l->y[0] + TOLERANCE;
        bool is_low = h->is_sink[u] && l->y[u] > l->y[last] - TOLERANCE;

        n_added += (is_high && !h->is_below[u]) + (is_low && !h->is_above[u]);
        h->is_below[u] |= is_high;
        h->is_above[u] |= is_low;
    }
    return n_added;
}

weft_layout *weft_dot_layout(weft_dot *d, const weft_layout_part *p, int *n_tries, weft_arena *a)
{
    holds h = make_holds(p, a);
    weft_layout *out = NULL;
    int most = *n_tries;

    *n_tries = 0;
    if (!fits(&p->s))
        return NULL;
    do {
        out = try_layout(d, p, &h, a);
        ++*n_tries;
        if (out != NULL && mend(p, out, &h) == 0)
            return out;
    } while (out != NULL && *n_tries < most);
    return NULL;
}
