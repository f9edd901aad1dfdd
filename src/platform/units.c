/* SPDX-License-Identifier: MIT */
/* units.c: quantities as people write them: "12GB/s", "600 mm2", "10us".
 *
 *   quantity = number [unit]      number = [+-] digits [. digits] [e [+-] digits]
 *   unit     = [prefix] base      prefix = f p n u m k M G T P E, or Ki Mi Gi Ti Pi for bytes
 *
 * The Greek letter, by either of its two codes, is u as well, and a raised 2 is 2.
 *
 * One table says which bases a unit has and which prefixes each base may take; the first base of a
 * unit is the one that is printed. Case matters: mW is not MW, a bit is not a B. Prefixes of bits,
 * flops and the rest are decimal, those with an i are powers of 1024.
 *
 * Powers of ten below one divide instead of multiplying by an inexact factor, so "10us" is the
 * double nearest to 1e-5. Whatever is not finite is refused. */
#include "platform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

typedef struct base {
    weft_unit unit;
    bool has_binary; /* also Ki, Mi, ... */
    const char *text;
    const char *prefixes; /* single letters; "" if none */
    double parts;         /* so many make one of the unit that is stored */
} base;

static const base bases[] = {
    {WEFT_UNIT_BYTES,       true,  "B",      "kMGTP",  1       },
    {WEFT_UNIT_BYTES,       false, "bit",    "kMGTP",  8       },
    {WEFT_UNIT_BYTES_PER_S, true,  "B/s",    "kMGTP",  1       },
    {WEFT_UNIT_BYTES_PER_S, false, "bit/s",  "kMGTP",  8       },
    {WEFT_UNIT_BYTES_PER_S, false, "bps",    "kMGTP",  8       },
    {WEFT_UNIT_BYTES_PER_S, true,  "Bps",    "kMGTP",  1       },
    {WEFT_UNIT_SECONDS,     false, "s",      "pnum",   1       },
    {WEFT_UNIT_SECONDS,     false, "min",    "",       1.0 / 60},
    {WEFT_UNIT_HERTZ,       false, "Hz",     "kMGT",   1       },
    {WEFT_UNIT_FLOPS,       false, "FLOP/s", "kMGTPE", 1       },
    {WEFT_UNIT_FLOPS,       false, "FLOPS",  "kMGTPE", 1       },
    {WEFT_UNIT_FLOPS,       false, "OP/s",   "kMGTPE", 1       },
    {WEFT_UNIT_FLOPS,       false, "OPS",    "kMGTPE", 1       },
    {WEFT_UNIT_WATTS,       false, "W",      "umkM",   1       },
    {WEFT_UNIT_JOULES,      false, "J",      "fpnumk", 1       },
    {WEFT_UNIT_MM2,         false, "mm2",    "",       1       },
    {WEFT_UNIT_MM2,         false, "um2",    "",       1e6     },
};

enum { MOST_LETTERS = 32 }; /* of a unit: more are none */

enum { N_BASES = sizeof bases / sizeof bases[0] };

typedef struct prefix {
    char letter;
    int power; /* of ten */
} prefix;

static const prefix prefixes[] = {
    {'f', -15},
    {'p', -12},
    {'n', -9 },
    {'u', -6 },
    {'m', -3 },
    {'k', 3  },
    {'M', 6  },
    {'G', 9  },
    {'T', 12 },
    {'P', 15 },
    {'E', 18 },
};

enum { N_PREFIXES = sizeof prefixes / sizeof prefixes[0] };

