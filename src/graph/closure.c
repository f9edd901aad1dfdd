/* SPDX-License-Identifier: MIT */
/* closure.c: reachability as bit rows, one union an edge: O(edges * nodes / 64). */
#include "weft/graph.h"

static void join(uint64_t *into, const uint64_t *from, int words)
{
    for (int w = 0; w < words; w++)
        into[w] |= from[w];
}

weft_closure weft_graph_closure(const weft_graph *g, weft_arena *a)
{
    int words = weft_bits_words(g->n_nodes);
    size_t size = (size_t)g->n_nodes * (size_t)words;
    uint64_t *below = WEFT_NEW(a, uint64_t, size), *above = WEFT_NEW(a, uint64_t, size);

    for (int u = g->n_nodes - 1; u >= 0; u--)
        for (int e = g->out_at[u]; e < g->out_at[u + 1]; e++) {
            join(below + (size_t)u * (size_t)words, below + (size_t)g->out_to[e] * (size_t)words,
                 words);
            weft_bit_set(below + (size_t)u * (size_t)words, g->out_to[e]);
        }
    for (int u = 0; u < g->n_nodes; u++)
        for (int e = g->in_at[u]; e < g->in_at[u + 1]; e++) {
            join(above + (size_t)u * (size_t)words, above + (size_t)g->in_from[e] * (size_t)words,
                 words);
            weft_bit_set(above + (size_t)u * (size_t)words, g->in_from[e]);
        }
    return (weft_closure){g->n_nodes, words, below, above};
}
