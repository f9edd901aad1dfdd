/* SPDX-License-Identifier: MIT */
/* executor_ops.c: operators as members run them: a block of the points of their axes, on what a
 * member holds. Axes are asked for by name; what the operator does along them is written here from
 * its definition in ONNX. */
#include "executor_ops.h"

#include <string.h>

int64_t exec_combined(exec_combine combine, int64_t a, int64_t b)
{
    return combine == EXEC_MAX ? (a > b ? a : b) : plus(a, b);
}

/* --- convolution, pools ---------------------------------------------------------------------- */

enum { B, G, M, R, C, N_PLACES };

typedef struct conv {
    exec_window window;
    int64_t groups, m, n; /* channels of a group */
    int64_t n_lo, n_hi;
} conv;

static int64_t conv_sum(exec_task *t, const conv *v, const int64_t *at)
{
    const exec_memory *x = t->arg[0], *w = t->arg[1];
    int64_t sum = 0;

    for (int64_t n = v->n_lo; n < v->n_hi; n++)
        for (int64_t i = 0; i < v->window.kernel[0]; i++)
            for (int64_t j = 0; j < v->window.kernel[1]; j++) {
                int64_t row = at[R] * v->window.stride[0] + i * v->window.dilation[0];
                int64_t column = at[C] * v->window.stride[1] + j * v->window.dilation[1];
                const int64_t x_at[] = {at[B], at[G] * v->n + n, row - v->window.begin[0],
                                        column - v->window.begin[1]};
                const int64_t w_at[] = {at[G] * v->m + at[M], n, i, j};

                if (x_at[2] >= 0 && x_at[2] < x->shape.dim[2] && x_at[3] >= 0 &&
                    x_at[3] < x->shape.dim[3])
                    sum = plus(sum, times(take(t, x, exec_at(&x->shape, x_at)),
                                          take(t, w, exec_at(&w->shape, w_at))));
            }
    return sum;
}

static void conv_points(exec_task *t)
{
    exec_memory *y = t->result[0];
    conv v = {.window = exec_window_of(t->graph, t->node),
              .groups = weft_node_int(&t->graph->node[t->node], "group", 1)};
    int64_t lo[N_PLACES], hi[N_PLACES], at[N_PLACES];

    v.m = y->shape.dim[1] / v.groups;
    v.n = t->arg[0]->shape.dim[1] / v.groups;
    range(t, "b", y->shape.dim[0], &lo[B], &hi[B]);
    range(t, "g", v.groups, &lo[G], &hi[G]);
    range(t, "m", v.m, &lo[M], &hi[M]);
    range(t, "r", y->shape.dim[2], &lo[R], &hi[R]);
    range(t, "c", y->shape.dim[3], &lo[C], &hi[C]);
    range(t, "n", v.n, &v.n_lo, &v.n_hi);
    for (bool more = exec_first(N_PLACES, lo, hi, at); more;
         more = exec_next(N_PLACES, lo, hi, at)) {
        const int64_t y_at[] = {at[B], at[G] * v.m + at[M], at[R], at[C]};

        add(y, EXEC_SUM, exec_at(&y->shape, y_at), conv_sum(t, &v, at));
    }
}

static void conv_close(exec_task *t)
{
    exec_memory *y = t->result[0], *bias = t->arg[2];
    int64_t plane = y->shape.dim[2] * y->shape.dim[3];

    for (int64_t i = 0; bias != NULL && i < y->n; i++)
        if (y->held[i])
            add(y, EXEC_SUM, i, take(t, bias, i / plane % y->shape.dim[1]));
}

