/* SPDX-License-Identifier: MIT */
/* rows.c: counting sort. Rows are counted two places ahead: while filling, at[r + 1] runs from the
 * start of r to its end. */
#include "rows.h"
#include "sort.h"

#include <string.h>

static void sum_up(int *at, int n_rows)
{
    for (int r = 0; r < n_rows; r++)
        at[r + 2] += at[r + 1];
}

weft_rows weft_rows_by(const int *row, int n, int n_rows, weft_arena *a)
{
    weft_rows x = {WEFT_NEW(a, int, n_rows + 2), WEFT_NEW_RAW(a, int, n)};

    for (int i = 0; i < n; i++)
        if (row[i] >= 0)
            x.at[row[i] + 2]++;
    sum_up(x.at, n_rows);
    for (int i = 0; i < n; i++)
        if (row[i] >= 0)
            x.item[x.at[row[i] + 1]++] = i;
    return x;
}

weft_rows weft_rows_transposed(weft_rows r, int n_rows, int n, weft_arena *a)
{
    weft_rows x = {WEFT_NEW(a, int, n + 2), WEFT_NEW_RAW(a, int, r.at[n_rows])};

    for (int k = 0; k < r.at[n_rows]; k++)
        x.at[r.item[k] + 2]++;
    sum_up(x.at, n);
    for (int i = 0; i < n_rows; i++)
        for (int k = r.at[i]; k < r.at[i + 1]; k++)
            x.item[x.at[r.item[k] + 1]++] = i;
    return x;
}

/* Sorts a row and drops what is there twice; returns what is left. */
static int settle_row(int *row, int n)
{
    int kept = 0;

    weft_sort_ints(row, n);
    for (int i = 0; i < n; i++)
        if (i == 0 || row[i] != row[i - 1])
            row[kept++] = row[i];
    return kept;
}

weft_rows weft_rows_of_pairs(const weft_pair *pair, int n, int n_rows, weft_arena *a)
{
    weft_rows x = {WEFT_NEW(a, int, n_rows + 2), WEFT_NEW_RAW(a, int, n)};
    int kept = 0, from = 0;

    for (int i = 0; i < n; i++)
        x.at[pair[i].row + 2]++;
    sum_up(x.at, n_rows);
    for (int i = 0; i < n; i++)
        x.item[x.at[pair[i].row + 1]++] = pair[i].item;
    for (int r = 0; r < n_rows; r++) { /* at[r + 1]: where row r ends */
        int end = x.at[r + 1], n_row = settle_row(x.item + from, end - from);

        memmove(x.item + kept, x.item + from, (size_t)n_row * sizeof *x.item);
        x.at[r] = kept;
        kept += n_row;
        from = end;
    }
    x.at[n_rows] = kept;
    return x;
}
