/* SPDX-License-Identifier: MIT */
/* out_svg.c: the timeline of a page as a drawing for papers.
 *
 * From top to bottom: title, legend, a row for each device, link, set or stage, and an axis with
 * round numbers. Bars have the colours of the page, and their name where it fits. Those that
 * explain the end, the critical chain, have a dark line below them.
 *
 * Bars narrower than PIXEL become one with their neighbours: of several kinds within PIXEL, the
 * first is seen. So a lane has at most one rectangle for each PIXEL of its width, whatever the
 * number of tasks. */
#include "colours.h"
#include "fields.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double WIDTH = 900, MARGIN = 14, PIXEL = 0.5; /* points */
static const double TITLE = 14, SMALL = 10, LABEL_GAP = 8, ROW_GAP = 5, MOST_LABEL = 190;
static const double NARROW = 3, BAR_GAP = 0.5; /* bars wider than NARROW are set apart */
enum { MOST_TICKS = 9 };

typedef struct bar {
    int row, lane, kind;
    double start_s, end_s;
    bool is_chain;
    const char *name;
} bar;

typedef struct chart {
    weft_svg svg;
    weft_arena *a;
    const weft_doc *rows, *kinds;
    int n_bars;
    bar *bar;       /* by row, lane, start */
    bool is_by_row; /* colours of bars that compute */
    bool has_chain;
    double left, right, end_s; /* of the bars */
    double *top, *lane;        /* [n_rows] upper side; height of a lane */
    double bottom;
} chart;

/* --- reading the page ------------------------------------------------------------------------ */

static const weft_doc *list_of(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d != NULL && d->kind == WEFT_DOC_LIST ? d : NULL;
}

static double real_at(const weft_doc *list, int i)
{
    return list != NULL && i < list->n ? list->item[i]->real : 0;
}

static int by_place(const void *left, const void *right)
{
    const bar *l = left, *r = right;

    if (l->row != r->row)
        return l->row < r->row ? -1 : 1;
    if (l->lane != r->lane)
        return l->lane < r->lane ? -1 : 1;
    if (l->start_s != r->start_s)
        return l->start_s < r->start_s ? -1 : 1;
    return l->end_s < r->end_s ? -1 : l->end_s > r->end_s;
}

static void read_bars(chart *c, const weft_doc *timeline)
{
    const weft_doc *b = weft_doc_get(timeline, "bars"), *chain = list_of(timeline, "chain");
    const weft_doc *row = list_of(b, "row"), *lane = list_of(b, "lane"), *kind = list_of(b, "kind");
    const weft_doc *start = list_of(b, "start"), *end = list_of(b, "end");
    const weft_doc *name = list_of(b, "name");

    c->n_bars = start->n;
    c->bar = WEFT_NEW(c->a, bar, c->n_bars);
    for (int i = 0; i < c->n_bars; i++) {
        c->bar[i] = (bar){.row = (int)real_at(row, i),
                          .lane = (int)real_at(lane, i),
                          .kind = (int)real_at(kind, i),
                          .start_s = real_at(start, i),
                          .end_s = real_at(end, i),
                          .name = name->item[i]->kind == WEFT_DOC_TEXT ? name->item[i]->text : ""};
    }
    for (int i = 0; chain != NULL && i < chain->n; i++)
        c->bar[chain->item[i]->integer].is_chain = true;
    c->has_chain = chain != NULL && chain->n > 0;
    qsort(c->bar, (size_t)c->n_bars, sizeof *c->bar, by_place);
}

static const char *kind_of(const chart *c, const bar *b)
{
    return c->kinds->item[b->kind]->text;
}

static const char *colour_of(const chart *c, const bar *b, char to[WEFT_COLOUR_BYTES])
{
    if (c->is_by_row && strcmp(kind_of(c, b), "compute") == 0)
        return weft_series_colour(b->row, to);
    return weft_kind_colour(kind_of(c, b), b->kind);
}

/* --- rows ------------------------------------------------------------------------------------ */

static double lane_height(const weft_doc *row, int n_rows)
{
    bool is_link = strcmp(weft_doc_text_or_none(row, "kind"), "link") == 0;
    bool is_dense = n_rows > 24 || weft_doc_get(row, "lanes")->integer > 1;

    if (is_link)
        return is_dense ? 8 : 11;
    return is_dense ? 12 : 20;
}

static void place_rows(chart *c, double top)
{
    int n = c->rows->n;
    double label = 0;

    c->top = WEFT_NEW(c->a, double, n);
    c->lane = WEFT_NEW(c->a, double, n);
    for (int i = 0; i < n; i++) {
        const weft_doc *row = c->rows->item[i];

        label = fmax(label, weft_svg_width(weft_doc_text_or_none(row, "name"), SMALL));
        c->lane[i] = lane_height(row, n);
        c->top[i] = top;
        top += c->lane[i] * (double)weft_doc_get(row, "lanes")->integer + ROW_GAP;
    }
    c->bottom = top;
    c->left = MARGIN + fmin(label, MOST_LABEL) + LABEL_GAP;
    c->right = WIDTH - MARGIN - SMALL; /* half of the last number of the axis */
}

