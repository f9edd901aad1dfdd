/* SPDX-License-Identifier: MIT */
/* A linear program as engines and writers see it: plain arrays. */
#ifndef WEFT_MILP_H
#define WEFT_MILP_H

#include "weft/opt.h"

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
    int64_t n_nodes;
} weft_milp_claim;

typedef struct weft_milp_engine {
    const char *name;
    /* Fails only if the library is not there: WEFT_E_SYSTEM. */
    weft_status (*solve)(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                         weft_milp_claim *out);
} weft_milp_engine;

extern const weft_milp_engine weft_milp_cbc;
#ifdef WEFT_HIGHS
extern const weft_milp_engine weft_milp_highs;
#endif
/* The part of engine cbc that solves linear programs. */
WEFT_CHECKED weft_status weft_milp_clp_solve(const weft_milp_form *f, const weft_milp_options *o,
                                             weft_arena *a, weft_milp_claim *out);
/* Limits with the largest number in the place of infinity, as the libraries of COIN-OR want. */
double *weft_milp_coin_limits(const double *from, int n, weft_arena *a);

#endif
