/* SPDX-License-Identifier: MIT */
/* milp_clp.c: linear programs by Clp's dual simplex, through its C interface.
 *
 * The simplex runs in slices of STEP iterations and goes on from where it was, so that a limit in
 * seconds and a stop are noticed; where slices end does not depend on time. Duals are returned
 * with whatever was reached, and a ray where there is said to be no solution: milp_bound.c says
 * what they prove. A program stays open for other limits of its columns: each solve goes on from
 * the basis of the one before. */
#define _POSIX_C_SOURCE 200809L
#include "dynload.h"
#include "milp.h"

#include <float.h>
#include <math.h>

#include <coin/Clp_C_Interface.h>

enum { STEP = 2000 };
enum { ALWAYS = 50 };                              /* perturb: the rows of edges are degenerate */
enum { OPTIMAL = 0, INFEASIBLE = 1, STOPPED = 3 }; /* Clp_status */

/* What is called of the library, which is loaded with the first linear program. */
#define CLP_CALLS(X)                                                                               \
    X(Clp_chgColumnLower)                                                                          \
    X(Clp_chgColumnUpper)                                                                          \
    X(Clp_deleteModel)                                                                             \
    X(Clp_dual)                                                                                    \
    X(Clp_dualRowSolution)                                                                         \
    X(Clp_freeRay)                                                                                 \
    X(Clp_infeasibilityRay)                                                                        \
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
static const weft_dynload library = {"Clp", WEFT_CLP_LIBRARY, "coinor-libclp1", symbols,
                                     sizeof symbols / sizeof symbols[0]};

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

struct weft_milp_linear {
    clp lib;
    Clp_Simplex *x;
    int n_columns, n_rows;
};

/* False: there was no time for anything, and what the program holds is that of another solve. */
static bool run(const weft_milp_linear *l, const weft_milp_options *o)
{
    const clp *lib = &l->lib;
    double end_s = o->limit_s < INFINITY ? weft_wall_s() + o->limit_s : INFINITY;

    for (int64_t most = STEP; most < INT32_MAX; most += STEP) {
        double left_s = end_s < INFINITY ? end_s - weft_wall_s() : INFINITY;

        if (left_s <= 0 || (o->stop != NULL && *o->stop))
            return most > STEP;
        if (left_s < INFINITY)
            lib->Clp_setMaximumSeconds(l->x, left_s);
        lib->Clp_setMaximumIterations(l->x, (int)most);
        lib->Clp_dual(l->x, 0);
        if (lib->Clp_status(l->x) != STOPPED)
            return true;
    }
    return true;
}

weft_status weft_milp_linear_new(const weft_milp_form *f, weft_arena *a, weft_milp_linear **out)
{
    weft_milp_linear *l = WEFT_NEW(a, weft_milp_linear, 1);

    WEFT_TRY(weft_dynload_open(&library, &l->lib));
    l->n_columns = f->n_columns;
    l->n_rows = f->n_rows;
    l->x = load(&l->lib, f, a);
    *out = l;
    return WEFT_OK;
}

void weft_milp_linear_free(weft_milp_linear *l)
{
    l->lib.Clp_deleteModel(l->x);
}

void weft_milp_linear_limit(weft_milp_linear *l, const weft_milp_form *f, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);

    l->lib.Clp_chgColumnLower(l->x, weft_milp_coin_limits(f->low, l->n_columns, a));
    l->lib.Clp_chgColumnUpper(l->x, weft_milp_coin_limits(f->high, l->n_columns, a));
    weft_arena_rewind(a, mark);
}

static double *copy_ray(const weft_milp_linear *l, weft_arena *a)
{
    double *ray = l->lib.Clp_infeasibilityRay(l->x), *out;

    if (ray == NULL)
        return NULL;
    out = weft_arena_copy(a, ray, sizeof(double) * (size_t)l->n_rows);
    l->lib.Clp_freeRay(l->x, ray);
    return out;
}

void weft_milp_linear_solve(weft_milp_linear *l, const weft_milp_options *o, weft_arena *a,
                            weft_milp_claim *out)
{
    const clp *lib = &l->lib;
    int status;

    *out = (weft_milp_claim){.bound = -INFINITY};
    if (!run(l, o))
        return;
    status = lib->Clp_status(l->x);
    out->is_optimal = status == OPTIMAL;
    out->is_infeasible = status == INFEASIBLE;
    if (status == OPTIMAL) {
        out->x = weft_arena_copy(a, lib->Clp_primalColumnSolution(l->x),
                                 sizeof(double) * (size_t)l->n_columns);
        out->bound = lib->Clp_objectiveValue(l->x);
    }
    if (status == OPTIMAL || status == STOPPED)
        out->dual =
            weft_arena_copy(a, lib->Clp_dualRowSolution(l->x), sizeof(double) * (size_t)l->n_rows);
    if (status == INFEASIBLE)
        out->ray = copy_ray(l, a);
}

weft_status weft_milp_clp_solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                                weft_milp_claim *out)
{
    weft_milp_linear *l;

    WEFT_TRY(weft_milp_linear_new(f, a, &l));
    weft_milp_linear_solve(l, o, a, out);
    weft_milp_linear_free(l);
    return WEFT_OK;
}