static void pool_points(exec_task *t, exec_combine combine)
{
    const exec_memory *x = t->arg[0];
    exec_memory *y = t->result[0];
    exec_window w = exec_window_of(t->graph, t->node);
    int64_t lo[4], hi[4], at[4], k[2];
    const int64_t none[] = {0, 0};

    range(t, "b", y->shape.dim[0], &lo[0], &hi[0]);
    range(t, "m", y->shape.dim[1], &lo[1], &hi[1]);
    range(t, "r", y->shape.dim[2], &lo[2], &hi[2]);
    range(t, "c", y->shape.dim[3], &lo[3], &hi[3]);
    for (bool more = exec_first(4, lo, hi, at); more; more = exec_next(4, lo, hi, at))
        for (bool inner = exec_first(2, none, w.kernel, k); inner;
             inner = exec_next(2, none, w.kernel, k)) {
            const int64_t x_at[] = {at[0], at[1],
                                    at[2] * w.stride[0] + k[0] * w.dilation[0] - w.begin[0],
                                    at[3] * w.stride[1] + k[1] * w.dilation[1] - w.begin[1]};

            if (x_at[2] >= 0 && x_at[2] < x->shape.dim[2] && x_at[3] >= 0 &&
                x_at[3] < x->shape.dim[3])
                add(y, combine, exec_at(&y->shape, at), take(t, x, exec_at(&x->shape, x_at)));
        }
}

static void pool_sum(exec_task *t)
{
    pool_points(t, EXEC_SUM);
}

static void pool_max(exec_task *t)
{
    pool_points(t, EXEC_MAX);
}

static void global_points(exec_task *t, exec_combine combine)
{
    const exec_memory *x = t->arg[0];
    int64_t lo[4], hi[4], at[4];

    range(t, "b", x->shape.dim[0], &lo[0], &hi[0]);
    range(t, "m", x->shape.dim[1], &lo[1], &hi[1]);
    range(t, "i", x->shape.dim[2], &lo[2], &hi[2]);
    range(t, "j", x->shape.dim[3], &lo[3], &hi[3]);
    for (bool more = exec_first(4, lo, hi, at); more; more = exec_next(4, lo, hi, at))
        add(t->result[0], combine, at[0] * x->shape.dim[1] + at[1],
            take(t, x, exec_at(&x->shape, at)));
}

static void global_sum(exec_task *t)
{
    global_points(t, EXEC_SUM);
}

static void global_max(exec_task *t)
{
    global_points(t, EXEC_MAX);
}

/* --- products -------------------------------------------------------------------------------- */

/* Where the terms of a sum begin in both operands, how far apart they are, and which of them. */
typedef struct terms {
    int64_t a, a_step, b, b_step, lo, hi;
} terms;

static int64_t product_sum(exec_task *t, const terms *p)
{
    int64_t sum = 0;

    for (int64_t k = p->lo; k < p->hi; k++)
        sum = plus(sum, times(take(t, t->arg[0], p->a + k * p->a_step),
                              take(t, t->arg[1], p->b + k * p->b_step)));
    return sum;
}

/* A vector as a matrix of one row, or one column, has the same elements in the same places. */
static weft_shape matrix(const weft_shape *s, bool is_left)
{
    if (s->rank > 1)
        return *s;
    return (weft_shape){
        .rank = 2, .dim = {is_left ? 1 : s->dim[0], is_left ? s->dim[0] : 1}
    };
}

static weft_shape product_shape(const exec_task *t)
{
    weft_shape y = t->result[0]->shape;

    if (t->arg[1]->shape.rank == 1)
        y.dim[y.rank++] = 1;
    if (t->arg[0]->shape.rank == 1) {
        y.dim[y.rank] = y.rank > 0 ? y.dim[y.rank - 1] : 1;
        y.dim[y.rank > 0 ? y.rank - 1 : 0] = 1;
        y.rank++;
    }
    return y;
}

