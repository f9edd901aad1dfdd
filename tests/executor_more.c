/* SPDX-License-Identifier: MIT */
/* executor_more.c: operators as members run them, continued: those with several products, sums that
 * overlap, and places that are not read. */
#include "executor_ops.h"

/* --- transposed convolution ------------------------------------------------------------------ */

enum { B, G, M, R, C, N, N_AXES };

typedef struct spread {
    exec_window window;
    int64_t m, n; /* channels of a group */
    int64_t lo[N_AXES], hi[N_AXES];
} spread;

static spread spread_of(exec_task *t)
{
    const weft_shape *x = &t->arg[0]->shape, *y = &t->result[0]->shape;
    int64_t groups = weft_node_int(&t->graph->node[t->node], "group", 1);
    spread v = {.window = exec_window_of(t->graph, t->node),
                .m = y->dim[1] / groups,
                .n = x->dim[1] / groups};

    range(t, "b", x->dim[0], &v.lo[B], &v.hi[B]);
    range(t, "g", groups, &v.lo[G], &v.hi[G]);
    range(t, "m", v.m, &v.lo[M], &v.hi[M]);
    range(t, "r", x->dim[2], &v.lo[R], &v.hi[R]);
    range(t, "c", x->dim[3], &v.lo[C], &v.hi[C]);
    range(t, "n", v.n, &v.lo[N], &v.hi[N]);
    return v;
}

/* Where place `at` of the operand and element k of the kernel lead in spatial dimension d. */
static int64_t led_to(const spread *v, int d, int64_t at, int64_t k)
{
    return at * v->window.stride[d] + k * v->window.dilation[d] - v->window.begin[d];
}

/* Does a place of the block lead there? If the dimension is not cut, all of it is the member's. */
static bool is_reached(const exec_task *t, const spread *v, int d, int64_t to)
{
    int64_t lo = v->lo[R + d], hi = v->hi[R + d];

    if (lo == 0 && hi == t->arg[0]->shape.dim[2 + d])
        return true;
    for (int64_t at = lo; at < hi; at++)
        for (int64_t k = 0; k < v->window.kernel[d]; k++)
            if (led_to(v, d, at, k) == to)
                return true;
    return false;
}

/* Places that no point leads to are 0. */
static void spread_zeros(exec_task *t, const spread *v)
{
    exec_memory *y = t->result[0];
    int64_t at[N_AXES], lo[N_AXES] = {v->lo[B], v->lo[G], v->lo[M]};
    int64_t hi[N_AXES] = {v->hi[B], v->hi[G], v->hi[M], y->shape.dim[2], y->shape.dim[3]};

    for (bool more = exec_first(N, lo, hi, at); more; more = exec_next(N, lo, hi, at)) {
        const int64_t to[] = {at[B], at[G] * v->m + at[M], at[R], at[C]};

        if (is_reached(t, v, 0, at[R]) && is_reached(t, v, 1, at[C]))
            add(y, EXEC_SUM, exec_at(&y->shape, to), 0);
    }
}

static void spread_points(exec_task *t)
{
    const exec_memory *x = t->arg[0], *w = t->arg[1];
    exec_memory *y = t->result[0];
    spread v = spread_of(t);
    const int64_t none[2] = {0, 0};
    int64_t at[N_AXES], k[2];

    spread_zeros(t, &v);
    for (bool more = exec_first(N_AXES, v.lo, v.hi, at); more;
         more = exec_next(N_AXES, v.lo, v.hi, at))
        for (bool inner = exec_first(2, none, v.window.kernel, k); inner;
             inner = exec_next(2, none, v.window.kernel, k)) {
            const int64_t x_at[] = {at[B], at[G] * v.n + at[N], at[R], at[C]};
            const int64_t w_at[] = {at[G] * v.n + at[N], at[M], k[0], k[1]};
            const int64_t to[] = {at[B], at[G] * v.m + at[M], led_to(&v, 0, at[R], k[0]),
                                  led_to(&v, 1, at[C], k[1])};

            if (to[2] >= 0 && to[2] < y->shape.dim[2] && to[3] >= 0 && to[3] < y->shape.dim[3])
                add(y, EXEC_SUM, exec_at(&y->shape, to),
                    times(take(t, x, exec_at(&x->shape, x_at)),
                          take(t, w, exec_at(&w->shape, w_at))));
        }
}

