/* SPDX-License-Identifier: MIT */
/* doc.c: YAML and JSON files as one tree whose nodes know file and line.
 *
 * YAML is read from the events of libyaml. Plain scalars follow the core schema of YAML 1.2: null,
 * true and false, whole numbers (decimal, 0x, 0o), reals; anything else, and all that is quoted, is
 * text.
 * JSON is read in one pass; jansson decodes strings with escapes, and says what is wrong with a text
 * that was not understood.
 *
 * Both readers refuse what could not be given back unchanged: numbers that are not finite, text
 * with a NUL, duplicate keys. Time and memory are linear in the size of the text; the stack is
 * bounded by the limit of nesting. Whole numbers beyond 64 bits become reals. */
#include "doc.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <yaml.h>

enum {
    DEEPEST = 100,
    MOST_VALUES = 10000000,
    LARGEST_FILE = 256 * 1000 * 1000,
    FEW_KEYS = 16, /* so many are compared one by one, more by a map */
    LINE_BYTES = 1024,
};

static weft_status fail_at(const char *file, int line, const char *format, ...) WEFT_PRINTF(3, 4);

static weft_status fail_at(const char *file, int line, const char *format, ...)
{
    const weft_doc place = {.file = file, .line = line};
    char text[LINE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return weft_doc_fail(&place, "%s", text);
}

/* --- scalars --------------------------------------------------------------------------------- */

static const char *after_digits(const char *p)
{
    return p + strspn(p, "0123456789");
}

static const char *after_sign(const char *p)
{
    return p + (*p == '+' || *p == '-');
}

static bool is_decimal(const char *text)
{
    const char *first = after_sign(text), *end = after_digits(first);

    return end > first && *end == '\0';
}

/* 12.5, .5, 12., each perhaps with an exponent. */
static bool is_real(const char *text)
{
    const char *p = after_sign(text), *end = after_digits(p);
    bool has_digits = end > p;

    if (*end == '.') {
        p = end + 1;
        end = after_digits(p);
        has_digits = has_digits || end > p;
    }
    if (!has_digits)
        return false;
    if (*end == 'e' || *end == 'E') {
        p = after_sign(end + 1);
        end = after_digits(p);
        if (end == p)
            return false;
    }
    return *end == '\0';
}

/* The base of 0x1f or 0o17, else 0. */
static int prefix_base(const char *text)
{
    const char *digits;
    int base;

    if (strncmp(text, "0x", 2) != 0 && strncmp(text, "0o", 2) != 0)
        return 0;
    base = text[1] == 'x' ? 16 : 8;
    digits = base == 16 ? "0123456789abcdefABCDEF" : "01234567";
    return text[2] && text[2 + strspn(text + 2, digits)] == '\0' ? base : 0;
}

/* Digits without prefix; what exceeds 64 bits becomes a real. */
static void set_integer(weft_doc *d, const char *digits, int base)
{
    errno = 0;
    d->integer = strtoll(digits, NULL, base);
    if (errno == 0) {
        d->kind = WEFT_DOC_INT;
        d->real = (double)d->integer;
        return;
    }
    d->kind = WEFT_DOC_REAL;
    d->integer = 0;
    if (base == 10) {
        d->real = strtod(digits, NULL);
        return;
    }
    for (const char *p = digits; *p; p++)
        d->real = d->real * base + (*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);
}

/* Gives a plain scalar of YAML, whose text is set, its kind and value. */
static weft_status resolve(weft_doc *d)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const truths[] = {"true", "True", "TRUE"};
    static const char *const lies[] = {"false", "False", "FALSE"};
    static const char *const endless[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
    int base = prefix_base(d->text);

    d->kind = WEFT_DOC_TEXT;
    if (weft_is_among(d->text, nulls, 5)) {
        d->kind = WEFT_DOC_NULL;
    } else if (weft_is_among(d->text, truths, 3) || weft_is_among(d->text, lies, 3)) {
        d->kind = WEFT_DOC_BOOL;
        d->truth = weft_is_among(d->text, truths, 3);
    } else if (base != 0) {
        set_integer(d, d->text + 2, base);
    } else if (is_decimal(d->text)) {
        set_integer(d, d->text, 10);
    } else if (is_real(d->text)) {
        d->kind = WEFT_DOC_REAL;
        d->real = strtod(d->text, NULL);
    } else if (weft_is_among(after_sign(d->text), endless, 6)) {
        return weft_doc_fail(d, "%s is not allowed, expected a finite number", d->text);
    }
    if (!isfinite(d->real))
        return weft_doc_fail(d, "the number %.*s is too large", weft_shown_bytes(d->text), d->text);
    return WEFT_OK;
}

/* --- reading YAML ---------------------------------------------------------------------------- */

typedef struct yaml_reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    const char *text;   /* the whole input */
    const char *file;
    weft_arena *arena;   /* the tree */
    weft_arena *scratch; /* the maps that find duplicate keys */
    int depth, n_values;
} yaml_reader;