static void matmul_points(exec_task *t)
{
    static const char *const name[] = {"b0", "b1", "b2", "b3", "b4", "b5"};
    const weft_shape left = matrix(&t->arg[0]->shape, true), *a = &left;
    const weft_shape right = matrix(&t->arg[1]->shape, false), *b = &right;
    const weft_shape result = product_shape(t), *y = &result;
    int n_batch = y->rank - 2;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK] = {0};
    terms p = {.a_step = 1, .b_step = b->dim[b->rank - 1]};

    for (int i = 0; i < n_batch; i++)
        range(t, name[i], y->dim[i], &lo[i], &hi[i]);
    range(t, "m", y->dim[n_batch], &lo[n_batch], &hi[n_batch]);
    range(t, "n", y->dim[n_batch + 1], &lo[n_batch + 1], &hi[n_batch + 1]);
    range(t, "k", a->dim[a->rank - 1], &p.lo, &p.hi);
    for (bool more = exec_first(y->rank, lo, hi, at); more; more = exec_next(y->rank, lo, hi, at)) {
        int64_t a_at[WEFT_MAX_RANK], b_at[WEFT_MAX_RANK];

        memcpy(a_at, at, sizeof at);
        memcpy(b_at, at, sizeof at);
        a_at[y->rank - 1] = b_at[y->rank - 2] = 0;
        p.a = exec_at_broadcast(a, a_at, y->rank);
        p.b = exec_at_broadcast(b, b_at, y->rank);
        add(t->result[0], EXEC_SUM, exec_at(y, at), product_sum(t, &p));
    }
}

static void gemm_points(exec_task *t)
{
    const weft_node *node = &t->graph->node[t->node];
    bool is_a = weft_node_int(node, "transA", 0) != 0, is_b = weft_node_int(node, "transB", 0) != 0;
    const weft_shape *a = &t->arg[0]->shape, *b = &t->arg[1]->shape, *y = &t->result[0]->shape;
    terms p = {.a_step = is_a ? a->dim[1] : 1, .b_step = is_b ? 1 : b->dim[1]};
    int64_t lo[2], hi[2], at[2];

    range(t, "m", y->dim[0], &lo[0], &hi[0]);
    range(t, "n", y->dim[1], &lo[1], &hi[1]);
    range(t, "k", a->dim[is_a ? 0 : 1], &p.lo, &p.hi);
    for (bool more = exec_first(2, lo, hi, at); more; more = exec_next(2, lo, hi, at)) {
        p.a = is_a ? at[0] : at[0] * a->dim[1];
        p.b = is_b ? at[1] * b->dim[1] : at[1];
        add(t->result[0], EXEC_SUM, exec_at(y, at), product_sum(t, &p));
    }
}

static void gemm_close(exec_task *t)
{
    exec_memory *y = t->result[0], *c = t->arg[2];

    for (int64_t i = 0; c != NULL && i < y->n; i++) {
        const int64_t at[] = {i / y->shape.dim[1], i % y->shape.dim[1]};

        if (y->held[i])
            add(y, EXEC_SUM, i, take(t, c, exec_at_broadcast(&c->shape, at, 2)));
    }
}

/* --- reductions, statistics ------------------------------------------------------------------ */

static void reduce_points(exec_task *t, exec_combine combine)
{
    const exec_memory *x = t->arg[0];
    unsigned reduced = exec_reduced(t->graph, t->node);
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, &x->shape, lo, hi);
    for (bool more = exec_first(x->shape.rank, lo, hi, at); more;
         more = exec_next(x->shape.rank, lo, hi, at)) {
        int64_t y_at = 0; /* dimensions that are kept with size 1 change nothing */

        for (int i = 0; i < x->shape.rank; i++)
            if (!(reduced >> i & 1))
                y_at = y_at * x->shape.dim[i] + at[i];
        add(t->result[0], combine, y_at, take(t, x, exec_at(&x->shape, at)));
    }
}

static void reduce_sum(exec_task *t)
{
    reduce_points(t, EXEC_SUM);
}

static void reduce_max(exec_task *t)
{
    reduce_points(t, EXEC_MAX);
}

static void add_statistics(exec_task *t, int64_t place, int64_t value)
{
    add(t->sum, EXEC_SUM, place, value);
    add(t->max, EXEC_MAX, place, value);
}

/* 3 x - sum - max, the sum and the maximum being those of its place. */
static int64_t normal(exec_task *t, int64_t x, int64_t place)
{
    int64_t away = plus(take(t, t->sum, place), take(t, t->max, place));

    return plus(times(3, x), times(-1, away));
}

