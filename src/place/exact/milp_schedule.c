/* SPDX-License-Identifier: MIT */
/* milp_schedule.c: the latency of a subproblem as a linear program with whole columns.
 *
 * To the rows of milp_model.c come, for tasks i, j of which neither must precede the other:
 *
 *   o_ij in {0, 1}     1: i ends before j starts
 *   (4)  o_ij + o_ji >= x_ik + x_jk - 1  for each common device k;   o_ij + o_ji <= 1
 *   (5)  s_j >= s_i + sum over k of t_ik x_ik - M (1 - o_ij),   M = upper - q_i - r_j
 *
 * with r, q the least head and tail over the domain: M is the latest end of i less the earliest
 * start of j. Left out are pairs
 *   - without common device;
 *   - with M <= 0: i ends before j starts anyway, rows (6), (7) and T <= upper say so;
 *   - and orders that `upper` forbids on a device: r_ik + t_ik > upper - t_jk - q_jk. Where both
 *     orders are forbidden on k, x_ik + x_jk <= 1 takes their place.
 *
 * Devices that can be swapped without changing the subproblem are used in the order of their numbers:
 * task i may be on the next of its class only if a task before it is on the one before.
 *
 * The least T is the least value of a schedule of at most `upper`: every such schedule, with the
 * devices of a class renumbered, satisfies all rows, and a solution gives a schedule, since tasks
 * of one device are ordered by (4), (5) and edges by (3). n K + 2 n + 1 columns and at most K or
 * K^2 an edge and 2 a pair; big M makes order all but vacuous in the relaxation, so that some
 * twenty open pairs are easy, and a few hundred out of reach. */
#include "milp_place.h"
#include "same.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static const double SLACK = 1e-9;
enum { NAME = 48 };

typedef struct schedule {
    weft_milp_model model;
    int *home; /* [n_tasks] devices of the schedule to start from; NULL: none */
    const double *start_s;
    int n_pairs;
} schedule;

/* --- order ----------------------------------------------------------------------------------- */

/* May i come before j on device d, if nothing takes longer than `upper`? */
static bool may_precede(const weft_milp_model *m, int i, int j, int d)
{
    size_t ci = weft_cell(m->subproblem, i, d), cj = weft_cell(m->subproblem, j, d);

    return m->head_s[ci] + m->subproblem->time_s[ci] + m->subproblem->time_s[cj] + m->tail_s[cj] <=
           m->upper * (1 + SLACK);
}

/* Does the schedule to start from run i before j on the same device? */
static bool is_before(const schedule *s, int i, int j)
{
    if (s->home == NULL || s->home[i] != s->home[j])
        return false;
    return s->start_s[i] < s->start_s[j] || (i < j && s->start_s[i] == s->start_s[j]);
}

/* Column o_ij with its row (5). */
static int add_order(schedule *s, int i, int j, double big)
{
    weft_milp_model *m = &s->model;
    const weft_subproblem *x = m->subproblem;
    char name[NAME];
    int o, r;

    snprintf(name, sizeof name, "o_%d_%d", i, j);
    o = weft_milp_column(m->milp, name, 0, 1, 0, true);
    snprintf(name, sizeof name, "after_%d_%d", i, j);
    r = weft_milp_row(m->milp, name, -big / m->unit_s, INFINITY);
    weft_milp_term(m->milp, r, m->start[j], 1);
    weft_milp_term(m->milp, r, m->start[i], -1);
    weft_milp_term(m->milp, r, o, -big / m->unit_s);
    for (int d = 0; d < x->n_devices; d++) {
        if (m->has[weft_cell(x, i, d)])
            weft_milp_term(m->milp, r, m->on[weft_cell(x, i, d)],
                           -x->time_s[weft_cell(x, i, d)] / m->unit_s);
    }
    if (s->home != NULL)
        weft_milp_start(m->milp, o, is_before(s, i, j));
    return o;
}

/* (4) on device d, with the orders that are possible there. */
static void add_meeting(schedule *s, int i, int j, int d, const int o[2])
{
    weft_milp_model *m = &s->model;
    int r = weft_milp_row(m->milp, NULL, -1, INFINITY);

    weft_milp_term(m->milp, r, m->on[weft_cell(m->subproblem, i, d)], -1);
    weft_milp_term(m->milp, r, m->on[weft_cell(m->subproblem, j, d)], -1);
    if (o[0] >= 0 && may_precede(m, i, j, d))
        weft_milp_term(m->milp, r, o[0], 1);
    if (o[1] >= 0 && may_precede(m, j, i, d))
        weft_milp_term(m->milp, r, o[1], 1);
}

