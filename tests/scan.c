/* SPDX-License-Identifier: MIT */
/* scan.c: names, numbers and marks of the one-line notations. */
#include "scan.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
    return c != '\0' && !is_space(c) && strchr(":;,><=*[]{}()", c) == NULL;
}

static void skip_space(weft_scan *s)
{
    while (is_space(*s->at))
        s->at++;
}

bool weft_scan_mark(weft_scan *s, char mark)
{
    skip_space(s);
    if (*s->at != mark || mark == '\0')
        return false;
    s->at++;
    return true;
}

bool weft_scan_end(weft_scan *s)
{
    skip_space(s);
    return *s->at == '\0';
}

weft_status weft_scan_fail(const weft_scan *s, const char *expected)
{
    long long column = (long long)(s->at - s->text) + 1;

    if (*s->at == '\0')
        return weft_fail(WEFT_E_INPUT, "%s, column %lld: the text ends, expected %s", s->what,
                         column, expected);
    return weft_fail(WEFT_E_INPUT, "%s, column %lld: found '%.20s', expected %s", s->what, column,
                     s->at, expected);
}

weft_status weft_scan_name(weft_scan *s, const char **name, size_t *n)
{
    skip_space(s);
    *name = s->at;
    while (is_name(*s->at))
        s->at++;
    *n = (size_t)(s->at - *name);
    return *n > 0 ? WEFT_OK : weft_scan_fail(s, "a name");
}

weft_status weft_scan_count(weft_scan *s, int64_t *out)
{
    const char *first;
    int64_t value = 0;

    skip_space(s);
    first = s->at;
    for (; *s->at >= '0' && *s->at <= '9'; s->at++) {
        int digit = *s->at - '0';

        if (value > (((int64_t)1 << 62) - digit) / 10) {
            s->at = first;
            return weft_scan_fail(s, "a whole number up to 2^62");
        }
        value = value * 10 + digit;
    }
    if (s->at == first || is_name(*s->at)) {
        s->at = first;
        return weft_scan_fail(s, "a whole number");
    }
    *out = value;
    return WEFT_OK;
}
