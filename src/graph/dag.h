/* SPDX-License-Identifier: MIT */
/* What is found out about any directed graph. Nodes are numbers, edges lists of nodes: those of u
 * lead to out.item[out.at[u]] .. out.item[out.at[u + 1] - 1]. */
#ifndef WEFT_GRAPH_DAG_H
#define WEFT_GRAPH_DAG_H

#include "rows.h"

/* Strong components, each with its nodes in the order in which a depth-first search from node 0 on
 * leaves them: the one that it entered first comes last. Edges between components lead to lower
 * ones. Belongs to `a`. */
weft_rows weft_strong_components(weft_rows out, int n, weft_arena *a, int *n_components);
/* A topological order that follows a branch to its end before it takes the next: of the nodes that
 * are ready, the one that became so last. [n], of `a`. */
int *weft_depth_first(weft_rows out, int n, weft_arena *a);
/* Row u: the nodes that lists lead to from u, u itself not among them; [n][words of n], of `a`.
 * Lists go to lower numbers, or with is_rising to higher ones. */
uint64_t *weft_reach(const int *at, const int *to, int n, bool is_rising, weft_arena *a);

#endif