static void draw_labels(chart *c)
{
    char shown[WEFT_SHORT_BYTES];
    int columns = (int)(MOST_LABEL / (SMALL * WEFT_SVG_EM));

    weft_svg_group(&c->svg, weft_ink_text, NULL, 0);
    for (int i = 0; i < c->rows->n; i++) {
        double height = c->lane[i] * (double)weft_doc_get(c->rows->item[i], "lanes")->integer;
        weft_svg_font font = {fmin(SMALL, height), WEFT_SVG_END, false, false, NULL};

        weft_svg_text(
            &c->svg, c->left - LABEL_GAP, c->top[i] + height / 2 + 0.35 * font.size, &font,
            weft_shorten(weft_doc_text_or_none(c->rows->item[i], "name"), columns, shown));
    }
    weft_svg_group_end(&c->svg);
}

/* --- axis ------------------------------------------------------------------------------------ */

/* 1, 2 or 5 times a power of ten, so that there are at most MOST_TICKS steps. */
static double round_step(double span)
{
    double power = pow(10, floor(log10(span / MOST_TICKS)));

    for (int i = 0; i < 3; i++) {
        static const double factor[] = {1, 2, 5};

        if (span / (factor[i] * power) <= MOST_TICKS)
            return factor[i] * power;
    }
    return 10 * power;
}

static double x_of(const chart *c, double at_s)
{
    return c->left + (c->right - c->left) * at_s / c->end_s;
}

static void draw_axis(chart *c)
{
    static const struct {
        double s;
        const char *name;
    } blocks[] = {
        {1,    "s" },
        {1e-3, "ms"},
        {1e-6, "us"},
        {1e-9, "ns"}
    };
    const weft_svg_font font = {SMALL, WEFT_SVG_MIDDLE, false, false, weft_ink_dim};
    int u = 0, n = 0;
    double step, top = c->top[0] - ROW_GAP;

    while (u < 3 && c->end_s < blocks[u].s)
        u++;
    step = round_step(c->end_s / blocks[u].s);
    n = (int)floor(c->end_s / blocks[u].s / step + 1e-9);
    weft_svg_group(&c->svg, "none", weft_ink_line, 0.75);
    for (int i = 0; i <= n; i++) {
        double x = x_of(c, i * step * blocks[u].s);

        weft_svg_line(&c->svg, (double[]){x, top, x, c->bottom}, 2);
    }
    weft_svg_group_end(&c->svg);
    for (int i = 0; i <= n; i++) {
        char text[48];

        snprintf(text, sizeof text, "%.10g%s%s", i * step, i == n ? " " : "",
                 i == n ? blocks[u].name : "");
        weft_svg_text(&c->svg, x_of(c, i * step * blocks[u].s), c->bottom + SMALL + 2, &font, text);
    }
}

/* --- bars ------------------------------------------------------------------------------------ */

/* The name if there is room for it; of bars coloured by kind, without the kind if need be. */
static void draw_name(chart *c, const bar *b, double x, double width, double y)
{
    double size = c->lane[b->row] >= 16 ? 9 : c->lane[b->row] - 2, room = width - 4;
    char colour[WEFT_COLOUR_BYTES];
    weft_svg_font font = {size, WEFT_SVG_MIDDLE, false, false,
                          weft_text_on(colour_of(c, b, colour))};
    const char *name = b->name, *kind = kind_of(c, b);
    size_t n = strlen(kind);

    if (size < 8)
        return;
    if (weft_svg_width(name, size) > room && strncmp(name, kind, n) == 0 && name[n] == ' ')
        name += n + 1;
    if (*name && weft_svg_width(name, size) <= room)
        weft_svg_text(&c->svg, x + width / 2, y + c->lane[b->row] / 2 + 0.35 * size, &font, name);
}

static double lane_top(const chart *c, const bar *b)
{
    return c->top[b->row] + b->lane * c->lane[b->row];
}

static void draw_rect(chart *c, const bar *b, double x, double end)
{
    char colour[WEFT_COLOUR_BYTES];
    double gap = end - x > NARROW ? BAR_GAP : 0;

    weft_svg_filled(&c->svg, x, lane_top(c, b), fmax(end - x - gap, PIXEL), c->lane[b->row] - 1,
                    colour_of(c, b, colour));
}

static bool is_same_lane(const bar *a, const bar *b)
{
    return a->row == b->row && a->lane == b->lane;
}