static int line_of(const yaml_reader *r)
{
    return (int)r->event.start_mark.line + 1;
}

/* Errors of the lowest level (bytes that are not UTF-8) have an offset but no line. */
static int error_line(const yaml_reader *r)
{
    int line = 1;

    if (r->parser.error != YAML_READER_ERROR)
        return (int)r->parser.problem_mark.line + 1;
    for (size_t i = 0; i < r->parser.problem_offset; i++)
        line += r->text[i] == '\n';
    return line;
}

static weft_status next_event(yaml_reader *r)
{
    const char *context, *problem;

    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return WEFT_OK;
    if (r->parser.error == YAML_MEMORY_ERROR)
        weft_out_of_memory(0);
    context = r->parser.context;
    problem = r->parser.problem ? r->parser.problem : "no reason given";
    return fail_at(r->file, error_line(r), "not valid YAML: %s%s%s", context ? context : "",
                   context ? ", " : "", problem);
}

static weft_status fail_alias(const yaml_reader *r)
{
    return fail_at(r->file, line_of(r), "anchors and aliases are not supported");
}

static weft_status check_properties(const yaml_reader *r, const yaml_char_t *anchor,
                                    const yaml_char_t *tag)
{
    if (anchor)
        return fail_alias(r);
    if (tag)
        return fail_at(r->file, line_of(r), "tags are not supported");
    return WEFT_OK;
}

static weft_status new_node(yaml_reader *r, weft_doc_kind kind, weft_doc **out)
{
    if (++r->n_values > MOST_VALUES)
        return fail_at(r->file, line_of(r), "too many values, expected at most %d", MOST_VALUES);
    *out = weft_doc_new(r->arena, kind);
    (*out)->file = r->file;
    (*out)->line = line_of(r);
    return WEFT_OK;
}

