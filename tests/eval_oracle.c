/* SPDX-License-Identifier: MIT */
/* eval_oracle.c: the least step of a small network on a design, as a mixed integer program.
 *
 *   t_i start, y_ig: i runs on the g-th of its numbers of cores, p_i = sum_g lat_ig y_ig
 *   z_ic: i uses core c (of a kind that it needs),  x_ij: i ends before j starts
 *
 *   min T,  T >= t_i + p_i,  T >= sum of bytes_ig y_ig / (eta BW),  T >= sum of need lat y / n_r,
 *   T >= seconds of the port
 *   sum_g y_ig = 1;   sum over cores c of kind r of z_ic = sum_g need_rg y_ig
 *   edge i -> j:                   t_i + p_i <= t_j
 *   incomparable, a kind shared:   t_i + p_i <= t_j + H (1 - x_ij);   x_ij + x_ji <= 1
 *                                  x_ij + x_ji >= z_ic + z_jc - 1 for each core c of the kind
 *                                  x_ij + x_ji >= y_ig + y_jh - 1 if the two do not fit together
 *   the first operator of a kind in the policy's schedule has the cores 0, 1, ..
 *
 * H is the step of the policy, whose schedule is the first solution: no better one has a later end.
 * The third row for T and the last for x follow from the others and make the relaxation stronger.
 * Times are scaled so that H = 1000: solvers round.
 *
 * Guarantee: the value is that of a schedule, computed again from y and x as the longest path; the
 * bound is the solver's. Phaze's form (ICML 2024) with any number of cores for an operator instead
 * of one or all, and with cores of the two kinds that are not tied to each other. */
#include "eval_oracle.h"

#include "opt.h"

#include <math.h>

enum { N_TYPES = 2 }; /* tensor, vector */

static const double horizon = 1000; /* of scaled times */

typedef struct program {
    weft_workload_eval *m;
    const weft_eval_frame *f;
    weft_eval_schedule list;
    weft_milp *milp;
    weft_arena *a;
    int n, last; /* operators; column of T */
    double unit_s;
    const uint64_t *below; /* reachable operators, WEFT_MOST_ORACLE < 64 */
    int *start;            /* [n] columns */
    int *way_at;           /* [n] first column of y */
    int *core_at;          /* [n * N_TYPES] first column of z; -1: needs none */
    int *before;           /* [n * n] column of x; -1: none */
} program;

static weft_eval_kind kind_of(const program *p, int i)
{
    return p->m->kind[p->m->ops.of_class[i]];
}

static int n_variants(const program *p, int i)
{
    return p->f->ways[kind_of(p, i)].n;
}

static int need(const program *p, int i, int type, int way)
{
    return type == 0 ? weft_eval_tensor_need(p->f, kind_of(p, i), way)
                     : weft_eval_vector_need(p->f, kind_of(p, i), way);
}

static int cores(const program *p, int type)
{
    return type == 0 ? p->f->n_tensor : p->f->n_vector;
}

static size_t entry(const program *p, int i, int way)
{
    return (size_t)way * (size_t)p->m->ops.n_classes + (size_t)p->m->ops.of_class[i];
}

/* In units of the program. */
static double time_of(const program *p, int i, int way)
{
    return p->f->lat_s[entry(p, i, way)] / p->unit_s;
}

/* --- what the policy does, as a first solution */

/* The way of i in the policy's schedule: that with its cores. */
static int list_way(const program *p, int i)
{
    for (int way = 0; way < n_variants(p, i); way++)
        if (need(p, i, 0, way) == p->list.n_tensor[i] && need(p, i, 1, way) == p->list.n_vector[i])
            return way;
    return 0;
}

static bool is_earlier(const program *p, int i, int j)
{
    return p->list.start_s[i] != p->list.start_s[j] ? p->list.start_s[i] < p->list.start_s[j]
                                                    : i < j;
}

