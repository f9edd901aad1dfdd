/* SPDX-License-Identifier: MIT */
/* format.c: numbers for people: three digits and a decimal prefix, or groups of three digits. */
#include "base.h"

#include <math.h>

enum { TEXT_BYTES = 32 };

/* Three digits of a value whose size is 0.9995 to 999.5: 4.09, 25.6, 312. */
static int decimals(double size)
{
    if (size < 9.995) /* 9.995 rounds to 10.0 */
        return 2;
    return size < 99.95 ? 1 : 0;
}

static void with_prefix(double value, const char *unit, char *to)
{
    static const char prefix[] = {'k', 'M', 'G', 'T', 'P', 'E'};
    double size = fabs(value);
    size_t step = 0;

    while (size >= 999.5 && step < sizeof prefix) { /* 999.5 rounds to 1000 */
        size /= 1000;
        step++;
    }
    if (step == 0 || !(size < 999.5)) /* small, beyond the last prefix, or not a number */
        snprintf(to, TEXT_BYTES, "%.3g%s%s", value, *unit ? " " : "", unit);
    else
        snprintf(to, TEXT_BYTES, "%s%.*f %c%s", value < 0 ? "-" : "", decimals(size), size,
                 prefix[step - 1], unit);
}

const char *weft_format_count(double value, char to[32])
{
    with_prefix(value, "", to);
    return to;
}

const char *weft_format_bytes(double bytes, char to[32])
{
    with_prefix(bytes, "B", to);
    return to;
}

const char *weft_format_gap(double gap, int digits, char to[32])
{
    static const double rounding = 1e-9;
    double percent = 100 * gap;

    if (gap > rounding && percent < 0.5 * pow(10, -digits))
        snprintf(to, TEXT_BYTES, "%.1g", percent);
    else
        snprintf(to, TEXT_BYTES, "%.*f", digits, percent);
    return to;
}

const char *weft_format_integer(int64_t value, char to[32])
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char reversed[TEXT_BYTES];
    int n = 0, at = 0;

    for (int n_digits = 0; n_digits == 0 || rest > 0; n_digits++, rest /= 10) {
        if (n_digits > 0 && n_digits % 3 == 0)
            reversed[n++] = ',';
        reversed[n++] = (char)('0' + rest % 10);
    }
    if (value < 0)
        reversed[n++] = '-';
    while (n > 0)
        to[at++] = reversed[--n];
    to[at] = '\0';
    return to;
}
