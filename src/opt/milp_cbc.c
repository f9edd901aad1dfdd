/* SPDX-License-Identifier: MIT */
/* milp_cbc.c: branch and cut by CBC, through its C interface (CBC 2.10, Debian's coinor-libcbc).
 *
 * What has to be known of that library:
 * - It prints unless `log 0` is the first parameter.
 * - It overruns its limit in seconds while it solves one node, so that it gets less than there is.
 * - It cannot be told to stop. When the caller wants that, the call-back for cuts, once or more a
 *   node, answers with a cut that no point satisfies: node after node is dropped, and the search
 *   ends soon. Solutions found before remain; what the engine claims to have proved is void then,
 *   and the bound is that of the linear program without wholeness, solved within AFTER_STOP_S.
 * - Objective values are 1e50 without a solution: the state is asked first.
 *
 * A program without whole columns goes to Clp (milp_clp.c). Deterministic for a given seed and
 * number of nodes: one thread, and a limit in seconds only if the caller sets one. */
#define _POSIX_C_SOURCE 200809L
#include "milp.h"

#include <math.h>
#include <stdio.h>

#include <coin/Cbc_C_Interface.h>

static const double SHARE = 0.85, MOST_SLACK_S = 2; /* of the limit in seconds that CBC gets */
static const double NO_VALUE = 1e49;                /* beyond: CBC has none */
static const double AFTER_STOP_S = 1;

typedef struct watch {
    const volatile sig_atomic_t *stop;
    bool has_stopped; /* nodes were dropped */
} watch;

static void at_node(void *solver, void *cuts, void *context)
{
    watch *w = context;
    int first = 0;
    double one = 1;

    if (w->stop == NULL || !*w->stop || Osi_getNumCols(solver) == 0)
        return;
    w->has_stopped = true;
    OsiCuts_addRowCut(cuts, 1, &first, &one, 'L', Osi_getColLower(solver)[0] - 1);
}

static void set_number(Cbc_Model *x, const char *name, const char *format, double value)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    Cbc_setParameter(x, name, text);
}

/* Whole columns only: CBC solves for the rest. */
static void set_start(Cbc_Model *x, const weft_milp_form *f, weft_arena *a)
{
    int *column = WEFT_NEW(a, int, f->n_columns), n = 0;
    double *value = WEFT_NEW(a, double, f->n_columns);

    for (int c = 0; c < f->n_columns; c++) {
        if (!f->is_whole[c])
            continue;
        column[n] = c;
        value[n++] = f->start[c];
    }
    Cbc_setMIPStartI(x, n, column, value);
}

static Cbc_Model *load(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a)
{
    Cbc_Model *x = Cbc_newModel();

    Cbc_setParameter(x, "log", "0");
    Cbc_setLogLevel(x, 0);
    Cbc_loadProblem(x, f->n_columns, f->n_rows, f->by_column.at, f->by_column.across,
                    f->by_column.factor, weft_milp_coin_limits(f->low, f->n_columns, a),
                    weft_milp_coin_limits(f->high, f->n_columns, a), f->cost,
                    weft_milp_coin_limits(f->row_low, f->n_rows, a),
                    weft_milp_coin_limits(f->row_high, f->n_rows, a));
    for (int c = 0; c < f->n_columns; c++) {
        if (f->is_whole[c])
            Cbc_setInteger(x, c);
    }
    Cbc_setParameter(x, "increment", "1e-9"); /* else plans better by less than 1e-5 are skipped */
    Cbc_setParameter(x, "ratioGap", "0");
    Cbc_setParameter(x, "allowableGap", "0");
    Cbc_setParameter(x, "timeMode", "elapsed");
    set_number(x, "randomCbcSeed", "%.0f", (double)(o->seed % 100000000));
    if (o->limit_s < INFINITY)
        set_number(x, "seconds", "%.3f", fmax(SHARE * o->limit_s, o->limit_s - MOST_SLACK_S));
    if (o->most_nodes > 0)
        set_number(x, "maxNodes", "%.0f",
                   (double)(o->most_nodes < INT32_MAX ? o->most_nodes : INT32_MAX));
    if (f->start != NULL)
        set_start(x, f, a);
    return x;
}

static bool has_whole(const weft_milp_form *f)
{
    for (int c = 0; c < f->n_columns; c++) {
        if (f->is_whole[c])
            return true;
    }
    return false;
}

static void read_claim(Cbc_Model *x, const weft_milp_form *f, weft_arena *a, weft_milp_claim *out)
{
    double bound = Cbc_getBestPossibleObjValue(x), value = Cbc_getObjValue(x);

    out->n_nodes = Cbc_getNodeCount(x);
    if (Cbc_isAbandoned(x))
        return;
    out->is_infeasible = Cbc_isProvenInfeasible(x) && !Cbc_isContinuousUnbounded(x);
    if (out->is_infeasible || Cbc_isContinuousUnbounded(x))
        return;
    if (Cbc_bestSolution(x) != NULL && fabs(value) < NO_VALUE) {
        out->x = weft_arena_copy(a, Cbc_bestSolution(x), sizeof(double) * (size_t)f->n_columns);
        out->is_optimal = Cbc_isProvenOptimal(x);
    }
    if (fabs(bound) < NO_VALUE)
        out->bound = out->is_optimal ? fmin(bound, value) : bound;
}

/* Of the program without wholeness: what is left to claim after a stop. */
static double relaxed_bound(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a)
{
    weft_milp_options quick = *o;
    weft_milp_claim claim = {.bound = -INFINITY};

    quick.stop = NULL;
    quick.limit_s = AFTER_STOP_S;
    weft_milp_clp_solve(f, &quick, a, &claim);
    return claim.bound;
}

static void solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                  weft_milp_claim *out)
{
    watch w = {.stop = o->stop};
    Cbc_Model *x;

    if (!has_whole(f)) {
        weft_milp_clp_solve(f, o, a, out);
        return;
    }
    x = load(f, o, a);
    if (o->stop != NULL)
        Cbc_addCutCallback(x, at_node, "watch", &w);
    Cbc_solve(x);
    read_claim(x, f, a, out);
    Cbc_deleteModel(x);
    if (w.has_stopped) {
        out->is_optimal = out->is_infeasible = false;
        out->bound = relaxed_bound(f, o, a);
    }
}

const weft_milp_engine weft_milp_cbc = {"cbc", solve};
