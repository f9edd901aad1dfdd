/* SPDX-License-Identifier: MIT */
/* doc.c: YAML and JSON files as one tree whose nodes know file and line, and JSON text from it.
 *
 * YAML is read from the events of libyaml. Plain scalars follow the core schema of YAML 1.2: null,
 * true and false, whole numbers (decimal, 0x, 0o), reals; anything else, and all that is quoted, is
 * text.
 * JSON is read in three steps, because jansson knows the meaning of a text but not its lines:
 * 1. a scan refuses texts that are nested too deeply or have too many values;
 * 2. jansson checks the syntax and makes its tree;
 * 3. the tree is copied while a scan of the same text, now known to be right, follows it token by
 *    token (jansson keeps keys in the order of the file) and tells the line and the exact digits.
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

static bool is_among(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
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
    if (is_among(d->text, nulls, 5)) {
        d->kind = WEFT_DOC_NULL;
    } else if (is_among(d->text, truths, 3) || is_among(d->text, lies, 3)) {
        d->kind = WEFT_DOC_BOOL;
        d->truth = is_among(d->text, truths, 3);
    } else if (base != 0) {
        set_integer(d, d->text + 2, base);
    } else if (is_decimal(d->text)) {
        set_integer(d, d->text, 10);
    } else if (is_real(d->text)) {
        d->kind = WEFT_DOC_REAL;
        d->real = strtod(d->text, NULL);
    } else if (is_among(after_sign(d->text), endless, 6)) {
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
static bool has_key(yaml_reader *r, const weft_doc *map, const char *key, weft_map **seen)
{
    if (map->n < FEW_KEYS)
        return weft_doc_get(map, key) != NULL;
    if (*seen == NULL) {
        *seen = weft_map_new(r->scratch);
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
    if (has_key(r, map, key->text, seen))
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
    int line;
    const char *file;
    weft_arena *arena;
} json_reader;

/* Moves past a string; one that is not closed reaches to the end of the text. */
static void skip_string(json_reader *r)
{
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\' && r->at + 1 < r->end)
            r->at++;
    if (r->at < r->end)
        r->at++;
}