/* Operators by start in the policy's schedule. */
static int *list_order(const program *p)
{
    int *order = WEFT_NEW(p->a, int, p->n);

    for (int k = 0; k < p->n; k++) {
        int at = k;

        while (at > 0 && is_earlier(p, k, order[at - 1])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = k;
    }
    return order;
}

/* Gives each operator the lowest cores that are free when it starts. */
static void start_cores(program *p, const int *order, int type)
{
    double *free_s = WEFT_NEW(p->a, double, cores(p, type));
    bool is_first = true;

    for (int k = 0; k < p->n; k++) {
        int i = order[k], left = need(p, i, type, list_way(p, i));
        int column = p->core_at[i * N_TYPES + type];

        for (int c = 0; c < cores(p, type) && column >= 0; c++) {
            bool is_taken = left > 0 && free_s[c] <= p->list.start_s[i] * (1 + 1e-12);

            weft_milp_start(p->milp, column + c, is_taken);
            left -= is_taken;
            if (is_taken)
                free_s[c] = p->list.end_s[i];
            if (is_first && c > 0) { /* cores are alike: the first operator has the first ones */
                int row = weft_milp_row(p->milp, NULL, 0, INFINITY);

                weft_milp_term(p->milp, row, column + c - 1, 1);
                weft_milp_term(p->milp, row, column + c, -1);
            }
        }
        is_first = is_first && column < 0;
    }
}

/* --- columns */

static void add_columns(program *p)
{
    p->last = weft_milp_column(p->milp, "T", weft_eval_port_s(p->m, p->f) / p->unit_s,
                               horizon * (1 + 1e-6), 1, false);
    for (int i = 0; i < p->n; i++) {
        int way = list_way(p, i);

        p->start[i] = weft_milp_column(p->milp, NULL, 0, horizon, 0, false);
        weft_milp_start(p->milp, p->start[i], p->list.start_s[i] / p->unit_s);
        p->way_at[i] = weft_milp_n_columns(p->milp);
        for (int k = 0; k < n_variants(p, i); k++)
            weft_milp_start(p->milp, weft_milp_column(p->milp, NULL, 0, 1, 0, true), k == way);
        for (int type = 0; type < N_TYPES; type++) {
            p->core_at[i * N_TYPES + type] = -1;
            if (need(p, i, type, 0) == 0)
                continue;
            p->core_at[i * N_TYPES + type] = weft_milp_n_columns(p->milp);
            for (int c = 0; c < cores(p, type); c++)
                (void)weft_milp_column(p->milp, NULL, 0, 1, 0, true);
        }
    }
    weft_milp_start(p->milp, p->last, horizon);
}

/* --- rows */

/* Adds factor * p_i to a row. */
static void add_time(program *p, int row, int i, double factor)
{
    for (int k = 0; k < n_variants(p, i); k++)
        weft_milp_term(p->milp, row, p->way_at[i] + k, factor * time_of(p, i, k));
}

/* t_i + p_i <= column (+ slack where `unless` is 0; -1: always). */
static void add_end(program *p, int i, int column, int unless)
{
    int row = weft_milp_row(p->milp, NULL, unless < 0 ? 0 : -horizon, INFINITY);

    weft_milp_term(p->milp, row, column, 1);
    weft_milp_term(p->milp, row, p->start[i], -1);
    add_time(p, row, i, -1);
    if (unless >= 0)
        weft_milp_term(p->milp, row, unless, -horizon);
}

static void add_operator(program *p, int i)
{
    int row = weft_milp_row(p->milp, NULL, 1, 1);

    for (int k = 0; k < n_variants(p, i); k++)
        weft_milp_term(p->milp, row, p->way_at[i] + k, 1);
    for (int type = 0; type < N_TYPES; type++) {
        int column = p->core_at[i * N_TYPES + type];

        if (column < 0)
            continue;
        row = weft_milp_row(p->milp, NULL, 0, 0);
        for (int c = 0; c < cores(p, type); c++)
            weft_milp_term(p->milp, row, column + c, 1);
        for (int k = 0; k < n_variants(p, i); k++)
            weft_milp_term(p->milp, row, p->way_at[i] + k, -need(p, i, type, k));
    }
    add_end(p, i, p->last, -1);
}

/* T is no less than bytes and work. */
static void add_floors(program *p)
{
    int bytes = weft_milp_row(p->milp, "bytes", 0, INFINITY), work[N_TYPES];

    weft_milp_term(p->milp, bytes, p->last, 1);
    for (int type = 0; type < N_TYPES; type++) {
        work[type] = weft_milp_row(p->milp, NULL, 0, INFINITY);
        weft_milp_term(p->milp, work[type], p->last, cores(p, type));
    }
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < n_variants(p, i); k++) {
            weft_milp_term(p->milp, bytes, p->way_at[i] + k,
                           -p->f->bytes_s[entry(p, i, k)] / p->unit_s);
            for (int type = 0; type < N_TYPES; type++)
                if (need(p, i, type, k) > 0)
                    weft_milp_term(p->milp, work[type], p->way_at[i] + k,
                                   -need(p, i, type, k) * time_of(p, i, k));
        }
}

