/* SPDX-License-Identifier: MIT */
/* milp.c: the builder of linear programs, and what is common to all engines.
 *
 * 1. Columns, rows and terms are collected in growing arrays; the matrix is made by two passes of
 *    counting sort, and terms of the same place are added.
 * 2. No engine is believed. Its x must satisfy rows, limits and wholeness within TOLERANCE, or it
 *    is dropped; the value of x is computed here. So it is with the values to start from, which are
 *    the solution where an engine has no better one.
 * 3. Bounds are our own. Duals of a linear program prove one, whatever the engine says of them, and
 *    a ray proves that there is no solution (milp_bound.c). Programs with whole columns are
 * searched again with these (milp_tree.c): `optimal` and `infeasible` are what that search has
 * proved.
 *
 * Engines work with absolute tolerances of about 1e-7: scale a model so that its numbers lie
 * between 0.01 and 10000. */
#define _POSIX_C_SOURCE 200809L
#include "milp.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-5;    /* of rows and whole numbers, relative to their size */
static const double SLACK = 1e-6;        /* relative; what a value may be above its bound */
static const double LEAST_SIZE = 0.01;   /* of a value, for SLACK */
static const double ENGINE_SHARE = 0.75; /* of the time; the rest is for the proof */

/* --- building -------------------------------------------------------------------------------- */

weft_milp *weft_milp_new(const char *name)
{
    weft_arena *a = weft_arena_new();
    weft_milp *m = WEFT_NEW(a, weft_milp, 1);

    m->arena = a;
    m->name = weft_arena_word(a, name);
    m->column_names = weft_map_new(a);
    m->row_names = weft_map_new(a);
    return m;
}

void weft_milp_free(weft_milp *m)
{
    if (m != NULL)
        weft_arena_free(m->arena);
}

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && strchr("_[].", *c) == NULL)
            return false;
    }
    return *name != '\0';
}

/* A copy that no other line of the kind has; NULL stays NULL. */
static const char *keep_name(weft_milp *m, weft_map *names, const char *name, int number)
{
    const char *copy;
    bool is_new;

    if (name == NULL)
        return NULL;
    assert(is_name(name));
    copy = weft_arena_word(m->arena, name);
    is_new = weft_map_put(names, copy, strlen(copy), number);
    assert(is_new);
    (void)is_new;
    return copy;
}

int weft_milp_column(weft_milp *m, const char *name, double low, double high, double cost,
                     bool is_whole)
{
    int c = m->column.n;
    weft_milp_column_of column = {.low = low, .high = high, .cost = cost, .is_whole = is_whole};

    assert(low <= high && isfinite(cost));
    column.name = keep_name(m, m->column_names, name, c);
    column.start = NAN;
    WEFT_PUSH(m->arena, m->column, column);
    return c;
}

int weft_milp_row(weft_milp *m, const char *name, double low, double high)
{
    int r = m->row.n;
    weft_milp_row_of row = {NULL, low, high};

    assert(low <= high);
    row.name = keep_name(m, m->row_names, name, r);
    WEFT_PUSH(m->arena, m->row, row);
    return r;
}

void weft_milp_term(weft_milp *m, int row, int column, double factor)
{
    weft_milp_term_of term = {row, column, factor};

    assert(row >= 0 && row < m->row.n && column >= 0 && column < m->column.n && isfinite(factor));
    WEFT_PUSH(m->arena, m->term, term);
}

void weft_milp_start(weft_milp *m, int column, double value)
{
    assert(column >= 0 && column < m->column.n);
    m->column.at[column].start = value;
}

int weft_milp_n_columns(const weft_milp *m)
{
    return m->column.n;
}

int weft_milp_n_rows(const weft_milp *m)
{
    return m->row.n;
}

/* --- the matrix ------------------------------------------------------------------------------ */

/* Terms by row or by column; stable. */
static weft_milp_term_of *sorted(const weft_milp_term_of *term, int n, bool is_by_row, int n_lines,
                                 weft_arena *a)
{
    weft_milp_term_of *out = WEFT_NEW(a, weft_milp_term_of, n);
    int *at = WEFT_NEW(a, int, n_lines + 1);

    for (int i = 0; i < n; i++)
        at[(is_by_row ? term[i].row : term[i].column) + 1]++;
    for (int i = 0; i < n_lines; i++)
        at[i + 1] += at[i];
    for (int i = 0; i < n; i++)
        out[at[is_by_row ? term[i].row : term[i].column]++] = term[i];
    return out;
}

