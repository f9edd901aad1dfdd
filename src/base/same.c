/* SPDX-License-Identifier: MIT */
/* same.c: each is held against the first of every class before it. */
#include "same.h"

int *weft_first_same(int n, bool (*is_same)(const void *context, int i, int k), const void *context,
                     weft_arena *a)
{
    int *first = WEFT_NEW_RAW(a, int, n);

    for (int i = 0; i < n; i++) {
        first[i] = i;
        for (int k = 0; k < i && first[i] == i; k++) {
            if (first[k] == k && is_same(context, k, i))
                first[i] = k;
        }
    }
    return first;
}