static void softmax_points(exec_task *t)
{
    const exec_memory *x = t->arg[0];
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, &x->shape, lo, hi);
    for (bool more = exec_first(x->shape.rank, lo, hi, at); more;
         more = exec_next(x->shape.rank, lo, hi, at))
        add_statistics(t, exec_at_broadcast(&t->sum->shape, at, x->shape.rank),
                       take(t, x, exec_at(&x->shape, at)));
}

static void softmax_close(exec_task *t)
{
    const exec_memory *x = t->arg[0], *scale, *bias;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    int rank = x->shape.rank, n_args = t->graph->arg_at[t->node + 1] - t->graph->arg_at[t->node];

    ranges(t, &x->shape, lo, hi);
    scale = n_args > 1 ? t->arg[1] : NULL;
    bias = n_args > 2 ? t->arg[2] : NULL;
    for (bool more = exec_first(rank, lo, hi, at); more; more = exec_next(rank, lo, hi, at)) {
        int64_t y = normal(t, take(t, x, exec_at(&x->shape, at)),
                           exec_at_broadcast(&t->sum->shape, at, rank));

        if (scale != NULL)
            y = times(y, take(t, scale, exec_at_broadcast(&scale->shape, at, rank)));
        if (bias != NULL)
            y = plus(y, take(t, bias, exec_at_broadcast(&bias->shape, at, rank)));
        set(t->result[0], exec_at(&x->shape, at), y);
    }
}

/* Intervals of b, g, m, r, c of a normalisation in groups of channels; InstanceNormalization has a
 * group for each channel and calls it m. */
static int64_t group_ranges(exec_task *t, int64_t *lo, int64_t *hi)
{
    const weft_shape *x = &t->arg[0]->shape;
    int64_t groups = weft_node_int(&t->graph->node[t->node], "num_groups", x->dim[1]);
    bool is_instance = strcmp(t->graph->node[t->node].op, "InstanceNormalization") == 0;

    range(t, "b", x->dim[0], &lo[B], &hi[B]);
    range(t, is_instance ? "m" : "g", groups, &lo[G], &hi[G]);
    lo[M] = 0;
    hi[M] = 1;
    if (!is_instance)
        range(t, "m", x->dim[1] / groups, &lo[M], &hi[M]);
    range(t, "r", x->dim[2], &lo[R], &hi[R]);
    range(t, "c", x->dim[3], &lo[C], &hi[C]);
    return groups;
}

static void group_each(exec_task *t, bool is_close)
{
    const exec_memory *x = t->arg[0];
    int64_t lo[N_PLACES], hi[N_PLACES], at[N_PLACES], groups = group_ranges(t, lo, hi);

    for (bool more = exec_first(N_PLACES, lo, hi, at); more;
         more = exec_next(N_PLACES, lo, hi, at)) {
        int64_t channel = at[G] * (x->shape.dim[1] / groups) + at[M];
        const int64_t x_at[] = {at[B], channel, at[R], at[C]};
        int64_t place = at[B] * groups + at[G], i = exec_at(&x->shape, x_at), y;

        if (!is_close) {
            add_statistics(t, place, take(t, x, i));
            continue;
        }
        if (t->arg[1]->n == groups) /* opset 18: one scale and one bias for a group */
            channel = at[G];
        y = times(normal(t, take(t, x, i), place), take(t, t->arg[1], channel));
        set(t->result[0], i, plus(y, take(t, t->arg[2], channel)));
    }
}

static void group_points(exec_task *t)
{
    group_each(t, false);
}

static void group_close(exec_task *t)
{
    group_each(t, true);
}

/* --- element by element ---------------------------------------------------------------------- */

static int n_args_of(const exec_task *t)
{
    return t->graph->arg_at[t->node + 1] - t->graph->arg_at[t->node];
}