static weft_milp_matrix matrix_of(const weft_milp *m, bool is_by_row, weft_arena *a)
{
    int n = m->term.n, n_lines = is_by_row ? m->row.n : m->column.n, n_kept = 0;
    int n_across = is_by_row ? m->column.n : m->row.n;
    weft_milp_matrix x = {WEFT_NEW(a, int, n_lines + 1), WEFT_NEW(a, int, n),
                          WEFT_NEW(a, double, n)};
    size_t mark = weft_arena_mark(a);
    weft_milp_term_of *term = sorted(m->term.at, n, !is_by_row, n_across, a);

    term = sorted(term, n, is_by_row, n_lines, a);
    for (int i = 0, end; i < n; i = end) {
        double sum = 0;

        for (end = i; end < n && term[end].row == term[i].row && term[end].column == term[i].column;
             end++)
            sum += term[end].factor;
        if (sum == 0)
            continue;
        x.across[n_kept] = is_by_row ? term[i].column : term[i].row;
        x.factor[n_kept++] = sum;
        x.at[(is_by_row ? term[i].row : term[i].column) + 1]++;
    }
    for (int i = 0; i < n_lines; i++)
        x.at[i + 1] += x.at[i];
    weft_arena_rewind(a, mark);
    return x;
}

weft_milp_matrix weft_milp_by_column(const weft_milp *m, weft_arena *a)
{
    return matrix_of(m, false, a);
}

weft_milp_matrix weft_milp_by_row(const weft_milp *m, weft_arena *a)
{
    return matrix_of(m, true, a);
}

/* --- the form an engine gets ----------------------------------------------------------------- */

/* All whole columns have a start: the starts of all columns, those without at their lower limit. */
static const double *starts_of(const weft_milp *m, weft_arena *a)
{
    double *start = WEFT_NEW(a, double, m->column.n);
    bool has_any = false;

    for (int c = 0; c < m->column.n; c++) {
        const weft_milp_column_of *column = &m->column.at[c];

        if (isnan(column->start) && column->is_whole)
            return NULL;
        has_any |= !isnan(column->start);
        start[c] = column->start;
        if (isnan(start[c]))
            start[c] = isfinite(column->low) ? column->low : fmin(0, column->high);
    }
    return has_any ? start : NULL;
}

static weft_milp_form form_of(const weft_milp *m, bool is_relaxed, weft_arena *a)
{
    int n = m->column.n;
    weft_milp_form f = {.n_columns = n, .n_rows = m->row.n};

    f.low = WEFT_NEW(a, double, n);
    f.high = WEFT_NEW(a, double, n);
    f.cost = WEFT_NEW(a, double, n);
    f.is_whole = WEFT_NEW(a, bool, n);
    f.row_low = WEFT_NEW(a, double, m->row.n);
    f.row_high = WEFT_NEW(a, double, m->row.n);
    for (int c = 0; c < n; c++) {
        f.low[c] = m->column.at[c].low;
        f.high[c] = m->column.at[c].high;
        f.cost[c] = m->column.at[c].cost;
        f.is_whole[c] = m->column.at[c].is_whole && !is_relaxed;
    }
    for (int r = 0; r < m->row.n; r++) {
        f.row_low[r] = m->row.at[r].low;
        f.row_high[r] = m->row.at[r].high;
    }
    f.start = is_relaxed ? NULL : starts_of(m, a);
    f.by_column = weft_milp_by_column(m, a);
    return f;
}

/* --- what is believed ------------------------------------------------------------------------ */

static bool is_within(double value, double low, double high, double size)
{
    double slack = TOLERANCE * fmax(1, size);

    return value >= low - slack && value <= high + slack;
}

bool weft_milp_is_solution(const weft_milp_form *f, const double *x, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *sum = WEFT_NEW(a, double, f->n_rows), *size = WEFT_NEW(a, double, f->n_rows);
    bool is_good = true;

    for (int c = 0; c < f->n_columns; c++) {
        is_good &= is_within(x[c], f->low[c], f->high[c], fabs(x[c]));
        if (f->is_whole[c])
            is_good &= fabs(x[c] - round(x[c])) <= TOLERANCE;
        for (int i = f->by_column.at[c]; i < f->by_column.at[c + 1]; i++) {
            double part = f->by_column.factor[i] * x[c];

            sum[f->by_column.across[i]] += part;
            size[f->by_column.across[i]] += fabs(part);
        }
    }
    for (int r = 0; r < f->n_rows; r++)
        is_good &= is_within(sum[r], f->row_low[r], f->row_high[r], size[r]);
    weft_arena_rewind(a, mark);
    return is_good;
}

double weft_milp_value(const weft_milp_form *f, const double *x)
{
    double value = 0;

    for (int c = 0; c < f->n_columns; c++)
        value += f->cost[c] == 0 ? 0 : f->cost[c] * x[c];
    return value;
}

