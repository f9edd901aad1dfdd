/* SPDX-License-Identifier: MIT */
/* doc_tree.c: the tree of a document: making one, and taking values out of one with every doubt
 * answered by a message that names file, line, key, value and expectation.
 *
 * Adding an item takes constant time on average; looking up a key is linear in the size of its map
 * (callers with large maps walk them instead). */
#include "doc.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { SHOWN_BYTES = 60, LINE_BYTES = 1024 };

/* --- messages -------------------------------------------------------------------------------- */

weft_status weft_doc_fail(const weft_doc *at, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (at->file == NULL)
        return weft_fail(WEFT_E_INPUT, "%s", text);
    if (at->line <= 0)
        return weft_fail(WEFT_E_INPUT, "%s: %s", at->file, text);
    return weft_fail(WEFT_E_INPUT, "%s:%d: %s", at->file, at->line, text);
}

const char *weft_doc_kind_name(weft_doc_kind kind)
{
    static const char *const name[] = {
        [WEFT_DOC_NULL] = "empty",         [WEFT_DOC_BOOL] = "true or false",
        [WEFT_DOC_INT] = "a whole number", [WEFT_DOC_REAL] = "a number",
        [WEFT_DOC_TEXT] = "text",          [WEFT_DOC_LIST] = "a list",
        [WEFT_DOC_MAP] = "a map",
    };

    return name[kind];
}

int weft_shown_bytes(const char *text)
{
    size_t n = strlen(text);

    if (n <= SHOWN_BYTES)
        return (int)n;
    for (n = SHOWN_BYTES; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        ;
    return (int)n;
}

/* The value of a scalar or the kind of anything else, to follow "is". A file that is a scalar as a
 * whole is another kind of file, whose contents are nobody's business. */
static const char *shown_value(const weft_doc *d, char to[LINE_BYTES])
{
    if (d->is_whole)
        snprintf(to, LINE_BYTES, "%s", weft_doc_kind_name(d->kind));
    else if (d->kind == WEFT_DOC_TEXT)
        snprintf(to, LINE_BYTES, "'%.*s'", weft_shown_bytes(d->text), d->text);
    else if (d->kind == WEFT_DOC_BOOL)
        snprintf(to, LINE_BYTES, "%s", d->truth ? "true" : "false");
    else if (d->kind != WEFT_DOC_INT && d->kind != WEFT_DOC_REAL)
        snprintf(to, LINE_BYTES, "%s", weft_doc_kind_name(d->kind));
    else if (d->text)
        snprintf(to, LINE_BYTES, "%.*s", weft_shown_bytes(d->text), d->text);
    else if (d->kind == WEFT_DOC_INT)
        snprintf(to, LINE_BYTES, "%lld", (long long)d->integer);
    else
        weft_option_number(d->real, to);
    return to;
}

/* --- makers ---------------------------------------------------------------------------------- */

weft_doc *weft_doc_new(weft_arena *a, weft_doc_kind kind)
{
    weft_doc *d = WEFT_NEW(a, weft_doc, 1);

    d->kind = kind;
    if (kind == WEFT_DOC_TEXT)
        d->text = "";
    return d;
}

weft_doc *weft_doc_new_int(weft_arena *a, int64_t value)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_INT);

    d->integer = value;
    d->real = (double)value;
    return d;
}

weft_doc *weft_doc_new_real(weft_arena *a, double value)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_REAL);

    d->real = value;
    return d;
}

weft_doc *weft_doc_new_bool(weft_arena *a, bool value)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_BOOL);

    d->truth = value;
    return d;
}

/* No text at all (NULL) is null in the file. */
weft_doc *weft_doc_new_text(weft_arena *a, const char *value)
{
    weft_doc *d = weft_doc_new(a, value ? WEFT_DOC_TEXT : WEFT_DOC_NULL);

    if (value)
        d->text = weft_arena_word(a, value);
    return d;
}

/* The array with room for one more item. Its room is not stored: it is 4 or the next power of two,
 * so it is full exactly when n is 0 or a power of two from 4 on. */
