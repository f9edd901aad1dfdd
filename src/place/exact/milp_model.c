/* SPDX-License-Identifier: MIT */
/* milp_model.c: the part of the latency program that knows no order of tasks.
 *
 * 1. Devices leave the domain of a task while head + time + tail exceeds `upper`; heads and tails
 *    by the recursion of bound_path.c over the domains that are left.
 * 2. Columns: T; x_ik, task i on device k (one for all tasks of a group); s_i, start of i. Times
 *    are in units of 1 second, or of a power of ten that brings `upper` between 100 and 1000.
 * 3. Rows, with D_i the domain, t the time, r the head, q the tail, c the transfer of edge i -> j:
 *
 *      (1)  sum over k of x_ik = 1                                        each group
 *      (2)  sum over l of y_kl = x_ik,  sum over k of y_kl = x_jl         each edge
 *      (3)  s_j >= s_i + sum t_ik x_ik + sum c_kl y_kl                    each edge
 *      (6)  T >= s_i + sum (t_ik + q_ik) x_ik                             each task
 *      (7)  s_i >= sum r_ik x_ik                                          each task
 *      (9)  sum over weights w of bytes_w / room_k z_wk <= 1,  z_wk >= x_ik for readers i
 *
 *    (2) and the transfers of (3) are written by milp_send.c; a loose model has none at first.
 * 4. Rows (8) come from the relaxation itself. For device k and times a, b with a + b <= a lower
 *    bound of T, and S = {i : r_ik >= a, q_ik >= b}:
 *
 *      (8)  T >= a + b + sum over S of t_ik x_ik
 *
 *    with a = b = 0 first. Then, of all a (heads) and b (tails), those most violated by the
 *    solution are added for each device, and the relaxation is solved again.
 *
 * Every schedule of at most `upper` satisfies all rows. For (8): tasks of S that run on k do so one
 * after the other within [a, T - b]; if there are none, the row says T >= a + b. Costs O(n^2) a
 * device and round besides the linear programs. */
#include "milp_place.h"

#include <math.h>
#include <stdio.h>

static const double SLACK = 1e-9;      /* relative; rounding must not remove a device */
static const double LEAST_GAIN = 1e-4; /* of a cut, relative to T */
enum { NAME = 48, CUTS = 6 };          /* cuts a device and round */

/* --- domains, heads, tails ------------------------------------------------------------------- */

static void fill_groups(weft_milp_model *m)
{
    const weft_subproblem *x = m->subproblem;
    size_t mark;
    int *first;

    m->group = WEFT_NEW(m->arena, int, x->n_tasks);
    mark = weft_arena_mark(m->arena);
    first = WEFT_NEW(m->arena, int, x->n_groups + 1);
    for (int g = 0; g < x->n_groups; g++)
        first[g] = -1;
    for (int u = 0; u < x->n_tasks; u++) {
        int *of = x->group ? &first[x->group[u]] : NULL;

        if (of != NULL && *of < 0)
            *of = u;
        m->group[u] = of ? *of : u;
    }
    weft_arena_rewind(m->arena, mark);
}

static double through_s(const weft_milp_model *m, int u, int d)
{
    size_t at = weft_cell(m->subproblem, u, d);

    return m->head_s[at] + m->subproblem->time_s[at] + m->tail_s[at];
}

/* Removes devices that `upper` forbids, for all tasks of the group; true if there were any. left_s:
 * times on the devices that are left. */
static bool remove_devices(weft_milp_model *m, double *left_s)
{
    const weft_subproblem *x = m->subproblem;
    bool has_removed = false;

    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++) {
            bool *has = &m->has[weft_cell(x, m->group[u], d)];
            double most_s = fmin(m->upper * (1 + SLACK), 1e300);

            if (*has && !(through_s(m, u, d) <= most_s)) {
                *has = false;
                has_removed = true;
            }
        }
    }
    for (int u = 0; u < x->n_tasks; u++) {
        bool is_empty = true;

        for (int d = 0; d < x->n_devices; d++) {
            m->has[weft_cell(x, u, d)] = m->has[weft_cell(x, m->group[u], d)];
            is_empty &= !m->has[weft_cell(x, u, d)];
            if (!m->has[weft_cell(x, u, d)])
                left_s[weft_cell(x, u, d)] = INFINITY;
        }
        m->is_empty |= is_empty;
    }
    return has_removed && !m->is_empty;
}

