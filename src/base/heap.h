/* SPDX-License-Identifier: MIT */
/* A binary heap of whole numbers in an array with room for all of them: the least is on top. */
#ifndef WEFT_BASE_HEAP_H
#define WEFT_BASE_HEAP_H

#include "base.h"

typedef struct weft_heap {
    int n;
    int *item;
} weft_heap;

static inline weft_heap weft_heap_new(weft_arena *a, int room)
{
    weft_heap h = {0, WEFT_NEW_RAW(a, int, room)};

    return h;
}

static inline void weft_heap_push(weft_heap *h, int item)
{
    int i = h->n++;

    for (; i > 0 && h->item[(i - 1) / 2] > item; i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = item;
}

/* Takes the least item; there is one. */
static inline int weft_heap_pop(weft_heap *h)
{
    int least = h->item[0], last = h->item[--h->n], i = 0;

    for (int child = 1; child < h->n; child = 2 * i + 1) {
        child += child + 1 < h->n && h->item[child + 1] < h->item[child];
        if (h->item[child] >= last)
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = last;
    return least;
}

#endif