static void *with_room(weft_arena *a, void *array, int n, size_t size)
{
    void *to;

    if (n != 0 && (n < 4 || (n & (n - 1)) != 0))
        return array;
    to = weft_arena_array(a, n ? (size_t)n * 2 : 4, size);
    return n ? memcpy(to, array, (size_t)n * size) : to;
}

void weft_doc_add(weft_arena *a, weft_doc *list, weft_doc *item)
{
    assert(list->kind == WEFT_DOC_LIST);
    list->item = with_room(a, list->item, list->n, sizeof *list->item);
    list->item[list->n++] = item;
}

void weft_doc_put(weft_arena *a, weft_doc *map, const char *key, weft_doc *value)
{
    assert(map->kind == WEFT_DOC_MAP);
    map->item = with_room(a, map->item, map->n, sizeof *map->item);
    map->key = with_room(a, map->key, map->n, sizeof *map->key);
    map->item[map->n] = value;
    map->key[map->n++] = weft_arena_word(a, key);
}

void weft_doc_set(weft_arena *a, weft_doc *map, const char *key, weft_doc *value)
{
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->key[i], key) == 0) {
            map->item[i] = value;
            return;
        }
    weft_doc_put(a, map, key, value);
}

/* --- getters --------------------------------------------------------------------------------- */

const weft_doc *weft_doc_get(const weft_doc *map, const char *key)
{
    if (map->kind != WEFT_DOC_MAP)
        return NULL;
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->key[i], key) == 0)
            return map->item[i];
    return NULL;
}

const char *weft_doc_text_or_none(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d && d->kind == WEFT_DOC_TEXT ? d->text : "";
}

static weft_status find_entry(const weft_doc *map, const char *key, const weft_doc **out)
{
    char value[LINE_BYTES];

    if (map->kind != WEFT_DOC_MAP)
        return weft_doc_fail(map, "this is %s, expected a map with the key '%s'",
                             shown_value(map, value), key);
    *out = weft_doc_get(map, key);
    if (*out == NULL)
        return weft_doc_fail(map, "key '%s' is missing", key);
    return WEFT_OK;
}

static weft_status fail_kind(const weft_doc *d, const char *key, weft_doc_kind kind)
{
    bool needs_quotes =
        kind == WEFT_DOC_TEXT &&
        (d->kind == WEFT_DOC_BOOL || d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL);
    char value[LINE_BYTES];

    return weft_doc_fail(d, "'%s' is %s, expected %s%s", key, shown_value(d, value),
                         weft_doc_kind_name(kind), needs_quotes ? " (in quotes)" : "");
}

/* A whole number is also a number. */
static bool has_kind(const weft_doc *d, weft_doc_kind kind)
{
    return d->kind == kind || (kind == WEFT_DOC_REAL && d->kind == WEFT_DOC_INT);
}

weft_status weft_doc_need(const weft_doc *map, const char *key, weft_doc_kind kind,
                          const weft_doc **out)
{
    const weft_doc *d = NULL;

    WEFT_TRY(find_entry(map, key, &d));
    if (!has_kind(d, kind))
        return fail_kind(d, key, kind);
    *out = d;
    return WEFT_OK;
}

static weft_status fail_range(const weft_doc *d, const char *key, double lowest, double highest)
{
    char value[LINE_BYTES], range[WEFT_RANGE_BYTES];

    return weft_doc_fail(d, "'%s' is %s, expected %s", key, shown_value(d, value),
                         weft_range_text(lowest, highest, range));
}

/* The whole number that d stands for; 1e6 is one although YAML calls it a real. */
static bool whole(const weft_doc *d, int64_t *out)
{
    if (d->kind == WEFT_DOC_INT)
        *out = d->integer;
    else if (d->kind == WEFT_DOC_REAL && fabs(d->real) <= 0x1p53 &&
             (double)(int64_t)d->real == d->real)
        *out = (int64_t)d->real;
    else
        return false;
    return true;
}

