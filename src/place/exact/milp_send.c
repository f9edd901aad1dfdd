/* SPDX-License-Identifier: MIT */
/* milp_send.c: transfers in the latency program (milp_model.c).
 *
 * Edge i -> j is sent from the device of i to that of j. With shares x_i and x_j of devices, its
 * transfer is the least cost of moving x_i to x_j:
 *
 *      (2)  sum over l of y_kl = x_ik,  sum over k of y_kl = x_jl,  transfer sum c_kl y_kl
 *
 * 1. If one end has one device, the x of the other end are its y.
 * 2. If all transfers between different devices take the same c, y gives way to d_k >= x_ik - x_jk,
 *    d_k >= 0, and the transfer is c sum d_k: the same relaxation with less columns.
 * 3. So it does if they take a_k + a_l, as on every star of links and between any three devices:
 *    what is moved goes along the arms of the star, and the transfer is
 *    sum a_k |x_ik - x_jk| = sum a_k (2 d_k - x_ik + x_jk).
 * 4. A loose model begins without transfers. Given a solution, ways through the network are
 *    measured with what its edges would take; those that are longer than T get their transfers.
 *
 * Every schedule satisfies all rows, and leaving transfers out only lowers the least value. Costs
 * O(devices^2) an edge. */
#include "milp_place.h"

#include <math.h>
#include <stdio.h>

static const double EQUAL = 1e-12;      /* relative; sums of transfers */
static const double LEAST_SHARE = 1e-6; /* of a task that is moved */
static const double LEAST_GAIN = 1e-4;  /* by which a way passes T, relative */
enum { NAME = 48 };

/* --- one edge -------------------------------------------------------------------------------- */

static int n_devices_of(const weft_milp_model *m, int u)
{
    int n = 0;

    for (int d = 0; d < m->subproblem->n_devices; d++)
        n += m->has[weft_cell(m->subproblem, u, d)];
    return n;
}

/* The transfer of edge e between any two different devices; -1 if they differ. */
static double uniform_s(const weft_milp_model *m, int e)
{
    const weft_subproblem *x = m->subproblem;
    double all_s = -1;

    for (int k = 0; k < x->n_devices; k++) {
        for (int l = 0; l < x->n_devices; l++) {
            if (k == l || !m->has[weft_cell(x, x->from[e], k)] ||
                !m->has[weft_cell(x, x->to[e], l)])
                continue;
            if (all_s < 0)
                all_s = weft_edge_s(x, e, k, l);
            if (weft_edge_s(x, e, k, l) != all_s)
                return -1;
        }
    }
    return all_s < 0 ? 0 : isfinite(all_s) ? all_s : -1;
}

static bool is_end(const weft_milp_model *m, int e, int k)
{
    const weft_subproblem *x = m->subproblem;

    return m->has[weft_cell(x, x->from[e], k)] || m->has[weft_cell(x, x->to[e], k)];
}

/* Arms a_k of a star on which edge e is sent; false if its transfers have no such form. */
static bool fill_arms(const weft_milp_model *m, int e, double *arm_s)
{
    int n = m->subproblem->n_devices, n_ends = 0, end[3];

    for (int k = 0; k < n && n_ends < 3; k++) {
        if (is_end(m, e, k))
            end[n_ends++] = k;
    }
    if (n_ends < 3)
        return false;
    for (int k = 0; k < n; k++) {
        int l = end[k == end[0]], o = k == end[0] || k == end[1] ? end[2] : end[1];

        arm_s[k] = (weft_edge_s(m->subproblem, e, k, l) + weft_edge_s(m->subproblem, e, k, o) -
                    weft_edge_s(m->subproblem, e, l, o)) /
                   2;
    }
    for (int k = 0; k < n * n; k++) {
        int i = k / n, j = k % n;
        double all_s = weft_edge_s(m->subproblem, e, i, j);

        if (i != j && is_end(m, e, i) && is_end(m, e, j) &&
            !(arm_s[i] >= 0 && fabs(arm_s[i] + arm_s[j] - all_s) <= EQUAL * all_s))
            return false;
    }
    return true;
}

