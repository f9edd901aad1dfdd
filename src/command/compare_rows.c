/* SPDX-License-Identifier: MIT */
/* compare_rows.c: a CSV file of rows that is made by one call or by several.
 *
 * 1. Each row is appended by one write, when it is known: whoever is killed leaves whole rows, and at
 *    worst the beginning of one more, which the next call drops.
 * 2. In the end the file is replaced by one with the rows in the order of the call, so that it does
 *    not depend on who was faster, nor on how often the work was broken off.
 *
 * A lock keeps two calls from writing the same file. */
#define _XOPEN_SOURCE 700 /* lockf */
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_COLUMNS = 10 };

static const char header[] = "instance,solver,value,bound,gap,status,seconds,seed,limit,problem\n";

struct weft_compare_file {
    weft_arena *a;
    const char *path; /* NULL: none */
    int fd;           /* -1: none */
    weft_map *index;  /* row by instance, solver and seed */
    WEFT_VEC(weft_compare_row) row;
};

/* --- rows as lines --------------------------------------------------------------------------- */

static void put_text(const char *text, FILE *to)
{
    if (strpbrk(text, ",\"") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++)
        fprintf(to, "%s%c", *text == '"' ? "\"" : "", *text);
    fputc('"', to);
}

static void put_number(double value, FILE *to)
{
    if (isfinite(value))
        fprintf(to, "%.17g", value);
    fputc(',', to);
}

static void put_row(const weft_compare_row *r, FILE *to)
{
    put_text(r->instance, to);
    fputc(',', to);
    put_text(r->solver, to);
    fputc(',', to);
    put_number(r->value, to);
    put_number(r->bound, to);
    put_number(r->gap, to);
    fprintf(to, "%s,%.6f,%" PRId64 ",%s,%016" PRIx64 "\n", weft_outcome_name(r->outcome),
            r->seconds, r->seed, r->limit, r->problem);
}

void weft_compare_print_csv(const weft_compare_row *row, int n, FILE *to)
{
    fputs(header, to);
    for (int i = 0; i < n; i++)
        if (row[i].is_there)
            put_row(&row[i], to);
}

/* Takes a field off a line; false: there is none. */
static bool take_field(char **line, char **out)
{
    char *from = *line, *to = from;

    if (from == NULL)
        return false;
    *out = to;
    if (*from == '"') {
        for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"';
            *to++ = *from;
        }
        if (*from != '"')
            return false;
        from++;
    } else {
        while (*from && *from != ',')
            *to++ = *from++;
    }
    if (*from != ',' && *from != '\0')
        return false;
    *line = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return true;
}

static bool take_number(const char *text, double *out)
{
    char *end;

    *out = *text ? strtod(text, &end) : NAN;
    return *text == '\0' || (*end == '\0' && isfinite(*out));
}

static bool read_row(char *line, weft_compare_row *out)
{
    char *field[N_COLUMNS], *end;
    int outcome = 0;

    for (int i = 0; i < N_COLUMNS; i++)
        if (!take_field(&line, &field[i]))
            return false;
    if (line != NULL)
        return false;
    while (outcome < 4 && strcmp(field[5], weft_outcome_name((weft_outcome)outcome)) != 0)
        outcome++;
    *out = (weft_compare_row){.instance = field[0],
                              .solver = field[1],
                              .outcome = (weft_outcome)outcome,
                              .limit = field[8],
                              .is_there = true};
    out->seed = strtoll(field[7], &end, 10);
    if (*end != '\0')
        return false;
    out->problem = strtoull(field[9], &end, 16);
    return *end == '\0' && outcome < 4 && take_number(field[2], &out->value) &&
           take_number(field[3], &out->bound) && take_number(field[4], &out->gap) &&
           take_number(field[6], &out->seconds);
}

/* --- the file -------------------------------------------------------------------------------- */

static const char *key_of(const weft_compare_row *r, weft_arena *a)
{
    return weft_arena_print(a, "%s\n%s\n%" PRId64, r->instance, r->solver, r->seed);
}

/* A later row takes the place of an earlier one. */
static void keep(weft_compare_file *f, const weft_compare_row *r)
{
    const char *key = key_of(r, f->a);
    int i = weft_map_get(f->index, key, strlen(key));

    if (i >= 0) {
        f->row.at[i] = *r;
        return;
    }
    weft_map_set(f->index, key, strlen(key), f->row.n);
    WEFT_PUSH(f->a, f->row, *r);
}

