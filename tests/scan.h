/* SPDX-License-Identifier: MIT */
/* Names, numbers and marks of the one-line notations of tests. */
#ifndef WEFT_SCAN_H
#define WEFT_SCAN_H

#include "base.h"

/* A line of text being read. Errors name the column. */
typedef struct weft_scan {
    const char *text, *at;
    const char *what; /* in messages: "graph", "platform" */
} weft_scan;

/* Skips white space; true and past it if `mark` comes next. */
bool weft_scan_mark(weft_scan *s, char mark);
bool weft_scan_end(weft_scan *s);
/* A name: anything but white space and the marks : ; , > < = * [ ] { } ( ). Not copied. */
WEFT_CHECKED weft_status weft_scan_name(weft_scan *s, const char **name, size_t *n);
/* A whole number from 0 to 2^62. */
WEFT_CHECKED weft_status weft_scan_count(weft_scan *s, int64_t *out);
weft_status weft_scan_fail(const weft_scan *s, const char *expected);

#endif
