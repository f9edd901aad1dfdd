/* SPDX-License-Identifier: MIT */
/* Shared by the files of base that put words of the user into their messages. */
#ifndef WEFT_BASE_DOC_H
#define WEFT_BASE_DOC_H

#include "base.h"

/* How many bytes of a text to show in a message, for "%.*s"; characters of UTF-8 are not cut. */
int weft_shown_bytes(const char *text);
/* "1 to 1000", "at least 1", "at most 5"; empty if every number is allowed. Returns `to`. */
enum { WEFT_RANGE_BYTES = 80 };
char *weft_range_text(double lowest, double highest, char to[WEFT_RANGE_BYTES]);
bool weft_is_among(const char *word, const char *const *words, int n);

#endif
