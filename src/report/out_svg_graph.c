/* SPDX-License-Identifier: MIT */
/* out_svg_graph.c: the network of a page as a drawing for papers.
 *
 * Title and legend, then boxes and lines where the page has them. Boxes have the colour of their
 * device; lines between devices are dark. Elements of one colour form a group, so that the colour
 * is written once. */
#include "colours.h"
#include "fields.h"
#include "svg.h"

#include <math.h>
#include <string.h>

static const double MARGIN = 14, TITLE = 14, SMALL = 10, LINE = 14, SWATCH = 10; /* points */
static const double NAME_SIZE = 9, BOX_MARGIN = 4, ARROW = 4;

typedef struct network {
    weft_svg svg;
    weft_arena *a;
    const weft_doc *nodes, *edges, *devices;
    const weft_doc *x, *y, *w, *h, *of; /* lists by node */
    int n_nodes;
    double left, top; /* of the drawing */
} network;

static const char *text_at(const weft_doc *list, int i)
{
    return list != NULL && list->kind == WEFT_DOC_LIST && list->item[i]->kind == WEFT_DOC_TEXT
               ? list->item[i]->text
               : "";
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* A line of text in the middle of a box, as much of it as there is room for. */
static void put_line(network *n, int u, double y, const char *text, bool is_bold)
{
    const weft_svg_font font = {NAME_SIZE, WEFT_SVG_MIDDLE, is_bold, false, NULL};
    int columns = (int)((n->w->item[u]->real - BOX_MARGIN) / (NAME_SIZE * WEFT_SVG_EM));
    char shown[WEFT_SHORT_BYTES];

    if (columns > WEFT_SHORT_COLUMNS)
        columns = WEFT_SHORT_COLUMNS;
    if (columns >= 2)
        weft_svg_text(&n->svg, n->left + n->x->item[u]->real, y, &font,
                      weft_shorten(text, columns, shown));
}

static void draw_text(network *n, int u)
{
    const char *op = text_at(weft_doc_get(n->nodes, "op"), u);
    const char *name = text_at(weft_doc_get(n->nodes, "name"), u);
    double y = n->top + n->y->item[u]->real, h = n->h->item[u]->real;

    if (h < 2 * NAME_SIZE + BOX_MARGIN || !*op || !*name || strcmp(op, name) == 0) {
        put_line(n, u, y + 0.35 * NAME_SIZE, *op ? op : name, true);
        return;
    }
    put_line(n, u, y - 0.2 * NAME_SIZE, op, true);
    put_line(n, u, y + 1.0 * NAME_SIZE, name, false);
}

/* All boxes of a device, -1: of none. */
static void draw_device(network *n, int device)
{
    char colour[WEFT_COLOUR_BYTES];
    const char *fill = weft_series_colour(device, colour);

    weft_svg_group(&n->svg, fill, NULL, 0);
    for (int u = 0; u < n->n_nodes; u++)
        if (n->of->item[u]->integer == device)
            weft_svg_rect(&n->svg, n->left + n->x->item[u]->real - n->w->item[u]->real / 2,
                          n->top + n->y->item[u]->real - n->h->item[u]->real / 2,
                          n->w->item[u]->real, n->h->item[u]->real);
    weft_svg_group_end(&n->svg);
    weft_svg_group(&n->svg, weft_text_on(fill), NULL, 0);
    for (int u = 0; u < n->n_nodes; u++)
        if (n->of->item[u]->integer == device)
            draw_text(n, u);
    weft_svg_group_end(&n->svg);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Corners of a line; without any, straight from box to box. */
static int corners(const network *n, int e, double **out)
{
    const weft_doc *list = weft_doc_get(n->edges, "points")->item[e];
    int u = (int)weft_doc_get(n->edges, "from")->item[e]->integer;
    int v = (int)weft_doc_get(n->edges, "to")->item[e]->integer;
    double *xy = WEFT_NEW(n->a, double, list->n + 4);

    *out = xy;
    if (list->n >= 4) {
        for (int i = 0; i < list->n; i++)
            xy[i] = list->item[i]->real + (i % 2 ? n->top : n->left);
        return list->n / 2;
    }
    xy[0] = n->left + n->x->item[u]->real;
    xy[1] = n->top + n->y->item[u]->real + n->h->item[u]->real / 2;
    xy[2] = n->left + n->x->item[v]->real;
    xy[3] = n->top + n->y->item[v]->real - n->h->item[v]->real / 2;
    return 2;
}

/* Two short strokes at the end of a line. */
static void draw_arrow(network *n, const double *from, const double *to)
{
    double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);

    if (!(length > 0))
        return;
    dx *= ARROW / length;
    dy *= ARROW / length;
    weft_svg_line(&n->svg,
                  (double[]){to[0] - dx - dy / 2, to[1] - dy + dx / 2, to[0], to[1],
                             to[0] - dx + dy / 2, to[1] - dy - dx / 2},
                  3);
}

static void draw_edges(network *n, bool is_cross)
{
    const weft_doc *cross = weft_doc_get(n->edges, "is_cross");

    weft_svg_group(&n->svg, "none", is_cross ? weft_ink_text : weft_ink_link, is_cross ? 1.3 : 0.8);
    for (int e = 0; e < cross->n; e++) {
        size_t mark = weft_arena_mark(n->a);
        double *xy;

        if (cross->item[e]->truth == is_cross) {
            int n_points = corners(n, e, &xy);

            weft_svg_line(&n->svg, xy, n_points);
            draw_arrow(n, xy + 2 * n_points - 4, xy + 2 * n_points - 2);
        }
        weft_arena_rewind(n->a, mark);
    }
    weft_svg_group_end(&n->svg);
}

/* --- legend ---------------------------------------------------------------------------------- */

/* Devices that have nodes, as many a line as fit; only measured if not is_drawn. Returns the lower
 * side. */
static double draw_legend(network *n, double y, double width, bool is_drawn)
{
    const weft_svg_font font = {SMALL, WEFT_SVG_START, false, false, weft_ink_text};
    bool *is_used = WEFT_NEW(n->a, bool, n->devices->n + 1);
    double x = MARGIN;

    for (int u = 0; u < n->n_nodes; u++)
        is_used[n->of->item[u]->integer + 1] = true;
    for (int k = 0; k < n->devices->n; k++) {
        const char *name = text_at(n->devices, k);
        double room = SWATCH + 4 + weft_svg_width(name, SMALL) + 12;
        char colour[WEFT_COLOUR_BYTES];

        if (!is_used[k + 1])
            continue;
        if (x > MARGIN && x + room > width - MARGIN) {
            x = MARGIN;
            y += LINE;
        }
        if (is_drawn) {
            weft_svg_filled(&n->svg, x, y - 8, SWATCH, SWATCH - 1, weft_series_colour(k, colour));
            weft_svg_text(&n->svg, x + SWATCH + 4, y, &font, name);
        }
        x += room;
    }
    return y + LINE;
}

static void draw(network *n, const weft_doc *page, const weft_doc *graph, FILE *to)
{
    const weft_svg_font title = {TITLE, WEFT_SVG_START, true, false, weft_ink_text};
    const weft_svg_font subtitle = {SMALL, WEFT_SVG_START, false, false, weft_ink_dim};
    const char *name = weft_doc_text_or_none(page, "title"),
               *more = weft_doc_text_or_none(page, "subtitle");
    double drawn = weft_doc_get(graph, "width")->real, legend = MARGIN + TITLE + 2 * LINE + 4;
    double width = fmax(drawn, fmax(weft_svg_width(name, TITLE), weft_svg_width(more, SMALL)));

    width += 2 * MARGIN;
    n->left = (width - drawn) / 2;
    n->top = draw_legend(n, legend, width, false);
    weft_svg_begin(&n->svg, to, width, n->top + weft_doc_get(graph, "height")->real + MARGIN, name);
    weft_svg_text(&n->svg, MARGIN, MARGIN + TITLE, &title, name);
    weft_svg_text(&n->svg, MARGIN, MARGIN + TITLE + LINE, &subtitle, more);
    draw_legend(n, legend, width, true);
    draw_edges(n, false);
    draw_edges(n, true);
    for (int k = -1; k < n->devices->n; k++)
        draw_device(n, k);
    weft_svg_end(&n->svg);
}

bool weft_page_graph_svg(const weft_doc *page, FILE *to)
{
    const weft_doc *graph = weft_doc_get(page, "graph");
    network n = {.a = NULL};

    if (graph == NULL || graph->kind != WEFT_DOC_MAP)
        return false;
    n.a = weft_arena_new();
    n.nodes = weft_doc_get(graph, "nodes");
    n.edges = weft_doc_get(graph, "edges");
    n.devices = weft_doc_get(graph, "devices");
    n.x = weft_doc_get(n.nodes, "x");
    n.y = weft_doc_get(n.nodes, "y");
    n.w = weft_doc_get(n.nodes, "w");
    n.h = weft_doc_get(n.nodes, "h");
    n.of = weft_doc_get(n.nodes, "device");
    n.n_nodes = n.x->n;
    draw(&n, page, graph, to);
    weft_arena_free(n.a);
    return true;
}
