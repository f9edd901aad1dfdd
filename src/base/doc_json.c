/* SPDX-License-Identifier: MIT */
/* doc_json.c: JSON text from a tree of documents.
 *
 * Written by hand, not by way of jansson's tree: that of a plan with 100,000 tasks takes longer to make
 * and to free than its text takes to write. The text is the one that jansson writes; a test compares
 * them. */
#include "doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REAL_BYTES = 32 };

typedef struct json_writer {
    char *text;
    size_t n, capacity;
    int indent;    /* spaces for each level, 0: all in one line */
    bool is_short; /* reals with as few digits as give them again */
} json_writer;

static void put_bytes(json_writer *w, const char *bytes, size_t n)
{
    if (w->n + n >= w->capacity) {
        w->capacity = 2 * (w->n + n) + 256;
        w->text = realloc(w->text, w->capacity);
        if (w->text == NULL)
            weft_out_of_memory(w->capacity);
    }
    memcpy(w->text + w->n, bytes, n);
    w->n += n;
}

static void put_text(json_writer *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

/* --- scalars --------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at s, which ends with NUL; 0 if there is none. */
static size_t utf8_bytes(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90)) /* longer than needed */
        return 0;
    if ((s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f)) /* not characters */
        return 0;
    return n;
}

/* U+FFFD for each byte that is not UTF-8: names come from files that promise nothing. */
static void put_string(json_writer *w, const char *text)
{
    static const char *const escaped[128] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
    };
    const unsigned char *s = (const unsigned char *)text;

    put_text(w, "\"");
    for (;; s++) {
        const unsigned char *from = s;
        char code[8];
        size_t n;

        while (*s >= 0x20 && *s != '"' && *s != '\\' && (n = utf8_bytes(s)) > 0)
            s += n;
        put_bytes(w, (const char *)from, (size_t)(s - from));
        if (*s == '\0')
            break;
        snprintf(code, sizeof code, "\\u%04X", *s);
        put_text(w, *s >= 0x80 ? "\xef\xbf\xbd" : escaped[*s] ? escaped[*s] : code);
    }
    put_text(w, "\"");
}

/* A finite value with so many digits: a point whatever the locale says, a fraction or an exponent
 * always, and the exponent without plus and leading zeros. */
static void format_real(char text[REAL_BYTES], int digits, double value)
{
    char *end, *from, *to;

    snprintf(text, REAL_BYTES, "%.*g", digits, value);
    end = text + strspn(text, "-0123456789");
    if (*end == '\0')
        memcpy(end, ".0", 3);
    else if (*end != 'e')
        *end = '.';
    to = strchr(text, 'e');
    if (to == NULL)
        return;
    from = ++to;
    to += *from == '-';
    from += *from == '-' || *from == '+';
    from += strspn(from, "0");
    memmove(to, from, strlen(from) + 1);
}

static void put_real(json_writer *w, double value)
{
    static const int shorter[] = {9, 12, 15, 16};
    char text[REAL_BYTES], *end;
    double again;

    for (size_t i = 0; w->is_short && i < sizeof shorter / sizeof *shorter; i++) {
        format_real(text, shorter[i], value);
        again = strtod(text, &end); /* stops at the point where the locale has another one */
        if (*end == '\0' && again <= value && again >= value) {
            put_text(w, text);
            return;
        }
    }
    format_real(text, 17, value);
    put_text(w, text);
}

static void put_scalar(json_writer *w, const weft_doc *d)
{
    char text[REAL_BYTES];

    if (d->kind == WEFT_DOC_TEXT) {
        put_string(w, d->text);
    } else if (d->kind == WEFT_DOC_REAL && isfinite(d->real)) {
        put_real(w, d->real);
    } else if (d->kind == WEFT_DOC_INT) {
        snprintf(text, sizeof text, "%lld", (long long)d->integer);
        put_text(w, text);
    } else {
        put_text(w, d->kind != WEFT_DOC_BOOL ? "null" : d->truth ? "true" : "false");
    }
}

/* --- trees ----------------------------------------------------------------------------------- */

static void break_line(json_writer *w, int depth)
{
    if (w->indent == 0)
        return;
    put_text(w, "\n");
    for (int i = 0; i < depth * w->indent; i++)
        put_text(w, " ");
}

/* The depth of a document is bounded by its reader, or by the code that makes it. */
static void put_doc(json_writer *w, const weft_doc *d, int depth)
{
    bool is_map = d->kind == WEFT_DOC_MAP;

    if (!is_map && d->kind != WEFT_DOC_LIST) {
        put_scalar(w, d);
        return;
    }
    put_text(w, is_map ? "{" : "[");
    for (int i = 0; i < d->n; i++) {
        put_text(w, i > 0 ? "," : "");
        break_line(w, depth + 1);
        if (is_map) {
            put_string(w, d->key[i]);
            put_text(w, w->indent > 0 ? ": " : ":");
        }
        put_doc(w, d->item[i], depth + 1);
    }
    if (d->n > 0)
        break_line(w, depth);
    put_text(w, is_map ? "}" : "]");
}

static const char *write_text(json_writer w, const weft_doc *d, weft_arena *a)
{
    const char *text;

    put_doc(&w, d, 0);
    text = weft_arena_text(a, w.text, w.n);
    free(w.text);
    return text;
}

const char *weft_doc_json(const weft_doc *d, int indent, weft_arena *a)
{
    return write_text((json_writer){.indent = indent}, d, a);
}

const char *weft_doc_json_short(const weft_doc *d, weft_arena *a)
{
    return write_text((json_writer){.is_short = true}, d, a);
}
