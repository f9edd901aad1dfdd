/* SPDX-License-Identifier: MIT */
/* milp_bound.c: what multipliers of rows prove, whoever made them.
 *
 * For all y and every solution x of the rows and limits
 *
 *     c x  =  y (A x) + (c - y A) x  >=  sum of the least y_i r_i + sum of the least d_j x_j
 *
 * over row limits and column limits, with d = c - y A. With c = 0 a positive right side proves that
 * there is no solution at all.
 *
 * Nothing is taken from an engine but y, and the right side is rounded outwards: each d_j lies
 * within MARGIN of the sizes of its terms, and the worse end counts; the sum loses MARGIN of the
 * sizes of its terms. This is far more than sums in floating point can be off, and covers factors
 * and limits that were rounded when the model was made.
 *
 * A column without a limit leaves nothing of the bound if its d_j may have the wrong sign. So
 * limits that rows imply are looked for first. Where the cost of such a column is positive, only
 * solutions of at most `most` need to be bounded, since the bound is at most that: they keep the
 * column below (most - the least that all others cost) / cost. */
#include "milp.h"

#include <float.h>
#include <math.h>

static const double MARGIN = 1e-12; /* relative to the sizes of the terms of a sum */

static double margin_of(int n_terms)
{
    return MARGIN + 2 * DBL_EPSILON * n_terms;
}

/* The least of factor * v for low <= v <= high; a factor of 0 has none of infinity. */
static double least_product(double factor, double low, double high)
{
    return factor == 0 ? 0 : factor * (factor > 0 ? low : high);
}

/* A multiplier that needs a limit which is not there counts as 0: another y, as valid as any. */
static double usable(const weft_milp_form *f, const double *y, int r)
{
    if (!isfinite(y[r]) || (y[r] > 0 && !isfinite(f->row_low[r])) ||
        (y[r] < 0 && !isfinite(f->row_high[r])))
        return 0;
    return y[r];
}

/* What all columns cost at least; -INFINITY: no limit. */
static double least_cost(const weft_milp_form *f)
{
    double sum = 0;

    for (int c = 0; c < f->n_columns; c++)
        sum += least_product(f->cost[c], f->low[c], f->high[c]);
    return sum;
}

/* The upper limit of column c in solutions of at most `most`; all cost at least `least`. */
static double high_of(const weft_milp_form *f, int c, double least, double most)
{
    double room = most - least;

    if (isfinite(f->high[c]) || !(f->cost[c] > 0) || !isfinite(room))
        return f->high[c];
    room += 1e-9 * (fabs(most) + fabs(least));
    return f->low[c] + fmax(0, room) / f->cost[c] * (1 + 1e-9);
}

typedef struct sum {
    double value, size;
    int n;
} sum;

static void add(sum *s, double part)
{
    s->value += part;
    s->size += fabs(part);
    s->n++;
}

/* The least of d_c x_c, with x_c up to high. */
static double least_part(const weft_milp_form *f, int c, double high, const double *y,
                         bool has_cost)
{
    double left = has_cost ? f->cost[c] : 0, size = fabs(left), slack;

    for (int i = f->by_column.at[c]; i < f->by_column.at[c + 1]; i++) {
        double part = usable(f, y, f->by_column.across[i]) * f->by_column.factor[i];

        left -= part;
        size += fabs(part);
    }
    slack = size * margin_of(f->by_column.at[c + 1] - f->by_column.at[c]);
    return fmin(least_product(left - slack, f->low[c], high),
                least_product(left + slack, f->low[c], high));
}

static double bound_of(const weft_milp_form *f, const double *y, double most, bool has_cost)
{
    double least = has_cost ? least_cost(f) : -INFINITY;
    sum s = {0};

    for (int r = 0; r < f->n_rows; r++)
        add(&s, least_product(usable(f, y, r), f->row_low[r], f->row_high[r]));
    for (int c = 0; c < f->n_columns; c++)
        add(&s, least_part(f, c, high_of(f, c, least, most), y, has_cost));
    if (!isfinite(s.value))
        return -INFINITY;
    return fmin(most, s.value - margin_of(s.n) * s.size - DBL_MIN);
}

double weft_milp_dual_bound(const weft_milp_form *f, const double *dual, double most)
{
    return bound_of(f, dual, most, true);
}

static bool has_empty_column(const weft_milp_form *f)
{
    for (int c = 0; c < f->n_columns; c++) {
        if (f->low[c] > f->high[c])
            return true;
    }
    return false;
}