static weft_status read_scalar(yaml_reader *r, weft_doc **out)
{
    const char *value = (const char *)r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length;

    WEFT_TRY(check_properties(r, r->event.data.scalar.anchor, r->event.data.scalar.tag));
    WEFT_TRY(new_node(r, WEFT_DOC_TEXT, out));
    if (memchr(value, '\0', n))
        return weft_doc_fail(*out, "text must not contain a NUL character");
    (*out)->text = weft_arena_text(r->arena, value, n);
    if (r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return WEFT_OK;
    return resolve(*out);
}

static weft_status enter(yaml_reader *r)
{
    if (++r->depth > DEEPEST)
        return fail_at(r->file, line_of(r), "nested too deeply, expected at most %d levels",
                       DEEPEST);
    return WEFT_OK;
}

static weft_status read_node(yaml_reader *r, weft_doc **out);

static weft_status read_list(yaml_reader *r, weft_doc **out)
{
    weft_doc *item;

    WEFT_TRY(
        check_properties(r, r->event.data.sequence_start.anchor, r->event.data.sequence_start.tag));
    WEFT_TRY(enter(r));
    WEFT_TRY(new_node(r, WEFT_DOC_LIST, out));
    for (;;) {
        WEFT_TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        WEFT_TRY(read_node(r, &item));
        weft_doc_add(r->arena, *out, item);
    }
    r->depth--;
    return WEFT_OK;
}

/* Whether the key is in the map; *seen becomes an index of the keys once they are many. */
static bool has_key(const weft_doc *map, const char *key, weft_map **seen, weft_arena *scratch)
{
    if (map->n < FEW_KEYS)
        return weft_doc_get(map, key) != NULL;
    if (*seen == NULL) {
        *seen = weft_map_new(scratch);
        for (int i = 0; i < map->n; i++)
            (void)weft_map_put(*seen, map->key[i], strlen(map->key[i]), i);
    }
    return !weft_map_put(*seen, key, strlen(key), map->n);
}

static weft_status read_key(yaml_reader *r, const weft_doc *map, weft_map **seen, const char **out)
{
    weft_doc *key = NULL;

    if (r->event.type == YAML_ALIAS_EVENT)
        return fail_alias(r);
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail_at(r->file, line_of(r), "a key is a list or a map, expected text");
    WEFT_TRY(read_scalar(r, &key));
    if (key->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(key, "the key '%.*s' is not text, expected it in quotes",
                             weft_shown_bytes(key->text), key->text);
    if (has_key(map, key->text, seen, r->scratch))
        return weft_doc_fail(key, "key '%.*s' is given twice", weft_shown_bytes(key->text),
                             key->text);
    *out = key->text;
    return WEFT_OK;
}

static weft_status read_map(yaml_reader *r, weft_doc **out)
{
    weft_map *seen = NULL;
    const char *key = NULL;
    weft_doc *value = NULL;

    WEFT_TRY(
        check_properties(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag));
    WEFT_TRY(enter(r));
    WEFT_TRY(new_node(r, WEFT_DOC_MAP, out));
    for (;;) {
        WEFT_TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            break;
        WEFT_TRY(read_key(r, *out, &seen, &key));
        WEFT_TRY(next_event(r));
        WEFT_TRY(read_node(r, &value));
        weft_doc_put(r->arena, *out, key, value);
    }
    r->depth--;
    return WEFT_OK;
}

/* Reads the node that begins at the current event and ends at the event current on return. */
static weft_status read_node(yaml_reader *r, weft_doc **out)
{
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, out);
    case YAML_SEQUENCE_START_EVENT:
        return read_list(r, out);
    case YAML_MAPPING_START_EVENT:
        return read_map(r, out);
    default:
        return fail_alias(r);
    }
}

static weft_status read_document(yaml_reader *r, weft_doc **out)
{
    WEFT_TRY(next_event(r)); /* the start of the stream */
    WEFT_TRY(next_event(r));
    if (r->event.type != YAML_DOCUMENT_START_EVENT)
        return fail_at(r->file, 0, "is empty, expected YAML or JSON");
    WEFT_TRY(next_event(r));
    WEFT_TRY(read_node(r, out));
    if ((*out)->kind == WEFT_DOC_NULL && *(*out)->text == '\0')
        return fail_at(r->file, 0, "is empty, expected YAML or JSON");
    WEFT_TRY(next_event(r)); /* the end of the document */
    WEFT_TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return fail_at(r->file, line_of(r), "a second document begins, expected one in a file");
    return WEFT_OK;
}

static weft_status read_yaml(const char *text, size_t n, const char *file, weft_arena *a,
                             weft_doc **out)
{
    yaml_reader r = {.text = text, .file = file, .arena = a};
    weft_status status;

    if (!yaml_parser_initialize(&r.parser))
        weft_out_of_memory(0);
    r.scratch = weft_arena_new();
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    status = read_document(&r, out);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    weft_arena_free(r.scratch);
    return status;
}

/* --- reading JSON ---------------------------------------------------------------------------- */

typedef struct json_reader {
    const char *at, *end; /* what is left of the text */
    int line, depth, n_values;
    const char *file;
    weft_arena *arena;   /* the tree */
    weft_arena *scratch; /* the maps that find duplicate keys */
} json_reader;

static void skip_space(json_reader *r)
{
    for (; r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r');
         r->at++)
        r->line += *r->at == '\n';
}

/* Moves past the next character if it is one of these. */
static bool skip(json_reader *r, const char *any)
{
    if (r->at == r->end || *r->at == '\0' || strchr(any, *r->at) == NULL)
        return false;
    r->at++;
    return true;
}