weft_status weft_doc_int(const weft_doc *map, const char *key, int64_t lowest, int64_t highest,
                         int64_t *out)
{
    const weft_doc *d = NULL;
    int64_t value;

    WEFT_TRY(find_entry(map, key, &d));
    if (!whole(d, &value))
        return fail_kind(d, key, WEFT_DOC_INT);
    if (value < lowest || value > highest)
        return fail_range(d, key, lowest == INT64_MIN ? -DBL_MAX : (double)lowest,
                          highest == INT64_MAX ? DBL_MAX : (double)highest);
    *out = value;
    return WEFT_OK;
}

weft_status weft_doc_real(const weft_doc *map, const char *key, double lowest, double highest,
                          double *out)
{
    const weft_doc *d = NULL;

    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_REAL, &d));
    if (!(d->real >= lowest && d->real <= highest))
        return fail_range(d, key, lowest, highest);
    *out = d->real;
    return WEFT_OK;
}

weft_status weft_doc_text(const weft_doc *map, const char *key, const char **out)
{
    const weft_doc *d = NULL;

    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_TEXT, &d));
    *out = d->text;
    return WEFT_OK;
}

bool weft_is_among(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Is it a file of another kind? Its keys are not quoted. */
static bool is_foreign(const weft_doc *map, const char *const *keys, int n)
{
    for (int i = 0; i < map->n; i++)
        if (weft_is_among(map->key[i], keys, n))
            return false;
    return map->is_whole && n > 0;
}

static weft_status fail_unknown(const weft_doc *map, int i, const char *const *keys, int n)
{
    const char *key = map->key[i], *nearest = weft_nearest(key, keys, n);
    const weft_doc *value = map->item[i];

    if (nearest)
        return weft_doc_fail(value, "unknown key '%.*s' (did you mean '%s'?)",
                             weft_shown_bytes(key), key, nearest);
    if (is_foreign(map, keys, n))
        return weft_doc_fail(value, "unknown key; none of those expected is there, such as '%s'",
                             keys[0]);
    return weft_doc_fail(value, "unknown key '%.*s'", weft_shown_bytes(key), key);
}

weft_status weft_doc_known_keys(const weft_doc *map, const char *const *keys, int n)
{
    char value[LINE_BYTES];

    if (map->kind != WEFT_DOC_MAP)
        return weft_doc_fail(map, "this is %s, expected a map", shown_value(map, value));
    for (int i = 0; i < map->n; i++)
        if (!weft_is_among(map->key[i], keys, n))
            return fail_unknown(map, i, keys, n);
    return WEFT_OK;
}

/* --- entries in one call --------------------------------------------------------------------- */

void weft_put_int(weft_arena *a, weft_doc *map, const char *key, int64_t value)
{
    weft_doc_put(a, map, key, weft_doc_new_int(a, value));
}

void weft_put_bool(weft_arena *a, weft_doc *map, const char *key, bool value)
{
    weft_doc_put(a, map, key, weft_doc_new_bool(a, value));
}

weft_doc *weft_add_map(weft_arena *a, weft_doc *list)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);

    weft_doc_add(a, list, map);
    return map;
}

weft_doc *weft_texts_doc(const char *const *text, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, text[i]));
    return list;
}

void weft_put_text(weft_arena *a, weft_doc *map, const char *key, const char *value)
{
    weft_doc_put(a, map, key, weft_doc_new_text(a, value));
}

weft_doc *weft_real_or_null(weft_arena *a, double value)
{
    return isfinite(value) ? weft_doc_new_real(a, value) : weft_doc_new(a, WEFT_DOC_NULL);
}

void weft_put_real(weft_arena *a, weft_doc *map, const char *key, double value)
{
    weft_doc_put(a, map, key, weft_real_or_null(a, value));
}

void weft_put_size(weft_arena *a, weft_doc *map, const char *key, double value)
{
    if (fabs(value) < 1e15 && value == floor(value))
        weft_put_int(a, map, key, (int64_t)value);
    else
        weft_put_real(a, map, key, value);
}