/* What a quantity of each unit looks like, for messages. */
static const char *example_of(weft_unit unit)
{
    static const char *const example[] = {
        [WEFT_UNIT_NONE] = "a plain number",
        [WEFT_UNIT_BYTES] = "bytes like 512MiB or 16GB",
        [WEFT_UNIT_BYTES_PER_S] = "bytes per second like 12GB/s or 8Gbit/s",
        [WEFT_UNIT_SECONDS] = "a time like 10us or 2ms",
        [WEFT_UNIT_HERTZ] = "a frequency like 700MHz",
        [WEFT_UNIT_FLOPS] = "operations per second like 19.5TFLOP/s",
        [WEFT_UNIT_WATTS] = "a power like 250W",
        [WEFT_UNIT_JOULES] = "an energy like 0.6pJ",
        [WEFT_UNIT_MM2] = "an area like 600mm2",
    };

    return example[unit];
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *after_digits(const char *p)
{
    return p + strspn(p, "0123456789");
}

/* The end of the number at p, or NULL if there is none. strtod alone would also take nan, inf and
 * hexadecimal digits. */
static const char *number_end(const char *p)
{
    const char *first = p + (*p == '+' || *p == '-'), *end = after_digits(first), *exponent;
    bool has_digits = end > first;

    if (*end == '.') {
        first = end + 1;
        end = after_digits(first);
        has_digits = has_digits || end > first;
    }
    if (!has_digits)
        return NULL;
    if (*end != 'e' && *end != 'E')
        return end;
    exponent = end + 1 + (end[1] == '+' || end[1] == '-');
    return after_digits(exponent) > exponent ? after_digits(exponent) : end;
}

static double scaled(double value, int power)
{
    double factor = 1;

    for (int i = 0; i < abs(power); i++) /* exact up to 1e22 */
        factor *= 10;
    return power < 0 ? value / factor : value * factor;
}

/* Multiplies *value by the n letters of a prefix; false if the base does not take it. */
static bool apply_prefix(const base *b, const char *text, size_t n, double *value)
{
    static const char binary[] = "KMGTP";

    if (n == 0)
        return true;
    if (n == 2 && text[1] == 'i' && b->has_binary && strchr(binary, text[0]) != NULL) {
        *value = ldexp(*value, 10 * (int)(strchr(binary, text[0]) - binary + 1));
        return true;
    }
    if (n != 1 || strchr(b->prefixes, text[0]) == NULL)
        return false;
    for (int i = 0; i < N_PREFIXES; i++)
        if (prefixes[i].letter == text[0])
            *value = scaled(*value, prefixes[i].power);
    return true;
}

/* The n letters of a unit with those that keyboards lack spelled out; returns their number. */
static size_t spell(const char *text, size_t n, char to[MOST_LETTERS])
{
    static const struct {
        const char *from;
        char to;
    } marks[] = {
        {"\xc2\xb5", 'u'},
        {"\xce\xbc", 'u'},
        {"\xc2\xb2", '2'}
    };
    size_t length = 0;

    for (size_t i = 0; i < n && length < MOST_LETTERS; i++) {
        to[length] = text[i];
        for (size_t k = 0; k < sizeof marks / sizeof *marks && i + 1 < n; k++)
            if (memcmp(text + i, marks[k].from, 2) == 0) {
                to[length] = marks[k].to;
                i++;
                break;
            }
        length++;
    }
    return length;
}

/* Multiplies *value by the n letters of a unit; false if they are none of `unit`. */
static bool apply_unit(weft_unit unit, const char *text, size_t n, double *value)
{
    for (int i = 0; i < N_BASES; i++) {
        size_t length = strlen(bases[i].text);

        if (bases[i].unit != unit || length > n ||
            memcmp(text + n - length, bases[i].text, length) != 0)
            continue;
        if (apply_prefix(&bases[i], text, n - length, value)) {
            *value /= bases[i].parts;
            return true;
        }
    }
    return false;
}

weft_status weft_unit_parse(const char *text, weft_unit unit, bool is_plain_allowed, double *out)
{
    const char *first = text + strspn(text, " \t"), *end = number_end(first), *suffix;
    const char *expected = example_of(unit);
    char letters[MOST_LETTERS];
    double value;
    size_t n;

    if (end == NULL)
        return weft_fail(WEFT_E_INPUT, "'%.60s' is not a number, expected %s", text, expected);
    value = strtod(first, NULL);
    suffix = end + strspn(end, " \t");
    for (n = strlen(suffix); n > 0 && (suffix[n - 1] == ' ' || suffix[n - 1] == '\t'); n--)
        ;
    if (n == 0 && unit != WEFT_UNIT_NONE && !is_plain_allowed)
        return weft_fail(WEFT_E_INPUT, "'%.60s' has no unit, expected %s", text, expected);
    if (n > 0 && !apply_unit(unit, letters, spell(suffix, n, letters), &value))
        return weft_fail(WEFT_E_INPUT, "'%.60s' has the unit '%.*s', expected %s", text,
                         (int)(n < 20 ? n : 20), suffix, expected);
    if (!isfinite(value))
        return weft_fail(WEFT_E_INPUT, "'%.60s' is too large, expected %s", text, expected);
    *out = value;
    return WEFT_OK;
}

/* --- printing -------------------------------------------------------------------------------- */

enum { TEXT_BYTES = 48 };

/* The first base of a unit. */
static const base *printed_base(weft_unit unit)
{
    int i = 0;

    while (bases[i].unit != unit)
        i++;
    return &bases[i];
}

/* The prefix of the largest power that leaves at least 1 before the point, else of the lowest one;
 * NULL: none. */
static const prefix *printed_prefix(const base *b, double size)
{
    const prefix *best = NULL;
    const double rounds_to_one = 0.99995; /* with four digits */
    bool fits = size >= rounds_to_one;

    if (fits) {
        for (int i = 0; i < N_PREFIXES; i++)
            if (strchr(b->prefixes, prefixes[i].letter) != NULL && prefixes[i].power > 0 &&
                scaled(size, -prefixes[i].power) >= rounds_to_one)
                best = &prefixes[i];
        return best;
    }
    for (int i = N_PREFIXES - 1; i >= 0 && !fits; i--) {
        if (prefixes[i].power > 0 || strchr(b->prefixes, prefixes[i].letter) == NULL)
            continue;
        best = &prefixes[i];
        fits = scaled(size, -prefixes[i].power) >= rounds_to_one;
    }
    return best;
}

const char *weft_unit_print(double value, weft_unit unit, char to[48])
{
    const base *b;
    const prefix *p;

    if (unit == WEFT_UNIT_NONE) {
        snprintf(to, TEXT_BYTES, "%.6g", value);
        return to;
    }
    b = printed_base(unit);
    if (value >= WEFT_UNLIMITED) {
        snprintf(to, TEXT_BYTES, "unlimited");
        return to;
    }
    p = value != 0 && isfinite(value) ? printed_prefix(b, fabs(value)) : NULL;
    if (p)
        snprintf(to, TEXT_BYTES, "%.4g %c%s", scaled(value, -p->power), p->letter, b->text);
    else
        snprintf(to, TEXT_BYTES, "%.4g %s", value, b->text);
    return to;
}
