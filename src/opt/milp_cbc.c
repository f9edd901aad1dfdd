/* SPDX-License-Identifier: MIT */
/* milp_cbc.c: branch and cut by CBC, through its C interface (CBC 2.10, Debian's coinor-libcbc).
 *
 * What has to be known of that library:
 * - It prints unless `log 0` is the first parameter, and now and then even so (Coin0505I): the
 *   process it works in has no output.
 * - It overruns its limit in seconds while it solves one node, so that it gets less than there is.
 * - It cannot be told to stop. When the caller wants that, the call-back for cuts, once or more a
 *   node, answers with a cut that no point satisfies: node after node is dropped, and the search
 *   ends soon. Solutions found before remain.
 * - Objective values are 1e50 without a solution: the state is asked first.
 * - It crashes now and then when its limit ends while it still simplifies the program (2.10.8). So
 *   it works in a process of its own.
 * - With a solution to start from together with `increment` or the call-back it calls solutions
 *   optimal that are not (2.10.8). So it gets none: milp.c keeps the start.
 *
 * Its solution is taken from it, and what it claims as a hint; bounds are milp.c's.
 *
 * A program without whole columns goes to Clp (milp_clp.c). Deterministic for a given seed and
 * number of nodes: one thread, and a limit in seconds only if the caller sets one. */
#define _POSIX_C_SOURCE 200809L
#include "dynload.h"
#include "milp.h"
#include "subprocess.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <coin/Cbc_C_Interface.h>

static const double SHARE = 0.85, MOST_SLACK_S = 2; /* of the limit in seconds that CBC gets */
static const double NO_VALUE = 1e49;                /* beyond: CBC has none */

/* What is called of the library, which is loaded with the first program that has whole columns. */
#define CBC_CALLS(X)                                                                               \
    X(Cbc_addCutCallback)                                                                          \
    X(Cbc_bestSolution)                                                                            \
    X(Cbc_deleteModel)                                                                             \
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
static const weft_dynload library = {"CBC", WEFT_CBC_LIBRARY, "coinor-libcbc3", symbols,
                                     sizeof symbols / sizeof symbols[0]};

/* What the process of the engine and ours share. */
typedef struct answer {
    volatile sig_atomic_t stop; /* the caller wants what there is */
    bool has_stopped;           /* nodes were dropped */
    bool has_solution;
    bool is_optimal, is_infeasible; /* as it says */
    int64_t n_nodes;
    double x[]; /* [n_columns] */
} answer;

typedef struct task {
    const cbc *lib;
    const weft_milp_form *form;
    const weft_milp_options *options;
    weft_arena *a;
    answer *answer;
    pid_t caller; /* our process */
} task;

static void at_node(void *solver, void *cuts, void *context)
{
    const task *t = context;
    const cbc *lib = t->lib;
    int first = 0;
    double one = 1;

    if (getppid() != t->caller)
        t->answer->stop = 1; /* nobody waits for the answer any more */
    if (!t->answer->stop || lib->Osi_getNumCols(solver) == 0)
        return;
    t->answer->has_stopped = true;
    lib->OsiCuts_addRowCut(cuts, 1, &first, &one, 'L', lib->Osi_getColLower(solver)[0] - 1);
}

static void set_number(const cbc *lib, Cbc_Model *x, const char *name, const char *format,
                       double value)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    lib->Cbc_setParameter(x, name, text);
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
    return x;
}

static void read_claim(const cbc *lib, Cbc_Model *x, const weft_milp_form *f, answer *to)
{
    to->n_nodes = lib->Cbc_getNodeCount(x);
    to->is_infeasible = lib->Cbc_isProvenInfeasible(x) && !lib->Cbc_isContinuousUnbounded(x);
    if (lib->Cbc_isAbandoned(x) || lib->Cbc_isContinuousUnbounded(x) ||
        lib->Cbc_bestSolution(x) == NULL || !(fabs(lib->Cbc_getObjValue(x)) < NO_VALUE))
        return;
    memcpy(to->x, lib->Cbc_bestSolution(x), sizeof(double) * (size_t)f->n_columns);
    to->has_solution = true;
    to->is_optimal = lib->Cbc_isProvenOptimal(x);
}

static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);

    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

/* In a process of its own. */
static void run(void *context)
{
    task *t = context;
    const cbc *lib = t->lib;
    Cbc_Model *x;

    be_silent();
    x = load(lib, t->form, t->options, t->a);
    if (t->options->stop != NULL)
        lib->Cbc_addCutCallback(x, at_node, "watch", t);
    lib->Cbc_solve(x);
    read_claim(lib, x, t->form, t->answer);
    lib->Cbc_deleteModel(x);
}

weft_status weft_milp_cbc(const weft_milp_form *f, const weft_milp_options *o, weft_arena *a,
                          weft_milp_claim *out)
{
    size_t n_bytes = sizeof(answer) + sizeof(double) * (size_t)f->n_columns;
    cbc table;
    task t = {.lib = &table, .form = f, .options = o, .a = a, .caller = getpid()};

    if (!weft_milp_has_whole(f))
        return weft_milp_clp_solve(f, o, a, out);
    WEFT_TRY(weft_dynload_open(&library, &table));
    t.answer = weft_subprocess_memory(n_bytes);
    if (t.answer == NULL)
        return weft_fail(WEFT_E_SYSTEM, "no memory for %d columns of a program", f->n_columns);
    if (weft_subprocess(run, &t, o->stop, &t.answer->stop) && !t.answer->has_stopped) {
        out->is_optimal = t.answer->is_optimal;
        out->is_infeasible = t.answer->is_infeasible;
    }
    if (t.answer->has_solution)
        out->x = weft_arena_copy(a, t.answer->x, sizeof(double) * (size_t)f->n_columns);
    out->n_nodes = t.answer->n_nodes;
    weft_subprocess_release(t.answer, n_bytes);
    return WEFT_OK;
}
