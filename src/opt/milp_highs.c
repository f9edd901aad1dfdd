/* SPDX-License-Identifier: MIT */
/* milp_highs.c: branch and cut, and linear programs, by HiGHS through its C interface.
 *
 * Built only where the library is found (meson option `highs`); Debian 12 has no package of it.
 * Written from its documentation; it was not yet built against the real header, nor run.
 * The model is passed by columns. A stop is noticed in HiGHS' own call-backs for interrupts, which
 * leave solution and bound intact. It works on one thread, so that a seed and a number of nodes
 * decide the answer. */
#include "milp.h"

#include <math.h>

#include <interfaces/highs_c_api.h>

static void poll_stop(int kind, const char *message, const HighsCallbackDataOut *from,
                      HighsCallbackDataIn *to, void *context)
{
    const volatile sig_atomic_t *stop = context;

    (void)kind;
    (void)message;
    (void)from;
    if (to != NULL && *stop)
        to->user_interrupt = 1;
}

static void watch(void *x, const volatile sig_atomic_t *stop)
{
    const int kinds[] = {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt,
                         kHighsCallbackMipInterrupt};

    if (stop == NULL)
        return;
    Highs_setCallback(x, poll_stop, (void *)(uintptr_t)stop);
    for (int i = 0; i < 3; i++)
        Highs_startCallback(x, kinds[i]);
}

static void set_options(void *x, const weft_milp_options *o)
{
    Highs_setBoolOptionValue(x, "output_flag", 0);
    Highs_setBoolOptionValue(x, "log_to_console", 0);
    Highs_setIntOptionValue(x, "threads", 1);
    Highs_setStringOptionValue(x, "parallel", "off");
    Highs_setIntOptionValue(x, "random_seed", (HighsInt)(o->seed % INT32_MAX));
    Highs_setDoubleOptionValue(x, "mip_rel_gap", 0);
    Highs_setDoubleOptionValue(x, "mip_abs_gap", 1e-9);
    if (o->limit_s < INFINITY)
        Highs_setDoubleOptionValue(x, "time_limit", o->limit_s);
    if (o->most_nodes > 0)
        Highs_setIntOptionValue(x, "mip_max_nodes",
                                (HighsInt)(o->most_nodes < INT32_MAX ? o->most_nodes : INT32_MAX));
}

static double *limits(void *x, const double *from, int n, weft_arena *a)
{
    double *to = WEFT_NEW(a, double, n), most = Highs_getInfinity(x);

    for (int i = 0; i < n; i++)
        to[i] = fmax(-most, fmin(most, from[i]));
    return to;
}

static HighsInt *integers(const int *from, int n, weft_arena *a)
{
    HighsInt *to = WEFT_NEW(a, HighsInt, n);

    for (int i = 0; i < n; i++)
        to[i] = from[i];
    return to;
}

/* Returns whether any column is whole. */
static bool load(void *x, const weft_milp_form *f, weft_arena *a, HighsInt *status)
{
    int n_terms = f->by_column.at[f->n_columns];
    HighsInt *kind = WEFT_NEW(a, HighsInt, f->n_columns);
    bool has_whole = false;

    for (int c = 0; c < f->n_columns; c++) {
        kind[c] = f->is_whole[c] ? kHighsVarTypeInteger : kHighsVarTypeContinuous;
        has_whole |= f->is_whole[c];
    }
    *status = Highs_passMip(
        x, f->n_columns, f->n_rows, n_terms, kHighsMatrixFormatColwise, kHighsObjSenseMinimize, 0.0,
        f->cost, limits(x, f->low, f->n_columns, a), limits(x, f->high, f->n_columns, a),
        limits(x, f->row_low, f->n_rows, a), limits(x, f->row_high, f->n_rows, a),
        integers(f->by_column.at, f->n_columns + 1, a), integers(f->by_column.across, n_terms, a),
        f->by_column.factor, kind);
    return has_whole;
}

static void read_claim(const void *x, const weft_milp_form *f, bool has_whole, weft_arena *a,
                       weft_milp_claim *out)
{
    HighsInt state = Highs_getModelStatus(x), has_solution = kHighsSolutionStatusNone;
    double *column = WEFT_NEW(a, double, f->n_columns), *row = WEFT_NEW(a, double, f->n_rows);
    double *reduced = WEFT_NEW(a, double, f->n_columns), *dual = WEFT_NEW(a, double, f->n_rows);
    double bound = -INFINITY;

    out->is_infeasible = state == kHighsModelStatusInfeasible;
    Highs_getIntInfoValue(x, "primal_solution_status", &has_solution);
    if (Highs_getSolution(x, column, reduced, row, dual) != kHighsStatusOk)
        return;
    if (has_solution == kHighsSolutionStatusFeasible) {
        out->x = column;
        out->is_optimal = state == kHighsModelStatusOptimal;
    }
    if (has_whole) {
        Highs_getInt64InfoValue(x, "mip_node_count", &out->n_nodes);
        if (Highs_getDoubleInfoValue(x, "mip_dual_bound", &bound) == kHighsStatusOk &&
            fabs(bound) < Highs_getInfinity(x))
            out->bound = bound;
    } else if (out->is_optimal) {
        out->bound = Highs_getObjectiveValue(x);
        out->dual = dual;
    }
}

static weft_status solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                         weft_milp_claim *out)
{
    void *x = Highs_create();
    HighsInt status = kHighsStatusError;
    bool has_whole;

    set_options(x, o);
    has_whole = load(x, f, a, &status);
    if (status != kHighsStatusError) {
        if (has_whole && f->start != NULL)
            Highs_setSolution(x, f->start, NULL, NULL, NULL);
        watch(x, o->stop);
        if (Highs_run(x) != kHighsStatusError)
            read_claim(x, f, has_whole, a, out);
    }
    Highs_destroy(x);
    return WEFT_OK;
}

const weft_milp_engine weft_milp_highs = {"highs", solve};
