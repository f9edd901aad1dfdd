/* SPDX-License-Identifier: MIT */
/* Orders for qsort. */
#ifndef WEFT_BASE_ORDER_H
#define WEFT_BASE_ORDER_H

/* By the first of n figures that differ, ascending; whole numbers up to 2^53 count exactly. */
static inline int weft_order(const double *x, const double *y, int n)
{
    int i = 0;

    while (i < n - 1 && x[i] == y[i])
        i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

static inline int weft_by_real(const void *a, const void *b)
{
    return weft_order((const double *)a, (const double *)b, 1);
}

static inline int weft_by_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

#endif
