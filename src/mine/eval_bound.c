/* SPDX-License-Identifier: MIT */
/* eval_bound.c: what no schedule can beat.
 *
 * With the least time lat and the least core seconds work of each operator over the numbers of
 * cores that it may have, and n_r cores of kind r:
 *
 *   simple      max( longest path of lat,  sum of work / n_r for each kind,  bytes / (eta BW),
 *                    bytes through the port / (derate f port) )
 *   head-tail   max over r, h, q of  h + (sum of work with top >= h and tail >= q) / n_r + q
 *               top: longest path before an operator; tail: after it. That work lies in [h, T - q].
 *   floor       sum over blocks of the simple bound of each, but bytes of the whole: valid under
 *               the policy, which runs blocks one after the other
 *   box         the floor with the least times over all designs of the box, with the largest counts
 *               that fit the limits while all else is at its lower end, and for each block also
 *               multiply-accumulates / (derate f PE) and element cycles / (derate f lanes), PE and
 *               lanes being the most that fit the limits with any sizes in the box
 *
 * simple <= head-tail by definition. simple <= floor: a path visits blocks in order and is in each
 * no longer than its longest; sums split. Every member of a box has lat, work and bytes no less,
 * and counts no more, than what the box is given. Bounds are lessened by 1e-12 of their value, more
 * than the rounding of sums of times can be, so that comparisons with schedules are safe.
 *
 * Cost: simple O(operators + edges), floor O(operators of different blocks), head-tail O(512 k)
 * for k operators of a kind. Fernandez, Bussell, IEEE Trans. Computers 22, 1973, for the idea of
 * loads in windows. */
#include "order.h"
#include "workload_eval.h"

#include <math.h>
#include <stdlib.h>

static const double safety = 1 - 1e-12;

/* --- any schedule */

static double longest_path(const weft_workload_eval *m, const weft_eval_frame *f)
{
    const weft_eval_ops *o = &m->ops;
    double *bottom_s = m->room.op_bottom_s, path_s = 0;

    for (int u = o->n - 1; u >= 0; u--) {
        double after_s = 0;

        for (int e = o->out_at[u]; e < o->out_at[u + 1]; e++)
            after_s = weft_larger(after_s, bottom_s[o->out_to[e]]);
        bottom_s[u] = after_s + f->least_s[o->of_class[u]];
        path_s = weft_larger(path_s, bottom_s[u]);
    }
    return path_s;
}

static double simple(const weft_workload_eval *m, const weft_eval_frame *f)
{
    double tensor_s = 0, vector_s = 0, bytes_s = 0;

    for (int c = 0; c < m->ops.n_classes; c++) {
        tensor_s += m->class_count[c] * f->tensor_work_s[c];
        vector_s += m->class_count[c] * f->vector_work_s[c];
        bytes_s += m->class_count[c] * f->least_bytes_s[c];
    }
    return weft_larger(
        weft_larger(longest_path(m, f), weft_larger(bytes_s, weft_eval_port_s(m, f))),
        weft_larger(tensor_s / f->n_tensor, vector_s / f->n_vector));
}

double weft_eval_simple_s(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    return simple(m, weft_eval_frame_of(m, p)) * safety;
}

static int by_tail(const void *a, const void *b)
{
    const weft_eval_load *x = a, *y = b;

    return (x->tail_s < y->tail_s) - (x->tail_s > y->tail_s);
}

enum { MOST_HEADS = 512 };

/* The largest h + work / n + q; loads are sorted by falling tail. Only tops of loads matter, and of
 * equal ones one: head[] are them, ascending. Of many some are tried: the bound is valid for any.
 */
static double windows(const weft_eval_load *load, int n, const double *head, int n_heads,
                      double cores)
{
    double most_s = 0;

    for (int k = 0; k < n_heads; k += n_heads / MOST_HEADS + 1) {
        double work_s = 0;

        for (int i = 0; i < n; i++) {
            if (load[i].top_s < head[k])
                continue;
            work_s += load[i].work_s;
            most_s = weft_larger(most_s, head[k] + work_s / cores + load[i].tail_s);
        }
    }
    return most_s;
}

