/* SPDX-License-Identifier: MIT */
/* Where the nodes of a drawing go. */
#ifndef WEFT_LAYOUT_H
#define WEFT_LAYOUT_H

#include "weft/base.h"

/* A graph to be drawn: nodes in topological order, edges from lower to higher numbers. */
typedef struct weft_sketch {
    int n_nodes, n_edges;
    const double *w, *h;  /* [n_nodes] size of the boxes, points */
    const int *from, *to; /* [n_edges] ascending by (from, to), each pair once */
} weft_sketch;

/* Coordinates in points, y downwards, all within width x height. */
typedef struct weft_layout {
    double width, height;
    const double *x, *y; /* [n_nodes] centres */
    const int *point_at; /* [n_edges + 1] edge -> its line */
    const double *point; /* x, y of corners of the line, first at `from`, last at `to` */
    bool is_graphviz;    /* else in rows by depth: too large for Graphviz, or it is not here */
} weft_layout;

/* Top to bottom, operators in the order of the network. Parts between nodes that every path goes
 * through are laid out one by one, equal parts once. Deterministic. All in `a`. */
weft_layout *weft_layout_new(const weft_sketch *s, weft_arena *a);

#endif
