/* SPDX-License-Identifier: MIT */
/* Plans of the interleaved schedule (pipe_chunks.c). */
#ifndef WEFT_PIPE_CHUNKS_H
#define WEFT_PIPE_CHUNKS_H

#include "space.h"

typedef struct weft_pipe_chunks {
    weft_pipe_best *best;
    const double **least; /* [tables] least largest loads; NULL: not made yet */
    weft_arena *a, *scratch;
} weft_pipe_chunks;

/* All plans of a uniform family whose stages are of these device groups (bits), each of them used;
 * the least bound of what could not be tried before steps ran out, or INFINITY. */
double weft_pipe_try_chunks(weft_pipe_chunks *k, const weft_pipe_family *f, unsigned groups);
/* Few enough ways to cut the chain into so many chunks for plans of all of them? */
bool weft_pipe_has_all_cuts(const weft_blocks *u, int n_chunks);
/* The cuts of a plan whose stages and numbers are given, as the space has them; false: none. */
bool weft_pipe_cut_chunks(const weft_pipe_costs *c, weft_train_plan *plan, weft_arena *a);
/* Chooses the recomputation of every stage; false: one does not fit. */
bool weft_pipe_choose_again(const weft_pipe_costs *c, weft_train_plan *plan, weft_arena *a);

#endif
