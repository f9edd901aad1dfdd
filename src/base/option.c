/* SPDX-License-Identifier: MIT */
/* option.c: option tables: defaults, and values from text with names, ranges and choices checked.
 *
 * Numbers are decimal, may have an exponent or one of the suffixes k, M, G (10^3, 10^6, 10^9), and
 * nothing else: no hexadecimal, no "inf", no "nan". Whole numbers are exact: written plainly they
 * may use all of 64 bits, with a fraction or an exponent at most 2^53. A value that is refused
 * leaves its field as it was. */
#include "doc.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 63, MOST_NAMES = 256 };

static void *field_of(const weft_option *o, void *options)
{
    return (char *)options + o->offset;
}

void weft_options_default(const weft_option *table, void *options)
{
    for (const weft_option *o = table; o->kind != WEFT_OPTION_END; o++) {
        void *field = field_of(o, options);

        if (o->kind == WEFT_OPTION_INT)
            *(int64_t *)field = (int64_t)o->fallback;
        else if (o->kind == WEFT_OPTION_REAL)
            *(double *)field = o->fallback;
        else if (o->kind == WEFT_OPTION_FLAG)
            *(bool *)field = o->fallback != 0;
        else
            *(const char **)field = o->text;
    }
}

const weft_option *weft_option_find(const weft_option *table, const char *name)
{
    for (const weft_option *o = table; o->kind != WEFT_OPTION_END; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* Plain digits up to 7 of them, else the shortest text that reads back as the same number. */
char *weft_option_number(double value, char to[32])
{
    if (fabs(value) < 1e7 && (double)(int64_t)value == value) {
        snprintf(to, 32, "%d", (int)value);
        return to;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(to, 32, "%.*g", digits, value);
        if (strtod(to, NULL) == value)
            break;
    }
    return to;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* The power of ten of a final k, M or G, else 0. */
static int suffix_power(const char *text)
{
    size_t n = strlen(text);

    switch (n ? text[n - 1] : '\0') {
    case 'k':
        return 3;
    case 'M':
        return 6;
    case 'G':
        return 9;
    default:
        return 0;
    }
}

/* Reads a finite number. The suffix becomes the exponent of the text before it is converted, so
 * that 1.005k is exactly 1005. */
static bool parse_real(const char *text, double *out)
{
    char number[LONGEST_NUMBER + 8], *end;
    int power = suffix_power(text);
    size_t n = strlen(text) - (power ? 1 : 0);

    if (n == 0 || n > LONGEST_NUMBER || strspn(text, "0123456789.+-eE") < n)
        return false;
    if (power && strcspn(text, "eE") < n)
        return false;
    snprintf(number, sizeof number, "%.*se%d", (int)n, text, power);
    if (!power)
        number[n] = '\0';
    *out = strtod(number, &end);
    return *end == '\0' && isfinite(*out);
}

static bool parse_int(const char *text, int64_t *out)
{
    int64_t scale = 1;
    double real;
    long long value;
    char *end;

    if (!parse_real(text, &real)) /* also refuses spaces, which strtoll would skip */
        return false;
    for (int i = suffix_power(text); i > 0; i--)
        scale *= 10;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno == 0 && end != text && strlen(end) == (scale > 1 ? 1 : 0))
        return !__builtin_mul_overflow(value, scale, out);
    if (fabs(real) > 0x1p53 || (double)(int64_t)real != real)
        return false;
    *out = (int64_t)real;
    return true;
}

char *weft_range_text(double lowest, double highest, char to[WEFT_RANGE_BYTES])
{
    char from[32], until[32];

    weft_option_number(lowest, from);
    weft_option_number(highest, until);
    if (lowest > -DBL_MAX && highest < DBL_MAX)
        snprintf(to, WEFT_RANGE_BYTES, "%s to %s", from, until);
    else if (lowest > -DBL_MAX)
        snprintf(to, WEFT_RANGE_BYTES, "at least %s", from);
    else if (highest < DBL_MAX)
        snprintf(to, WEFT_RANGE_BYTES, "at most %s", until);
    else
        to[0] = '\0';
    return to;
}

static weft_status fail_number(const weft_option *o, const char *value)
{
    const char *noun = o->kind == WEFT_OPTION_INT ? "a whole number" : "a number";
    char range[WEFT_RANGE_BYTES];

    weft_range_text(o->lowest, o->highest, range);
    return weft_fail(WEFT_E_INPUT, "%s is '%.*s', expected %s%s%s", o->name,
                     weft_shown_bytes(value), value, noun, *range ? ", " : "", range);
}

static weft_status fail_range(const weft_option *o, const char *value)
{
    char range[WEFT_RANGE_BYTES];

    return weft_fail(WEFT_E_INPUT, "%s is %s, expected %s", o->name, value,
                     weft_range_text(o->lowest, o->highest, range));
}

static weft_status set_int(const weft_option *o, const char *value, int64_t *field)
{
    int64_t number;

    if (!parse_int(value, &number))
        return fail_number(o, value);
    if ((double)number < o->lowest || (double)number > o->highest)
        return fail_range(o, value);
    *field = number;
    return WEFT_OK;
}

static weft_status set_real(const weft_option *o, const char *value, double *field)
{
    double number;

    if (!parse_real(value, &number))
        return fail_number(o, value);
    if (number < o->lowest || number > o->highest)
        return fail_range(o, value);
    *field = number;
    return WEFT_OK;
}

/* --- flags and texts ------------------------------------------------------------------------- */

static weft_status set_flag(const weft_option *o, const char *value, bool *field)
{
    static const char *const yes[] = {"", "1", "true", "yes"}, *const no[] = {"0", "false", "no"};

    bool is_yes = weft_is_among(value, yes, sizeof yes / sizeof *yes);

    if (!is_yes && !weft_is_among(value, no, sizeof no / sizeof *no))
        return weft_fail(WEFT_E_INPUT, "%s is '%.*s', expected true or false", o->name,
                         weft_shown_bytes(value), value);
    *field = is_yes;
    return WEFT_OK;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);

    for (const char *c = choices;; c++) {
        size_t length = strcspn(c, "|");

        if (length == n && memcmp(c, value, n) == 0)
            return true;
        c += length;
        if (*c == '\0')
            return false;
    }
}

static weft_status fail_choice(const weft_option *o, const char *value)
{
    char list[512];
    size_t n = 0;

    for (const char *c = o->choices; *c && n + 3 < sizeof list; c++) {
        if (*c == '|') {
            list[n++] = ',';
            list[n++] = ' ';
        } else {
            list[n++] = *c;
        }
    }
    list[n] = '\0';
    return weft_fail(WEFT_E_INPUT, "%s is '%.*s', expected one of: %s", o->name,
                     weft_shown_bytes(value), value, list);
}

static weft_status set_text(const weft_option *o, const char *value, const char **field,
                            weft_arena *a)
{
    if (o->choices && !is_choice(o->choices, value))
        return fail_choice(o, value);
    *field = weft_arena_word(a, value);
    return WEFT_OK;
}

/* --- from text ------------------------------------------------------------------------------- */

static weft_status fail_unknown(const weft_option *table, const char *name)
{
    const char *known[MOST_NAMES], *nearest;
    int n = 0;

    for (const weft_option *o = table; o->kind != WEFT_OPTION_END && n < MOST_NAMES; o++)
        known[n++] = o->name;
    nearest = weft_nearest(name, known, n);
    if (nearest)
        return weft_fail(WEFT_E_INPUT, "unknown parameter '%.*s' (did you mean '%s'?)",
                         weft_shown_bytes(name), name, nearest);
    return weft_fail(WEFT_E_INPUT, "unknown parameter '%.*s'", weft_shown_bytes(name), name);
}

weft_status weft_options_set(const weft_option *table, void *options, const char *name,
                             const char *value, weft_arena *a)
{
    const weft_option *o = weft_option_find(table, name);
    void *field;

    if (o == NULL)
        return fail_unknown(table, name);
    field = field_of(o, options);
    if (o->kind == WEFT_OPTION_FLAG)
        return set_flag(o, value ? value : "", field);
    if (value == NULL)
        return weft_fail(WEFT_E_INPUT, "%s has no value, expected %s=...", name, name);
    if (o->kind == WEFT_OPTION_INT)
        return set_int(o, value, field);
    if (o->kind == WEFT_OPTION_REAL)
        return set_real(o, value, field);
    return set_text(o, value, field, a);
}

/* A copy of text[0 .. n - 1] without the spaces around it. */
static char *trimmed(const char *text, size_t n, weft_arena *a)
{
    while (n > 0 && *text == ' ') {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return weft_arena_text(a, text, n);
}

/* One "name=value", or "name" alone, which only a flag may be. */
static weft_status set_item(const weft_option *table, void *options, char *item, weft_arena *a)
{
    char *equals = strchr(item, '=');
    const char *name = trimmed(item, equals ? (size_t)(equals - item) : strlen(item), a);
    const char *value = equals ? trimmed(equals + 1, strlen(equals + 1), a) : NULL;

    if (*name == '\0')
        return weft_fail(WEFT_E_INPUT, "'%.*s' has no parameter name, expected name=value",
                         weft_shown_bytes(item), item);
    return weft_options_set(table, options, name, value, a);
}

weft_status weft_options_parse(const weft_option *table, void *options, const char *text,
                               weft_arena *a)
{
    const char *at = text;

    if (text == NULL || text[strspn(text, " ")] == '\0')
        return WEFT_OK;
    for (;;) {
        size_t n = strcspn(at, ",");
        char *item = trimmed(at, n, a);

        WEFT_TRY(set_item(table, options, item, a));
        if (at[n] == '\0')
            return WEFT_OK;
        at += n + 1;
    }
}
