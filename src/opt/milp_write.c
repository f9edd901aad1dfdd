/* SPDX-License-Identifier: MIT */
/* milp_write.c: models as text, for other programs: the LP format of CPLEX and free MPS.
 *
 * Both files say the same model. What readers disagree about is avoided: every column has its
 * limits written out, a row with two different limits becomes two rows in the LP format, a column
 * that stands in no row is in the objective with factor 0, lines are short. Names keep their
 * letters, digits, '_' and '.'; brackets become parentheses, and a first character that could be
 * part of a number gets '_' in front. Numbers have 17 digits, so nothing is lost. */
#define _POSIX_C_SOURCE 200809L
#include "milp.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100 }; /* lines of the LP format break after this many characters */

typedef struct text {
    const weft_milp *m;
    weft_milp_matrix by_row, by_column;
    const char **column, **row; /* names as written */
    weft_arena *a;
    FILE *to;
} text;

/* --- names ----------------------------------------------------------------------------------- */

static const char *written_name(const char *name, char kind, int number, weft_map *used,
                                weft_arena *a)
{
    const char *first = "";
    char *out;

    if (name == NULL)
        name = weft_arena_print(a, "%c%d", kind, number);
    if (isdigit((unsigned char)*name) || strchr(".eE", *name) != NULL)
        first = "_";
    out = weft_arena_print(a, "%s%s", first, name);
    for (char *c = out; *c; c++)
        *c = *c == '[' ? '(' : *c == ']' ? ')' : *c;
    while (!weft_map_put(used, out, strlen(out), number))
        out = weft_arena_print(a, "%s_", out);
    return out;
}

static void name_all(text *t)
{
    const weft_milp *m = t->m;
    weft_map *columns = weft_map_new(t->a), *rows = weft_map_new(t->a);

    t->column = WEFT_NEW(t->a, const char *, m->column.n);
    t->row = WEFT_NEW(t->a, const char *, m->row.n);
    for (int c = 0; c < m->column.n; c++)
        t->column[c] = written_name(m->column.at[c].name, 'C', c, columns, t->a);
    weft_map_put(rows, "obj", 3, m->row.n);
    for (int r = 0; r < m->row.n; r++)
        t->row[r] = written_name(m->row.at[r].name, 'R', r, rows, t->a);
}

/* --- LP format ------------------------------------------------------------------------------- */

/* Writes " + 3 x" and returns its length. */
static int put_term(const text *t, double factor, int column)
{
    double size = fabs(factor);
    const char *sign = factor < 0 ? "-" : "+";

    if (size == 1)
        return fprintf(t->to, " %s %s", sign, t->column[column]);
    return fprintf(t->to, " %s %.17g %s", sign, size, t->column[column]);
}

static void put_objective(const text *t)
{
    int n_written = 0, width = fprintf(t->to, " obj:");

    for (int c = 0; c < t->m->column.n; c++) {
        bool is_lonely = t->by_column.at[c] == t->by_column.at[c + 1];

        if (t->m->column.at[c].cost == 0 && !is_lonely && (n_written > 0 || c < t->m->column.n - 1))
            continue;
        width += put_term(t, t->m->column.at[c].cost, c);
        n_written++;
        if (width > WIDTH)
            width = fprintf(t->to, "\n ");
    }
    fputc('\n', t->to);
}

static void put_row(const text *t, int r, const char *end, const char *relation, double limit)
{
    int width = fprintf(t->to, " %s%s:", t->row[r], end);

    for (int i = t->by_row.at[r]; i < t->by_row.at[r + 1]; i++) {
        width += put_term(t, t->by_row.factor[i], t->by_row.across[i]);
        if (width > WIDTH)
            width = fprintf(t->to, "\n ");
    }
    if (t->by_row.at[r] == t->by_row.at[r + 1])
        put_term(t, 0, 0);
    fprintf(t->to, " %s %.17g\n", relation, limit);
}

static void put_rows(const text *t)
{
    for (int r = 0; r < t->m->row.n; r++) {
        double low = t->m->row.at[r].low, high = t->m->row.at[r].high;

        if (low == high) {
            put_row(t, r, "", "=", low);
            continue;
        }
        if (isfinite(low))
            put_row(t, r, "", ">=", low);
        if (isfinite(high))
            put_row(t, r, isfinite(low) ? ".most" : "", "<=", high);
    }
}

static void put_limits(const text *t, int c)
{
    double low = t->m->column.at[c].low, high = t->m->column.at[c].high;
    const char *name = t->column[c];

    if (low == high)
        fprintf(t->to, " %s = %.17g\n", name, low);
    else if (isfinite(low) && isfinite(high))
        fprintf(t->to, " %.17g <= %s <= %.17g\n", low, name, high);
    else if (isfinite(low))
        fprintf(t->to, " %s >= %.17g\n", name, low);
    else if (isfinite(high))
        fprintf(t->to, " -inf <= %s <= %.17g\n", name, high);
    else
        fprintf(t->to, " %s free\n", name);
}

static void put_whole(const text *t)
{
    int width = 0, n_written = 0;

    for (int c = 0; c < t->m->column.n; c++) {
        if (!t->m->column.at[c].is_whole)
            continue;
        if (n_written++ == 0)
            fputs("Generals\n", t->to);
        width += fprintf(t->to, " %s", t->column[c]);
        if (width > WIDTH) {
            fputc('\n', t->to);
            width = 0;
        }
    }
    if (width > 0)
        fputc('\n', t->to);
}