double weft_milp_slack(double value)
{
    return SLACK * fmax(fabs(value), LEAST_SIZE);
}

/* x becomes the solution if it is one, and better than the one so far. */
static void take(const weft_milp_form *f, const double *x, weft_arena *a, weft_milp_result *out)
{
    if (x == NULL || !weft_milp_is_solution(f, x, a) || !(weft_milp_value(f, x) < out->value))
        return;
    out->x = x;
    out->value = weft_milp_value(f, x);
}

/* What a linear program says, with the proof that came with it. */
static void judge_linear(const weft_milp_form *f, const weft_milp_claim *claim, weft_arena *a,
                         weft_milp_result *out)
{
    if (claim->is_infeasible && weft_milp_is_refuted(f, claim->ray, a)) {
        out->outcome = WEFT_MILP_INFEASIBLE;
        out->bound = INFINITY;
        return;
    }
    take(f, claim->x, a, out);
    out->dual = claim->dual;
    if (claim->dual != NULL)
        out->bound = weft_milp_dual_bound(f, claim->dual, out->value);
    if (out->x != NULL)
        out->outcome = claim->is_optimal ? WEFT_MILP_OPTIMAL : WEFT_MILP_FEASIBLE;
}

/* The outcome that value and bound of a program with whole columns make. */
static void conclude(weft_milp_result *out)
{
    out->outcome = WEFT_MILP_UNKNOWN;
    if (out->x != NULL && out->bound >= out->value - weft_milp_slack(out->value))
        out->outcome = WEFT_MILP_OPTIMAL;
    else if (out->x != NULL)
        out->outcome = WEFT_MILP_FEASIBLE;
    else if (out->bound >= INFINITY)
        out->outcome = WEFT_MILP_INFEASIBLE;
    out->bound = fmin(out->bound, out->value);
}

/* --- solving --------------------------------------------------------------------------------- */

bool weft_milp_has_whole(const weft_milp_form *f)
{
    for (int c = 0; c < f->n_columns; c++) {
        if (f->is_whole[c])
            return true;
    }
    return false;
}

/* The proof of a program with whole columns, in the time that is left. */
static weft_status prove(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                         weft_milp_result *out)
{
    weft_milp_proved proved;

    WEFT_TRY(weft_milp_prove(f, out->value, o, a, &proved));
    take(f, proved.x, a, out);
    out->bound = fmax(out->bound, proved.bound);
    out->n_nodes += proved.n_nodes;
    return WEFT_OK;
}

/* A solution by the engine. */
static weft_status find(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                        weft_milp_result *out)
{
    weft_milp_claim claim = {.bound = -INFINITY};
    weft_milp_options share = *o;

    if (o->part == WEFT_MILP_ALL)
        share.limit_s *= ENGINE_SHARE;
    WEFT_TRY(weft_milp_cbc(f, &share, a, &claim));
    take(f, claim.x, a, out);
    out->is_claimed = claim.is_optimal || claim.is_infeasible;
    out->n_nodes = claim.n_nodes;
    return WEFT_OK;
}

static weft_status solve_whole(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                               weft_milp_result *out)
{
    weft_milp_options left = *o;
    double begin_s = weft_wall_s();

    take(f, f->start, a, out);
    if (o->part != WEFT_MILP_PROVE)
        WEFT_TRY(find(f, o, a, out));
    left.limit_s -= weft_wall_s() - begin_s;
    if (o->part != WEFT_MILP_FIND)
        WEFT_TRY(prove(f, &left, a, out));
    conclude(out);
    return WEFT_OK;
}

static weft_status solve(const weft_milp *m, const weft_milp_options *o, weft_arena *a,
                         weft_milp_result *out)
{
    weft_milp_form f = form_of(m, o->is_relaxed, a);
    weft_milp_claim claim = {.bound = -INFINITY};
    bool is_over = !(o->limit_s > 0) || (o->stop != NULL && *o->stop);

    *out = (weft_milp_result){.outcome = WEFT_MILP_UNKNOWN, .value = INFINITY, .bound = -INFINITY};
    if (is_over)
        return WEFT_OK;
    if (weft_milp_has_whole(&f))
        return solve_whole(&f, o, a, out);
    WEFT_TRY(weft_milp_cbc(&f, o, a, &claim));
    weft_milp_find_limits(&f, a);
    judge_linear(&f, &claim, a, out);
    return WEFT_OK;
}

weft_status weft_milp_solve(const weft_milp *m, const weft_milp_options *o, weft_arena *a,
                            weft_milp_result *out)
{
    double begin_s = weft_wall_s();

    WEFT_TRY(solve(m, o, a, out));
    out->seconds = weft_wall_s() - begin_s;
    return WEFT_OK;
}