/* x_ij + x_ji >= a + b - 1. */
static void exclude(program *p, int i, int j, int a, int b)
{
    int row = weft_milp_row(p->milp, NULL, -1, INFINITY);

    weft_milp_term(p->milp, row, p->before[i * p->n + j], 1);
    weft_milp_term(p->milp, row, p->before[j * p->n + i], 1);
    weft_milp_term(p->milp, row, a, -1);
    weft_milp_term(p->milp, row, b, -1);
}

static bool is_too_much(const program *p, int i, int way_i, int j, int way_j)
{
    for (int type = 0; type < N_TYPES; type++)
        if (need(p, i, type, way_i) + need(p, j, type, way_j) > cores(p, type))
            return true;
    return false;
}

static void add_pair(program *p, int i, int j)
{
    int order[2][2] =
        {
            {i, j},
            {j, i}
    },
        row;

    for (int k = 0; k < 2; k++) {
        int from = order[k][0], to = order[k][1];
        int column = weft_milp_column(p->milp, NULL, 0, 1, 0, true);

        p->before[from * p->n + to] = column;
        weft_milp_start(p->milp, column,
                        p->list.end_s[from] <= p->list.start_s[to] * (1 + 1e-12) &&
                            is_earlier(p, from, to));
        add_end(p, from, p->start[to], column);
    }
    row = weft_milp_row(p->milp, NULL, 0, 1);
    weft_milp_term(p->milp, row, p->before[i * p->n + j], 1);
    weft_milp_term(p->milp, row, p->before[j * p->n + i], 1);
    for (int type = 0; type < N_TYPES; type++) {
        int a = p->core_at[i * N_TYPES + type], b = p->core_at[j * N_TYPES + type];

        for (int c = 0; c < cores(p, type) && a >= 0 && b >= 0; c++)
            exclude(p, i, j, a + c, b + c);
    }
    for (int k = 0; k < n_variants(p, i); k++)
        for (int h = 0; h < n_variants(p, j); h++)
            if (is_too_much(p, i, k, j, h))
                exclude(p, i, j, p->way_at[i] + k, p->way_at[j] + h);
}

static bool share_type(const program *p, int i, int j)
{
    for (int type = 0; type < N_TYPES; type++)
        if (p->core_at[i * N_TYPES + type] >= 0 && p->core_at[j * N_TYPES + type] >= 0)
            return true;
    return false;
}

static void build(program *p)
{
    const weft_eval_ops *o = &p->m->ops;
    const int *order = list_order(p);

    add_columns(p);
    for (int i = 0; i < p->n; i++) {
        add_operator(p, i);
        for (int e = o->out_at[i]; e < o->out_at[i + 1]; e++)
            add_end(p, i, p->start[o->out_to[e]], -1);
    }
    add_floors(p);
    for (int i = 0; i < p->n; i++)
        for (int j = i + 1; j < p->n; j++)
            if (!(p->below[i] >> j & 1) && share_type(p, i, j))
                add_pair(p, i, j);
    for (int type = 0; type < N_TYPES; type++)
        start_cores(p, order, type);
}