/* Element i of the result; operands are broadcast, those of a batch normalisation by channel. */
static void one_element(exec_task *t, int64_t i)
{
    const char *op = t->graph->node[t->node].op;
    const weft_shape *y = &t->result[0]->shape;
    bool is_norm = strcmp(op, "BatchNormalization") == 0;
    int64_t at[WEFT_MAX_RANK], rest = i, x[EXEC_MOST_OPERANDS];

    for (int d = y->rank - 1; d >= 0; rest /= y->dim[d], d--)
        at[d] = rest % y->dim[d];
    for (int k = 0; k < n_args_of(t); k++)
        x[k] = take(t, t->arg[k],
                    is_norm && k > 0 ? at[1] : exec_at_broadcast(&t->arg[k]->shape, at, y->rank));
    set(t->result[0], i, exec_scalar(op, x, n_args_of(t)));
}

static void element_points(exec_task *t)
{
    const weft_shape *y = &t->result[0]->shape;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, y, lo, hi);
    for (bool more = exec_first(y->rank, lo, hi, at); more; more = exec_next(y->rank, lo, hi, at))
        one_element(t, exec_at(y, at));
}

static void batch_norm_points(exec_task *t)
{
    const weft_shape *y = &t->result[0]->shape;
    int64_t lo[4], hi[4], at[4];

    range(t, "b", y->dim[0], &lo[0], &hi[0]);
    range(t, "m", y->dim[1], &lo[1], &hi[1]);
    range(t, "r", y->dim[2], &lo[2], &hi[2]);
    range(t, "c", y->dim[3], &lo[3], &hi[3]);
    for (bool more = exec_first(4, lo, hi, at); more; more = exec_next(4, lo, hi, at))
        one_element(t, exec_at(y, at));
}

void exec_elementwise(exec_task *t, const exec_memory *like)
{
    for (int64_t i = 0; i < like->n; i++)
        if (like->held[i])
            one_element(t, i);
}

/* Each element and the sum of a window of channels around it. */
static void lrn_points(exec_task *t)
{
    const exec_memory *x = t->arg[0];
    const weft_shape *s = &x->shape;
    int64_t size = weft_node_int(&t->graph->node[t->node], "size", 1), lo[4], hi[4], at[4];

    range(t, "b", s->dim[0], &lo[0], &hi[0]);
    range(t, "m", s->dim[1], &lo[1], &hi[1]);
    range(t, "r", s->dim[2], &lo[2], &hi[2]);
    range(t, "c", s->dim[3], &lo[3], &hi[3]);
    for (bool more = exec_first(4, lo, hi, at); more; more = exec_next(4, lo, hi, at)) {
        int64_t y = times(2, take(t, x, exec_at(s, at)));

        for (int64_t m = at[1] - (size - 1) / 2; m <= at[1] + size / 2; m++) {
            const int64_t x_at[] = {at[0], m, at[2], at[3]};

            if (m >= 0 && m < s->dim[1])
                y = plus(y, take(t, x, exec_at(s, x_at)));
        }
        set(t->result[0], exec_at(s, at), y);
    }
}

/* --- moves ----------------------------------------------------------------------------------- */

/* Place in operand *slot of the element `at` of the result. */
typedef int64_t move(exec_task *t, const int64_t *at, int *slot);

static void move_points(exec_task *t, move *from)
{
    const weft_shape *y = &t->result[0]->shape;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, y, lo, hi);
    for (bool more = exec_first(y->rank, lo, hi, at); more; more = exec_next(y->rank, lo, hi, at)) {
        int slot = 0;
        int64_t x_at = from(t, at, &slot);

        set(t->result[0], exec_at(y, at), take(t, t->arg[slot], x_at));
    }
}

static int64_t viewed(exec_task *t, const int64_t *at, int *slot)
{
    (void)slot;
    return exec_at(&t->result[0]->shape, at);
}

static int64_t transposed(exec_task *t, const int64_t *at, int *slot)
{
    const weft_shape *x = &t->arg[0]->shape;
    int64_t x_at[WEFT_MAX_RANK];
    int n;
    const int64_t *perm = weft_node_ints(&t->graph->node[t->node], "perm", &n);

    (void)slot;
    for (int i = 0; i < x->rank; i++)
        x_at[perm == NULL ? x->rank - 1 - i : perm[i]] = at[i];
    return exec_at(x, x_at);
}

