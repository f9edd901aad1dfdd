/* SPDX-License-Identifier: MIT */
/* The one-line notation of task graphs, for tests. */
#ifndef WEFT_GRAPH_TEXT_H
#define WEFT_GRAPH_TEXT_H

#include "graph.h"

/* Reads "a:2 b:3 c; a>b:8 a>c>b" (graph_text.c): nodes with their flops, edges with the bytes of
 * the tensor they carry; "a>b,c:8" is one tensor read by b and c. Nodes are operators "Task". The
 * caller owns *out. */
WEFT_CHECKED weft_status weft_graph_parse(const char *text, weft_graph **out);
/* The same notation back, for graphs of tasks; edges as in the graph. The text belongs to `a`. */
const char *weft_graph_text(const weft_graph *g, weft_arena *a);

#endif
