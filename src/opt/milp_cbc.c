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
#include "library.h"
#include "milp.h"

#include <math.h>
#include <stdio.h>

#include <coin/Cbc_C_Interface.h>

static const double SHARE = 0.85, MOST_SLACK_S = 2; /* of the limit in seconds that CBC gets */
static const double NO_VALUE = 1e49;                /* beyond: CBC has none */
static const double AFTER_STOP_S = 1;

/* What is called of the library, which is loaded with the first program that has whole columns. */
#define CBC_CALLS(X)                                                                               \
    X(Cbc_addCutCallback)                                                                          \
    X(Cbc_bestSolution)                                                                            \
    X(Cbc_deleteModel)                                                                             \
    X(Cbc_getBestPossibleObjValue)                                                                 \
    X(Cbc_getNodeCount)                                                                            \
    X(Cbc_getObjValue)                                                                             \
    X(Cbc_isAbandoned)                                                                             \
    X(Cbc_isContinuousUnbounded)                                                                   \
    X(Cbc_isProvenInfeasible)                                                                      \
    X(Cbc_isProvenOptimal)                                                                         \
    X(Cbc_loadProblem)                                                                             \
    X(Cbc_newModel)                                                                                \
    X(Cbc_setInteger)                                                                              \
    X(Cbc_setLogLevel)                                                                             \
    X(Cbc_setMIPStartI)                                                                            \
    X(Cbc_setParameter)                                                                            \
    X(Cbc_solve)                                                                                   \
    X(OsiCuts_addRowCut)                                                                           \
    X(Osi_getColLower)                                                                             \
    X(Osi_getNumCols)
#define FIELD(call) __typeof__(call) *call;
#define SYMBOL(call) {#call, offsetof(cbc, call)},

typedef struct cbc {
    CBC_CALLS(FIELD)
} cbc;

static const weft_symbol symbols[] = {CBC_CALLS(SYMBOL)};
static const weft_library library = {"CBC", WEFT_CBC_LIBRARY, "coinor-libcbc3", symbols,
                                     sizeof symbols / sizeof symbols[0]};

typedef struct watch {
    const cbc *lib;
    const volatile sig_atomic_t *stop;
    bool has_stopped; /* nodes were dropped */
} watch;

static void at_node(void *solver, void *cuts, void *context)
{
    watch *w = context;
    const cbc *lib = w->lib;
    int first = 0;
    double one = 1;

    if (w->stop == NULL || !*w->stop || lib->Osi_getNumCols(solver) == 0)
        return;
    w->has_stopped = true;
    lib->OsiCuts_addRowCut(cuts, 1, &first, &one, 'L', lib->Osi_getColLower(solver)[0] - 1);
}

static void set_number(const cbc *lib, Cbc_Model *x, const char *name, const char *format,
                       double value)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    lib->Cbc_setParameter(x, name, text);
}

/* Whole columns only: CBC solves for the rest. */
static void set_start(const cbc *lib, Cbc_Model *x, const weft_milp_form *f, weft_arena *a)
{
    int *column = WEFT_NEW(a, int, f->n_columns), n = 0;
    double *value = WEFT_NEW(a, double, f->n_columns);

    for (int c = 0; c < f->n_columns; c++) {
        if (!f->is_whole[c])
            continue;
        column[n] = c;
        value[n++] = f->start[c];
    }
    lib->Cbc_setMIPStartI(x, n, column, value);
}

static Cbc_Model *load(const cbc *lib, const weft_milp_form *f, const weft_milp_options *o,
                       weft_arena *a)
{
    Cbc_Model *x = lib->Cbc_newModel();

    lib->Cbc_setParameter(x, "log", "0");
    lib->Cbc_setLogLevel(x, 0);
    lib->Cbc_loadProblem(x, f->n_columns, f->n_rows, f->by_column.at, f->by_column.across,
                         f->by_column.factor, weft_milp_coin_limits(f->low, f->n_columns, a),
                         weft_milp_coin_limits(f->high, f->n_columns, a), f->cost,
                         weft_milp_coin_limits(f->row_low, f->n_rows, a),
                         weft_milp_coin_limits(f->row_high, f->n_rows, a));
    for (int c = 0; c < f->n_columns; c++) {
        if (f->is_whole[c])
            lib->Cbc_setInteger(x, c);
    }
    lib->Cbc_setParameter(x, "increment",
                          "1e-9"); /* else plans better by less than 1e-5 are skipped */
    lib->Cbc_setParameter(x, "ratioGap", "0");
    lib->Cbc_setParameter(x, "allowableGap", "0");
    lib->Cbc_setParameter(x, "timeMode", "elapsed");
    set_number(lib, x, "randomCbcSeed", "%.0f", (double)(o->seed % 100000000));
    if (o->limit_s < INFINITY)
        set_number(lib, x, "seconds", "%.3f", fmax(SHARE * o->limit_s, o->limit_s - MOST_SLACK_S));
    if (o->most_nodes > 0)
        set_number(lib, x, "maxNodes", "%.0f",
                   (double)(o->most_nodes < INT32_MAX ? o->most_nodes : INT32_MAX));
    if (f->start != NULL)
        set_start(lib, x, f, a);
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

static void read_claim(const cbc *lib, Cbc_Model *x, const weft_milp_form *f, weft_arena *a,
                       weft_milp_claim *out)
{
    double bound = lib->Cbc_getBestPossibleObjValue(x), value = lib->Cbc_getObjValue(x);

    out->n_nodes = lib->Cbc_getNodeCount(x);
    if (lib->Cbc_isAbandoned(x))
        return;
    out->is_infeasible = lib->Cbc_isProvenInfeasible(x) && !lib->Cbc_isContinuousUnbounded(x);
    if (out->is_infeasible || lib->Cbc_isContinuousUnbounded(x))
        return;
    if (lib->Cbc_bestSolution(x) != NULL && fabs(value) < NO_VALUE) {
        out->x =
            weft_arena_copy(a, lib->Cbc_bestSolution(x), sizeof(double) * (size_t)f->n_columns);
        out->is_optimal = lib->Cbc_isProvenOptimal(x);
    }
    if (fabs(bound) < NO_VALUE)
        out->bound = out->is_optimal ? fmin(bound, value) : bound;
}

/* Of the program without wholeness: what is left to claim after a stop. */
static weft_status relaxed_bound(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                                 double *bound)
{
    weft_milp_options quick = *o;
    weft_milp_claim claim = {.bound = -INFINITY};

    quick.stop = NULL;
    quick.limit_s = AFTER_STOP_S;
    WEFT_TRY(weft_milp_clp_solve(f, &quick, a, &claim));
    *bound = claim.bound;
    return WEFT_OK;
}

static weft_status solve(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                         weft_milp_claim *out)
{
    cbc table, *lib = &table;
    watch w = {.lib = lib, .stop = o->stop};
    Cbc_Model *x;

    if (!has_whole(f))
        return weft_milp_clp_solve(f, o, a, out);
    WEFT_TRY(weft_library_load(&library, lib));
    x = load(lib, f, o, a);
    if (o->stop != NULL)
        lib->Cbc_addCutCallback(x, at_node, "watch", &w);
    lib->Cbc_solve(x);
    read_claim(lib, x, f, a, out);
    lib->Cbc_deleteModel(x);
    if (!w.has_stopped)
        return WEFT_OK;
    out->is_optimal = out->is_infeasible = false;
    return relaxed_bound(f, o, a, &out->bound);
}

const weft_milp_engine weft_milp_cbc = {"cbc", solve};
