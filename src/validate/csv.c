/* SPDX-License-Identifier: MIT */
/* csv.c: tables of comma-separated values. One pass over the text, a field at a time. */
#include "csv.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_COLUMNS = 100, MOST_ROWS = 1000000 };

typedef WEFT_VEC(const char *) text_list;
typedef WEFT_VEC(weft_csv_row) row_list;
typedef WEFT_VEC(char) char_list;

typedef struct reader {
    const char *at, *end;
    int line;
    weft_arena *a;
    weft_csv *csv;
} reader;

weft_status weft_csv_fail(const weft_csv *c, int line, const char *format, ...)
{
    char text[600];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return weft_fail(WEFT_E_INPUT, "%s:%d: %s", c->file, line, text);
}

static bool is_line_end(const reader *r)
{
    return r->at == r->end || *r->at == '\n' ||
           (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

static void skip_line_end(reader *r)
{
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end) {
        r->at++;
        r->line++;
    }
}

static weft_status check_char(const reader *r, char c)
{
    unsigned char code = (unsigned char)c;

    if ((code < ' ' && c != '\t' && c != '\n' && c != '\r') || code == 127)
        return weft_csv_fail(r->csv, r->line,
                             "character %d in a field, expected text without control characters",
                             code);
    return WEFT_OK;
}

static weft_status read_quoted(reader *r, const char **out)
{
    char_list text = {0};
    int first = r->line;

    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) {
            r->at++;
            if (!is_line_end(r) && *r->at != ',')
                return weft_csv_fail(r->csv, r->line,
                                     "'%c' after a closing quote, expected a comma or a new line",
                                     *r->at);
            WEFT_PUSH(r->a, text, '\0');
            *out = text.at;
            return WEFT_OK;
        }
        WEFT_TRY(check_char(r, *r->at));
        r->at += *r->at == '"';
        r->line += *r->at == '\n';
        WEFT_PUSH(r->a, text, *r->at);
    }
    return weft_csv_fail(r->csv, first, "a quote is not closed, expected '\"' before the end");
}

static weft_status read_plain(reader *r, const char **out)
{
    const char *begin = r->at, *end;

    for (; !is_line_end(r) && *r->at != ','; r->at++) {
        WEFT_TRY(check_char(r, *r->at));
        if (*r->at == '"')
            return weft_csv_fail(r->csv, r->line,
                                 "a quote inside a field, expected the whole field in quotes");
    }
    for (; begin < r->at && (*begin == ' ' || *begin == '\t'); begin++)
        ;
    for (end = r->at; end > begin && (end[-1] == ' ' || end[-1] == '\t'); end--)
        ;
    *out = weft_arena_text(r->a, begin, (size_t)(end - begin));
    return WEFT_OK;
}

static weft_status read_record(reader *r, text_list *out)
{
    for (int line = r->line;; r->at++) {
        const char *field = NULL;

        WEFT_TRY(r->at < r->end && *r->at == '"' ? read_quoted(r, &field) : read_plain(r, &field));
        if (out->n == MOST_COLUMNS)
            return weft_csv_fail(r->csv, line, "more than %d fields", MOST_COLUMNS);
        WEFT_PUSH(r->a, *out, field);
        if (is_line_end(r))
            break;
    }
    skip_line_end(r);
    return WEFT_OK;
}

/* Passes over lines that are empty or a comment; false at the end. */
static bool next_record(reader *r)
{
    while (r->at < r->end && (is_line_end(r) || *r->at == '#')) {
        while (!is_line_end(r))
            r->at++;
        skip_line_end(r);
    }
    return r->at < r->end;
}

static weft_status read_header(reader *r)
{
    text_list name = {0};
    int line;

    if (!next_record(r))
        return weft_csv_fail(r->csv, r->line, "there is no line, expected the names of columns");
    line = r->line;
    WEFT_TRY(read_record(r, &name));
    for (int i = 0; i < name.n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(name.at[i], name.at[j]) == 0)
                return weft_csv_fail(r->csv, line, "two columns have the name '%.60s'", name.at[i]);
    r->csv->column = name.at;
    r->csv->n_columns = name.n;
    return WEFT_OK;
}

weft_status weft_csv_parse(const char *text, size_t n, const char *file, weft_arena *a,
                           weft_csv *out)
{
    reader r = {text, text + n, 1, a, out};
    row_list rows = {0};

    *out = (weft_csv){.file = file};
    WEFT_TRY(read_header(&r));
    while (next_record(&r)) {
        text_list field = {0};
        int line = r.line;

        WEFT_TRY(read_record(&r, &field));
        if (field.n != out->n_columns)
            return weft_csv_fail(out, line, "%d fields, expected %d as in the header", field.n,
                                 out->n_columns);
        if (rows.n == MOST_ROWS)
            return weft_csv_fail(out, line, "more than %d rows", MOST_ROWS);
        WEFT_PUSH(a, rows, ((weft_csv_row){line, field.at}));
    }
    out->row = rows.at;
    out->n_rows = rows.n;
    return WEFT_OK;
}

int weft_csv_column(const weft_csv *c, const char *name)
{
    for (int i = 0; i < c->n_columns; i++)
        if (strcmp(c->column[i], name) == 0)
            return i;
    return -1;
}
