/* SPDX-License-Identifier: MIT */
/* milp_clp.c: linear programs by Clp's dual simplex, through its C interface.
 *
 * The simplex runs in slices of STEP iterations and goes on from where it was, so that a limit in
 * seconds and a stop are noticed; where slices end does not depend on time. Duals are returned
 * with whatever was reached: milp.c makes a bound of any duals. */
#define _POSIX_C_SOURCE 200809L
#include "library.h"
#include "milp.h"

#include <float.h>
#include <math.h>
#include <time.h>

#include <coin/Clp_C_Interface.h>

enum { STEP = 2000 };
enum { ALWAYS = 50 };                              /* perturb: the rows of edges are degenerate */
enum { OPTIMAL = 0, INFEASIBLE = 1, STOPPED = 3 }; /* Clp_status */

/* What is called of the library, which is loaded with the first linear program. */
#define CLP_CALLS(X)                                                                               \
    X(Clp_deleteModel)                                                                             \
    X(Clp_dual)                                                                                    \
    X(Clp_dualRowSolution)                                                                         \
    X(Clp_loadProblem)                                                                             \
    X(Clp_newModel)                                                                                \
    X(Clp_objectiveValue)                                                                          \
    X(Clp_primalColumnSolution)                                                                    \
    X(Clp_setLogLevel)                                                                             \
    X(Clp_setMaximumIterations)                                                                    \
    X(Clp_setMaximumSeconds)                                                                       \
    X(Clp_setPerturbation)                                                                         \
    X(Clp_status)
#define FIELD(call) __typeof__(call) *call;
#define SYMBOL(call) {#call, offsetof(clp, call)},

typedef struct clp {
    CLP_CALLS(FIELD)
} clp;

static const weft_symbol symbols[] = {CLP_CALLS(SYMBOL)};
static const weft_library library = {"Clp", WEFT_CLP_LIBRARY, "coinor-libclp1", symbols,
                                     sizeof symbols / sizeof symbols[0]};

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

static Clp_Simplex *load(const clp *lib, const weft_milp_form *f, weft_arena *a)
{
    Clp_Simplex *x = lib->Clp_newModel();

    lib->Clp_setLogLevel(x, 0);
    lib->Clp_setPerturbation(x, ALWAYS);
    lib->Clp_loadProblem(x, f->n_columns, f->n_rows, f->by_column.at, f->by_column.across,
                         f->by_column.factor, weft_milp_coin_limits(f->low, f->n_columns, a),
                         weft_milp_coin_limits(f->high, f->n_columns, a), f->cost,
                         weft_milp_coin_limits(f->row_low, f->n_rows, a),
                         weft_milp_coin_limits(f->row_high, f->n_rows, a));
    return x;
}

static void run(const clp *lib, Clp_Simplex *x, const weft_milp_options *o)
{
    double end_s = o->limit_s < INFINITY ? wall_s() + o->limit_s : INFINITY;

    for (int64_t most = STEP; most < INT32_MAX; most += STEP) {
        double left_s = end_s < INFINITY ? end_s - wall_s() : INFINITY;

        if (left_s <= 0 || (o->stop != NULL && *o->stop))
            return;
        if (left_s < INFINITY)
            lib->Clp_setMaximumSeconds(x, left_s);
        lib->Clp_setMaximumIterations(x, (int)most);
        lib->Clp_dual(x, 0);
        if (lib->Clp_status(x) != STOPPED)
            return;
    }
}

weft_status weft_milp_clp_solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                                weft_milp_claim *out)
{
    clp table, *lib = &table;
    Clp_Simplex *x;
    bool is_optimal;

    WEFT_TRY(weft_library_load(&library, lib));
    x = load(lib, f, a);
    run(lib, x, o);
    is_optimal = lib->Clp_status(x) == OPTIMAL;
    out->is_optimal = is_optimal;
    out->is_infeasible = lib->Clp_status(x) == INFEASIBLE;
    if (is_optimal) {
        out->x = weft_arena_copy(a, lib->Clp_primalColumnSolution(x),
                                 sizeof(double) * (size_t)f->n_columns);
        out->bound = lib->Clp_objectiveValue(x);
    }
    if (is_optimal || lib->Clp_status(x) == STOPPED)
        out->dual =
            weft_arena_copy(a, lib->Clp_dualRowSolution(x), sizeof(double) * (size_t)f->n_rows);
    lib->Clp_deleteModel(x);
    return WEFT_OK;
}
