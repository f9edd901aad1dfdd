/* SPDX-License-Identifier: MIT */
/* Classes of what is the same. */
#ifndef WEFT_BASE_SAME_H
#define WEFT_BASE_SAME_H

#include "base.h"

/* first[i]: the first of 0 .. n - 1 that is the same as i; is_same is an equivalence. [n], of `a`. */
int *weft_first_same(int n, bool (*is_same)(const void *context, int i, int k), const void *context,
                     weft_arena *a);

#endif
