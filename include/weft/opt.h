/* SPDX-License-Identifier: MIT */
/* Linear programs, with or without whole-number columns. Nothing here knows about networks. */
#ifndef WEFT_OPT_H
#define WEFT_OPT_H

#include <signal.h>

#include "weft/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Minimise sum cost[c] x[c] with low <= x <= high and row limits. A model only grows. */
typedef struct weft_milp weft_milp;

weft_milp *weft_milp_new(const char *name);
void weft_milp_free(weft_milp *m); /* NULL is allowed */
/* Names must be unique and made of letters, digits, '_', '[', ']', '.'; NULL: C7, R7. They are
 * copied. Returns the number of the column or row. Infinite limits are allowed. */
int weft_milp_column(weft_milp *m, const char *name, double low, double high, double cost,
                     bool is_whole);
int weft_milp_row(weft_milp *m, const char *name, double low, double high);
/* Adds factor * x[column] to a row; terms of the same column add up. Rows may be filled in any
 * order. */
void weft_milp_term(weft_milp *m, int row, int column, double factor);
/* A value for the first solution to try; all whole columns need one, or none is used. */
void weft_milp_start(weft_milp *m, int column, double value);
int weft_milp_n_columns(const weft_milp *m);
int weft_milp_n_rows(const weft_milp *m);

typedef enum weft_milp_outcome {
    WEFT_MILP_OPTIMAL,
    WEFT_MILP_FEASIBLE,   /* a solution, not proved to be the best */
    WEFT_MILP_INFEASIBLE, /* proved */
    WEFT_MILP_UNKNOWN,    /* neither solution nor proof */
} weft_milp_outcome;

typedef struct weft_milp_options {
    double limit_s;     /* wall seconds; INFINITY: none */
    int64_t most_nodes; /* of branch and bound; 0: no limit */
    int64_t seed;
    bool is_relaxed;    /* solve without the wholeness: a linear program with duals */
    double least_value; /* stop when a solution at most this good is found; -INFINITY: never */
    const volatile sig_atomic_t *stop; /* not 0: stop soon; NULL: never */
} weft_milp_options;

/* Solvers round: `bound` is moved outwards by 1e-6 relative, x is as the solver gave it. */
typedef struct weft_milp_result {
    weft_milp_outcome outcome;
    double value;       /* of x; INFINITY without */
    double bound;       /* no solution is below; -INFINITY: none known */
    const double *x;    /* [columns] or NULL */
    const double *dual; /* [rows] of a relaxed solve: change of the value per unit of the row */
    int64_t n_nodes;
    double seconds;
} weft_milp_result;

/* An engine: "cbc", and "highs" where its library is installed. */
int weft_milp_engine_count(void);
const char *weft_milp_engine_at(int i);
/* The arrays of the result belong to `a`. An unknown or missing engine is an error naming it;
 * engine NULL: the first. */
WEFT_CHECKED weft_status weft_milp_solve(const weft_milp *m, const char *engine,
                                         const weft_milp_options *o, weft_arena *a,
                                         weft_milp_result *out);
/* The model as text in the format of the file's ending, .lp or .mps (free format). */
WEFT_CHECKED weft_status weft_milp_write(const weft_milp *m, const char *path);

#ifdef __cplusplus
}
#endif
#endif