/* Least head and tail of each task, and the path bound. */
static void fill_least(weft_milp_model *m)
{
    const weft_subproblem *x = m->subproblem;

    m->lower = 0;
    for (int u = 0; u < x->n_tasks; u++) {
        double least_s = INFINITY;

        m->first_s[u] = m->rest_s[u] = INFINITY;
        for (int d = 0; d < x->n_devices; d++) {
            if (!m->has[weft_cell(x, u, d)])
                continue;
            m->first_s[u] = fmin(m->first_s[u], m->head_s[weft_cell(x, u, d)]);
            m->rest_s[u] = fmin(m->rest_s[u], m->tail_s[weft_cell(x, u, d)]);
            least_s = fmin(least_s, through_s(m, u, d));
        }
        m->lower = fmax(m->lower, least_s);
    }
}

/* The task can run on d, and its weights alone fit. */
static bool is_possible(const weft_subproblem *x, int u, int d)
{
    double bytes = 0;

    for (int i = weft_first_weight(x, u); i < weft_last_weight(x, u); i++)
        bytes += x->weight_bytes[x->weight[i]];
    return x->time_s[weft_cell(x, u, d)] < INFINITY &&
           (x->n_weights == 0 || bytes <= x->room_bytes[d] * (1 + SLACK));
}

static void propagate(weft_milp_model *m)
{
    const weft_subproblem *x = m->subproblem;
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    double *left_s = weft_arena_copy(m->arena, x->time_s, sizeof *left_s * n_cells);
    weft_subproblem left = *x;

    left.time_s = left_s;
    m->has = WEFT_NEW(m->arena, bool, n_cells);
    m->head_s = WEFT_NEW(m->arena, double, n_cells);
    m->tail_s = WEFT_NEW(m->arena, double, n_cells);
    m->first_s = WEFT_NEW(m->arena, double, x->n_tasks);
    m->rest_s = WEFT_NEW(m->arena, double, x->n_tasks);
    for (size_t i = 0; i < n_cells; i++)
        m->has[i] = true;
    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++)
            m->has[weft_cell(x, m->group[u], d)] &= is_possible(x, u, d);
    }
    remove_devices(m, left_s); /* spreads the domains of groups; heads and tails are 0 */
    do {
        m->head_s = weft_subproblem_heads(&left, m->arena);
        m->tail_s = weft_subproblem_tails(&left, m->arena);
    } while (remove_devices(m, left_s));
    fill_least(m);
}

/* --- columns --------------------------------------------------------------------------------- */

static double unit_of(double span_s)
{
    if (!(span_s > 0) || (span_s >= 10 && span_s < 1e4))
        return 1;
    return pow(10, floor(log10(span_s)) - 2);
}

static int column(weft_milp_model *m, const char *name, double low, double high, bool is_whole)
{
    return weft_milp_column(m->milp, name, low, high, 0, is_whole);
}

static void add_columns(weft_milp_model *m, bool is_whole)
{
    const weft_subproblem *x = m->subproblem;
    double most = m->upper / m->unit_s;
    char name[NAME];

    m->span = weft_milp_column(m->milp, "T", fmin(m->lower / m->unit_s * (1 - SLACK), most), most,
                               1, false);
    m->on = WEFT_NEW(m->arena, int, (size_t)x->n_tasks *(size_t)x->n_devices);
    m->start = WEFT_NEW(m->arena, int, x->n_tasks);
    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices; d++) {
            int *on = &m->on[weft_cell(x, u, d)];

            *on = m->on[weft_cell(x, m->group[u], d)];
            if (m->group[u] != u)
                continue;
            snprintf(name, sizeof name, "x_%d_%d", u, d);
            *on = m->has[weft_cell(x, u, d)] ? column(m, name, 0, 1, is_whole) : -1;
        }
        snprintf(name, sizeof name, "s_%d", u);
        m->start[u] = column(m, name, 0, most, false);
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Adds sign * sum over devices of value_s[task][device] x. */
static void add_sum(weft_milp_model *m, int row, int u, double sign, const double *value_s)
{
    const weft_subproblem *x = m->subproblem;

    for (int d = 0; d < x->n_devices; d++) {
        if (m->has[weft_cell(x, u, d)] && value_s[weft_cell(x, u, d)] != 0)
            weft_milp_term(m->milp, row, m->on[weft_cell(x, u, d)],
                           sign * value_s[weft_cell(x, u, d)] / m->unit_s);
    }
}

