/* SPDX-License-Identifier: MIT */
/* smt_z3.c: the least latency by the SMT solver Z3, an engine that shares no code with the others.
 *
 * Ticks of a power of two seconds are the unit of time; all times are rounded down to ticks. The
 * tick is the largest that loses nothing, or 2^-40 of the best known value if there is none such.
 *
 * Variables   x[g][d]  group g (tasks of one colocation group, or one task) is on device d of its domain
 *             s[u]     start of task u, in ticks
 *             T        end of all
 *             o[u][v]  u is before v, for u < v without a way between them and a device in common
 *             h[w][d]  weight w lies on d, where memory is limited
 * Constraints one x[g][d] for each g
 *             x[u][d]                          =>  s[u] >= head[u][d],
 *                                                  s[u] + time[u][d] + tail[u][d] <= T
 *             x[v][e] and x[u][d]              =>  s[u] >= s[v] + time[v][e] + send(e, d)
 *                                                  for v -> u
 *             x[u][d], x[v][d] and o[u][v]     =>  s[v] >= s[u] + time[u][d];  not o: vice versa
 *             x[g][d]                          =>  h[w][d] for the weights w of g
 *             sum of bytes of h[w][d]          <=  capacity of d
 *             T                                <=  the best so far less a tick
 *
 * 1. Start from the best plan of the list schedulers.
 * 2. Ask Z3 for a model. Its devices and the order of its starts are a plan, which is simulated;
 *    the best legal one is kept. Demand a T that is less than both the model's and the simulated
 *    end, and ask again.
 * 3. If Z3 finds that there is none, the T asked for last and one tick more is a bound.
 *
 * The bound is valid for every transfer model and with activations in memory, which only restrict
 * further: a schedule started as early as possible with times rounded down ends no later. If no
 * tick loses anything, it is the optimum under overlap with memory for weights; else less than 2
 * ticks a task are lost. Whether a plan attains it is for the driver to see. If Z3 gives up, the
 * bound is that of paths and loads.
 *
 * Z3 counts its own work; it is asked in slices of that count, so the answer does not depend on
 * the clock unless the run has a limit in seconds. A step is STEP_UNITS of that count. Memory of Z3
 * is freed with its context. Exponential time; good to about 20 tasks on 3 devices.
 * De Moura, Bjorner, TACAS 2008. */
#include "dag.h"
#include "dynload.h"
#include "first.h"
#include "sort.h"

#include <limits.h>
#include <math.h>
#include <z3.h>

enum {
    TICK_BITS = 40,            /* ticks of the best value, if no tick is exact */
    STEP_UNITS = 1000,         /* Z3's units a step of the run */
    FIRST_SLICE = 1 << 20,     /* units before the first look at the clock; then twice as many */
    LAST_SLICE = 1 << 26,      /* but no more than this */
    MOST_BYTES_UNITS = 1 << 28 /* a capacity in units of memory */
};
static const int64_t MOST_UNITS = 10000000; /* of a run without any limit */
static const double MOST_CLAUSES = 2e4;     /* beyond the problem is not given to Z3 */