/* Tops of the network with the least times. */
static void find_tops(weft_workload_eval *m, const weft_eval_frame *f)
{
    const weft_eval_ops *o = &m->ops;
    double *top_s = m->room.op_top_s;

    for (int u = 0; u < o->n; u++) {
        top_s[u] = 0;
        for (int e = o->in_at[u]; e < o->in_at[u + 1]; e++)
            top_s[u] = weft_larger(top_s[u],
                                   top_s[o->in_from[e]] + f->least_s[o->of_class[o->in_from[e]]]);
    }
}

static double headtail(weft_workload_eval *m, const weft_eval_frame *f, const double *work_s,
                       int cores)
{
    const weft_eval_ops *o = &m->ops;
    weft_eval_load *load = m->room.load;
    double *head = m->room.head_s;
    int n = 0, n_heads = 0;

    for (int u = 0; u < o->n; u++) {
        int c = o->of_class[u];

        if (!(work_s[c] > 0))
            continue;
        load[n] = (weft_eval_load){m->room.op_top_s[u], m->room.op_bottom_s[u] - f->least_s[c],
                                   work_s[c]};
        head[n] = load[n].top_s;
        n++;
    }
    if (n == 0)
        return 0;
    qsort(load, (size_t)n, sizeof *load, by_tail);
    qsort(head, (size_t)n, sizeof *head, weft_by_real);
    for (int i = 0; i < n; i++)
        if (n_heads == 0 || head[i] > head[n_heads - 1])
            head[n_heads++] = head[i];
    return windows(load, n, head, n_heads, cores);
}

double weft_eval_headtail_s(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    const weft_eval_frame *f = weft_eval_frame_of(m, p);
    double simple_s = simple(m, f);

    find_tops(m, f);
    return weft_larger(simple_s, weft_larger(headtail(m, f, f->tensor_work_s, f->n_tensor),
                                             headtail(m, f, f->vector_work_s, f->n_vector))) *
           safety;
}

/* --- the policy */

/* Seconds of a multiply-accumulate and of an element cycle with all that fits; 0: not known. */
typedef struct peak {
    double mac_s, element_s;
} peak;

/* Longest path of a block, and its work by the cores of each kind. */
typedef struct block_load {
    double path_s, tensor_s, vector_s;
} block_load;

static block_load load_of(weft_workload_eval *m, const weft_eval_frame *f, const weft_eval_block *b)
{
    double *bottom_s = m->room.bottom_s, tensor_s = 0, vector_s = 0, path_s = 0;

    for (int i = b->n - 1; i >= 0; i--) {
        int c = b->of_class[i];
        double after_s = 0;

        for (int e = b->out_at[i]; e < b->out_at[i + 1]; e++)
            after_s = weft_larger(after_s, bottom_s[b->out_to[e]]);
        bottom_s[i] = after_s + f->least_s[c];
        path_s = weft_larger(path_s, bottom_s[i]);
        tensor_s += f->tensor_work_s[c];
        vector_s += f->vector_work_s[c];
    }
    return (block_load){path_s, tensor_s / f->n_tensor, vector_s / f->n_vector};
}

static double block_floor(weft_workload_eval *m, const weft_eval_frame *f, const weft_eval_block *b,
                          peak most)
{
    block_load l = load_of(m, f, b);

    return weft_larger(l.path_s,
                       weft_larger(weft_larger(l.tensor_s, b->macs * most.mac_s),
                                   weft_larger(l.vector_s, b->elements * most.element_s)));
}

static double series_floor(weft_workload_eval *m, const weft_eval_frame *f, peak most)
{
    double sum_s = 0, bytes_s = 0;

    for (int i = 0; i < m->series.n_blocks; i++)
        sum_s += m->series.of[i].n_copies * block_floor(m, f, &m->series.of[i], most);
    for (int c = 0; c < m->ops.n_classes; c++)
        bytes_s += m->class_count[c] * f->least_bytes_s[c];
    return weft_larger(sum_s, weft_larger(bytes_s, weft_eval_port_s(m, f))) * safety;
}

