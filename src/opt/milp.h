/* SPDX-License-Identifier: MIT */
/* A linear program as engines and writers see it: plain arrays. */
#ifndef WEFT_MILP_H
#define WEFT_MILP_H

#include "opt.h"

typedef struct weft_milp_column_of {
    const char *name; /* NULL: C and its number */
    double low, high, cost;
    double start; /* NAN: none */
    bool is_whole;
} weft_milp_column_of;

typedef struct weft_milp_row_of {
    const char *name; /* NULL: R and its number */
    double low, high;
} weft_milp_row_of;

typedef struct weft_milp_term_of {
    int row, column;
    double factor;
} weft_milp_term_of;

struct weft_milp {
    weft_arena *arena;
    const char *name;
    WEFT_VEC(weft_milp_column_of) column;
    WEFT_VEC(weft_milp_row_of) row;
    WEFT_VEC(weft_milp_term_of) term;
    weft_map *column_names, *row_names;
};

/* Factors sorted by line (column or row), then across; each place once, none is 0. */
typedef struct weft_milp_matrix {
    int *at;     /* [lines + 1] */
    int *across; /* rows of a column, or columns of a row */
    double *factor;
} weft_milp_matrix;

weft_milp_matrix weft_milp_by_column(const weft_milp *m, weft_arena *a);
weft_milp_matrix weft_milp_by_row(const weft_milp *m, weft_arena *a);

/* What an engine gets. Infinite limits are INFINITY. */
typedef struct weft_milp_form {
    int n_columns, n_rows;
    double *low, *high, *cost, *row_low, *row_high;
    bool *is_whole;      /* all false: a linear program, duals are wanted */
    const double *start; /* [n_columns]; NULL: none */
    weft_milp_matrix by_column;
} weft_milp_form;

/* What an engine says, before anybody believed it. */
typedef struct weft_milp_claim {
    bool is_optimal, is_infeasible; /* proved, as it says */
    double bound;                   /* -INFINITY: none */
    double *x;                      /* [n_columns] or NULL */
    double *dual;                   /* [n_rows] or NULL; linear programs only */
    double *ray;                    /* [n_rows] or NULL; linear programs without solution only */
    int64_t n_nodes;
} weft_milp_claim;

/* The engine, CBC. Fails only if the library is not there: WEFT_E_SYSTEM. */
WEFT_CHECKED weft_status weft_milp_cbc(const weft_milp_form *f, const weft_milp_options *o,
                                       weft_arena *a, weft_milp_claim *out);
bool weft_milp_has_whole(const weft_milp_form *f);
/* The part of engine cbc that solves linear programs. */
WEFT_CHECKED weft_status weft_milp_clp_solve(const weft_milp_form *f, const weft_milp_options *o,
                                             weft_arena *a, weft_milp_claim *out);
/* A linear program that is solved again and again: wholeness is left out, and only limits of
 * columns change. */
typedef struct weft_milp_linear weft_milp_linear;
WEFT_CHECKED weft_status weft_milp_linear_new(const weft_milp_form *f, weft_arena *a,
                                              weft_milp_linear **out);
void weft_milp_linear_free(weft_milp_linear *l);
void weft_milp_linear_limit(weft_milp_linear *l, const weft_milp_form *f, weft_arena *a);
void weft_milp_linear_solve(weft_milp_linear *l, const weft_milp_options *o, weft_arena *a,
                            weft_milp_claim *out);
/* Limits with the largest number in the place of infinity, as the libraries of COIN-OR want. */
double *weft_milp_coin_limits(const double *from, int n, weft_arena *a);

/* --- what is proved -------------------------------------------------------------------------- */

/* No solution is below, whatever `dual` is (milp_bound.c); at most `most`. -INFINITY: nothing. */
double weft_milp_dual_bound(const weft_milp_form *f, const double *dual, double most);
/* Gives columns without a limit one that every solution keeps, where rows imply it. */
void weft_milp_find_limits(weft_milp_form *f, weft_arena *a);
/* Is it proved that there is no solution? ray: [n_rows] or NULL. */
bool weft_milp_is_refuted(const weft_milp_form *f, const double *ray, weft_arena *a);
/* Does x keep limits, rows and wholeness, but for what engines round? */
bool weft_milp_is_solution(const weft_milp_form *f, const double *x, weft_arena *a);
double weft_milp_value(const weft_milp_form *f, const double *x);
/* What of a value may be left unproved if it is to count as the least. */
double weft_milp_slack(double value);

/* What a search by branching has proved (milp_tree.c). */
typedef struct weft_milp_proved {
    double bound;    /* no solution is below; INFINITY: there is none; -INFINITY: nothing */
    const double *x; /* a solution below the value to start from, or NULL */
    int64_t n_nodes;
} weft_milp_proved;

/* value: of a solution, or INFINITY. */
WEFT_CHECKED weft_status weft_milp_prove(const weft_milp_form *f, double value,
                                         const weft_milp_options *o, weft_arena *a,
                                         weft_milp_proved *out);

#endif
