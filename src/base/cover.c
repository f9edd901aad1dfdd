/* SPDX-License-Identifier: MIT */
/* cover.c: spans by falling value paint the points that no span before them has; painted points
 * are skipped by pointers that shorten as they are followed. */
#include "cover.h"

#include <stdlib.h>

static int by_falling_value(const void *x, const void *y)
{
    double a = ((const weft_cover *)x)->value, b = ((const weft_cover *)y)->value;

    return (a < b) - (a > b);
}

/* The first point from i on that is not painted. */
static int next_bare(int *next, int i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

void weft_cover_raise(weft_cover *span, int n_spans, double *most, int n, weft_arena *scratch)
{
    int *next = WEFT_NEW_RAW(scratch, int, n + 1);

    for (int i = 0; i <= n; i++)
        next[i] = i;
    if (n_spans > 0)
        qsort(span, (size_t)n_spans, sizeof *span, by_falling_value);
    for (int k = 0; k < n_spans; k++) {
        for (int i = next_bare(next, span[k].begin); i < span[k].end; i = next_bare(next, i)) {
            if (most[i] < span[k].value)
                most[i] = span[k].value;
            next[i] = i + 1;
        }
    }
}