static int64_t joined(exec_task *t, const int64_t *at, int *slot)
{
    int axis = exec_axis_of(t->graph, t->node, 0);
    int64_t x_at[WEFT_MAX_RANK];

    memcpy(x_at, at, sizeof x_at[0] * (size_t)t->result[0]->shape.rank);
    while (x_at[axis] >= t->arg[*slot]->shape.dim[axis])
        x_at[axis] -= t->arg[(*slot)++]->shape.dim[axis];
    return exec_at(&t->arg[*slot]->shape, x_at);
}

static int64_t sliced(exec_task *t, const int64_t *at, int *slot)
{
    const weft_literal *start = exec_arg(t->graph, t->node, 1)->value;
    const weft_literal *axes = exec_arg(t->graph, t->node, 3)->value;
    const weft_literal *step = exec_arg(t->graph, t->node, 4)->value;
    int64_t x_at[WEFT_MAX_RANK];

    (void)slot;
    memcpy(x_at, at, sizeof x_at[0] * (size_t)t->result[0]->shape.rank);
    for (int i = 0; i < axes->n; i++)
        x_at[axes->ints[i]] = start->ints[i] + step->ints[i] * at[axes->ints[i]];
    return exec_at(&t->arg[0]->shape, x_at);
}

static int64_t resized(exec_task *t, const int64_t *at, int *slot)
{
    const weft_shape *x = &t->arg[0]->shape, *y = &t->result[0]->shape;
    int64_t x_at[WEFT_MAX_RANK];

    (void)slot;
    for (int i = 0; i < x->rank; i++)
        x_at[i] = at[i] * x->dim[i] / y->dim[i];
    return exec_at(x, x_at);
}

static int64_t gathered(exec_task *t, const int64_t *at, int *slot)
{
    const weft_shape *x = &t->arg[0]->shape, *ids = &t->arg[1]->shape;
    int axis = exec_axis_of(t->graph, t->node, 0);
    int64_t x_at[WEFT_MAX_RANK], row;

    (void)slot;
    row = take(t, t->arg[1], exec_at(ids, at + axis));
    for (int i = 0; i < x->rank; i++)
        x_at[i] = i < axis ? at[i] : at[i + ids->rank - 1];
    x_at[axis] = (int64_t)((uint64_t)row % (uint64_t)x->dim[axis]); /* a poisoned one, too */
    return exec_at(x, x_at);
}

static void view_points(exec_task *t)
{
    move_points(t, viewed);
}

static void transpose_points(exec_task *t)
{
    move_points(t, transposed);
}

static void concat_points(exec_task *t)
{
    move_points(t, joined);
}

static void slice_points(exec_task *t)
{
    move_points(t, sliced);
}

static void resize_points(exec_task *t)
{
    move_points(t, resized);
}

static void gather_points(exec_task *t)
{
    move_points(t, gathered);
}

/* Over the operand: each element goes to the result it falls into. */
static void split_points(exec_task *t)
{
    const exec_memory *x = t->arg[0];
    int axis = exec_axis_of(t->graph, t->node, 0);
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, &x->shape, lo, hi);
    for (bool more = exec_first(x->shape.rank, lo, hi, at); more;
         more = exec_next(x->shape.rank, lo, hi, at)) {
        int64_t y_at[WEFT_MAX_RANK];
        int slot = 0;

        memcpy(y_at, at, sizeof at);
        while (y_at[axis] >= t->result[slot]->shape.dim[axis])
            y_at[axis] -= t->result[slot++]->shape.dim[axis];
        set(t->result[slot], exec_at(&t->result[slot]->shape, y_at),
            take(t, x, exec_at(&x->shape, at)));
    }
}

/* --- the table ------------------------------------------------------------------------------- */