/* --- reading the solution */

static const uint64_t *reachable(const weft_eval_ops *o, weft_arena *a)
{
    uint64_t *below = WEFT_NEW(a, uint64_t, o->n);

    for (int u = o->n - 1; u >= 0; u--)
        for (int e = o->out_at[u]; e < o->out_at[u + 1]; e++)
            below[u] |= (uint64_t)1 << o->out_to[e] | below[o->out_to[e]];
    return below;
}

static int chosen_way(const program *p, const double *x, int i)
{
    int way = 0;

    for (int k = 1; k < n_variants(p, i); k++)
        if (x[p->way_at[i] + k] > x[p->way_at[i] + way])
            way = k;
    return way;
}

/* All starts as early as edges and the order of the solution let them: as many rounds as there are
 * operators reach the longest path; INFINITY if the order goes round in a circle. */
static double decode(const program *p, const double *x)
{
    double *start_s = WEFT_NEW(p->a, double, p->n), bytes_s = 0, last_s = 0;
    bool has_changed = true;

    for (int round = 0; round <= p->n && has_changed; round++) {
        has_changed = false;
        for (int i = 0; i < p->n; i++) {
            double end_s = start_s[i] + p->f->lat_s[entry(p, i, chosen_way(p, x, i))];

            last_s = end_s > last_s ? end_s : last_s;
            for (int j = 0; j < p->n; j++) {
                int column = p->before[i * p->n + j];
                bool is_edge = p->below[i] >> j & 1;

                if (!(is_edge || (column >= 0 && x[column] > 0.5)) || end_s <= start_s[j])
                    continue;
                start_s[j] = end_s;
                has_changed = true;
            }
        }
    }
    for (int i = 0; i < p->n; i++)
        bytes_s += p->f->bytes_s[entry(p, i, chosen_way(p, x, i))];
    bytes_s = fmax(bytes_s, weft_eval_port_s(p->m, p->f));
    return has_changed ? INFINITY : last_s > bytes_s ? last_s : bytes_s;
}

static weft_status solve(program *p, double limit_s, double *value_s, double *bound_s)
{
    weft_milp_options options = {.limit_s = limit_s};
    weft_milp_result r;

    WEFT_TRY(weft_milp_solve(p->milp, &options, p->a, &r));
    *value_s = p->list.step_s;
    if (r.x)
        *value_s = fmin(*value_s, decode(p, r.x));
    *bound_s = isfinite(r.bound) ? fmin(*value_s, r.bound * p->unit_s) : 0;
    return WEFT_OK;
}

weft_status weft_eval_oracle(weft_workload_eval *m, const weft_design_point *point, double limit_s,
                             double *value_s, double *bound_s)
{
    weft_arena *a;
    program p;
    weft_status status;
    int n = m->ops.n;

    if (n > WEFT_MOST_ORACLE)
        return weft_fail(
            WEFT_E_INPUT,
            "network '%s' has %d operators: too many for an exact schedule (at most %d)",
            m->graph->name, n, WEFT_MOST_ORACLE);
    a = weft_arena_new();
    p = (program){.m = m,
                  .list = weft_eval_schedule_of(m, point, a),
                  .milp = weft_milp_new("schedule"),
                  .a = a,
                  .n = n,
                  .below = reachable(&m->ops, a),
                  .start = WEFT_NEW(a, int, n),
                  .way_at = WEFT_NEW(a, int, n),
                  .core_at = WEFT_NEW(a, int, n *N_TYPES),
                  .before = WEFT_NEW(a, int, n *n)};
    p.f = weft_eval_frame_of(m, point);
    p.unit_s = p.list.step_s / horizon;
    for (int i = 0; i < n * n; i++)
        p.before[i] = -1;
    build(&p);
    status = solve(&p, limit_s, value_s, bound_s);
    weft_milp_free(p.milp);
    weft_arena_free(a);
    return status;
}
