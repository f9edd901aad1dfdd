/* SPDX-License-Identifier: MIT */
/* Numbers in order, and what has a key by its key. Equal keys keep the order of their numbers. */
#ifndef WEFT_BASE_SORT_H
#define WEFT_BASE_SORT_H

#include "base.h"

void weft_sort_ints(int *at, int n);
void weft_sort_reals(double *at, int n);

/* INFINITY without numbers. */
double weft_least(const double *at, int n);

/* 0 .. n - 1 by rising or by falling key, [n]. Belongs to `a`. */
int *weft_sorted_rising(const double *key, int n, weft_arena *a);
int *weft_sorted_falling(const double *key, int n, weft_arena *a);
/* By two rising keys, the first one first. */
int *weft_sorted_twice(const double *first, const double *second, int n, weft_arena *a);

#endif