/* --- sums of products with labels ------------------------------------------------------------ */

enum { MOST_LABELS = 8 };

/* "ij,jk->ik": labels in the order in which they occur. */
typedef struct labels {
    int n;
    char name[MOST_LABELS][2];
    int n_dims[3];             /* of both operands and the result */
    int dim[3][WEFT_MAX_RANK]; /* label of a dimension */
} labels;

static int label_of(labels *l, char c)
{
    for (int i = 0; i < l->n; i++)
        if (l->name[i][0] == c)
            return i;
    l->name[l->n][0] = c;
    return l->n++;
}

static labels labels_of(const exec_task *t)
{
    labels l = {.n = 0};
    int term = 0;

    for (const char *c = weft_node_text(&t->graph->node[t->node], "equation", ""); *c; c++) {
        if (*c == ',' || *c == '>')
            term++;
        else if (*c != '-')
            l.dim[term][l.n_dims[term]++] = label_of(&l, *c);
    }
    return l;
}

static int64_t labelled(const labels *l, int term, const weft_shape *s, const int64_t *at)
{
    int64_t index[WEFT_MAX_RANK];

    for (int d = 0; d < l->n_dims[term]; d++)
        index[d] = at[l->dim[term][d]];
    return exec_at(s, index);
}

static void einsum_points(exec_task *t)
{
    labels l = labels_of(t);
    const exec_memory *a = t->arg[0], *b = t->arg[1];
    exec_memory *y = t->result[0];
    int64_t size[MOST_LABELS], lo[MOST_LABELS], hi[MOST_LABELS], at[MOST_LABELS];

    for (int term = 0; term < 2; term++)
        for (int d = 0; d < l.n_dims[term]; d++)
            size[l.dim[term][d]] = t->arg[term]->shape.dim[d];
    for (int i = 0; i < l.n; i++)
        range(t, l.name[i], size[i], &lo[i], &hi[i]);
    for (bool more = exec_first(l.n, lo, hi, at); more; more = exec_next(l.n, lo, hi, at))
        add(y, EXEC_SUM, labelled(&l, 2, &y->shape, at),
            times(take(t, a, labelled(&l, 0, &a->shape, at)),
                  take(t, b, labelled(&l, 1, &b->shape, at))));
}

/* --- attention ------------------------------------------------------------------------------- */

enum { MOST_KEYS = 16 };

typedef struct heads {
    bool is_flat; /* batch x rows x (heads * width); else batch x heads x rows x width */
    int64_t n_q, n_kv;
} heads;

static heads heads_of(const exec_task *t)
{
    const weft_node *n = &t->graph->node[t->node];
    const weft_shape *q = &t->arg[0]->shape, *k = &t->arg[1]->shape;

    return (heads){q->rank == 3, weft_node_int(n, "q_num_heads", q->dim[1]),
                   weft_node_int(n, "kv_num_heads", k->dim[1])};
}

static int64_t head_at(const heads *h, const weft_shape *s, int64_t n_heads, const int64_t at[4])
{
    const int64_t flat[] = {at[0], at[2], at[1] * (s->dim[2] / n_heads) + at[3]};

    return exec_at(s, h->is_flat ? flat : at);
}

/* One row of one head: scores against all keys, 3 s - sum - max of them, times the values. */
static void attend(exec_task *t, const heads *h, int64_t b, int64_t head, int64_t row)
{
    const exec_memory *q = t->arg[0], *k = t->arg[1], *v = t->arg[2], *mask = t->arg[3];
    int64_t keys = k->shape.dim[h->is_flat ? 1 : 2], kv = head / (h->n_q / h->n_kv);
    int64_t width = h->is_flat ? q->shape.dim[2] / h->n_q : q->shape.dim[3];
    int64_t values = h->is_flat ? v->shape.dim[2] / h->n_kv : v->shape.dim[3];
    int64_t score[MOST_KEYS], sum = 0, most = INT64_MIN;

    for (int64_t i = 0; i < keys; i++) {
        score[i] = mask == NULL ? 0 : take(t, mask, row * keys + i);
        for (int64_t d = 0; d < width; d++)
            score[i] =
                plus(score[i],
                     times(take(t, q, head_at(h, &q->shape, h->n_q, (int64_t[]){b, head, row, d})),
                           take(t, k, head_at(h, &k->shape, h->n_kv, (int64_t[]){b, kv, i, d}))));
        sum = plus(sum, score[i]);
        most = score[i] > most ? score[i] : most;
    }
    for (int64_t e = 0; e < values; e++) {
        int64_t y = 0;

        for (int64_t i = 0; i < keys; i++)
            y = plus(y,
                     times(plus(times(3, score[i]), times(-1, plus(sum, most))),
                           take(t, v, head_at(h, &v->shape, h->n_kv, (int64_t[]){b, kv, i, e}))));
        set(t->result[0], head_at(h, &t->result[0]->shape, h->n_q, (int64_t[]){b, head, row, e}),
            y);
    }
}