static void add_pair(schedule *s, int i, int j)
{
    weft_milp_model *m = &s->model;
    const weft_subproblem *x = m->subproblem;
    double big[2] = {m->upper - m->rest_s[i] - m->first_s[j],
                     m->upper - m->rest_s[j] - m->first_s[i]};
    bool may[2] = {false, false}, is_common = false;
    int o[2] = {-1, -1}, r;

    if (big[0] <= 0 || big[1] <= 0)
        return;
    for (int d = 0; d < x->n_devices; d++) {
        if (!m->has[weft_cell(x, i, d)] || !m->has[weft_cell(x, j, d)])
            continue;
        is_common = true;
        may[0] |= may_precede(m, i, j, d);
        may[1] |= may_precede(m, j, i, d);
    }
    if (!is_common)
        return;
    s->n_pairs++;
    for (int k = 0; k < 2; k++) {
        if (may[k])
            o[k] = add_order(s, k ? j : i, k ? i : j, big[k]);
    }
    if (o[0] >= 0 && o[1] >= 0) {
        bool is_group = m->group[i] == m->group[j];

        r = weft_milp_row(m->milp, NULL, is_group ? 1 : 0, 1);
        weft_milp_term(m->milp, r, o[0], 1);
        weft_milp_term(m->milp, r, o[1], 1);
    }
    for (int d = 0; d < x->n_devices; d++) {
        if (m->has[weft_cell(x, i, d)] && m->has[weft_cell(x, j, d)])
            add_meeting(s, i, j, d, o);
    }
}

static void add_pairs(schedule *s, int most)
{
    const weft_subproblem *x = s->model.subproblem;
    weft_arena *a = s->model.arena;
    size_t mark = weft_arena_mark(a), words = (size_t)weft_bits_words(x->n_tasks);
    uint64_t *before = weft_subproblem_ancestors(x, a);

    for (int j = 0; j < x->n_tasks && s->n_pairs <= most; j++) {
        for (int i = 0; i < j; i++) {
            if (!weft_bit_get(before + (size_t)j * words, i))
                add_pair(s, i, j);
        }
    }
    weft_arena_rewind(a, mark);
}

/* --- devices that can be swapped ------------------------------------------------------------- */

static int swapped(int k, int a, int b)
{
    return k == a ? b : k == b ? a : k;
}

static bool is_same_weight_room(const weft_subproblem *x, int a, int b)
{
    return x->n_weights == 0 || x->room_bytes[a] == x->room_bytes[b];
}

static bool can_swap(const void *context, int a, int b)
{
    const weft_subproblem *x = context;
    int n = x->n_devices;

    if (x->free_s[a] != x->free_s[b] || !is_same_weight_room(x, a, b))
        return false;
    for (int u = 0; u < x->n_tasks; u++) {
        if (x->time_s[weft_cell(x, u, a)] != x->time_s[weft_cell(x, u, b)] ||
            x->release_s[weft_cell(x, u, a)] != x->release_s[weft_cell(x, u, b)] ||
            x->tail_s[weft_cell(x, u, a)] != x->tail_s[weft_cell(x, u, b)])
            return false;
    }
    for (int e = 0; e < x->n_edges; e++) {
        const double *send_s = x->send_s + (size_t)e * (size_t)(n * n);

        for (int k = 0; k < n * n; k++) {
            if (send_s[k] != send_s[swapped(k / n, a, b) * n + swapped(k % n, a, b)])
                return false;
        }
    }
    return true;
}

/* before[d]: the device of its class before d; -1: d is the first. */
static int *find_classes(const weft_subproblem *x, weft_arena *a)
{
    const int *first = weft_first_same(x->n_devices, can_swap, x, a);
    int *before = WEFT_NEW(a, int, x->n_devices);

    for (int d = 0; d < x->n_devices; d++) {
        before[d] = -1;
        for (int k = 0; k < d; k++)
            before[d] = first[k] == first[d] ? k : before[d];
    }
    return before;
}

/* Renumbers the devices of the start so that those of a class are used in order. */
static void canonise(const weft_subproblem *x, const int *before, const weft_milp_model *m,
                     int *home)
{
    weft_arena *a = m->arena;
    size_t mark = weft_arena_mark(a);
    int *name = WEFT_NEW(a, int, x->n_devices), *old = WEFT_NEW(a, int, x->n_devices);

    for (int d = 0; d < x->n_devices; d++)
        name[d] = old[d] = d; /* name: of what is called d now, the device it becomes */
    for (int u = 0; u < x->n_tasks; u++) {
        int d = name[home[u]], first = d;

        if (old[d] < 0)
            continue; /* its place is taken already */
        while (before[first] >= 0 && old[before[first]] >= 0)
            first = before[first];
        if (first != d) { /* the unused device of the class with the least number */
            name[old[first]] = d;
            name[home[u]] = first;
            old[d] = old[first];
        }
        old[first] = -1;
    }
    for (int u = 0; u < x->n_tasks; u++)
        home[u] = name[home[u]];
    weft_arena_rewind(a, mark);
}

