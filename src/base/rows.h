/* SPDX-License-Identifier: MIT */
/* Lists in two arrays (compressed sparse rows): those of row r are item[at[r]] .. item[at[r + 1] - 1]. */
#ifndef WEFT_BASE_ROWS_H
#define WEFT_BASE_ROWS_H

#include "base.h"

typedef struct weft_rows {
    int *at, *item;
} weft_rows;

/* Items 0 .. n - 1 by their row, ascending; row[i] < 0: in none. Belongs to `a`. */
weft_rows weft_rows_by(const int *row, int n, int n_rows, weft_arena *a);
/* An item of a row. */
typedef struct weft_pair {
    int row, item;
} weft_pair;

/* Each pair once; items ascending. */
weft_rows weft_rows_of_pairs(const weft_pair *pair, int n, int n_rows, weft_arena *a);
/* For each item of 0 .. n - 1 the rows that hold it, ascending. */
weft_rows weft_rows_transposed(weft_rows r, int n_rows, int n, weft_arena *a);

#endif