/* The column d_k >= x_ik - x_jk, x_ik itself if j cannot be on k; -1: it is 0. */
static int excess_column(weft_milp_model *m, int e, int k)
{
    const weft_subproblem *x = m->subproblem;
    int from = m->on[weft_cell(x, x->from[e], k)], to = m->on[weft_cell(x, x->to[e], k)], d, s;
    char name[NAME];

    if (from < 0 || to < 0 || from == to) /* equal: a group, never sent */
        return to < 0 ? from : -1;
    snprintf(name, sizeof name, "d_%d_%d", e, k);
    d = weft_milp_column(m->milp, name, 0, 1, 0, false);
    s = weft_milp_model_row(m, 0, INFINITY, "sent", e, k);
    weft_milp_term(m->milp, s, d, 1);
    weft_milp_term(m->milp, s, from, -1);
    weft_milp_term(m->milp, s, to, 1);
    return d;
}

static void add_term(weft_milp_model *m, int r, int column, double factor_s)
{
    if (column >= 0)
        weft_milp_term(m->milp, r, column, factor_s / m->unit_s);
}

/* Terms of the transfer on a star. */
static void add_star(weft_milp_model *m, int r, int e, const double *arm_s)
{
    const weft_subproblem *x = m->subproblem;

    for (int k = 0; k < x->n_devices; k++) {
        int from = m->on[weft_cell(x, x->from[e], k)], to = m->on[weft_cell(x, x->to[e], k)];

        if (!is_end(m, e, k) || !(arm_s[k] > 0) || from == to)
            continue;
        add_term(m, r, excess_column(m, e, k), -2 * arm_s[k]);
        add_term(m, r, from, arm_s[k]);
        add_term(m, r, to, -arm_s[k]);
    }
}

/* Terms of the transfer by d_k >= x_ik - x_jk. */
static void add_uniform(weft_milp_model *m, int r, int e, double all_s)
{
    const weft_subproblem *x = m->subproblem;

    for (int k = 0; k < x->n_devices && all_s > 0; k++)
        add_term(m, r, excess_column(m, e, k), -all_s);
}

/* The column y_kl, or the x that is its equal; -1 if the pair is impossible. */
static int pair_column(weft_milp_model *m, int e, int k, int l)
{
    const weft_subproblem *x = m->subproblem;
    int i = x->from[e], j = x->to[e];
    char name[NAME];

    if (!m->has[weft_cell(x, i, k)] || !m->has[weft_cell(x, j, l)])
        return -1;
    if (n_devices_of(m, i) == 1)
        return m->on[weft_cell(x, j, l)];
    if (n_devices_of(m, j) == 1)
        return m->on[weft_cell(x, i, k)];
    snprintf(name, sizeof name, "y_%d_%d_%d", e, k, l);
    return weft_milp_column(m->milp, name, 0, isfinite(weft_edge_s(x, e, k, l)) ? 1 : 0, 0, false);
}

/* (2) and the terms of the transfer in row r. */
static void add_pairs(weft_milp_model *m, int r, int e)
{
    const weft_subproblem *x = m->subproblem;
    int i = x->from[e], j = x->to[e], n = x->n_devices;
    bool has_own = n_devices_of(m, i) > 1 && n_devices_of(m, j) > 1;
    size_t mark = weft_arena_mark(m->arena);
    int *in = WEFT_NEW(m->arena, int, n), *out = WEFT_NEW(m->arena, int, n);

    for (int d = 0; d < n && has_own; d++) {
        out[d] = m->has[weft_cell(x, i, d)] ? weft_milp_model_row(m, 0, 0, "out", e, d) : -1;
        if (out[d] >= 0)
            weft_milp_term(m->milp, out[d], m->on[weft_cell(x, i, d)], -1);
        in[d] = m->has[weft_cell(x, j, d)] ? weft_milp_model_row(m, 0, 0, "in", e, d) : -1;
        if (in[d] >= 0)
            weft_milp_term(m->milp, in[d], m->on[weft_cell(x, j, d)], -1);
    }
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            int y = pair_column(m, e, k, l);

            if (y < 0)
                continue;
            if (has_own) {
                weft_milp_term(m->milp, out[k], y, 1);
                weft_milp_term(m->milp, in[l], y, 1);
            }
            if (isfinite(weft_edge_s(x, e, k, l)))
                weft_milp_term(m->milp, r, y, -weft_edge_s(x, e, k, l) / m->unit_s);
        }
    }
    weft_arena_rewind(m->arena, mark);
}