/* x_ik <= sum over groups before of x_jl, l the device of the class before k. */
static void add_symmetry(weft_milp_model *m, const int *before)
{
    const weft_subproblem *x = m->subproblem;

    for (int d = 0; d < x->n_devices; d++) {
        for (int u = 0; u < x->n_tasks && before[d] >= 0; u++) {
            int r;

            if (m->group[u] != u || !m->has[weft_cell(x, u, d)])
                continue;
            r = weft_milp_row(m->milp, NULL, 0, INFINITY);
            weft_milp_term(m->milp, r, m->on[weft_cell(x, u, d)], -1);
            for (int v = 0; v < u; v++) {
                if (m->group[v] == v && m->has[weft_cell(x, v, before[d])])
                    weft_milp_term(m->milp, r, m->on[weft_cell(x, v, before[d])], 1);
            }
        }
    }
}

/* --- the model ------------------------------------------------------------------------------- */

static void set_starts(const schedule *s)
{
    const weft_milp_model *m = &s->model;
    const weft_subproblem *x = m->subproblem;

    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++) {
            if (m->has[weft_cell(x, u, d)])
                weft_milp_start(m->milp, m->on[weft_cell(x, u, d)], s->home[u] == d);
        }
        weft_milp_start(m->milp, m->start[u], s->start_s[u] / m->unit_s);
    }
    weft_milp_start(m->milp, m->span, m->upper / m->unit_s);
}

weft_milp *weft_milp_schedule_new(const weft_subproblem *x, const weft_milp_known *k, weft_arena *a,
                                  weft_milp_columns *out)
{
    schedule s = {.model = weft_milp_model_new(x, k->upper, WEFT_MILP_WHOLE, a)};
    weft_milp_model *m = &s.model;
    int *before = find_classes(x, a), most = k->most_pairs ? k->most_pairs : INT_MAX;

    if (k->device != NULL && !m->is_empty) {
        s.home = weft_arena_copy(a, k->device, sizeof *k->device * (size_t)x->n_tasks);
        s.start_s = k->start_s;
        canonise(x, before, m, s.home);
    }
    weft_milp_model_tighten(m, &k->tighten);
    if (!m->is_empty) {
        add_pairs(&s, most);
        add_symmetry(m, before);
        if (s.home != NULL)
            set_starts(&s);
    }
    *out = (weft_milp_columns){.unit_s = m->unit_s,
                               .span = m->span,
                               .on = m->on,
                               .start = m->start,
                               .bound = m->is_empty ? m->upper : m->lower,
                               .n_pairs = s.n_pairs,
                               .is_partial = s.n_pairs > most,
                               .is_empty = m->is_empty};
    return m->milp;
}

/* --- solutions ------------------------------------------------------------------------------- */

void weft_subproblem_order(const weft_subproblem *x, const double *start, int *order, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int *n_open = WEFT_NEW(a, int, x->n_tasks);

    for (int u = 0; u < x->n_tasks; u++)
        n_open[u] = x->in_at[u + 1] - x->in_at[u];
    for (int i = 0; i < x->n_tasks; i++) {
        int first = -1;

        for (int u = 0; u < x->n_tasks; u++) {
            if (n_open[u] == 0 && (first < 0 || start[u] < start[first]))
                first = u;
        }
        order[i] = first;
        n_open[first] = -1;
        for (int k = x->out_at[first]; k < x->out_at[first + 1]; k++)
            n_open[x->to[x->out[k]]]--;
    }
    weft_arena_rewind(a, mark);
}

double weft_milp_schedule_decode(const weft_subproblem *x, const weft_milp_columns *columns,
                                 const double *solution, weft_arena *a, int *device,
                                 double *start_s)
{
    size_t mark = weft_arena_mark(a);
    int *order = WEFT_NEW(a, int, x->n_tasks);
    double *start = WEFT_NEW(a, double, x->n_tasks), value;

    for (int u = 0; u < x->n_tasks; u++) {
        double most = -1;

        for (int d = 0; d < x->n_devices; d++) {
            int on = columns->on[weft_cell(x, u, d)];

            if (on >= 0 && solution[on] > most) {
                most = solution[on];
                device[u] = d;
            }
        }
        start[u] = solution[columns->start[u]];
    }
    weft_subproblem_order(x, start, order, a);
    value = weft_subproblem_time(x, device, order, start_s);
    weft_arena_rewind(a, mark);
    return value;
}

/* The greatest common divisor of q and v; fmod is exact, so that it divides both exactly. */
static double divisor(double q, double v)
{
    if (!isfinite(v))
        return q;
    while (v > 0) {
        double rest = fmod(q, v);

        q = v;
        v = rest;
    }
    return q;
}

double weft_subproblem_quantum(const weft_subproblem *x, double least)
{
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    size_t n_sends = (size_t)x->n_edges * (size_t)(x->n_devices * x->n_devices);
    double q = 0;

    for (size_t i = 0; i < n_cells && (q == 0 || q >= least); i++) {
        if (!(x->time_s[i] < INFINITY))
            continue;
        q = divisor(x->time_s[i], q);
        q = divisor(q, x->release_s[i]);
        q = divisor(q, x->tail_s[i]);
    }
    for (size_t i = 0; i < n_sends && (q == 0 || q >= least); i++)
        q = divisor(q, x->send_s[i]);
    for (int d = 0; d < x->n_devices; d++)
        q = divisor(q, x->free_s[d]);
    return q >= least ? q : 0;
}