static bool skip_digits(json_reader *r)
{
    const char *first = r->at;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > first;
}

/* Moves past a string; one that is not closed reaches to the end of the text. True if it means what
 * it says: ASCII without escapes. */
static bool skip_string(json_reader *r)
{
    bool is_plain = true;

    for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
        is_plain = is_plain && *r->at >= ' ' && *r->at < 0x7f && *r->at != '\\';
        if (*r->at == '\\' && r->at + 1 < r->end)
            r->at++;
    }
    if (r->at < r->end)
        r->at++;
    return is_plain;
}

static const char *read_string(json_reader *r)
{
    const char *first, *text = NULL;
    json_t *j;

    skip_space(r);
    first = r->at;
    if (first == r->end || *first != '"')
        return NULL;
    if (skip_string(r) && r->at - first >= 2 && r->at[-1] == '"')
        return weft_arena_text(r->arena, first + 1, (size_t)(r->at - first - 2));
    j = json_loadb(first, (size_t)(r->at - first), JSON_DECODE_ANY, NULL);
    if (j != NULL)
        text = weft_arena_text(r->arena, json_string_value(j), json_string_length(j));
    json_decref(j);
    return text;
}

/* jansson knows the point of every locale. */
static double real_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    json_t *j;

    if (*end == '\0')
        return value;
    j = json_loads(text, JSON_DECODE_ANY, NULL);
    value = j != NULL ? json_real_value(j) : INFINITY;
    json_decref(j);
    return value;
}

static bool read_number(json_reader *r, weft_doc *d)
{
    const char *first = r->at, *whole;

    skip(r, "-");
    if (!skip(r, "0") && !skip_digits(r))
        return false;
    whole = r->at;
    if (skip(r, ".") && !skip_digits(r))
        return false;
    if (skip(r, "eE")) {
        skip(r, "+-");
        if (!skip_digits(r))
            return false;
    }
    d->kind = WEFT_DOC_REAL;
    d->text = weft_arena_text(r->arena, first, (size_t)(r->at - first));
    if (r->at == whole)
        set_integer(d, d->text, 10);
    else
        d->real = real_of(d->text);
    return isfinite(d->real);
}

static bool read_word(json_reader *r, weft_doc *d)
{
    static const char *const words[] = {"false", "true", "null"};

    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);

        if ((size_t)(r->end - r->at) < n || memcmp(r->at, words[i], n) != 0)
            continue;
        d->kind = i < 2 ? WEFT_DOC_BOOL : WEFT_DOC_NULL;
        d->truth = i == 1;
        d->text = words[i];
        r->at += n;
        return true;
    }
    return false;
}

static weft_doc *read_value(json_reader *r);

static bool read_item(json_reader *r, weft_doc *d, weft_map **seen)
{
    const char *key = NULL;
    weft_doc *item;

    if (d->kind == WEFT_DOC_MAP) {
        key = read_string(r);
        if (key == NULL || has_key(d, key, seen, r->scratch))
            return false;
        skip_space(r);
        if (!skip(r, ":"))
            return false;
    }
    item = read_value(r);
    if (item == NULL)
        return false;
    if (key != NULL)
        weft_doc_put(r->arena, d, key, item);
    else
        weft_doc_add(r->arena, d, item);
    return true;
}

static bool read_items(json_reader *r, weft_doc *d)
{
    const char *close = *r->at++ == '{' ? "}" : "]";
    weft_map *seen = NULL;

    d->kind = *close == '}' ? WEFT_DOC_MAP : WEFT_DOC_LIST;
    if (++r->depth > DEEPEST)
        return false;
    skip_space(r);
    if (r->at == r->end || *r->at != *close) {
        do {
            if (!read_item(r, d, &seen))
                return false;
            skip_space(r);
        } while (skip(r, ","));
    }
    r->depth--;
    return skip(r, close);
}

