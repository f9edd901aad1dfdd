/* SPDX-License-Identifier: MIT */
/* pattern.c: names with '*' for any text, as in "decoder.*.bias". */
#include "base.h"

#include <string.h>

/* The text between two stars, wherever it first occurs: no later place could match more. */
bool weft_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}