int weft_milp_model_row(weft_milp_model *m, double low, double high, const char *kind, int a, int b)
{
    char name[NAME];

    if (b < 0)
        snprintf(name, sizeof name, "%s_%d", kind, a);
    else
        snprintf(name, sizeof name, "%s_%d_%d", kind, a, b);
    return weft_milp_row(m->milp, name, low, high);
}

/* (1), (6), (7) */
static void add_task_rows(weft_milp_model *m, int u)
{
    const weft_subproblem *x = m->subproblem;
    int r;

    if (m->group[u] == u) {
        r = weft_milp_model_row(m, 1, 1, "one", u, -1);
        for (int d = 0; d < x->n_devices; d++) {
            if (m->has[weft_cell(x, u, d)])
                weft_milp_term(m->milp, r, m->on[weft_cell(x, u, d)], 1);
        }
    }
    r = weft_milp_model_row(m, 0, INFINITY, "last", u, -1);
    weft_milp_term(m->milp, r, m->span, 1);
    weft_milp_term(m->milp, r, m->start[u], -1);
    add_sum(m, r, u, -1, x->time_s);
    add_sum(m, r, u, -1, m->tail_s);
    r = weft_milp_model_row(m, 0, INFINITY, "head", u, -1);
    weft_milp_term(m->milp, r, m->start[u], 1);
    add_sum(m, r, u, -1, m->head_s);
}

/* (3) without the transfer */
static void add_edge_row(weft_milp_model *m, int e)
{
    const weft_subproblem *x = m->subproblem;

    m->arrive[e] = weft_milp_model_row(m, 0, INFINITY, "arrive", e, -1);
    weft_milp_term(m->milp, m->arrive[e], m->start[x->to[e]], 1);
    weft_milp_term(m->milp, m->arrive[e], m->start[x->from[e]], -1);
    add_sum(m, m->arrive[e], x->from[e], -1, x->time_s);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Bytes of all weights that may come to d. */
static double possible_bytes(const weft_milp_model *m, int d, const int *reader_at,
                             const int *reader)
{
    const weft_subproblem *x = m->subproblem;
    double bytes = 0;

    for (int w = 0; w < x->n_weights; w++) {
        bool is_possible = false;

        for (int i = reader_at[w]; i < reader_at[w + 1]; i++)
            is_possible |= m->has[weft_cell(x, reader[i], d)];
        bytes += is_possible ? x->weight_bytes[w] : 0;
    }
    return bytes;
}

/* (9) for device d. A weight with one reader, or readers of one group, needs no column. */
static void add_room(weft_milp_model *m, int d, const int *reader_at, const int *reader)
{
    const weft_subproblem *x = m->subproblem;
    int r = weft_milp_model_row(m, -INFINITY, 1, "room", d, -1);
    char name[NAME];

    for (int w = 0; w < x->n_weights; w++) {
        int z = -1;

        if (!(x->weight_bytes[w] > 0))
            continue;
        for (int i = reader_at[w]; i < reader_at[w + 1]; i++) {
            int on = m->on[weft_cell(x, reader[i], d)], s;

            if (on < 0)
                continue;
            if (z < 0 && i + 1 == reader_at[w + 1])
                z = on;
            if (z < 0) {
                snprintf(name, sizeof name, "z_%d_%d", w, d);
                z = column(m, name, 0, 1, false);
            }
            if (z == on)
                continue;
            s = weft_milp_row(m->milp, NULL, 0, INFINITY);
            weft_milp_term(m->milp, s, z, 1);
            weft_milp_term(m->milp, s, on, -1);
        }
        if (z >= 0)
            weft_milp_term(m->milp, r, z, x->weight_bytes[w] / x->room_bytes[d]);
    }
}

/* Groups that read each weight, by their first task, each once. */
static void fill_readers(const weft_milp_model *m, int *reader_at, int *reader)
{
    const weft_subproblem *x = m->subproblem;
    int n = 0;

    for (int w = 0; w < x->n_weights; w++) {
        int begin = reader_at[w] = n;

        for (int u = 0; u < x->n_tasks; u++) {
            for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++) {
                bool is_known = false;

                if (x->weight[i] != w)
                    continue;
                for (int k = begin; k < n; k++)
                    is_known |= reader[k] == m->group[u];
                if (!is_known)
                    reader[n++] = m->group[u];
            }
        }
    }
    reader_at[x->n_weights] = n;
}

