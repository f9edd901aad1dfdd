/* SPDX-License-Identifier: MIT */
/* queue.c: a binary heap. */
#include "queue.h"

static bool comes_before(const weft_queued *a, const weft_queued *b)
{
    if (a->key < b->key || a->key > b->key)
        return a->key < b->key;
    return a->rank < b->rank;
}

void weft_queue_push(weft_queue *q, weft_queued x)
{
    int i = q->n++;

    while (i > 0 && comes_before(&x, &q->entry[(i - 1) / 2])) {
        q->entry[i] = q->entry[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->entry[i] = x;
}

weft_queued weft_queue_pop(weft_queue *q)
{
    weft_queued first = q->entry[0], x = q->entry[--q->n];
    int i = 0;

    for (int child = 1; child < q->n; child = 2 * i + 1) {
        if (child + 1 < q->n && comes_before(&q->entry[child + 1], &q->entry[child]))
            child++;
        if (!comes_before(&q->entry[child], &x))
            break;
        q->entry[i] = q->entry[child];
        i = child;
    }
    q->entry[i] = x;
    return first;
}
