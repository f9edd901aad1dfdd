/* SPDX-License-Identifier: MIT */
/* Tables of comma-separated values (RFC 4180): a header line, then rows of as many fields. Fields in
 * double quotes may hold commas, line ends and, doubled, quotes. Lines that begin with '#' and empty
 * lines are passed over. */
#ifndef WEFT_CSV_H
#define WEFT_CSV_H

#include "base.h"

typedef struct weft_csv_row {
    int line;                 /* where it begins; 1 is the first */
    const char *const *field; /* [n_columns] */
} weft_csv_row;

typedef struct weft_csv {
    const char *file; /* as given to the reader */
    int n_columns, n_rows;
    const char *const *column; /* names */
    const weft_csv_row *row;
} weft_csv;

/* Everything lives in `a`. Rows of another length, open quotes, control characters, two columns of
 * one name: errors with file and line. */
WEFT_CHECKED weft_status weft_csv_parse(const char *text, size_t n, const char *file, weft_arena *a,
                                        weft_csv *out);
int weft_csv_column(const weft_csv *c, const char *name); /* -1: there is none */
/* "file:line: <message>". */
weft_status weft_csv_fail(const weft_csv *c, int line, const char *format, ...) WEFT_PRINTF(3, 4);

#endif