static void add_memory(weft_milp_model *m)
{
    const weft_subproblem *x = m->subproblem;
    size_t mark = weft_arena_mark(m->arena);
    int *reader_at = WEFT_NEW(m->arena, int, x->n_weights + 1);
    int *reader = WEFT_NEW(m->arena, int, x->weight_at[x->n_tasks]);

    fill_readers(m, reader_at, reader);
    for (int d = 0; d < x->n_devices; d++) {
        if (possible_bytes(m, d, reader_at, reader) > x->room_bytes[d])
            add_room(m, d, reader_at, reader);
    }
    weft_arena_rewind(m->arena, mark);
}

/* --- cuts (8) -------------------------------------------------------------------------------- */

typedef struct load_cut {
    int device;
    double before_s, after_s; /* a and b */
    double gain;              /* by how much it is violated, in units */
} load_cut;

/* Tasks of a device with their heads, sorted by it, largest first; insertion keeps ties stable. */
static int sorted_tasks(const weft_milp_model *m, int d, const double *key_s, int *task)
{
    const weft_subproblem *x = m->subproblem;
    int n = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        int i = n;

        if (!m->has[weft_cell(x, u, d)])
            continue;
        for (; i > 0 && key_s[weft_cell(x, task[i - 1], d)] < key_s[weft_cell(x, u, d)]; i--)
            task[i] = task[i - 1];
        task[i] = u;
        n++;
    }
    return n;
}

/* Keeps the CUTS most violated, sorted, the first found first on a tie. */
static void keep_cut(load_cut *best, load_cut cut)
{
    for (int i = 0; i < CUTS; i++) {
        load_cut swap = best[i];

        if (cut.gain > swap.gain) {
            best[i] = cut;
            cut = swap;
        }
    }
}

/* The most violated cuts of device d, at most one for each a. Tasks are added by falling head; for
 * each head, tails fall. */
static void find_cuts(const weft_milp_model *m, int d, const double *solution, load_cut *best)
{
    const weft_subproblem *x = m->subproblem;
    size_t mark = weft_arena_mark(m->arena);
    int *by_head = WEFT_NEW(m->arena, int, x->n_tasks);
    int *by_tail = WEFT_NEW(m->arena, int, x->n_tasks);
    bool *is_in = WEFT_NEW(m->arena, bool, x->n_tasks);
    int n = sorted_tasks(m, d, m->head_s, by_head);

    sorted_tasks(m, d, m->tail_s, by_tail);
    for (int i = 0; i < n; i++) {
        double before_s = m->head_s[weft_cell(x, by_head[i], d)], load = 0;
        load_cut cut = {.device = d};

        is_in[by_head[i]] = true;
        if (i + 1 < n && m->head_s[weft_cell(x, by_head[i + 1], d)] == before_s)
            continue;
        for (int j = 0; j < n; j++) {
            size_t at = weft_cell(x, by_tail[j], d);
            double gain, after_s = m->tail_s[at];

            if (!is_in[by_tail[j]])
                continue;
            load += solution[m->on[at]] * x->time_s[at] / m->unit_s;
            gain = load + (before_s + after_s) / m->unit_s - solution[m->span];
            if (gain > cut.gain && before_s + after_s <= m->lower)
                cut = (load_cut){d, before_s, after_s, gain};
        }
        keep_cut(best, cut);
    }
    weft_arena_rewind(m->arena, mark);
}

static void add_cut(weft_milp_model *m, const load_cut *cut)
{
    const weft_subproblem *x = m->subproblem;
    int r = weft_milp_row(m->milp, NULL, (cut->before_s + cut->after_s) / m->unit_s, INFINITY);

    weft_milp_term(m->milp, r, m->span, 1);
    for (int u = 0; u < x->n_tasks; u++) {
        size_t at = weft_cell(x, u, cut->device);

        if (m->has[at] && m->head_s[at] >= cut->before_s && m->tail_s[at] >= cut->after_s)
            weft_milp_term(m->milp, r, m->on[at], -x->time_s[at] / m->unit_s);
    }
}

