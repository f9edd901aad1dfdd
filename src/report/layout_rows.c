/* SPDX-License-Identifier: MIT */
/* layout_rows.c: a drawing in rows by depth, for graphs that are too large for Graphviz.
 *
 * 1. The row of a node is the length of the longest path to it; sources go just above the first
 *    node that reads them.
 * 2. Within a row, nodes are sorted by the mean position of their neighbours in the other rows, a
 *    few times from top to bottom and back (barycentre method of Sugiyama, Tagawa, Toda, IEEE
 *    Trans. Systems, Man, and Cybernetics 11(2), 1981).
 * 3. A row that is much wider than the drawing is high goes on in further lines.
 * 4. Each node wants to be at the mean of its neighbours; of all places in the order of the line
 *    without overlap, those with the least sum of squared distances to that are taken: neighbours
 *    that would overlap become a block that moves as one (pool adjacent violators).
 * 5. Edges are straight, but bows to the right if a box in between would hide them.
 *
 * Long edges may still pass behind boxes. Time O(SWEEPS * (edges + nodes log nodes)). */
#include "layout.h"

#include <math.h>
#include <stdlib.h>

enum { SWEEPS = 6, BOW_CORNERS = 10 };
static const double BOW = 0.08, LEAST_BOW = 12; /* width of a bow: share of its height, points */
static const double LEAST_WIDTH = 1500, ASPECT = 3; /* of lines of boxes; width to height */

/* Depth of the first reader of each source, 0 of all other nodes. */
static const int *first_readers(const weft_sketch *s, const int *depth, weft_arena *a)
{
    int *reader = WEFT_NEW(a, int, s->n_nodes);

    for (int e = 0; e < s->n_edges; e++)
        if (reader[s->from[e]] == 0 || depth[s->to[e]] < reader[s->from[e]])
            reader[s->from[e]] = depth[s->to[e]];
    for (int e = 0; e < s->n_edges; e++)
        reader[s->to[e]] = 0;
    return reader;
}

int *weft_layout_depths(const weft_layout_part *p, weft_arena *a)
{
    const weft_sketch *s = &p->s;
    int *depth = WEFT_NEW(a, int, s->n_nodes), deepest = 0, last = s->n_nodes - 1;
    const int *reader;

    for (int u = 1; u < s->n_nodes; u++)
        depth[u] = p->has_top;
    for (int e = 0; e < s->n_edges; e++) /* by rising `from`, whose depth is final */
        if (depth[s->to[e]] <= depth[s->from[e]])
            depth[s->to[e]] = depth[s->from[e]] + 1;
    for (int u = 0; u < last; u++)
        deepest = depth[u] > deepest ? depth[u] : deepest;
    if (p->has_bottom && depth[last] <= deepest)
        depth[last] = deepest + 1;
    reader = first_readers(s, depth, a);
    for (int u = p->has_top; u < s->n_nodes; u++)
        if (reader[u] > 0)
            depth[u] = reader[u] - 1;
    return depth;
}

/* --- rows ------------------------------------------------------------------------------------ */

typedef struct rows {
    const weft_sketch *s;
    int n_rows;
    int *row_at, *node;        /* [n_rows + 1] row -> [n_nodes] nodes from left to right */
    int *up_at, *up, *down_at; /* in-edges of a node -> edges; its out-edges are in order */
    double *x, *y;
    struct wish *wish; /* [n_nodes] scratch of a row */
} rows;

typedef struct wish {
    double x;
    int node;
} wish;

static int by_wish(const void *left, const void *right)
{
    const wish *l = left, *r = right;

    if (l->x != r->x)
        return l->x < r->x ? -1 : 1;
    return l->node < r->node ? -1 : l->node > r->node;
}

/* Offsets of n + 1 groups, and the items of each in order. */
static int *group(const int *of, int n_items, int n_groups, int **item, weft_arena *a)
{
    int *at = WEFT_NEW(a, int, n_groups + 1), *next = WEFT_NEW(a, int, n_groups);

    *item = WEFT_NEW(a, int, n_items);
    for (int i = 0; i < n_items; i++)
        at[of[i] + 1]++;
    for (int k = 0; k < n_groups; k++)
        next[k] = at[k + 1] += at[k];
    for (int i = n_items - 1; i >= 0; i--)
        (*item)[--next[of[i]]] = i;
    return at;
}

static rows make_rows(const weft_layout_part *p, weft_arena *a)
{
    const weft_sketch *s = &p->s;
    const int *depth = weft_layout_depths(p, a);
    rows r = {.s = s};
    int *edge;

    for (int u = 0; u < s->n_nodes; u++)
        r.n_rows = depth[u] >= r.n_rows ? depth[u] + 1 : r.n_rows;
    r.row_at = group(depth, s->n_nodes, r.n_rows, &r.node, a);
    r.up_at = group(s->to, s->n_edges, s->n_nodes, &r.up, a);
    r.down_at = group(s->from, s->n_edges, s->n_nodes, &edge, a);
    r.x = WEFT_NEW(a, double, s->n_nodes);
    r.y = WEFT_NEW(a, double, s->n_nodes);
    r.wish = WEFT_NEW(a, wish, s->n_nodes);
    return r;
}