double weft_eval_bound_s(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    return series_floor(m, weft_eval_frame_of(m, p), (peak){0, 0});
}

double weft_eval_serial_s(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    const weft_eval_frame *f = weft_eval_frame_of(m, p);
    double sum_s = 0;

    for (int i = 0; i < m->series.n_blocks; i++) {
        block_load l = load_of(m, f, &m->series.of[i]);

        sum_s += m->series.of[i].n_copies * (l.path_s + l.tensor_s + l.vector_s);
    }
    return sum_s;
}

/* --- boxes */

/* The largest place of a parameter up to `high` with which p fits; -1: not even that of p does.
 * Area and TDP grow with every parameter. */
static int most_that_fits(const weft_workload_eval *m, weft_design_point p, weft_parameter k,
                          int high, const weft_limits *l)
{
    int low = p.at[k];

    if (!weft_point_fits(m->template_, &p, l))
        return -1;
    while (low < high) {
        int middle = (low + high + 1) / 2;

        p.at[k] = (uint16_t)middle;
        if (weft_point_fits(m->template_, &p, l))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The most multipliers of any design of the box. */
static double most_units(const weft_workload_eval *m, const weft_space_box *b, const weft_limits *l)
{
    const weft_template *t = m->template_;
    weft_design_point p = b->lo;
    double most = 0;

    for (int r = b->lo.at[WEFT_ROWS]; r <= b->hi.at[WEFT_ROWS]; r++)
        for (int c = b->lo.at[WEFT_COLS]; c <= b->hi.at[WEFT_COLS]; c++) {
            int count;

            p.at[WEFT_ROWS] = (uint16_t)r;
            p.at[WEFT_COLS] = (uint16_t)c;
            count = most_that_fits(m, p, WEFT_TENSOR_CORES, b->hi.at[WEFT_TENSOR_CORES], l);
            if (count >= 0)
                most = weft_larger(most, t->size[WEFT_ROWS][r] * t->size[WEFT_COLS][c] *
                                             t->size[WEFT_TENSOR_CORES][count]);
        }
    return most;
}

static double most_lanes(const weft_workload_eval *m, const weft_space_box *b, const weft_limits *l)
{
    const weft_template *t = m->template_;
    weft_design_point p = b->lo;
    double most = 0;

    for (int w = b->lo.at[WEFT_LANES]; w <= b->hi.at[WEFT_LANES]; w++) {
        int count;

        p.at[WEFT_LANES] = (uint16_t)w;
        count = most_that_fits(m, p, WEFT_VECTOR_CORES, b->hi.at[WEFT_VECTOR_CORES], l);
        if (count >= 0)
            most = weft_larger(most, t->size[WEFT_LANES][w] * t->size[WEFT_VECTOR_CORES][count]);
    }
    return most;
}

static bool is_point(const weft_space_box *b)
{
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        if (b->lo.at[k] != b->hi.at[k])
            return false;
    return true;
}

double weft_eval_box_s(void *eval, const weft_space_box *b, const weft_limits *l)
{
    weft_workload_eval *m = eval;
    const weft_template *t = m->template_;
    int tensor = most_that_fits(m, b->lo, WEFT_TENSOR_CORES, b->hi.at[WEFT_TENSOR_CORES], l);
    int vector = most_that_fits(m, b->lo, WEFT_VECTOR_CORES, b->hi.at[WEFT_VECTOR_CORES], l);
    double clock = t->constant[WEFT_CLOCK].value * t->constant[WEFT_DERATE].value;
    const weft_eval_frame *f;
    peak most;

    if (tensor < 0 || vector < 0)
        return INFINITY;
    if (is_point(b))
        return weft_larger(weft_eval_bound_s(m, &b->lo), weft_eval_headtail_s(m, &b->lo));
    f = weft_eval_frame_of_box(m, b, (int)t->size[WEFT_TENSOR_CORES][tensor],
                               (int)t->size[WEFT_VECTOR_CORES][vector]);
    most = (peak){1 / (clock * most_units(m, b, l)), 1 / (clock * most_lanes(m, b, l))};
    return series_floor(m, f, most);
}