/* What is called of the library, which is loaded with the first problem that needs it. */
#define Z3_CALLS(X)                                                                                \
    X(Z3_del_config)                                                                               \
    X(Z3_del_context)                                                                              \
    X(Z3_get_bool_value)                                                                           \
    X(Z3_get_error_code)                                                                           \
    X(Z3_get_numeral_int64)                                                                        \
    X(Z3_mk_add)                                                                                   \
    X(Z3_mk_bool_sort)                                                                             \
    X(Z3_mk_config)                                                                                \
    X(Z3_mk_const)                                                                                 \
    X(Z3_mk_context)                                                                               \
    X(Z3_mk_false)                                                                                 \
    X(Z3_mk_ge)                                                                                    \
    X(Z3_mk_int64)                                                                                 \
    X(Z3_mk_int_sort)                                                                              \
    X(Z3_mk_int_symbol)                                                                            \
    X(Z3_mk_le)                                                                                    \
    X(Z3_mk_not)                                                                                   \
    X(Z3_mk_or)                                                                                    \
    X(Z3_mk_params)                                                                                \
    X(Z3_mk_pble)                                                                                  \
    X(Z3_mk_simple_solver)                                                                         \
    X(Z3_mk_string_symbol)                                                                         \
    X(Z3_model_dec_ref)                                                                            \
    X(Z3_model_eval)                                                                               \
    X(Z3_model_inc_ref)                                                                            \
    X(Z3_params_dec_ref)                                                                           \
    X(Z3_params_inc_ref)                                                                           \
    X(Z3_params_set_uint)                                                                          \
    X(Z3_set_error_handler)                                                                        \
    X(Z3_solver_assert)                                                                            \
    X(Z3_solver_check)                                                                             \
    X(Z3_solver_dec_ref)                                                                           \
    X(Z3_solver_get_model)                                                                         \
    X(Z3_solver_inc_ref)                                                                           \
    X(Z3_solver_set_params)
#define FIELD(call) __typeof__(call) *call;
#define SYMBOL(call) {#call, offsetof(z3, call)},

typedef struct z3 {
    Z3_CALLS(FIELD)
} z3;

static const weft_symbol symbols[] = {Z3_CALLS(SYMBOL)};
static const weft_dynload library = {"Z3", WEFT_Z3_LIBRARY, "libz3-4", symbols,
                                     sizeof symbols / sizeof symbols[0]};

typedef struct model {
    const weft_problem *p;
    weft_domain domain;
    weft_run *run;
    weft_arena *a;
    double tick_s;
    int64_t *time, *head, *tail; /* [task][device] ticks */
    uint64_t *before;            /* [task][words] tasks with a way to it */
    z3 lib;
    Z3_context z;
    Z3_solver solver;
    Z3_sort whole, truth;
    Z3_ast *is_on; /* [group][device]; NULL: not in the domain */
    Z3_ast *start; /* [task] */
    Z3_ast end;    /* T */
    int n_names;
    bool has_failed; /* Z3 reported an error: nothing it says counts */
} model;

/* The default handler ends the program. */
static void note_error(Z3_context z, Z3_error_code e)
{
    (void)z;
    (void)e;
}

/* --- ticks ----------------------------------------------------------------------------------- */

/* The largest power of two of which `value` is a multiple, or `tick` if that is smaller. */
static double common_tick(double value, double tick)
{
    int exponent;
    double rest;

    if (!(value > 0) || !(value < INFINITY))
        return tick;
    for (rest = frexp(value, &exponent); rest != floor(rest); exponent--)
        rest *= 2;
    for (; fmod(rest, 2) == 0; exponent++)
        rest /= 2;
    return fmin(tick, ldexp(1, exponent));
}

static double exact_tick(const weft_problem *p)
{
    double tick_s = INFINITY;

    for (int i = 0; i < p->n_tasks * p->n_devices; i++)
        tick_s = common_tick(p->seconds[i], tick_s);
    for (int t = 0; t < p->n_tensors; t++) {
        for (int k = 0; k < p->n_devices * p->n_devices; k++)
            tick_s = common_tick(weft_data_s(p, t, k / p->n_devices, k % p->n_devices), tick_s);
    }
    return tick_s;
}

static double choose_tick(const weft_problem *p, double value)
{
    double exact_s = exact_tick(p), small_s;
    int exponent;

    frexp(value, &exponent);
    small_s = ldexp(1, exponent - TICK_BITS);
    return exact_s < INFINITY ? fmax(exact_s, small_s) : small_s;
}

/* Infinite times are cut: they are outside of the domains, or of transfers that are excluded. */
static int64_t ticks(const model *m, double seconds, double most_s)
{
    return (int64_t)floor(fmin(seconds, 2 * most_s) / m->tick_s);
}

static size_t cell(const model *m, int row, int d)
{
    return (size_t)row * (size_t)m->p->n_devices + (size_t)d;
}