static void write_lp(const text *t)
{
    fprintf(t->to, "\\ %s: %d columns, %d rows\nMinimize\n", t->m->name, t->m->column.n,
            t->m->row.n);
    put_objective(t);
    fputs("Subject To\n", t->to);
    put_rows(t);
    fputs("Bounds\n", t->to);
    for (int c = 0; c < t->m->column.n; c++)
        put_limits(t, c);
    put_whole(t);
    fputs("End\n", t->to);
}

/* --- free MPS -------------------------------------------------------------------------------- */

/* The kind of a row and the number on its right side. */
static char row_kind(const weft_milp_row_of *row, double *right)
{
    *right = isfinite(row->low) ? row->low : row->high;
    if (row->low == row->high)
        return 'E';
    if (!isfinite(*right))
        return 'N';
    return isfinite(row->low) ? 'G' : 'L';
}

static void put_columns(const text *t)
{
    bool is_whole = false;
    int n_marks = 0;

    for (int c = 0; c <= t->m->column.n; c++) {
        bool is_last = c == t->m->column.n;

        if (is_whole != (!is_last && t->m->column.at[c].is_whole)) {
            is_whole = !is_whole;
            fprintf(t->to, " MARK%d 'MARKER' '%s'\n", n_marks++, is_whole ? "INTORG" : "INTEND");
        }
        if (is_last)
            break;
        fprintf(t->to, " %s obj %.17g\n", t->column[c], t->m->column.at[c].cost);
        for (int i = t->by_column.at[c]; i < t->by_column.at[c + 1]; i++)
            fprintf(t->to, " %s %s %.17g\n", t->column[c], t->row[t->by_column.across[i]],
                    t->by_column.factor[i]);
    }
}

static void put_bounds(const text *t, int c)
{
    double low = t->m->column.at[c].low, high = t->m->column.at[c].high;
    const char *name = t->column[c];

    if (low == high) {
        fprintf(t->to, " FX BND %s %.17g\n", name, low);
        return;
    }
    if (!isfinite(low) && !isfinite(high)) {
        fprintf(t->to, " FR BND %s\n", name);
        return;
    }
    if (isfinite(low))
        fprintf(t->to, " LO BND %s %.17g\n", name, low);
    else
        fprintf(t->to, " MI BND %s\n", name);
    if (isfinite(high))
        fprintf(t->to, " UP BND %s %.17g\n", name, high);
    else
        fprintf(t->to, " PL BND %s\n", name);
}

static void put_ranges(const text *t)
{
    bool is_first = true;

    for (int r = 0; r < t->m->row.n; r++) {
        const weft_milp_row_of *row = &t->m->row.at[r];

        if (!isfinite(row->low) || !isfinite(row->high) || row->low == row->high)
            continue;
        if (is_first)
            fputs("RANGES\n", t->to);
        is_first = false;
        fprintf(t->to, " RNG %s %.17g\n", t->row[r], row->high - row->low);
    }
}

static void write_mps(const text *t)
{
    double right;

    fputs("NAME weft FREE\nROWS\n N obj\n", t->to);
    for (int r = 0; r < t->m->row.n; r++)
        fprintf(t->to, " %c %s\n", row_kind(&t->m->row.at[r], &right), t->row[r]);
    fputs("COLUMNS\n", t->to);
    put_columns(t);
    fputs("RHS\n", t->to);
    for (int r = 0; r < t->m->row.n; r++) {
        if (row_kind(&t->m->row.at[r], &right) != 'N' && right != 0)
            fprintf(t->to, " RHS %s %.17g\n", t->row[r], right);
    }
    put_ranges(t);
    fputs("BOUNDS\n", t->to);
    for (int c = 0; c < t->m->column.n; c++)
        put_bounds(t, c);
    fputs("ENDATA\n", t->to);
}

/* --- files ----------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), n_end = strlen(end);

    return n > n_end && strcmp(path + n - n_end, end) == 0;
}

static weft_status put_file(text *t, void (*write)(const text *t), const char *path)
{
    char *data = NULL;
    size_t size = 0;
    weft_status status;

    t->to = open_memstream(&data, &size);
    if (t->to == NULL)
        return weft_fail(WEFT_E_SYSTEM, "%s: no memory for the text of the model", path);
    write(t);
    if (fclose(t->to) != 0) {
        free(data);
        return weft_fail(WEFT_E_SYSTEM, "%s: no memory for the text of the model", path);
    }
    status = weft_file_write(path, data, size);
    free(data);
    return status;
}

weft_status weft_milp_write(const weft_milp *m, const char *path)
{
    bool is_lp = ends_with(path, ".lp");
    text t = {.m = m};
    weft_status status;

    if (!is_lp && !ends_with(path, ".mps"))
        return weft_fail(WEFT_E_INPUT, "%s: the name of a model's file must end in .lp or .mps",
                         path);
    if (m->column.n == 0)
        return weft_fail(WEFT_E_INPUT, "%s: a model without columns cannot be written", path);
    t.a = weft_arena_new();
    t.by_row = weft_milp_by_row(m, t.a);
    t.by_column = weft_milp_by_column(m, t.a);
    name_all(&t);
    status = put_file(&t, is_lp ? write_lp : write_mps, path);
    weft_arena_free(t.a);
    return status;
}
