/* SPDX-License-Identifier: MIT */
/* Where the nodes of a drawing go. */
#ifndef WEFT_LAYOUT_H
#define WEFT_LAYOUT_H

#include "base.h"

/* A graph to be drawn: nodes in topological order, edges from lower to higher numbers. */
typedef struct weft_sketch {
    int n_nodes, n_edges;
    const double *w, *h;  /* [n_nodes] size of the boxes, points */
    const int *from, *to; /* [n_edges] ascending by (from, to), each pair once */
} weft_sketch;

/* Coordinates in points, multiples of 1/4, y downwards, all within width x height. */
typedef struct weft_layout {
    double width, height;
    const double *x, *y; /* [n_nodes] centres */
    const int *point_at; /* [n_edges + 1] corners of edge e: point_at[e] .. point_at[e + 1] - 1 */
    const double *point; /* x and y of each corner, first at `from`, last at `to` */
    bool is_graphviz;    /* else some part is in rows: too large for Graphviz, or it is not here */
} weft_layout;

/* Top to bottom, children below their parents, no two boxes overlap. Parts between nodes that no
 * edge passes by are laid out one by one, equal parts once. Graphs that do not touch are side by
 * side. Deterministic. All in `a`. Not for two threads at a time: Graphviz has hidden state. */
weft_layout *weft_layout_new(const weft_sketch *s, weft_arena *a);
/* The same with a limit of its own on the work that Graphviz is given, in units of about 20 us. */
weft_layout *weft_layout_limited(const weft_sketch *s, double most_work, weft_arena *a);

/* --- parts: shared by the files of the layout ------------------------------------------------ */

/* A part of a drawing that is laid out at once. */
typedef struct weft_layout_part {
    weft_sketch s;
    bool has_top, has_bottom; /* the first, the last node is alone in its row: parts meet there */
} weft_layout_part;

static const double WEFT_LAYOUT_ROW_GAP = 24, WEFT_LAYOUT_BOX_GAP = 14; /* points between boxes */

/* [n_nodes] row of each node, children below their parents; sources just above their readers. */
int *weft_layout_depths(const weft_layout_part *p, weft_arena *a);
/* In rows by depth, lines straight or bows. */
weft_layout *weft_layout_rows(const weft_layout_part *p, weft_arena *a);

/* Graphviz, loaded when it is first needed. */
typedef struct weft_dot weft_dot;

weft_dot *weft_dot_open(weft_arena *a); /* NULL: it is not here */
void weft_dot_close(weft_dot *d);       /* NULL is allowed */
/* *n_tries: how often Graphviz may be called, and was. NULL: it refuses, or that was not enough. */
weft_layout *weft_dot_layout(weft_dot *d, const weft_layout_part *p, int *n_tries, weft_arena *a);

#endif
