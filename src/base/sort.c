/* SPDX-License-Identifier: MIT */
/* sort.c: the library's qsort, with keys that leave no ties to it. */
#include "sort.h"
#include "order.h"

#include <math.h>
#include <stdlib.h>

void weft_sort_ints(int *at, int n)
{
    if (n > 1)
        qsort(at, (size_t)n, sizeof *at, weft_by_int);
}

void weft_sort_reals(double *at, int n)
{
    if (n > 1)
        qsort(at, (size_t)n, sizeof *at, weft_by_real);
}

double weft_least(const double *at, int n)
{
    double least = INFINITY;

    for (int i = 0; i < n; i++)
        least = fmin(least, at[i]);
    return least;
}

typedef struct item {
    double key[3]; /* two keys and the number */
} item;

static int by_keys(const void *left, const void *right)
{
    return weft_order(left, right, 3);
}

/* sign: 1 rising, -1 falling; second: NULL: there is none. */
static int *sorted(const double *first, double sign, const double *second, int n, weft_arena *a)
{
    int *order = WEFT_NEW_RAW(a, int, n);
    size_t mark = weft_arena_mark(a);
    item *list = WEFT_NEW_RAW(a, item, n);

    for (int i = 0; i < n; i++)
        list[i] = (item){
            {sign * first[i], second != NULL ? second[i] : 0, i}
        };
    if (n > 1)
        qsort(list, (size_t)n, sizeof *list, by_keys);
    for (int i = 0; i < n; i++)
        order[i] = (int)list[i].key[2];
    weft_arena_rewind(a, mark);
    return order;
}

int *weft_sorted_rising(const double *key, int n, weft_arena *a)
{
    return sorted(key, 1, NULL, n, a);
}

int *weft_sorted_falling(const double *key, int n, weft_arena *a)
{
    return sorted(key, -1, NULL, n, a);
}

int *weft_sorted_twice(const double *first, const double *second, int n, weft_arena *a)
{
    return sorted(first, 1, second, n, a);
}