static int64_t edge_ticks(const model *m, int v, int u, int e, int d, double most_s)
{
    const weft_problem *p = m->p;
    double send_s = 0;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        if (p->producer[p->arg[i]] == v)
            send_s = fmax(send_s, weft_data_s(p, p->arg[i], e, d));
    }
    return ticks(m, send_s, most_s);
}

static bool has(const model *m, int u, int d)
{
    return weft_domain_has(&m->domain, u, d);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Least over the devices of v of what the edge v -> u adds to a head of u on d. */
static int64_t head_by(const model *m, int v, int u, int d, double most_s)
{
    int64_t least = INT64_MAX;

    for (int e = 0; e < m->p->n_devices; e++) {
        if (has(m, v, e)) {
            int64_t at =
                m->head[cell(m, v, e)] + m->time[cell(m, v, e)] + edge_ticks(m, v, u, e, d, most_s);

            least = at < least ? at : least;
        }
    }
    return least;
}

static int64_t tail_by(const model *m, int u, int v, int d, double most_s)
{
    int64_t least = INT64_MAX;

    for (int e = 0; e < m->p->n_devices; e++) {
        if (has(m, v, e)) {
            int64_t rest =
                edge_ticks(m, u, v, d, e, most_s) + m->time[cell(m, v, e)] + m->tail[cell(m, v, e)];

            least = rest < least ? rest : least;
        }
    }
    return least;
}

static void fill_ticks(model *m, double most_s)
{
    const weft_problem *p = m->p;
    size_t n = cell(m, p->n_tasks, 0);

    m->time = WEFT_NEW(m->a, int64_t, n);
    m->head = WEFT_NEW(m->a, int64_t, n);
    m->tail = WEFT_NEW(m->a, int64_t, n);
    for (int u = 0; u < p->n_tasks; u++) {
        for (int d = 0; d < p->n_devices; d++) {
            int64_t *head = &m->head[cell(m, u, d)];

            m->time[cell(m, u, d)] = ticks(m, weft_task_s(p, u, d), most_s);
            *head = ticks(m, weft_input_s(p, u, d), most_s);
            for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
                *head = larger(*head, head_by(m, p->pred[i], u, d, most_s));
        }
    }
    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int d = 0; d < p->n_devices; d++) {
            int64_t *tail = &m->tail[cell(m, u, d)];

            for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
                *tail = larger(*tail, tail_by(m, u, p->succ[i], d, most_s));
        }
    }
}

static bool is_before(const model *m, int u, int v)
{
    return weft_bit_get(m->before + (size_t)v * (size_t)weft_bits_words(m->p->n_tasks), u);
}

/* --- terms ----------------------------------------------------------------------------------- */

static Z3_ast variable(model *m, Z3_sort sort)
{
    return m->lib.Z3_mk_const(m->z, m->lib.Z3_mk_int_symbol(m->z, m->n_names++), sort);
}

/* left + distance <= right */
static Z3_ast not_after(model *m, Z3_ast left, int64_t distance, Z3_ast right)
{
    Z3_ast sum[2] = {left, m->lib.Z3_mk_int64(m->z, distance, m->whole)};

    return m->lib.Z3_mk_le(m->z, distance == 0 ? left : m->lib.Z3_mk_add(m->z, 2, sum), right);
}

/* If all of `when` (NULL ones apart) hold, so does `then`. */
static void imply(model *m, Z3_ast a, Z3_ast b, Z3_ast c, Z3_ast then)
{
    Z3_ast when[3] = {a, b, c}, clause[4];
    unsigned n = 0;

    for (int i = 0; i < 3; i++) {
        if (when[i] != NULL)
            clause[n++] = m->lib.Z3_mk_not(m->z, when[i]);
    }
    clause[n++] = then;
    m->lib.Z3_solver_assert(m->z, m->solver, m->lib.Z3_mk_or(m->z, n, clause));
}