static const exec_kernel kernels[] = {
    {"Conv",                      EXEC_SUM,       conv_points,       conv_close   },
    {"MatMul",                    EXEC_SUM,       matmul_points,     NULL         },
    {"Gemm",                      EXEC_SUM,       gemm_points,       gemm_close   },
    {"MaxPool",                   EXEC_MAX,       pool_max,          NULL         },
    {"AveragePool",               EXEC_SUM,       pool_sum,          NULL         },
    {"GlobalAveragePool",         EXEC_SUM,       global_sum,        NULL         },
    {"GlobalMaxPool",             EXEC_MAX,       global_max,        NULL         },
    {"ReduceSum",                 EXEC_SUM,       reduce_sum,        NULL         },
    {"ReduceMean",                EXEC_SUM,       reduce_sum,        NULL         },
    {"ReduceMax",                 EXEC_MAX,       reduce_max,        NULL         },
    {"Softmax",                   EXEC_STATISTIC, softmax_points,    softmax_close},
    {"LayerNormalization",        EXEC_STATISTIC, softmax_points,    softmax_close},
    {"InstanceNormalization",     EXEC_STATISTIC, group_points,      group_close  },
    {"GroupNormalization",        EXEC_STATISTIC, group_points,      group_close  },
    {"LRN",                       EXEC_NONE,      lrn_points,        NULL         },
    {"BatchNormalization",        EXEC_NONE,      batch_norm_points, NULL         },
    {"Transpose",                 EXEC_NONE,      transpose_points,  NULL         },
    {"Reshape",                   EXEC_NONE,      view_points,       NULL         },
    {"Flatten",                   EXEC_NONE,      view_points,       NULL         },
    {"Squeeze",                   EXEC_NONE,      view_points,       NULL         },
    {"Unsqueeze",                 EXEC_NONE,      view_points,       NULL         },
    {"Concat",                    EXEC_NONE,      concat_points,     NULL         },
    {"Split",                     EXEC_NONE,      split_points,      NULL         },
    {"Slice",                     EXEC_NONE,      slice_points,      NULL         },
    {"Gather",                    EXEC_NONE,      gather_points,     NULL         },
    {"Resize",                    EXEC_NONE,      resize_points,     NULL         },
    {"Relu",                      EXEC_NONE,      element_points,    NULL         },
    {"Neg",                       EXEC_NONE,      element_points,    NULL         },
    {"Sigmoid",                   EXEC_NONE,      element_points,    NULL         },
    {"Gelu",                      EXEC_NONE,      element_points,    NULL         },
    {"Add",                       EXEC_NONE,      element_points,    NULL         },
    {"Sub",                       EXEC_NONE,      element_points,    NULL         },
    {"Mul",                       EXEC_NONE,      element_points,    NULL         },
    {"Max",                       EXEC_NONE,      element_points,    NULL         },
    {"Where",                     EXEC_NONE,      element_points,    NULL         },
    {"PRelu",                     EXEC_NONE,      element_points,    NULL         },
    {"Clip",                      EXEC_NONE,      element_points,    NULL         },
    {"MeanVarianceNormalization", EXEC_STATISTIC, softmax_points,    softmax_close},
};

const exec_kernel *exec_kernel_find(const char *op)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].op, op) == 0)
            return &kernels[i];
    for (const exec_kernel *k = exec_more_kernels; k->op != NULL; k++)
        if (strcmp(k->op, op) == 0)
            return k;
    return NULL;
}

weft_shape exec_statistic_shape(const weft_graph *g, int u)
{
    weft_shape s = *exec_arg(g, u, 0)->shape;
    const char *op = g->node[u].op;
    int axis;

    if (strcmp(op, "InstanceNormalization") == 0 || strcmp(op, "GroupNormalization") == 0)
        return (weft_shape){
            .rank = 2, .dim = {s.dim[0], weft_node_int(&g->node[u], "num_groups", s.dim[1])}
        };
    if (strcmp(op, "MeanVarianceNormalization") == 0) { /* all but the channels */
        s.dim[0] = s.dim[2] = s.dim[3] = 1;
        return s;
    }
    axis = exec_axis_of(g, u, -1);
    for (int i = axis; i < s.rank && (i == axis || strcmp(op, "Softmax") != 0); i++)
        s.dim[i] = 1;
    return s;
}
