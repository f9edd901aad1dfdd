/* SPDX-License-Identifier: MIT */
/* All cuts of a small graph: sets of nodes that are closed under predecessors. */
#ifndef WEFT_UNIT_CUTS_H
#define WEFT_UNIT_CUTS_H

#include "block.h"

/* A graph by its predecessors: those of u are from[at[u]] .. from[at[u + 1] - 1], all below u. */
typedef struct weft_before {
    int n;
    const int *at, *from;
} weft_before;

/* The predecessors in a list of edges, in `a`. */
weft_before weft_before_of(int n, int n_edges, const int *from, const int *to, weft_arena *a);

typedef struct weft_cut_list {
    int n, n_words;
    const uint64_t *bits; /* [n * n_words] by size, so a cut comes after all that it contains */
} weft_cut_list;

/* All cuts of the graph, in `a`; false if there are more than max_cuts. */
bool weft_cuts_all(const weft_before *g, int64_t max_cuts, weft_arena *a, weft_cut_list *out);
/* The cuts 0 .. c - 1 of a chain of n nodes. */
weft_cut_list weft_cuts_chain(int n, weft_arena *a);

static inline const uint64_t *weft_cut_at(const weft_cut_list *l, int c)
{
    return l->bits + (size_t)c * (size_t)l->n_words;
}

/* Units "u0" .. with these cuts and bytes of 0. */
void weft_blocks_make(int n, const weft_cut_list *cuts, weft_arena *a, weft_blocks *out);

#endif
