/* SPDX-License-Identifier: MIT */
/* Linear programs, with or without whole-number columns. Nothing here knows about networks. */
#ifndef WEFT_OPT_H
#define WEFT_OPT_H

#include <signal.h>

#include "base.h"

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
/* Values of a solution that is known; all whole columns need one, or none is used. It is what is
 * returned if an engine finds nothing better. */
void weft_milp_start(weft_milp *m, int column, double value);
int weft_milp_n_columns(const weft_milp *m);
int weft_milp_n_rows(const weft_milp *m);

typedef enum weft_milp_outcome {
    WEFT_MILP_OPTIMAL,    /* proved: the bound is 1e-6 of the value below it at most (of a linear
                             program: as the engine says; its bound is proved) */
    WEFT_MILP_FEASIBLE,   /* a solution, not proved to be the best */
    WEFT_MILP_INFEASIBLE, /* proved */
    WEFT_MILP_UNKNOWN,    /* neither solution nor proof */
} weft_milp_outcome;

/* An engine finds a solution; our own search proves what it is worth. */
typedef enum weft_milp_part { WEFT_MILP_ALL, WEFT_MILP_FIND, WEFT_MILP_PROVE } weft_milp_part;

typedef struct weft_milp_options {
    double limit_s;     /* wall seconds; INFINITY: none */
    int64_t most_nodes; /* of branch and bound; 0: no limit */
    int64_t seed;
    bool is_relaxed;     /* solve without the wholeness: a linear program with duals */
    weft_milp_part part; /* of the work with whole columns */
    const volatile sig_atomic_t *stop; /* not 0: stop soon; NULL: never */
} weft_milp_options;

/* Engines round, and make mistakes: x is as the engine gave it if it keeps all rows, and nothing
 * else of what it says is used. `bound` and the outcomes that say `proved` are proved here, by sums
 * of rows that are rounded outwards. */
typedef struct weft_milp_result {
    weft_milp_outcome outcome;
    double value;       /* of x; INFINITY without */
    double bound;       /* no solution is below; -INFINITY: none known */
    const double *x;    /* [columns] or NULL */
    bool is_claimed;    /* the engine says that nothing is better, or that there is no solution: a
                           hint where a proof may be worth its time, and no more */
    const double *dual; /* [rows] of a relaxed solve: change of the value per unit of the row */
    int64_t n_nodes;
    double seconds;
} weft_milp_result;

/* The arrays of the result belong to `a`. A missing engine is an error naming it. */
WEFT_CHECKED weft_status weft_milp_solve(const weft_milp *m, const weft_milp_options *o,
                                         weft_arena *a, weft_milp_result *out);
/* The model as text in the format of the file's ending, .lp or .mps (free format). */
WEFT_CHECKED weft_status weft_milp_write(const weft_milp *m, const char *path);

/* --- sums of costs of pairs ------------------------------------------------------------------ */

/* Choose a state x_v for each variable v so that
 *     sum_v own_v[x_v]  +  sum_(u,v) pair[x_u][x_v]
 * is least. Costs are >= 0 or INFINITY (not allowed). Tables at the same address are the same
 * table: repeated parts are then solved once. */
typedef struct weft_pairwise_min_pair {
    int u, v;           /* u != v; several pairs of the same two variables are allowed */
    const double *cost; /* [x_u * n_states[v] + x_v] */
} weft_pairwise_min_pair;

typedef struct weft_pairwise_min {
    int n_vars;
    const int *n_states;      /* [n_vars] >= 1 */
    const double *const *own; /* [n_vars] */
    int n_pairs;
    const weft_pairwise_min_pair *pair;
} weft_pairwise_min;

typedef struct weft_pairwise_min_answer {
    double value;  /* of `state`; INFINITY: no choice is allowed, or none found if not is_exact */
    double bound;  /* <= the least value; = value if is_exact */
    bool is_exact; /* false: a table would have been too large */
    int *state;    /* [n_vars]; NULL if value is INFINITY */
} weft_pairwise_min_answer;

/* The order in which to eliminate variables (least fill first), which depends on the pairs alone:
 * made once for many tables on the same graph. [n_vars], belongs to `a`. */
int *weft_pairwise_min_order(int n_vars, int n_pairs, const weft_pairwise_min_pair *pair,
                             weft_arena *a);
/* Elimination of variables; exact while no table has more than most_entries entries. Else pairs are
 * replaced by their minima for the bound, and a beam finds the choice. Ties go to the lowest
 * states. order NULL: made here. The answer belongs to `a`. */
void weft_pairwise_min_solve(const weft_pairwise_min *m, const int *order, int64_t most_entries,
                             weft_arena *a, weft_pairwise_min_answer *out);

#ifdef __cplusplus
}
#endif
#endif