static Z3_ast on(const model *m, int u, int d)
{
    return m->is_on[cell(m, m->domain.group[u], d)];
}

/* --- constraints ----------------------------------------------------------------------------- */

static void add_groups(model *m)
{
    int n_devices = m->p->n_devices;
    Z3_ast *choice = WEFT_NEW(m->a, Z3_ast, n_devices);

    m->is_on = WEFT_NEW(m->a, Z3_ast, cell(m, m->domain.n_groups, 0));
    for (int g = 0; g < m->domain.n_groups; g++) {
        unsigned n = 0;

        for (int d = 0; d < n_devices; d++) {
            if (m->domain.has[g * n_devices + d])
                choice[n++] = m->is_on[cell(m, g, d)] = variable(m, m->truth);
        }
        m->lib.Z3_solver_assert(m->z, m->solver, m->lib.Z3_mk_or(m->z, n, choice));
        for (unsigned i = 0; i < n; i++) {
            for (unsigned j = i + 1; j < n; j++)
                imply(m, choice[i], choice[j], NULL, m->lib.Z3_mk_false(m->z));
        }
    }
}

static void add_tasks(model *m)
{
    m->start = WEFT_NEW(m->a, Z3_ast, m->p->n_tasks);
    m->end = variable(m, m->whole);
    for (int u = 0; u < m->p->n_tasks; u++) {
        m->start[u] = variable(m, m->whole);
        for (int d = 0; d < m->p->n_devices; d++) {
            size_t at = cell(m, u, d);

            if (!has(m, u, d))
                continue;
            imply(m, on(m, u, d), NULL, NULL,
                  m->lib.Z3_mk_ge(m->z, m->start[u],
                                  m->lib.Z3_mk_int64(m->z, m->head[at], m->whole)));
            imply(m, on(m, u, d), NULL, NULL,
                  not_after(m, m->start[u], m->time[at] + m->tail[at], m->end));
        }
    }
}

/* No route from e to d: v and u are not there at once. */
static bool is_connected(const weft_problem *p, int v, int u, int e, int d)
{
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        if (p->producer[p->arg[i]] == v && !(weft_data_s(p, p->arg[i], e, d) < INFINITY))
            return false;
    }
    return true;
}

static void add_edge(model *m, int v, int u, double most_s)
{
    for (int e = 0; e < m->p->n_devices; e++) {
        for (int d = 0; d < m->p->n_devices; d++) {
            int64_t distance = m->time[cell(m, v, e)] + edge_ticks(m, v, u, e, d, most_s);

            if (!has(m, v, e) || !has(m, u, d))
                continue;
            imply(m, on(m, v, e), on(m, u, d), NULL,
                  is_connected(m->p, v, u, e, d) ? not_after(m, m->start[v], distance, m->start[u])
                                                 : m->lib.Z3_mk_false(m->z));
        }
    }
}

static void add_edges(model *m, double most_s)
{
    const weft_problem *p = m->p;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
            add_edge(m, p->pred[i], u, most_s);
    }
}

/* u < v: one before the other where they share a device. */
static void add_pair(model *m, int u, int v)
{
    Z3_ast is_first = NULL;

    for (int d = 0; d < m->p->n_devices; d++) {
        int64_t of_u = m->time[cell(m, u, d)], of_v = m->time[cell(m, v, d)];

        if (!has(m, u, d) || !has(m, v, d) || (of_u == 0 && of_v == 0))
            continue;
        if (is_first == NULL)
            is_first = variable(m, m->truth);
        imply(m, on(m, u, d), on(m, v, d), is_first, not_after(m, m->start[u], of_u, m->start[v]));
        imply(m, on(m, u, d), on(m, v, d), m->lib.Z3_mk_not(m->z, is_first),
              not_after(m, m->start[v], of_v, m->start[u]));
    }
}

static void add_pairs(model *m)
{
    for (int v = 0; v < m->p->n_tasks; v++) {
        for (int u = 0; u < v; u++) {
            if (!is_before(m, u, v))
                add_pair(m, u, v);
        }
    }
}

