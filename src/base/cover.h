/* SPDX-License-Identifier: MIT */
/* The largest value over each point of a line covered by many spans, in O(n log n). */
#ifndef WEFT_BASE_COVER_H
#define WEFT_BASE_COVER_H

#include "base.h"

/* Points begin <= i < end. */
typedef struct weft_cover {
    int begin, end;
    double value;
} weft_cover;

/* Raises most[i], 0 <= i < n, to the largest value of the spans that cover i. Sorts the spans. */
void weft_cover_raise(weft_cover *span, int n_spans, double *most, int n, weft_arena *scratch);

#endif
