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

/* All plans of a uniform family with stages of crew c; the least bound of what could not be tried
 * before steps ran out, or INFINITY. */
double weft_pipe_try_chunks(weft_pipe_chunks *k, const weft_pipe_family *f, int c);

#endif