/* Step 1 of the head comment; the text may be anything. */
static weft_status check_size(json_reader r)
{
    int depth = 0, n_values = 1;

    while (r.at < r.end) {
        char c = *r.at;

        if (c == '"') {
            skip_string(&r);
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

/* Moves to the next token that is not a comma or colon. */
static void skip_to_token(json_reader *r)
{
    for (; r->at < r->end && strchr(" \t\r\n,:", *r->at) != NULL; r->at++)
        r->line += *r->at == '\n';
}

/* Takes the digits from the text: jansson's real would lose those of large whole numbers. */
static void set_number(weft_doc *d, json_reader *r, double value)
{
    const char *first = r->at;

    while (r->at < r->end && strchr("0123456789+-.eE", *r->at) != NULL)
        r->at++;
    d->text = weft_arena_text(r->arena, first, (size_t)(r->at - first));
    d->real = value;
    if (strpbrk(d->text, ".eE") == NULL)
        set_integer(d, d->text, 10);
}

static weft_doc *from_json(json_reader *r, const json_t *j);

static void read_elements(weft_doc *d, json_reader *r, const json_t *j)
{
    size_t n = json_array_size(j);

    r->at++;
    for (size_t i = 0; i < n; i++)
        weft_doc_add(r->arena, d, from_json(r, json_array_get(j, i)));
    skip_to_token(r);
    r->at++;
}

static void read_members(weft_doc *d, json_reader *r, json_t *j)
{
    const char *key;
    json_t *value;

    r->at++;
    json_object_foreach(j, key, value)
    {
        skip_to_token(r);
        skip_string(r);
        weft_doc_put(r->arena, d, key, from_json(r, value));
    }
    skip_to_token(r);
    r->at++;
}

/* Step 3: copies j, whose text is the next one of r. */
static weft_doc *from_json(json_reader *r, const json_t *j)
{
    static const weft_doc_kind kind[] = {
        [JSON_OBJECT] = WEFT_DOC_MAP,  [JSON_ARRAY] = WEFT_DOC_LIST, [JSON_STRING] = WEFT_DOC_TEXT,
        [JSON_INTEGER] = WEFT_DOC_INT, [JSON_REAL] = WEFT_DOC_REAL,  [JSON_TRUE] = WEFT_DOC_BOOL,
        [JSON_FALSE] = WEFT_DOC_BOOL,  [JSON_NULL] = WEFT_DOC_NULL,
    };
    weft_doc *d = weft_doc_new(r->arena, kind[json_typeof(j)]);

    skip_to_token(r);
    d->file = r->file;
    d->line = r->line;
    switch (d->kind) {
    case WEFT_DOC_MAP:
        read_members(d, r, (json_t *)(uintptr_t)j);
        break;
    case WEFT_DOC_LIST:
        read_elements(d, r, j);
        break;
    case WEFT_DOC_TEXT:
        d->text = weft_arena_text(r->arena, json_string_value(j), json_string_length(j));
        skip_string(r);
        break;
    case WEFT_DOC_REAL:
    case WEFT_DOC_INT:
        set_number(d, r, json_number_value(j));
        break;
    default: /* true, false, null */
        d->truth = json_is_true(j);
        d->text = json_is_null(j) ? "null" : d->truth ? "true" : "false";
        r->at += strlen(d->text);
    }
    return d;
}

/* How much of jansson's message is about the error: after that it quotes the file, which need not
 * be one of ours. */
static int reason_bytes(const char *text)
{
    const char *quote = strstr(text, " near ");

    return (int)(quote ? (size_t)(quote - text) : strlen(text));
}

static weft_status read_json(const char *text, size_t n, const char *file, weft_arena *a,
                             weft_doc **out)
{
    json_reader r = {text, text + n, 1, file, a};
    json_error_t error;
    json_t *j;

    WEFT_TRY(check_size(r));
    /* whole numbers as reals: jansson refuses those beyond 64 bits, set_number reads the others */
    j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (j == NULL && json_error_code(&error) == json_error_out_of_memory)
        weft_out_of_memory(0);
    if (j == NULL)
        return fail_at(file, error.line, "not valid JSON: %.*s", reason_bytes(error.text),
                       error.text);
    *out = from_json(&r, j);
    json_decref(j);
    return WEFT_OK;
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
    status = read_text(text, n, weft_arena_text(a, file, strlen(file)), a, &d);
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

/* --- writing JSON ---------------------------------------------------------------------------- */

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

/* The text itself, or a copy with U+FFFD for each byte that is not UTF-8: names come from files
 * that promise nothing. */
static const char *valid_text(const char *text, weft_arena *a)
{
    const unsigned char *s = (const unsigned char *)text;
    char *to, *copy;
    size_t n;

    while (*s && (n = utf8_bytes(s)) > 0)
        s += n;
    if (*s == '\0')
        return text;
    copy = to = weft_arena_array(a, strlen(text) + 1, 3);
    for (s = (const unsigned char *)text; *s; s += n > 0 ? n : 1) {
        n = utf8_bytes(s);
        memcpy(to, n > 0 ? (const char *)s : "\xef\xbf\xbd", n > 0 ? n : 3);
        to += n > 0 ? n : 3;
    }
    return copy;
}

static json_t *scalar_to_json(const weft_doc *d, weft_arena *a)
{
    switch (d->kind) {
    case WEFT_DOC_BOOL:
        return json_boolean(d->truth);
    case WEFT_DOC_INT:
        return json_integer(d->integer);
    case WEFT_DOC_REAL:
        return isfinite(d->real) ? json_real(d->real) : json_null();
    case WEFT_DOC_TEXT:
        return json_string_nocheck(valid_text(d->text, a));
    default:
        return json_null();
    }
}

static json_t *to_json(const weft_doc *d, weft_arena *a)
{
    json_t *j;
    int failed = 0;

    if (d->kind == WEFT_DOC_LIST) {
        j = json_array();
        for (int i = 0; i < d->n; i++)
            failed |= json_array_append_new(j, to_json(d->item[i], a));
    } else if (d->kind == WEFT_DOC_MAP) {
        j = json_object();
        for (int i = 0; i < d->n; i++)
            failed |=
                json_object_set_new_nocheck(j, valid_text(d->key[i], a), to_json(d->item[i], a));
    } else {
        j = scalar_to_json(d, a);
    }
    if (j == NULL || failed)
        weft_out_of_memory(0);
    return j;
}

const char *weft_doc_json(const weft_doc *d, int indent, weft_arena *a)
{
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);
    weft_arena *scratch = weft_arena_new();
    json_t *j = to_json(d, scratch);
    char *text;
    const char *result;

    flags |= indent > 0 ? JSON_INDENT((size_t)(indent < 31 ? indent : 31)) : JSON_COMPACT;
    text = json_dumps(j, flags);
    if (text == NULL)
        weft_out_of_memory(0);
    result = weft_arena_text(a, text, strlen(text));
    free(text);
    json_decref(j);
    weft_arena_free(scratch);
    return result;
}

/* Bytes at the start of `text` that are among `bytes`. It is strspn, which under the sanitizers
 * looks at the whole text, however long. */
static size_t span_of(const char *text, const char *bytes)
{
    size_t n = 0;

    while (text[n] && strchr(bytes, text[n]))
        n++;
    return n;
}

/* Bytes of the number at `text`, 0 if there is none that has a fraction or an exponent. */
static size_t fraction_bytes(const char *text)
{
    size_t whole = span_of(text, "-0123456789");

    return whole > 0 && text[whole] && strchr(".eE", text[whole])
               ? whole + span_of(text + whole, "+-0123456789.eE")
               : 0;
}

/* Writes a number of n bytes with as few digits as give it again; returns how many bytes it took. A
 * locale with another decimal point changes nothing: then it is copied. */
static size_t put_short(const char *text, size_t n, char *to)
{
    static const int digits[] = {9, 12, 15, 16};
    char number[32] = "", shorter[32], *end;
    double value;

    if (n < sizeof number)
        memcpy(number, text, n);
    value = strtod(number, &end);
    for (size_t i = 0; end == number + n && i < sizeof digits / sizeof *digits; i++) {
        size_t m = (size_t)snprintf(shorter, sizeof shorter, "%.*g", digits[i], value);
        double again = strtod(shorter, NULL);

        if (m < n && fraction_bytes(shorter) == m && again <= value && again >= value) {
            memcpy(to, shorter, m);
            return m;
        }
    }
    memmove(to, text, n);
    return n;
}

const char *weft_doc_json_short(const weft_doc *d, weft_arena *a)
{
    const char *from = weft_doc_json(d, 0, a);
    char *text = weft_arena_text(a, from, strlen(from)), *to = text;
    bool is_inside = false; /* a string */

    while (*from) {
        size_t n = is_inside ? 0 : fraction_bytes(from);

        if (n > 0) {
            to += put_short(from, n, to);
            from += n;
            continue;
        }
        if (is_inside && *from == '\\')
            *to++ = *from++;
        else if (*from == '"')
            is_inside = !is_inside;
        *to++ = *from++;
    }
    *to = '\0';
    return text;
}
