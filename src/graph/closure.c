/* SPDX-License-Identifier: MIT */
/* closure.c: reachability of a graph, in both directions. */
#include "dag.h"
#include "graph.h"

weft_closure weft_graph_closure(const weft_graph *g, weft_arena *a)
{
    return (weft_closure){g->n_nodes, weft_bits_words(g->n_nodes),
                          weft_reach(g->out_at, g->out_to, g->n_nodes, true, a),
                          weft_reach(g->in_at, g->in_from, g->n_nodes, false, a)};
}