/* Returns how many rows were added. */
static int add_cuts(weft_milp_model *m, const double *solution)
{
    int n = 0;

    for (int d = 0; d < m->subproblem->n_devices; d++) {
        load_cut cut[CUTS] = {0};

        find_cuts(m, d, solution, cut);
        for (int i = 0; i < CUTS && cut[i].gain > LEAST_GAIN * solution[m->span]; i++, n++)
            add_cut(m, &cut[i]);
    }
    return n;
}

/* Returns how many rows or transfers were added. */
static int add_more(weft_milp_model *m, const weft_milp_effort *e, const weft_milp_result *r)
{
    int n = add_cuts(m, r->x);

    return e->adds_sends ? n + weft_milp_model_late_sends(m, r->x) : n;
}

/* --- the model ------------------------------------------------------------------------------- */

weft_milp_model weft_milp_model_new(const weft_subproblem *x, double upper, weft_milp_kind kind,
                                    weft_arena *a)
{
    weft_milp_model m = {.subproblem = x, .arena = a};
    char name[NAME];

    m.upper = fmin(upper, weft_subproblem_horizon(x));
    m.unit_s = unit_of(m.upper);
    fill_groups(&m);
    propagate(&m);
    snprintf(name, sizeof name, "latency, in units of %g s", m.unit_s);
    m.milp = weft_milp_new(name);
    if (m.is_empty)
        return m;
    add_columns(&m, kind == WEFT_MILP_WHOLE);
    for (int u = 0; u < x->n_tasks; u++)
        add_task_rows(&m, u);
    m.arrive = WEFT_NEW(a, int, x->n_edges);
    m.has_send = WEFT_NEW(a, bool, x->n_edges);
    for (int e = 0; e < x->n_edges; e++) {
        add_edge_row(&m, e);
        if (kind != WEFT_MILP_LOOSE)
            weft_milp_model_send(&m, e);
    }
    if (x->n_weights > 0)
        add_memory(&m);
    for (int d = 0; d < x->n_devices; d++)
        add_cut(&m, &(load_cut){.device = d});
    return m;
}

void weft_milp_model_windows(weft_milp_model *m, int n)
{
    const weft_subproblem *x = m->subproblem;
    size_t mark = weft_arena_mark(m->arena);
    int *by_head = WEFT_NEW(m->arena, int, x->n_tasks);
    int *by_tail = WEFT_NEW(m->arena, int, x->n_tasks);

    for (int d = 0; d < x->n_devices; d++) {
        int n_tasks = sorted_tasks(m, d, m->head_s, by_head);

        sorted_tasks(m, d, m->tail_s, by_tail);
        for (int i = 0; n_tasks > 0 && i < n * n; i++) {
            int h = (i / n) * (i / n) * n_tasks / (2 * n * n),
                t = (i % n) * (i % n) * n_tasks / (2 * n * n);
            load_cut cut = {.device = d,
                            .before_s = m->head_s[weft_cell(x, by_head[n_tasks - 1 - h], d)],
                            .after_s = m->tail_s[weft_cell(x, by_tail[n_tasks - 1 - t], d)]};

            if (cut.before_s + cut.after_s <= m->lower)
                add_cut(m, &cut);
        }
    }
    weft_arena_rewind(m->arena, mark);
}

void weft_milp_model_tighten(weft_milp_model *m, const weft_milp_effort *e)
{
    double left_s = e->limit_s;
    size_t mark = weft_arena_mark(m->arena);

    for (int i = 0; i <= e->rounds && left_s > 0 && !m->is_empty; i++) {
        weft_milp_options o = {.limit_s = left_s, .is_relaxed = true, .stop = e->stop};
        weft_milp_result result;

        if (weft_milp_solve(m->milp, &o, m->arena, &result) != WEFT_OK)
            break;
        left_s -= result.seconds;
        m->is_empty = result.outcome == WEFT_MILP_INFEASIBLE;
        if (!m->is_empty)
            m->lower = fmax(m->lower, fmin(result.bound * m->unit_s, m->upper));
        if (result.outcome != WEFT_MILP_OPTIMAL || (i < e->rounds && add_more(m, e, &result) == 0))
            break;
        weft_arena_rewind(m->arena, mark);
    }
    weft_arena_rewind(m->arena, mark);
}