/* One row whose limits no values of its columns meet. */
static bool has_impossible_row(const weft_milp_form *f, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    sum *low = WEFT_NEW(a, sum, f->n_rows), *high = WEFT_NEW(a, sum, f->n_rows);
    bool is_impossible = false;

    for (int c = 0; c < f->n_columns; c++) {
        for (int i = f->by_column.at[c]; i < f->by_column.at[c + 1]; i++) {
            int r = f->by_column.across[i];

            add(&low[r], least_product(f->by_column.factor[i], f->low[c], f->high[c]));
            add(&high[r], least_product(-f->by_column.factor[i], f->low[c], f->high[c]));
        }
    }
    for (int r = 0; r < f->n_rows; r++) {
        add(&low[r], -f->row_high[r]);
        add(&high[r], f->row_low[r]);
        is_impossible |= low[r].value > 2 * margin_of(low[r].n) * low[r].size ||
                         high[r].value > 2 * margin_of(high[r].n) * high[r].size;
    }
    weft_arena_rewind(a, mark);
    return is_impossible;
}

/* --- limits that rows imply ------------------------------------------------------------------ */

/* What the columns of a row add up to: the finite parts, and how many are not. */
typedef struct reach {
    sum least, most;
    int n_least, n_most; /* columns without a limit on that side */
} reach;

static void add_reach(sum *s, int *n_open, double part)
{
    if (isfinite(part))
        add(s, part);
    else
        ++*n_open;
}

static reach *reach_of_rows(const weft_milp_form *f, weft_arena *a)
{
    reach *of = WEFT_NEW(a, reach, f->n_rows);

    for (int c = 0; c < f->n_columns; c++) {
        for (int i = f->by_column.at[c]; i < f->by_column.at[c + 1]; i++) {
            reach *r = &of[f->by_column.across[i]];
            double factor = f->by_column.factor[i];

            add_reach(&r->least, &r->n_least, least_product(factor, f->low[c], f->high[c]));
            add_reach(&r->most, &r->n_most, -least_product(-factor, f->low[c], f->high[c]));
        }
    }
    return of;
}

/* The most that `limit` leaves to one column if the others take the sum s at least; part is what s
 * and n_open have of the column itself. */
static double rest_of(double limit, const sum *s, int n_open, double part)
{
    double others = isfinite(part) ? s->value - part : s->value;

    if (!isfinite(limit) || n_open > (isfinite(part) ? 0 : 1))
        return INFINITY;
    return limit - others + 2 * margin_of(s->n) * (s->size + fabs(limit));
}

/* Limits of column c by its term in row r. */
static void limit_by_row(weft_milp_form *f, int c, int r, double factor, const reach *of)
{
    double least = least_product(factor, f->low[c], f->high[c]);
    double most = -least_product(-factor, f->low[c], f->high[c]);
    sum back = {-of->most.value, of->most.size, of->most.n};
    double up = rest_of(f->row_high[r], &of->least, of->n_least, least) / fabs(factor);
    double down = -rest_of(-f->row_low[r], &back, of->n_most, -most) / fabs(factor);

    if (!isfinite(f->high[c]))
        f->high[c] = factor > 0 ? up : -down;
    if (!isfinite(f->low[c]))
        f->low[c] = factor > 0 ? down : -up;
}

static bool has_open_column(const weft_milp_form *f)
{
    for (int c = 0; c < f->n_columns; c++) {
        if (!isfinite(f->low[c]) || !isfinite(f->high[c]))
            return true;
    }
    return false;
}

void weft_milp_find_limits(weft_milp_form *f, weft_arena *a)
{
    enum { ROUNDS = 3 };
    size_t mark = weft_arena_mark(a);

    for (int round = 0; round < ROUNDS && has_open_column(f); round++) {
        const reach *of = reach_of_rows(f, a);

        for (int c = 0; c < f->n_columns; c++) {
            for (int i = f->by_column.at[c]; i < f->by_column.at[c + 1]; i++) {
                if (isfinite(f->low[c]) && isfinite(f->high[c]))
                    break;
                limit_by_row(f, c, f->by_column.across[i], f->by_column.factor[i],
                             &of[f->by_column.across[i]]);
            }
        }
        weft_arena_rewind(a, mark);
    }
}

/* --- without solution ------------------------------------------------------------------------ */

bool weft_milp_is_refuted(const weft_milp_form *f, const double *ray, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *back;
    bool is_refuted;

    if (has_empty_column(f) || has_impossible_row(f, a))
        return true;
    if (ray == NULL)
        return false;
    back = WEFT_NEW(a, double, f->n_rows);
    for (int r = 0; r < f->n_rows; r++)
        back[r] = -ray[r];
    is_refuted = bound_of(f, ray, INFINITY, false) > 0 || bound_of(f, back, INFINITY, false) > 0;
    weft_arena_rewind(a, mark);
    return is_refuted;
}