void weft_milp_model_send(weft_milp_model *m, int e)
{
    size_t mark = weft_arena_mark(m->arena);
    double all_s = uniform_s(m, e), *arm_s = WEFT_NEW(m->arena, double, m->subproblem->n_devices);

    if (all_s >= 0)
        add_uniform(m, m->arrive[e], e, all_s);
    else if (fill_arms(m, e, arm_s))
        add_star(m, m->arrive[e], e, arm_s);
    else
        add_pairs(m, m->arrive[e], e);
    m->has_send[e] = true;
    weft_arena_rewind(m->arena, mark);
}

/* --- transfers that a loose model misses ----------------------------------------------------- */

/* Sum over devices of value_s[task][device] x. */
static double mean_s(const weft_milp_model *m, int u, const double *value_s, const double *solution)
{
    const weft_subproblem *x = m->subproblem;
    double sum_s = 0;

    for (int d = 0; d < x->n_devices; d++) {
        if (m->has[weft_cell(x, u, d)])
            sum_s += value_s[weft_cell(x, u, d)] * solution[m->on[weft_cell(x, u, d)]];
    }
    return sum_s;
}

/* What edge e takes at least: shares that change device, at the least transfer. */
static double moved_s(const weft_milp_model *m, int e, const double *solution)
{
    const weft_subproblem *x = m->subproblem;
    double share = 0, least_s = INFINITY;

    for (int k = 0; k < x->n_devices; k++) {
        int from = m->on[weft_cell(x, x->from[e], k)], to = m->on[weft_cell(x, x->to[e], k)];

        if (from >= 0)
            share += fmax(0, solution[from] - (to >= 0 ? solution[to] : 0));
        for (int l = 0; l < x->n_devices; l++) {
            if (k != l)
                least_s = fmin(least_s, weft_edge_s(x, e, k, l));
        }
    }
    return share > LEAST_SHARE && isfinite(least_s) ? share * least_s : 0;
}

int weft_milp_model_late_sends(weft_milp_model *m, const double *solution)
{
    const weft_subproblem *x = m->subproblem;
    size_t mark = weft_arena_mark(m->arena);
    double *end_s = WEFT_NEW(m->arena, double, x->n_tasks);  /* longest way to the end of a task */
    double *left_s = WEFT_NEW(m->arena, double, x->n_tasks); /* and from its start */
    double most_s = solution[m->span] * m->unit_s * (1 + LEAST_GAIN);
    int n = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        end_s[u] = mean_s(m, u, m->head_s, solution);
        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++)
            end_s[u] = fmax(end_s[u], end_s[x->from[x->in[i]]] + moved_s(m, x->in[i], solution));
        end_s[u] += mean_s(m, u, x->time_s, solution);
    }
    for (int u = x->n_tasks - 1; u >= 0; u--) {
        left_s[u] = mean_s(m, u, m->tail_s, solution);
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++)
            left_s[u] = fmax(left_s[u], left_s[x->to[x->out[i]]] + moved_s(m, x->out[i], solution));
        left_s[u] += mean_s(m, u, x->time_s, solution);
    }
    for (int e = 0; e < x->n_edges; e++) {
        double sent_s = moved_s(m, e, solution);

        if (!m->has_send[e] && sent_s > 0 &&
            end_s[x->from[e]] + sent_s + left_s[x->to[e]] > most_s) {
            weft_milp_model_send(m, e);
            n++;
        }
    }
    weft_arena_rewind(m->arena, mark);
    return n;
}