/* Narrow bars from `first` on that are drawn as one; returns the next one. */
static int draw_run(chart *c, int first)
{
    const bar *b = &c->bar[first];
    double x = x_of(c, b->start_s), end = x_of(c, b->end_s);
    int i = first + 1;

    for (; i < c->n_bars && is_same_lane(b, &c->bar[i]); i++) {
        const bar *next = &c->bar[i];
        double from = x_of(c, next->start_s), to = x_of(c, next->end_s);
        bool is_hidden = to <= x + PIXEL;

        if (to - from >= PIXEL || from > end + PIXEL)
            break;
        if (!is_hidden && strcmp(kind_of(c, next), kind_of(c, b)) != 0)
            break;
        end = fmax(end, to);
    }
    draw_rect(c, b, x, end);
    return i;
}

static void draw_bars(chart *c)
{
    for (int i = 0; i < c->n_bars;) {
        const bar *b = &c->bar[i];
        double x = x_of(c, b->start_s), end = x_of(c, b->end_s);

        if (end - x < PIXEL) {
            i = draw_run(c, i);
            continue;
        }
        draw_rect(c, b, x, end);
        draw_name(c, b, x, end - x, lane_top(c, b));
        i++;
    }
}

/* A line below the bars of the chain; neighbours share one. */
static void draw_chain(chart *c)
{
    weft_svg_group(&c->svg, weft_ink_text, NULL, 0);
    for (int i = 0; i < c->n_bars;) {
        const bar *b = &c->bar[i++];
        double end_s = b->end_s;

        if (!b->is_chain)
            continue;
        while (i < c->n_bars && c->bar[i].is_chain && is_same_lane(b, &c->bar[i]) &&
               x_of(c, c->bar[i].start_s) - x_of(c, end_s) < PIXEL)
            end_s = fmax(end_s, c->bar[i++].end_s);
        weft_svg_rect(&c->svg, x_of(c, b->start_s), lane_top(c, b) + c->lane[b->row] - 1,
                      fmax(x_of(c, end_s) - x_of(c, b->start_s), PIXEL), 2);
    }
    weft_svg_group_end(&c->svg);
}

/* --- legend ---------------------------------------------------------------------------------- */

static double legend_item(chart *c, double x, double y, const char *colour, const char *text)
{
    const weft_svg_font font = {SMALL, WEFT_SVG_START, false, false, weft_ink_text};
    bool is_line = colour == weft_ink_text;

    weft_svg_filled(&c->svg, x, is_line ? y - 4 : y - 8, SMALL, is_line ? 2 : SMALL - 1, colour);
    weft_svg_text(&c->svg, x + SMALL + 4, y, &font, text);
    return x + SMALL + 4 + weft_svg_width(text, SMALL) + 12;
}

/* Kinds of bars that there are, and the chain. */
static void draw_legend(chart *c, double y)
{
    bool *is_used = WEFT_NEW(c->a, bool, c->kinds->n);
    double x = MARGIN;

    for (int i = 0; i < c->n_bars; i++)
        is_used[c->bar[i].kind] = true;
    for (int k = 0; k < c->kinds->n; k++) {
        const char *kind = c->kinds->item[k]->text;

        if (is_used[k] && !(c->is_by_row && strcmp(kind, "compute") == 0))
            x = legend_item(c, x, y, weft_kind_colour(kind, k), kind);
    }
    if (c->has_chain)
        legend_item(c, x, y, weft_ink_text, "critical chain");
}

bool weft_page_timeline_svg(const weft_doc *page, FILE *to)
{
    const weft_doc *timeline = weft_doc_get(page, "timeline");
    const weft_svg_font title = {TITLE, WEFT_SVG_START, true, false, weft_ink_text};
    const weft_svg_font subtitle = {SMALL, WEFT_SVG_START, false, false, weft_ink_dim};
    chart c = {.a = weft_arena_new()};
    bool is_drawn = timeline != NULL && timeline->kind == WEFT_DOC_MAP &&
                    weft_doc_get(timeline, "end")->real > 0 && list_of(timeline, "rows")->n > 0;

    if (is_drawn) {
        c.rows = list_of(timeline, "rows");
        c.kinds = list_of(timeline, "kinds");
        c.end_s = weft_doc_get(timeline, "end")->real;
        c.is_by_row = strcmp(weft_doc_text_or_none(timeline, "colour_by"), "kind") != 0;
        read_bars(&c, timeline);
        place_rows(&c, MARGIN + TITLE + 3 * SMALL + 18);
        weft_svg_begin(&c.svg, to, WIDTH, c.bottom + SMALL + 2 + MARGIN,
                       weft_doc_text_or_none(page, "title"));
        weft_svg_text(&c.svg, MARGIN, MARGIN + TITLE, &title, weft_doc_text_or_none(page, "title"));
        weft_svg_text(&c.svg, MARGIN, MARGIN + TITLE + SMALL + 4, &subtitle,
                      weft_doc_text_or_none(page, "subtitle"));
        draw_legend(&c, MARGIN + TITLE + 2 * SMALL + 12);
        draw_axis(&c);
        draw_labels(&c);
        draw_bars(&c);
        draw_chain(&c);
        weft_svg_end(&c.svg);
    }
    weft_arena_free(c.a);
    return is_drawn;
}