static const double ROUNDING = 1e-12; /* of bytes, as weft_fits allows */

/* Bytes as whole units, rounded down; the largest unit that loses nothing, if that is few enough.
 */
static double bytes_unit(const weft_problem *p, int d)
{
    double unit = INFINITY, least = p->capacity[d] / MOST_BYTES_UNITS;

    for (int t = 0; t < p->n_tensors; t++) {
        if (p->is_weight[t])
            unit = common_tick(p->memory[t], unit);
    }
    return fmax(unit, least);
}

/* x[g][d] => h[w][d]; returns how many h there are, each with its bytes in units. */
static unsigned add_holds(model *m, int d, double unit, Z3_ast *held, int *bytes)
{
    const weft_problem *p = m->p;
    const weft_domain *g_of = &m->domain;
    size_t mark = weft_arena_mark(m->a);
    Z3_ast *hold = WEFT_NEW(m->a, Z3_ast, p->n_tensors);
    unsigned n = 0;

    for (int g = 0; g < g_of->n_groups; g++) {
        for (int i = g_of->weight_at[g]; i < g_of->weight_at[g + 1]; i++) {
            int w = g_of->weight[i];

            if (m->is_on[cell(m, g, d)] == NULL || !(p->memory[w] >= unit))
                continue;
            if (hold[w] == NULL) {
                held[n] = hold[w] = variable(m, m->truth);
                bytes[n++] = (int)fmin(floor(p->memory[w] / unit), MOST_BYTES_UNITS + 1);
            }
            imply(m, m->is_on[cell(m, g, d)], NULL, NULL, hold[w]);
        }
    }
    weft_arena_rewind(m->a, mark);
    return n;
}

static void add_memory(model *m)
{
    Z3_ast *held = WEFT_NEW(m->a, Z3_ast, m->p->n_tensors);
    int *bytes = WEFT_NEW(m->a, int, m->p->n_tensors);

    for (int d = 0; d < m->p->n_devices; d++) {
        double unit = bytes_unit(m->p, d);
        unsigned n;

        if (!(m->p->capacity[d] < INFINITY) || !(unit < INFINITY) || !(unit > 0))
            continue;
        n = add_holds(m, d, unit, held, bytes);
        if (n > 0)
            m->lib.Z3_solver_assert(
                m->z, m->solver,
                m->lib.Z3_mk_pble(m->z, n, held, bytes,
                                  (int)floor(m->p->capacity[d] * (1 + ROUNDING) / unit)));
    }
}

static void add_limit(model *m, int64_t most)
{
    m->lib.Z3_solver_assert(
        m->z, m->solver, m->lib.Z3_mk_le(m->z, m->end, m->lib.Z3_mk_int64(m->z, most, m->whole)));
}

/* --- asking ---------------------------------------------------------------------------------- */

static void set_slice(model *m, int64_t units)
{
    double left_s = weft_run_left_s(m->run);
    Z3_params params = m->lib.Z3_mk_params(m->z);

    m->lib.Z3_params_inc_ref(m->z, params);
    m->lib.Z3_params_set_uint(m->z, params, m->lib.Z3_mk_string_symbol(m->z, "rlimit"),
                              (unsigned)units);
    m->lib.Z3_params_set_uint(m->z, params, m->lib.Z3_mk_string_symbol(m->z, "timeout"),
                              left_s < 1e6 ? 1 + (unsigned)(1000 * left_s) : UINT_MAX);
    m->lib.Z3_solver_set_params(m->z, m->solver, params);
    m->lib.Z3_params_dec_ref(m->z, params);
}