/* Centres of boxes side by side around 0; returns the width. */
static double pack(rows *r, int first, int end)
{
    double width = -WEFT_LAYOUT_BOX_GAP, at;

    for (int i = first; i < end; i++)
        width += r->s->w[r->node[i]] + WEFT_LAYOUT_BOX_GAP;
    at = -width / 2;
    for (int i = first; i < end; i++) {
        double w = r->s->w[r->node[i]];

        r->x[r->node[i]] = at + w / 2;
        at += w + WEFT_LAYOUT_BOX_GAP;
    }
    return width;
}

enum { ABOVE = 1, BELOW = 2 };

/* Mean of the neighbours of a node above it, below it or both; where it is if there are none. */
static double wished_x(const rows *r, int u, unsigned sides)
{
    double sum = 0;
    int n = 0;

    for (int i = r->up_at[u]; (sides & ABOVE) && i < r->up_at[u + 1]; i++, n++)
        sum += r->x[r->s->from[r->up[i]]];
    for (int e = r->down_at[u]; (sides & BELOW) && e < r->down_at[u + 1]; e++, n++)
        sum += r->x[r->s->to[e]];
    return n > 0 ? sum / n : r->x[u];
}

static void sort_row(rows *r, int row, unsigned side)
{
    int first = r->row_at[row], n = r->row_at[row + 1] - first;

    for (int i = 0; i < n; i++)
        r->wish[i] = (wish){wished_x(r, r->node[first + i], side), r->node[first + i]};
    qsort(r->wish, (size_t)n, sizeof *r->wish, by_wish);
    for (int i = 0; i < n; i++)
        r->node[first + i] = r->wish[i].node;
    pack(r, first, first + n);
}

static void sort_rows(rows *r)
{
    for (int k = 0; k < r->n_rows; k++)
        pack(r, r->row_at[k], r->row_at[k + 1]);
    for (int i = 0; i < SWEEPS; i++) {
        for (int k = 1; k < r->n_rows; k++)
            sort_row(r, k, ABOVE);
        for (int k = r->n_rows - 2; k >= 0; k--)
            sort_row(r, k, BELOW);
    }
}

/* --- lines of boxes -------------------------------------------------------------------------- */

/* Rows, the wide ones in several lines: offsets into r->node. */
static int *make_lines(const rows *r, weft_arena *a, int *n_lines)
{
    int *line_at = WEFT_NEW(a, int, r->s->n_nodes + r->n_rows + 1), n = 0;
    double area = 0, limit;

    for (int u = 0; u < r->s->n_nodes; u++)
        area += (r->s->w[u] + WEFT_LAYOUT_BOX_GAP) * (r->s->h[u] + WEFT_LAYOUT_ROW_GAP);
    limit = fmax(LEAST_WIDTH, sqrt(ASPECT * area));
    for (int k = 0; k < r->n_rows; k++) {
        double width = 0, sum = 0, share;

        for (int i = r->row_at[k]; i < r->row_at[k + 1]; i++)
            width += r->s->w[r->node[i]] + WEFT_LAYOUT_BOX_GAP;
        share = width / ceil(width / limit); /* equal lines instead of a short last one */
        for (int i = r->row_at[k]; i < r->row_at[k + 1]; i++) {
            if (i == r->row_at[k] || sum >= share) {
                line_at[n++] = i;
                sum = 0;
            }
            sum += r->s->w[r->node[i]] + WEFT_LAYOUT_BOX_GAP;
        }
    }
    line_at[n] = r->s->n_nodes;
    *n_lines = n;
    return line_at;
}

/* Boxes of a line that move as one. */
typedef struct block {
    double sum; /* of the places that its boxes wish for their block */
    int n, first;
} block;

static double mean(const block *b)
{
    return b->sum / b->n;
}

/* Boxes first .. end - 1 of the order, as near as they can be to where they wish. */
static void settle(rows *r, int first, int end, unsigned sides, block *b)
{
    int n_blocks = 0;
    double offset = 0;

    for (int i = first; i < end; i++) {
        int u = r->node[i];

        if (i > first)
            offset += (r->s->w[u] + r->s->w[r->node[i - 1]]) / 2 + WEFT_LAYOUT_BOX_GAP;
        r->wish[i].x = offset;
        b[n_blocks++] = (block){wished_x(r, u, sides) - offset, 1, i};
        while (n_blocks > 1 && mean(&b[n_blocks - 2]) >= mean(&b[n_blocks - 1])) {
            n_blocks--;
            b[n_blocks - 1].sum += b[n_blocks].sum;
            b[n_blocks - 1].n += b[n_blocks].n;
        }
    }
    for (int k = 0; k < n_blocks; k++)
        for (int i = b[k].first; i < b[k].first + b[k].n; i++)
            r->x[r->node[i]] = mean(&b[k]) + r->wish[i].x;
}