/* The next value, or NULL if there is something wrong with it. */
static weft_doc *read_value(json_reader *r)
{
    weft_doc *d;
    bool is_right;

    skip_space(r);
    if (r->at == r->end || ++r->n_values > MOST_VALUES)
        return NULL;
    d = weft_doc_new(r->arena, WEFT_DOC_TEXT);
    d->file = r->file;
    d->line = r->line;
    if (*r->at == '{' || *r->at == '[')
        is_right = read_items(r, d);
    else if (*r->at == '"')
        is_right = (d->text = read_string(r)) != NULL;
    else
        is_right = read_word(r, d) || read_number(r, d);
    return is_right ? d : NULL;
}

/* --- refusing JSON --------------------------------------------------------------------------- */

/* The text may be anything. */
static weft_status check_size(json_reader r)
{
    int depth = 0, n_values = 1;

    while (r.at < r.end) {
        char c = *r.at;

        if (c == '"') {
            (void)skip_string(&r);
            continue;
        }
        r.at++;
        r.line += c == '\n';
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        n_values += c == ',' || c == '[' || c == '{';
        if (depth > DEEPEST)
            return fail_at(r.file, r.line, "nested too deeply, expected at most %d levels",
                           DEEPEST);
        if (n_values > MOST_VALUES)
            return fail_at(r.file, r.line, "too many values, expected at most %d", MOST_VALUES);
    }
    return WEFT_OK;
}

/* How much of jansson's message is about the error: after that it quotes the file, which need not
 * be one of ours. */
static int reason_bytes(const char *text)
{
    const char *quote = strstr(text, " near ");

    return (int)(quote ? (size_t)(quote - text) : strlen(text));
}

/* What is wrong with the text that r did not understand. */
static weft_status refuse_json(json_reader r)
{
    size_t n = (size_t)(r.end - r.at);
    json_error_t error;
    json_t *j;

    WEFT_TRY(check_size(r));
    /* whole numbers as reals: jansson refuses those beyond 64 bits */
    j = json_loadb(r.at, n, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (j == NULL && json_error_code(&error) == json_error_out_of_memory)
        weft_out_of_memory(0);
    if (j != NULL) {
        json_decref(j);
        return fail_at(r.file, 0, "not valid JSON");
    }
    return fail_at(r.file, error.line, "not valid JSON: %.*s", reason_bytes(error.text),
                   error.text);
}

static weft_status read_json(const char *text, size_t n, const char *file, weft_arena *a,
                             weft_doc **out)
{
    const json_reader first = {text, text + n, 1, 0, 0, file, a, weft_arena_new()};
    json_reader r = first;

    *out = read_value(&r);
    skip_space(&r);
    weft_arena_free(r.scratch);
    return *out != NULL && r.at == r.end ? WEFT_OK : refuse_json(first);
}

/* --- reading either -------------------------------------------------------------------------- */

static weft_status read_text(const char *text, size_t n, const char *file, weft_arena *a,
                             weft_doc **out)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark that some editors write */
    size_t first = 0;

    if (n >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        n -= 3;
    }
    while (first < n && strchr(" \t\r\n", text[first]) != NULL && text[first] != '\0')
        first++;
    if (first == n)
        return fail_at(file, 0, "is empty, expected YAML or JSON");
    if (text[first] == '{' || text[first] == '[')
        return read_json(text, n, file, a, out);
    return read_yaml(text, n, file, a, out);
}

weft_status weft_doc_parse(const char *text, size_t n, const char *file, weft_arena *a,
                           const weft_doc **out)
{
    size_t mark = weft_arena_mark(a);
    weft_doc *d = NULL;
    char size[32];
    weft_status status;

    if (n > LARGEST_FILE)
        return fail_at(file, 0, "is too large: %s bytes, expected at most 256 MB",
                       weft_format_integer((int64_t)n, size));
    status = read_text(text, n, weft_arena_word(a, file), a, &d);
    if (status != WEFT_OK) {
        weft_arena_rewind(a, mark);
        return status;
    }
    d->is_whole = true;
    *out = d;
    return WEFT_OK;
}

weft_status weft_doc_read(const char *path, weft_arena *a, const weft_doc **out)
{
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(path, &f));
    status = weft_doc_parse((const char *)f.data, f.size, path, a, out);
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}