/* All whole lines; what is behind the last one is cut off. */
static weft_status read_rows(weft_compare_file *f, const char *text, size_t n)
{
    size_t at = sizeof header - 1;
    int line = 1;

    if (n < at || memcmp(text, header, at) != 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s is there, but no file of weft compare: its first line is not '%.*s'",
                         f->path, (int)at - 1, header);
    while (at < n) {
        const char *newline = memchr(text + at, '\n', n - at);
        weft_compare_row row;

        if (newline == NULL)
            break;
        line++;
        if (!read_row(weft_arena_text(f->a, text + at, (size_t)(newline - text) - at), &row))
            return weft_fail(WEFT_E_INPUT, "%s:%d: this is no row of weft compare", f->path, line);
        keep(f, &row);
        at = (size_t)(newline - text) + 1;
    }
    if (ftruncate(f->fd, (off_t)at) != 0)
        return weft_fail(WEFT_E_SYSTEM, "%s cannot be cut: %s", f->path, strerror(errno));
    return WEFT_OK;
}

static weft_status append(weft_compare_file *f, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(f->fd, text, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return weft_fail(WEFT_E_SYSTEM, "%s cannot be written: %s", f->path, strerror(errno));
        text += done;
        n -= (size_t)done;
    }
    return WEFT_OK;
}

static weft_status open_rows(weft_compare_file *f)
{
    struct stat s;
    char *old;
    ssize_t n;

    f->fd = open(f->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (f->fd < 0 || fstat(f->fd, &s) != 0)
        return weft_fail(WEFT_E_SYSTEM, "%s cannot be written: %s", f->path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return weft_fail(WEFT_E_INPUT, "%s is no regular file: rows could not be added later",
                         f->path);
    if (lockf(f->fd, F_TLOCK, 0) != 0)
        return weft_fail(WEFT_E_INPUT, "%s is being written by another weft compare", f->path);
    if (s.st_size == 0)
        return append(f, header, sizeof header - 1);
    old = weft_arena_alloc(f->a, (size_t)s.st_size);
    n = pread(f->fd, old, (size_t)s.st_size, 0); /* another descriptor would end the lock */
    if (n != (ssize_t)s.st_size)
        return weft_fail(WEFT_E_SYSTEM, "%s cannot be read", f->path);
    return read_rows(f, old, (size_t)n);
}

weft_status weft_compare_file_open(const char *path, weft_arena *a, weft_compare_file **out)
{
    weft_compare_file *f = WEFT_NEW(a, weft_compare_file, 1);
    weft_status status = WEFT_OK;

    *f = (weft_compare_file){.a = a, .fd = -1, .index = weft_map_new(a)};
    f->path = path && *path && strcmp(path, "-") != 0 ? path : NULL;
    if (f->path != NULL)
        status = open_rows(f);
    *out = f;
    if (status != WEFT_OK)
        weft_compare_file_close(f);
    return status;
}

const weft_compare_row *weft_compare_file_find(const weft_compare_file *f,
                                               const weft_compare_row *row)
{
    const char *key = key_of(row, f->a);
    int i = weft_map_get(f->index, key, strlen(key));

    if (i < 0 || f->row.at[i].problem != row->problem ||
        strcmp(f->row.at[i].limit, row->limit) != 0)
        return NULL;
    return &f->row.at[i];
}

weft_status weft_compare_file_add(weft_compare_file *f, const weft_compare_row *row)
{
    weft_collect c;
    weft_status status;

    if (f->fd < 0)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    put_row(row, c.to);
    fclose(c.to);
    status = append(f, c.text, c.n);
    free(c.text);
    return status;
}

weft_status weft_compare_file_finish(weft_compare_file *f, const weft_compare_row *row, int n)
{
    weft_collect c;

    if (f->path == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    weft_compare_print_csv(row, n, c.to);
    for (int i = 0; i < n; i++) { /* those are written */
        const char *key = key_of(&row[i], f->a);
        int k = weft_map_get(f->index, key, strlen(key));

        if (k >= 0 && row[i].is_there)
            f->row.at[k].is_there = false;
    }
    for (int i = 0; i < f->row.n; i++)
        if (f->row.at[i].is_there)
            put_row(&f->row.at[i], c.to);
    return weft_collect_emit(&c, f->path);
}

void weft_compare_file_close(weft_compare_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}