static void attention_points(exec_task *t)
{
    heads h = heads_of(t);
    const weft_shape *q = &t->arg[0]->shape;
    int64_t lo[4], hi[4], at[4], shared = h.n_q / h.n_kv;

    range(t, "b", q->dim[0], &lo[0], &hi[0]);
    range(t, "h", h.n_kv, &lo[1], &hi[1]);
    range(t, "g", shared, &lo[2], &hi[2]);
    range(t, "s", q->dim[h.is_flat ? 1 : 2], &lo[3], &hi[3]);
    for (bool more = exec_first(4, lo, hi, at); more; more = exec_next(4, lo, hi, at))
        attend(t, &h, at[0], at[1] * shared + at[2], at[3]);
}

/* --- paddings, running sums ------------------------------------------------------------------ */

static void pad_points(exec_task *t)
{
    const exec_memory *x = t->arg[0];
    const weft_shape *y = &t->result[0]->shape;
    const weft_literal *pads = exec_arg(t->graph, t->node, 1)->value;
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, y, lo, hi);
    for (bool more = exec_first(y->rank, lo, hi, at); more; more = exec_next(y->rank, lo, hi, at)) {
        int64_t x_at[WEFT_MAX_RANK];
        bool is_inside = true;

        for (int i = 0; i < y->rank; i++) {
            x_at[i] = at[i] - pads->ints[i];
            is_inside = is_inside && x_at[i] >= 0 && x_at[i] < x->shape.dim[i];
        }
        set(t->result[0], exec_at(y, at), is_inside ? take(t, x, exec_at(&x->shape, x_at)) : 0);
    }
}

static void running_points(exec_task *t)
{
    const exec_memory *x = t->arg[0];
    const weft_shape *s = &x->shape;
    int axis = (int)exec_arg(t->graph, t->node, 1)->value->ints[0];
    int64_t lo[WEFT_MAX_RANK], hi[WEFT_MAX_RANK], at[WEFT_MAX_RANK];

    ranges(t, s, lo, hi);
    for (bool more = exec_first(s->rank, lo, hi, at); more; more = exec_next(s->rank, lo, hi, at)) {
        int64_t before[WEFT_MAX_RANK], sum = 0;

        memcpy(before, at, sizeof at);
        for (before[axis] = 0; before[axis] <= at[axis]; before[axis]++)
            sum = plus(sum, take(t, x, exec_at(s, before)));
        set(t->result[0], exec_at(s, at), sum);
    }
}

static void bias_close(exec_task *t)
{
    exec_memory *y = t->result[0], *bias = t->arg[2];
    int64_t plane = y->shape.dim[2] * y->shape.dim[3];

    for (int64_t i = 0; bias != NULL && i < y->n; i++)
        if (y->held[i])
            add(y, EXEC_SUM, i, take(t, bias, i / plane % y->shape.dim[1]));
}

const exec_kernel exec_more_kernels[] = {
    {"ConvTranspose", EXEC_SUM,  spread_points,    bias_close},
    {"Einsum",        EXEC_SUM,  einsum_points,    NULL      },
    {"Attention",     EXEC_NONE, attention_points, NULL      },
    {"Pad",           EXEC_NONE, pad_points,       NULL      },
    {"CumSum",        EXEC_NONE, running_points,   NULL      },
    {NULL,            EXEC_NONE, NULL,             NULL      },
};