/* Asks until Z3 knows, or *units or the time of the run are used up: undefined then. */
static Z3_lbool ask(model *m, int64_t *units)
{
    int64_t slice = FIRST_SLICE;
    Z3_lbool answer = Z3_L_UNDEF;

    while (answer == Z3_L_UNDEF && *units > 0 && !weft_run_is_over(m->run) && !m->has_failed) {
        slice = slice < *units ? slice : *units;
        set_slice(m, slice);
        answer = m->lib.Z3_solver_check(m->z, m->solver);
        m->has_failed = m->lib.Z3_get_error_code(m->z) != Z3_OK;
        *units -= slice;
        slice = slice < LAST_SLICE ? 2 * slice : slice;
    }
    return m->has_failed ? Z3_L_UNDEF : answer;
}

static bool value_of(const model *m, Z3_model found, Z3_ast term, int64_t *value)
{
    Z3_ast number = NULL;

    return m->lib.Z3_model_eval(m->z, found, term, true, &number) &&
           m->lib.Z3_get_numeral_int64(m->z, number, value);
}

static bool is_true(const model *m, Z3_model found, Z3_ast term)
{
    Z3_ast number = NULL;

    return m->lib.Z3_model_eval(m->z, found, term, true, &number) &&
           m->lib.Z3_get_bool_value(m->z, number) == Z3_L_TRUE;
}

/* Devices, and the order of starts as positions: equal starts are then no tie for the simulator. */
static bool read_plan(model *m, Z3_model found, weft_plan *plan, int64_t *end)
{
    double *start = WEFT_NEW(m->a, double, plan->n_tasks);
    double *length = WEFT_NEW(m->a, double, plan->n_tasks);
    const int *order;

    for (int u = 0; u < plan->n_tasks; u++) {
        int64_t at;

        plan->device[u] = -1;
        for (int d = 0; d < m->p->n_devices && plan->device[u] < 0; d++) {
            if (has(m, u, d) && is_true(m, found, on(m, u, d)))
                plan->device[u] = d;
        }
        if (plan->device[u] < 0 || !value_of(m, found, m->start[u], &at))
            return false;
        start[u] = (double)at; /* exact: a plan has far fewer ticks than 2^53 */
        length[u] = (double)m->time[cell(m, u, plan->device[u])];
    }
    order = weft_sorted_twice(start, length, plan->n_tasks, m->a);
    for (int i = 0; i < plan->n_tasks; i++)
        plan->start_s[order[i]] = i;
    return value_of(m, found, m->end, end);
}

/* Tries the plan of Z3's model; *most becomes the largest end to ask for next. */
static void take_model(model *m, weft_best *best, int64_t *most)
{
    size_t mark = weft_arena_mark(m->a);
    Z3_model found = m->lib.Z3_solver_get_model(m->z, m->solver);
    weft_plan plan = weft_plan_new(m->p->n_tasks, m->a);
    double value;
    int64_t end = 0;

    m->lib.Z3_model_inc_ref(m->z, found);
    m->has_failed |= !read_plan(m, found, &plan, &end);
    m->lib.Z3_model_dec_ref(m->z, found);
    if (!m->has_failed) {
        value = weft_best_try(best, m->p, &plan, m->a);
        if (value < (double)end * m->tick_s)
            end = (int64_t)floor(value / m->tick_s);
        *most = end - 1;
    }
    weft_arena_rewind(m->a, mark);
}

/* Steps 2 and 3. *bound is set if Z3 proves one. */
static void descend(model *m, weft_best *best, double *bound, bool *is_infeasible)
{
    int64_t units = MOST_UNITS, most = INT64_MAX;
    Z3_lbool answer;

    if (m->run->steps > 0)
        units = m->run->steps < INT64_MAX / STEP_UNITS ? m->run->steps * STEP_UNITS : INT64_MAX;
    else if (m->run->limit_s < INFINITY)
        units = INT64_MAX;
    if (best->value < INFINITY) {
        most = (int64_t)floor(best->value / m->tick_s) - 1;
        add_limit(m, most);
    }
    while ((answer = ask(m, &units)) == Z3_L_TRUE) {
        take_model(m, best, &most);
        if (m->has_failed)
            return;
        add_limit(m, most);
    }
    if (answer == Z3_L_FALSE && most < INT64_MAX)
        *bound = (double)(most + 1) * m->tick_s;
    *is_infeasible = answer == Z3_L_FALSE && most == INT64_MAX;
}