static void place_x(rows *r, const int *line_at, int n_lines, weft_arena *a)
{
    block *b = WEFT_NEW(a, block, r->s->n_nodes);

    for (int i = 0; i < n_lines; i++)
        pack(r, line_at[i], line_at[i + 1]);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 1; i < n_lines; i++)
            settle(r, line_at[i], line_at[i + 1], ABOVE, b);
        for (int i = n_lines - 2; i >= 0; i--)
            settle(r, line_at[i], line_at[i + 1], ABOVE | BELOW, b);
    }
}

/* Lines with many boxes get more room below: their edges are flat. Returns the height of all. */
static double place_y(rows *r, const int *line_at, int n_lines)
{
    double top = 0, gap = 0;

    for (int k = 0; k < n_lines; k++) {
        double height = 0;

        for (int i = line_at[k]; i < line_at[k + 1]; i++)
            height = fmax(height, r->s->h[r->node[i]]);
        for (int i = line_at[k]; i < line_at[k + 1]; i++)
            r->y[r->node[i]] = top + height / 2;
        gap = WEFT_LAYOUT_ROW_GAP * (1 + fmin(3, (line_at[k + 1] - line_at[k] - 1) / 16.0));
        top += height + gap;
    }
    return top - gap;
}

/* [n_nodes] the line that each node is in. */
static const int *lines_of(const rows *r, const int *line_at, int n_lines, weft_arena *a)
{
    int *line = WEFT_NEW(a, int, r->s->n_nodes);

    for (int k = 0; k < n_lines; k++)
        for (int i = line_at[k]; i < line_at[k + 1]; i++)
            line[r->node[i]] = k;
    return line;
}

/* From the right side of a box to that of another far below it: the further, the wider. */
static int draw_bow(const rows *r, int u, int v, double *xy)
{
    const weft_sketch *s = r->s;
    double from[2] = {r->x[u] + s->w[u] / 2, r->y[u]}, to[2] = {r->x[v] + s->w[v] / 2, r->y[v]};
    double reach = fmax(from[0], to[0]) + LEAST_BOW + BOW * (to[1] - from[1]);

    for (int i = 0; i <= BOW_CORNERS; i++) { /* a quadratic Bezier curve twice as far as `reach` */
        double t = (double)i / BOW_CORNERS, f[3] = {(1 - t) * (1 - t), 2 * t * (1 - t), t * t};
        double peak[2] = {2 * reach - (from[0] + to[0]) / 2, (from[1] + to[1]) / 2};

        for (int k = 0; k < 2; k++)
            xy[2 * i + k] = f[0] * from[k] + f[1] * peak[k] + f[2] * to[k];
    }
    return BOW_CORNERS + 1;
}

static int draw_straight(const rows *r, int u, int v, double *xy)
{
    xy[0] = r->x[u];
    xy[1] = r->y[u] + r->s->h[u] / 2;
    xy[2] = r->x[v];
    xy[3] = r->y[v] - r->s->h[v] / 2;
    return 2;
}

static void draw_edges(const rows *r, const int *line, weft_arena *a, weft_layout *out)
{
    const weft_sketch *s = r->s;
    int *point_at = WEFT_NEW(a, int, s->n_edges + 1);
    double *point = WEFT_NEW(a, double, 2 * (BOW_CORNERS + 1) * (size_t)s->n_edges);

    for (int e = 0; e < s->n_edges; e++) {
        int u = s->from[e], v = s->to[e];
        bool is_hidden = line[v] > line[u] + 1 && fabs(r->x[u] - r->x[v]) < (s->w[u] + s->w[v]) / 2;
        double *xy = point + 2 * (size_t)point_at[e];

        point_at[e + 1] =
            point_at[e] + (is_hidden ? draw_bow(r, u, v, xy) : draw_straight(r, u, v, xy));
    }
    out->point_at = point_at;
    out->point = point;
}

weft_layout *weft_layout_rows(const weft_layout_part *p, weft_arena *a)
{
    weft_layout *out = WEFT_NEW(a, weft_layout, 1);
    rows r = make_rows(p, a);
    double left = INFINITY, right = -INFINITY;
    int n_lines;
    const int *line_at;

    sort_rows(&r);
    line_at = make_lines(&r, a, &n_lines);
    place_x(&r, line_at, n_lines, a);
    if (p->has_top && p->has_bottom) /* alone in its line: it may be anywhere */
        r.x[p->s.n_nodes - 1] = r.x[0];
    out->height = place_y(&r, line_at, n_lines);
    for (int u = 0; u < p->s.n_nodes; u++) {
        left = fmin(left, r.x[u] - p->s.w[u] / 2);
        right = fmax(right, r.x[u] + p->s.w[u] / 2);
    }
    for (int u = 0; u < p->s.n_nodes; u++)
        r.x[u] -= left;
    out->width = right - left;
    out->x = r.x;
    out->y = r.y;
    draw_edges(&r, lines_of(&r, line_at, n_lines, a), a, out);
    return out;
}
