/* SPDX-License-Identifier: MIT */
/* milp_clp.c: linear programs by Clp's dual simplex, through its C interface.
 *
 * The simplex runs in slices of STEP iterations and goes on from where it was, so that a limit in
 * seconds and a stop are noticed; where slices end does not depend on time. Duals are returned
 * with whatever was reached: milp.c makes a bound of any duals. */
#define _POSIX_C_SOURCE 200809L
#include "milp.h"

#include <float.h>
#include <math.h>
#include <time.h>

#include <coin/Clp_C_Interface.h>

enum { STEP = 2000 };
enum { ALWAYS = 50 };                              /* perturb: the rows of edges are degenerate */
enum { OPTIMAL = 0, INFEASIBLE = 1, STOPPED = 3 }; /* Clp_status */

static double wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double *weft_milp_coin_limits(const double *from, int n, weft_arena *a)
{
    double *to = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        to[i] = fmax(-DBL_MAX, fmin(DBL_MAX, from[i]));
    return to;
}

static Clp_Simplex *load(const weft_milp_form *f, weft_arena *a)
{
    Clp_Simplex *x = Clp_newModel();

    Clp_setLogLevel(x, 0);
    Clp_setPerturbation(x, ALWAYS);
    Clp_loadProblem(x, f->n_columns, f->n_rows, f->by_column.at, f->by_column.across,
                    f->by_column.factor, weft_milp_coin_limits(f->low, f->n_columns, a),
                    weft_milp_coin_limits(f->high, f->n_columns, a), f->cost,
                    weft_milp_coin_limits(f->row_low, f->n_rows, a),
                    weft_milp_coin_limits(f->row_high, f->n_rows, a));
    return x;
}

static void run(Clp_Simplex *x, const weft_milp_options *o)
{
    double end_s = o->limit_s < INFINITY ? wall_s() + o->limit_s : INFINITY;

    for (int64_t most = STEP; most < INT32_MAX; most += STEP) {
        double left_s = end_s < INFINITY ? end_s - wall_s() : INFINITY;

        if (left_s <= 0 || (o->stop != NULL && *o->stop))
            return;
        if (left_s < INFINITY)
            Clp_setMaximumSeconds(x, left_s);
        Clp_setMaximumIterations(x, (int)most);
        Clp_dual(x, 0);
        if (Clp_status(x) != STOPPED)
            return;
    }
}

void weft_milp_clp_solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                         weft_milp_claim *out)
{
    Clp_Simplex *x = load(f, a);
    bool is_optimal;

    run(x, o);
    is_optimal = Clp_status(x) == OPTIMAL;
    out->is_optimal = is_optimal;
    out->is_infeasible = Clp_status(x) == INFEASIBLE;
    if (is_optimal) {
        out->x =
            weft_arena_copy(a, Clp_primalColumnSolution(x), sizeof(double) * (size_t)f->n_columns);
        out->bound = Clp_objectiveValue(x);
    }
    if (is_optimal || Clp_status(x) == STOPPED)
        out->dual = weft_arena_copy(a, Clp_dualRowSolution(x), sizeof(double) * (size_t)f->n_rows);
    Clp_deleteModel(x);
}