static void build(model *m, double most_s)
{
    Z3_config config = m->lib.Z3_mk_config();

    m->z = m->lib.Z3_mk_context(config);
    m->lib.Z3_del_config(config);
    m->lib.Z3_set_error_handler(m->z, note_error);
    m->solver = m->lib.Z3_mk_simple_solver(m->z);
    m->lib.Z3_solver_inc_ref(m->z, m->solver);
    m->whole = m->lib.Z3_mk_int_sort(m->z);
    m->truth = m->lib.Z3_mk_bool_sort(m->z);
    fill_ticks(m, most_s);
    m->before = weft_reach(m->p->pred_at, m->p->pred, m->p->n_tasks, false, m->a);
    add_groups(m);
    add_tasks(m);
    add_edges(m, most_s);
    add_pairs(m);
    add_memory(m);
    m->has_failed = m->lib.Z3_get_error_code(m->z) != Z3_OK;
}

static double count_clauses(const weft_problem *p)
{
    double n = p->n_tasks, n_devices = p->n_devices;

    return n * n * n_devices + (double)p->pred_at[p->n_tasks] * n_devices * n_devices;
}

/* No plan that is not worse than running all tasks and transfers one after the other. */
static double longest_s(const weft_problem *p)
{
    double sum_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        double most_s = 0;

        for (int d = 0; d < p->n_devices; d++)
            most_s = fmax(most_s, weft_task_s(p, u, d) < INFINITY ? weft_task_s(p, u, d) : 0);
        sum_s += most_s;
    }
    for (int t = 0; t < p->n_tensors; t++) {
        double most_s = 0;

        for (int k = 0; k < p->n_devices * p->n_devices; k++) {
            double send_s = weft_data_s(p, t, k / p->n_devices, k % p->n_devices);

            most_s = fmax(most_s, send_s < INFINITY ? send_s : 0);
        }
        sum_s += most_s;
    }
    return sum_s;
}

static weft_status search(const weft_problem *p, weft_run *run, weft_best *best, weft_proof *proof)
{
    double most_s = best->value < INFINITY ? best->value : longest_s(p), bound = 0;
    model m = {.p = p, .run = run, .a = run->scratch};
    bool is_infeasible = false;

    WEFT_TRY(weft_dynload_open(&library, &m.lib));
    m.domain = weft_domain_new(p, run->scratch);
    m.tick_s = choose_tick(p, most_s);
    build(&m, most_s);
    descend(&m, best, &bound, &is_infeasible);
    m.lib.Z3_solver_dec_ref(m.z, m.solver);
    m.lib.Z3_del_context(m.z);
    if (is_infeasible)
        proof->outcome = WEFT_INFEASIBLE;
    if (bound > proof->bound) {
        proof->certified = proof->bound;
        proof->bound = bound;
        proof->method = "search";
    }
    return WEFT_OK;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_best best = weft_best_new(p, run->scratch);
    bool is_open;

    (void)options;
    weft_place_bound(p, run->scratch, proof);
    if (proof->outcome == WEFT_INFEASIBLE)
        return WEFT_OK;
    WEFT_TRY(weft_best_first(&best, p, run));
    is_open = !(best.value <= proof->bound) && best.value > 0;
    if (p->constraints.goal == WEFT_LATENCY && !p->constraints.is_calls && is_open &&
        count_clauses(p) <= MOST_CLAUSES)
        WEFT_TRY(search(p, run, &best, proof));
    weft_best_answer(&best, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_z3 = {
    .name = "z3",
    .summary = "the SMT solver Z3, an independent second engine; proves small problems",
    .solve = solve,
    .applies = weft_is_schedule,
    .searches = (const weft_search_method[]){{"search", WEFT_FOR_LATENCY}, {0}},
};
