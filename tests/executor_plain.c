/* SPDX-License-Identifier: MIT */
/* executor_plain.c: a network unsplit, by plain loops over whole tensors, and the attributes that
 * both executors read. The loops share nothing with those of executor_ops.c but the arithmetic of
 * single elements: each runs over its result and sums what the definition in ONNX says. */
#include "check.h"
#include "executor.h"

/* --- attributes ------------------------------------------------------------------------------ */

const weft_tensor *exec_arg(const weft_graph *g, int u, int slot)
{
    int n = g->arg_at[u + 1] - g->arg_at[u], t = slot < n ? g->arg[g->arg_at[u] + slot] : -1;

    return t < 0 ? NULL : &g->tensor[t];
}

const weft_tensor *exec_result(const weft_graph *g, int u, int slot)
{
    int n = g->res_at[u + 1] - g->res_at[u], t = slot < n ? g->res[g->res_at[u] + slot] : -1;

    return t < 0 ? NULL : &g->tensor[t];
}

static void pair_of(const weft_node *n, const char *name, int64_t fallback, int64_t to[2])
{
    int count;
    const int64_t *ints = weft_node_ints(n, name, &count);

    for (int i = 0; i < 2; i++)
        to[i] = i < count ? ints[i] : fallback;
}

exec_window exec_window_of(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];
    exec_window w;

    pair_of(n, "kernel_shape", 1, w.kernel);
    if (strncmp(n->op, "Conv", 4) == 0)
        for (int i = 0; i < 2; i++)
            w.kernel[i] = exec_arg(g, u, 1)->shape->dim[2 + i];
    pair_of(n, "strides", 1, w.stride);
    pair_of(n, "dilations", 1, w.dilation);
    pair_of(n, "pads", 0, w.begin);
    return w;
}

int exec_axis_of(const weft_graph *g, int u, int64_t fallback)
{
    int64_t axis = weft_node_int(&g->node[u], "axis", fallback);

    return (int)(axis < 0 ? axis + exec_arg(g, u, 0)->shape->rank : axis);
}

unsigned exec_reduced(const weft_graph *g, int u)
{
    const weft_literal *axes = exec_arg(g, u, 1)->value;
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->ints[i];
    return mask;
}

static int64_t whole(uint64_t x)
{
    return (int64_t)x;
}

int64_t exec_scalar(const char *op, const int64_t *x, int n)
{
    uint64_t a = (uint64_t)x[0], b = n > 1 ? (uint64_t)x[1] : 0;

    if (strcmp(op, "Relu") == 0)
        return x[0] > 0 ? x[0] : 0;
    if (strcmp(op, "Neg") == 0)
        return whole(0 - a);
    if (strcmp(op, "Sigmoid") == 0) /* some function of the element */
        return whole(a * 5 + (a >> 7));
    if (strcmp(op, "Gelu") == 0)
        return whole(a * a + 3);
    if (strcmp(op, "Add") == 0)
        return whole(a + b);
    if (strcmp(op, "Sub") == 0)
        return whole(a - b);
    if (strcmp(op, "Mul") == 0)
        return whole(a * b);
    if (strcmp(op, "Max") == 0)
        return x[0] > x[1] ? x[0] : x[1];
    if (strcmp(op, "Where") == 0)
        return x[0] & 1 ? x[1] : x[2];
    if (strcmp(op, "PRelu") == 0)
        return x[0] > 0 ? x[0] : whole(a * b);
    if (strcmp(op, "Clip") == 0)
        return x[0] < x[1] ? x[1] : x[0] > x[2] ? x[2] : x[0];
    if (strcmp(op, "BatchNormalization") == 0) /* x, scale, bias, mean, variance */
        return whole((a - (uint64_t)x[3]) * b + (uint64_t)x[2] + (uint64_t)x[4] * a);
    fail_msg("no arithmetic for %s", op);
    return 0;
}

/* --- operators ------------------------------------------------------------------------------- */

enum { MOST_ARGS = EXEC_MOST_OPERANDS };

/* A node with the elements of its operands and results. */
typedef struct plain {
    const weft_graph *g;
    int u;
    const int64_t *x[MOST_ARGS];
    const weft_shape *s[MOST_ARGS]; /* shapes of operands; NULL: left out */
    int n_args;
    uint64_t *y;          /* result 0 */
    const weft_shape *to; /* its shape */
} plain;

static void plain_conv(const plain *p)
{
    const int64_t *x = p->x[0], *w = p->x[1];
    const int64_t *d = p->s[0]->dim, *k = p->s[1]->dim, *y = p->to->dim;
    exec_window v = exec_window_of(p->g, p->u);
    int64_t groups = weft_node_int(&p->g->node[p->u], "group", 1), at = 0;

    for (int64_t b = 0; b < y[0]; b++)
        for (int64_t m = 0; m < y[1]; m++)
            for (int64_t r = 0; r < y[2]; r++)
                for (int64_t c = 0; c < y[3]; c++, at++) {
                    uint64_t sum = p->n_args > 2 ? (uint64_t)p->x[2][m] : 0;
                    int64_t first = m / (y[1] / groups) * k[1]; /* channel of the group */

                    for (int64_t e = 0; e < k[1] * k[2] * k[3]; e++) {
                        int64_t n = e / (k[2] * k[3]), i = e / k[3] % k[2], j = e % k[3];
                        int64_t h = r * v.stride[0] - v.begin[0] + i * v.dilation[0];
                        int64_t g = c * v.stride[1] - v.begin[1] + j * v.dilation[1];

                        if (h >= 0 && h < d[2] && g >= 0 && g < d[3])
                            sum += (uint64_t)x[((b * d[1] + first + n) * d[2] + h) * d[3] + g] *
                                   (uint64_t)w[m * k[1] * k[2] * k[3] + e];
                    }
                    p->y[at] = sum;
                }
}

static void plain_pool(const plain *p)
{
    const int64_t *x = p->x[0], *d = p->s[0]->dim, *y = p->to->dim;
    exec_window v = exec_window_of(p->g, p->u);
    bool is_max = strcmp(p->g->node[p->u].op, "MaxPool") == 0;

    for (int64_t plane = 0; plane < d[0] * d[1]; plane++)
        for (int64_t at = 0; at < y[2] * y[3]; at++) {
            int64_t most = INT64_MIN;
            uint64_t sum = 0;

            for (int64_t e = 0; e < d[2] * d[3]; e++) { /* every place: is it in the window? */
                int64_t h = e / d[3] + v.begin[0] - at / y[3] * v.stride[0];
                int64_t g = e % d[3] + v.begin[1] - at % y[3] * v.stride[1];

                if (h < 0 || h % v.dilation[0] != 0 || h / v.dilation[0] >= v.kernel[0] || g < 0 ||
                    g % v.dilation[1] != 0 || g / v.dilation[1] >= v.kernel[1])
                    continue;
                most = x[plane * d[2] * d[3] + e] > most ? x[plane * d[2] * d[3] + e] : most;
                sum += (uint64_t)x[plane * d[2] * d[3] + e];
            }
            p->y[plane * y[2] * y[3] + at] = is_max ? (uint64_t)most : sum;
        }
}

static void plain_matmul(const plain *p)
{
    const weft_shape *a = p->s[0], *b = p->s[1];
    int64_t rows = a->rank > 1 ? a->dim[a->rank - 2] : 1, inner = a->dim[a->rank - 1];
    int64_t columns = b->rank > 1 ? b->dim[b->rank - 1] : 1, n = weft_shape_elements(p->to);
    int n_batch = (a->rank > b->rank ? a->rank : b->rank) - 2;

    for (int64_t at = 0; at < n; at++) {
        int64_t rest = at / (rows * columns), left = 0, right = 0, left_step = 1, right_step = 1;

        for (int i = 1; i <= n_batch; i++) { /* batch dimensions from the last */
            int64_t size = p->to->dim[n_batch - i], place = rest % size;
            int64_t d = i <= a->rank - 2 ? a->dim[a->rank - 2 - i] : 1;
            int64_t e = i <= b->rank - 2 ? b->dim[b->rank - 2 - i] : 1;

            left += d == 1 ? 0 : place * left_step;
            right += e == 1 ? 0 : place * right_step;
            left_step *= d;
            right_step *= e;
            rest /= size;
        }
        p->y[at] = 0;
        for (int64_t k = 0; k < inner; k++)
            p->y[at] += (uint64_t)p->x[0][(left * rows + at / columns % rows) * inner + k] *
                        (uint64_t)p->x[1][(right * inner + k) * columns + at % columns];
    }
}

static void plain_gemm(const plain *p)
{
    const weft_node *n = &p->g->node[p->u];
    bool is_a = weft_node_int(n, "transA", 0) != 0, is_b = weft_node_int(n, "transB", 0) != 0;
    int64_t rows = p->to->dim[0], columns = p->to->dim[1], inner = p->s[0]->dim[is_a ? 0 : 1];

    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            const int64_t at[] = {r, c};
            uint64_t sum = 0;

            if (p->n_args > 2)
                sum = (uint64_t)p->x[2][exec_at_broadcast(p->s[2], at, 2)];
            for (int64_t k = 0; k < inner; k++)
                sum += (uint64_t)p->x[0][is_a ? k * rows + r : r * inner + k] *
                       (uint64_t)p->x[1][is_b ? c * inner + k : k * columns + c];
            p->y[r * columns + c] = sum;
        }
}

/* Every element of the result: which elements of operand and kernel lead there? */
static void plain_spread(const plain *p)
{
    const int64_t *d = p->s[0]->dim, *k = p->s[1]->dim, *y = p->to->dim;
    exec_window v = exec_window_of(p->g, p->u);
    int64_t groups = weft_node_int(&p->g->node[p->u], "group", 1), n = weft_shape_elements(p->to);

    for (int64_t at = 0; at < n; at++) {
        int64_t b = at / (y[1] * y[2] * y[3]), m = at / (y[2] * y[3]) % y[1];
        int64_t group = m / k[1];
        uint64_t sum = p->n_args > 2 ? (uint64_t)p->x[2][m] : 0;

        for (int64_t e = 0; e < k[2] * k[3]; e++) {
            int64_t h = at / y[3] % y[2] + v.begin[0] - e / k[3] * v.dilation[0];
            int64_t w = at % y[3] + v.begin[1] - e % k[3] * v.dilation[1];

            if (h < 0 || h % v.stride[0] != 0 || h / v.stride[0] >= d[2] || w < 0 ||
                w % v.stride[1] != 0 || w / v.stride[1] >= d[3])
                continue;
            for (int64_t c = group * d[1] / groups; c < (group + 1) * d[1] / groups; c++)
                sum +=
                    (uint64_t)p
                        ->x[0][((b * d[1] + c) * d[2] + h / v.stride[0]) * d[3] + w / v.stride[1]] *
                    (uint64_t)p->x[1][(c * k[1] + m % k[1]) * k[2] * k[3] + e];
        }
        p->y[at] = sum;
    }
}

/* Every pair of elements whose labels agree, added where they lead. */
static void plain_einsum(const plain *p)
{
    const char *left = weft_node_text(&p->g->node[p->u], "equation", "");
    const char *right = strchr(left, ',') + 1, *to = strchr(left, '>') + 1;
    int64_t n_left = weft_shape_elements(p->s[0]), n_right = weft_shape_elements(p->s[1]);

    memset(p->y, 0, (size_t)weft_shape_elements(p->to) * sizeof p->y[0]);
    for (int64_t i = 0; i < n_left; i++)
        for (int64_t j = 0; j < n_right; j++) {
            int64_t at[128], place = 0, rest = i;
            bool agrees = true;

            memset(at, -1, sizeof at);
            for (int d = p->s[0]->rank - 1; d >= 0; rest /= p->s[0]->dim[d], d--)
                at[(int)left[d]] = rest % p->s[0]->dim[d];
            rest = j;
            for (int d = p->s[1]->rank - 1; d >= 0; rest /= p->s[1]->dim[d], d--) {
                int64_t here = rest % p->s[1]->dim[d];

                agrees = agrees && (at[(int)right[d]] < 0 || at[(int)right[d]] == here);
                at[(int)right[d]] = here;
            }
            for (int d = 0; d < p->to->rank; d++)
                place = place * p->to->dim[d] + at[(int)to[d]];
            if (agrees)
                p->y[place] += (uint64_t)p->x[0][i] * (uint64_t)p->x[1][j];
        }
}

/* Batch, heads and rows one after another; strides tell how they lie. */
static void plain_attention(const plain *p)
{
    const weft_node *n = &p->g->node[p->u];
    const int64_t *d = p->s[0]->dim, *k = p->s[1]->dim, *v = p->s[2]->dim;
    bool is_flat = p->s[0]->rank == 3;
    int64_t heads = is_flat ? weft_node_int(n, "q_num_heads", 1) : d[1];
    int64_t kv = is_flat ? weft_node_int(n, "kv_num_heads", 1) : k[1];
    int64_t rows = is_flat ? d[1] : d[2], keys = is_flat ? k[1] : k[2];
    int64_t wide = is_flat ? d[2] / heads : d[3], out = is_flat ? v[2] / kv : v[3];

    for (int64_t i = 0; i < d[0] * heads * rows; i++) {
        int64_t b = i / (heads * rows), h = i / rows % heads, r = i % rows, c = h * kv / heads;
        int64_t most = INT64_MIN;
        uint64_t score[16], sum = 0;

        for (int64_t t = 0; t < keys; t++) {
            score[t] = p->n_args > 3 ? (uint64_t)p->x[3][r * keys + t] : 0;
            for (int64_t e = 0; e < wide; e++)
                score[t] +=
                    (uint64_t)
                        p->x[0][is_flat ? ((b * rows + r) * heads + h) * wide + e : i * wide + e] *
                    (uint64_t)p->x[1][is_flat ? ((b * keys + t) * kv + c) * wide + e
                                              : ((b * kv + c) * keys + t) * wide + e];
            sum += score[t];
            most = (int64_t)score[t] > most ? (int64_t)score[t] : most;
        }
        for (int64_t e = 0; e < out; e++) {
            uint64_t y = 0;

            for (int64_t t = 0; t < keys; t++)
                y += (3 * score[t] - sum - (uint64_t)most) *
                     (uint64_t)p->x[2][is_flat ? ((b * keys + t) * kv + c) * out + e
                                               : ((b * kv + c) * keys + t) * out + e];
            p->y[is_flat ? ((b * rows + r) * heads + h) * out + e : i * out + e] = y;
        }
    }
}

static void plain_running(const plain *p)
{
    const weft_shape *s = p->s[0];
    int axis = (int)exec_arg(p->g, p->u, 1)->value->ints[0];
    int64_t inner = 1, n = weft_shape_elements(s);

    for (int d = axis + 1; d < s->rank; d++)
        inner *= s->dim[d];
    for (int64_t i = 0; i < n; i++)
        p->y[i] = (uint64_t)p->x[0][i] + (i / inner % s->dim[axis] > 0 ? p->y[i - inner] : 0);
}

/* Sum and maximum of all elements of x whose places have the same kept dimensions as element i. */
static void along(const plain *p, unsigned reduced, int64_t i, uint64_t *sum, int64_t *most)
{
    const weft_shape *s = p->s[0];
    int64_t n = weft_shape_elements(s);

    *sum = 0;
    *most = INT64_MIN;
    for (int64_t e = 0; e < n; e++) {
        bool is_same = true;
        int64_t a = e, b = i;

        for (int d = s->rank - 1; d >= 0; d--) {
            is_same = is_same && (reduced >> d & 1 || a % s->dim[d] == b % s->dim[d]);
            a /= s->dim[d];
            b /= s->dim[d];
        }
        if (is_same) {
            *sum += (uint64_t)p->x[0][e];
            *most = p->x[0][e] > *most ? p->x[0][e] : *most;
        }
    }
}

static void plain_reduce(const plain *p)
{
    const weft_shape *s = p->s[0];
    const char *op = p->g->node[p->u].op;
    bool is_global = strncmp(op, "Global", 6) == 0;
    unsigned reduced = is_global ? 0xc : exec_reduced(p->g, p->u);
    int64_t n = weft_shape_elements(s);

    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, size = 1, rest = i, most;
        uint64_t sum;

        for (int d = s->rank - 1; d >= 0; rest /= s->dim[d], d--)
            if (!(reduced >> d & 1)) {
                at += rest % s->dim[d] * size;
                size *= s->dim[d];
            }
        along(p, reduced, i, &sum, &most);
        p->y[at] = strstr(op, "Max") != NULL ? (uint64_t)most : sum;
    }
}

/* Softmax and LayerNormalization: 3 x - sum - max, scaled and shifted. */
static void plain_norm(const plain *p)
{
    const weft_shape *s = p->s[0];
    int axis = exec_axis_of(p->g, p->u, -1);
    bool is_layer = p->n_args > 1;
    unsigned reduced = is_layer ? ~0u << axis : 1u << axis;
    int64_t n = weft_shape_elements(s);

    for (int64_t i = 0; i < n; i++) {
        int64_t at[WEFT_MAX_RANK], rest = i, most;
        uint64_t sum;

        for (int d = s->rank - 1; d >= 0; rest /= s->dim[d], d--)
            at[d] = rest % s->dim[d];
        if (strcmp(p->g->node[p->u].op, "MeanVarianceNormalization") == 0)
            reduced = 0xd; /* all but the channels */
        along(p, reduced, i, &sum, &most);
        p->y[i] = 3 * (uint64_t)p->x[0][i] - sum - (uint64_t)most;
        if (is_layer)
            p->y[i] *= (uint64_t)p->x[1][exec_at_broadcast(p->s[1], at, s->rank)];
        if (p->n_args > 2)
            p->y[i] += (uint64_t)p->x[2][exec_at_broadcast(p->s[2], at, s->rank)];
    }
}

/* InstanceNormalization, GroupNormalization: groups of channels lie in one piece. */
static void plain_groups(const plain *p)
{
    const int64_t *d = p->s[0]->dim;
    int64_t groups = weft_node_int(&p->g->node[p->u], "num_groups", d[1]);
    int64_t piece = d[1] / groups * d[2] * d[3];

    for (int64_t i = 0; i < d[0] * groups; i++) {
        const int64_t *x = p->x[0] + i * piece;
        int64_t most = INT64_MIN;
        uint64_t sum = 0;

        for (int64_t k = 0; k < piece; k++) {
            sum += (uint64_t)x[k];
            most = x[k] > most ? x[k] : most;
        }
        for (int64_t k = 0; k < piece; k++) {
            bool is_grouped = p->s[1]->dim[0] == groups; /* scales as of opset 18 */
            int64_t channel = is_grouped ? i % groups : (i * piece + k) / (d[2] * d[3]) % d[1];

            p->y[i * piece + k] =
                (3 * (uint64_t)x[k] - sum - (uint64_t)most) * (uint64_t)p->x[1][channel] +
                (uint64_t)p->x[2][channel];
        }
    }
}

static void plain_lrn(const plain *p)
{
    const int64_t *d = p->s[0]->dim;
    int64_t size = weft_node_int(&p->g->node[p->u], "size", 1), plane = d[2] * d[3];

    for (int64_t i = 0; i < d[0] * d[1] * plane; i++) {
        int64_t m = i / plane % d[1];

        p->y[i] = 2 * (uint64_t)p->x[0][i];
        for (int64_t e = -((size - 1) / 2); e <= size / 2; e++)
            if (m + e >= 0 && m + e < d[1])
                p->y[i] += (uint64_t)p->x[0][i + e * plane];
    }
}

static void plain_elements(const plain *p)
{
    const char *op = p->g->node[p->u].op;
    bool is_norm = strcmp(op, "BatchNormalization") == 0;
    int64_t n = weft_shape_elements(p->to);

    for (int64_t i = 0; i < n; i++) {
        int64_t at[WEFT_MAX_RANK], rest = i, x[MOST_ARGS];

        for (int d = p->to->rank - 1; d >= 0; rest /= p->to->dim[d], d--)
            at[d] = rest % p->to->dim[d];
        for (int k = 0; k < p->n_args; k++)
            x[k] = p->x[k][is_norm && k > 0 ? at[1] : exec_at_broadcast(p->s[k], at, p->to->rank)];
        p->y[i] = (uint64_t)exec_scalar(op, x, p->n_args);
    }
}

/* --- moves ----------------------------------------------------------------------------------- */

static void plain_view(const plain *p)
{
    memcpy(p->y, p->x[0], (size_t)weft_shape_elements(p->to) * sizeof p->y[0]);
}

static void plain_transpose(const plain *p)
{
    const weft_shape *s = p->s[0];
    int64_t n = weft_shape_elements(s);
    int count;
    const int64_t *perm = weft_node_ints(&p->g->node[p->u], "perm", &count);

    for (int64_t i = 0; i < n; i++) {
        int64_t at[WEFT_MAX_RANK], to[WEFT_MAX_RANK], rest = i;

        for (int d = s->rank - 1; d >= 0; rest /= s->dim[d], d--)
            at[d] = rest % s->dim[d];
        for (int d = 0; d < s->rank; d++)
            to[d] = at[count > 0 ? perm[d] : s->rank - 1 - d];
        p->y[exec_at(p->to, to)] = (uint64_t)p->x[0][i];
    }
}

/* Elements of a dimension and all after it are one piece of each operand. */
static void plain_concat(const plain *p)
{
    int axis = exec_axis_of(p->g, p->u, 0);
    int64_t outer = 1, at = 0;

    for (int d = 0; d < axis; d++)
        outer *= p->to->dim[d];
    for (int64_t i = 0; i < outer; i++)
        for (int k = 0; k < p->n_args; k++) {
            int64_t piece = weft_shape_elements(p->s[k]) / outer;

            for (int64_t e = 0; e < piece; e++)
                p->y[at++] = (uint64_t)p->x[k][i * piece + e];
        }
}

static void plain_slice(const plain *p)
{
    const weft_literal *start = exec_arg(p->g, p->u, 1)->value;
    const weft_literal *axes = exec_arg(p->g, p->u, 3)->value;
    const weft_literal *step = exec_arg(p->g, p->u, 4)->value;
    int64_t n = weft_shape_elements(p->to);

    for (int64_t i = 0; i < n; i++) {
        int64_t at[WEFT_MAX_RANK], rest = i;

        for (int d = p->to->rank - 1; d >= 0; rest /= p->to->dim[d], d--)
            at[d] = rest % p->to->dim[d];
        for (int k = 0; k < axes->n; k++)
            at[axes->ints[k]] = at[axes->ints[k]] * step->ints[k] + start->ints[k];
        p->y[i] = (uint64_t)p->x[0][exec_at(p->s[0], at)];
    }
}

static void plain_gather(const plain *p)
{
    const weft_shape *s = p->s[0];
    int axis = exec_axis_of(p->g, p->u, 0);
    int64_t outer = 1, inner = 1, n = weft_shape_elements(p->s[1]), at = 0;

    for (int d = 0; d < s->rank; d++) {
        outer *= d < axis ? s->dim[d] : 1;
        inner *= d > axis ? s->dim[d] : 1;
    }
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++) {
            uint64_t row = (uint64_t)p->x[1][i] % (uint64_t)s->dim[axis];

            for (int64_t e = 0; e < inner; e++)
                p->y[at++] = (uint64_t)p->x[0][(o * s->dim[axis] + (int64_t)row) * inner + e];
        }
}

static void plain_pad(const plain *p)
{
    const weft_literal *pads = exec_arg(p->g, p->u, 1)->value;
    const weft_shape *s = p->s[0];
    int64_t n = weft_shape_elements(s);

    memset(p->y, 0, (size_t)weft_shape_elements(p->to) * sizeof p->y[0]);
    for (int64_t i = 0; i < n; i++) {
        int64_t at[WEFT_MAX_RANK], rest = i;

        for (int d = s->rank - 1; d >= 0; rest /= s->dim[d], d--)
            at[d] = rest % s->dim[d] + pads->ints[d];
        p->y[exec_at(p->to, at)] = (uint64_t)p->x[0][i];
    }
}

static void plain_resize(const plain *p)
{
    int64_t n = weft_shape_elements(p->to);

    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0, step = 1, rest = i;

        for (int d = p->to->rank - 1; d >= 0; rest /= p->to->dim[d], d--) {
            from += rest % p->to->dim[d] * p->s[0]->dim[d] / p->to->dim[d] * step;
            step *= p->s[0]->dim[d];
        }
        p->y[i] = (uint64_t)p->x[0][from];
    }
}

/* --- the network ----------------------------------------------------------------------------- */

typedef struct plain_op {
    const char *op;
    void (*run)(const plain *p);
} plain_op;

static const plain_op operators[] = {
    {"Conv",                      plain_conv     },
    {"MatMul",                    plain_matmul   },
    {"Gemm",                      plain_gemm     },
    {"MaxPool",                   plain_pool     },
    {"AveragePool",               plain_pool     },
    {"GlobalAveragePool",         plain_reduce   },
    {"GlobalMaxPool",             plain_reduce   },
    {"ReduceSum",                 plain_reduce   },
    {"ReduceMean",                plain_reduce   },
    {"ReduceMax",                 plain_reduce   },
    {"Softmax",                   plain_norm     },
    {"LayerNormalization",        plain_norm     },
    {"InstanceNormalization",     plain_groups   },
    {"GroupNormalization",        plain_groups   },
    {"LRN",                       plain_lrn      },
    {"Transpose",                 plain_transpose},
    {"Reshape",                   plain_view     },
    {"Flatten",                   plain_view     },
    {"Squeeze",                   plain_view     },
    {"Unsqueeze",                 plain_view     },
    {"Concat",                    plain_concat   },
    {"Slice",                     plain_slice    },
    {"Gather",                    plain_gather   },
    {"Resize",                    plain_resize   },
    {"Pad",                       plain_pad      },
    {"CumSum",                    plain_running  },
    {"ConvTranspose",             plain_spread   },
    {"Einsum",                    plain_einsum   },
    {"Attention",                 plain_attention},
    {"MeanVarianceNormalization", plain_norm     },
};

/* Parts of the operand along the axis, one after another. */
static void plain_split(const plain *p, exec_memory **all)
{
    int axis = exec_axis_of(p->g, p->u, 0);
    int64_t outer = 1, from = 0;

    for (int d = 0; d < axis; d++)
        outer *= p->s[0]->dim[d];
    for (int64_t o = 0; o < outer; o++)
        for (int i = p->g->res_at[p->u]; i < p->g->res_at[p->u + 1]; i++) {
            exec_memory *y = all[p->g->res[i]];
            int64_t piece = y->n / outer;

            for (int64_t e = 0; e < piece; e++)
                y->value[o * piece + e] = p->x[0][from++];
        }
}

static void run_node(const weft_graph *g, int u, exec_memory **all)
{
    plain p = {.g = g, .u = u, .n_args = g->arg_at[u + 1] - g->arg_at[u]};
    exec_memory *y = all[g->res[g->res_at[u]]];

    assert_true(p.n_args <= MOST_ARGS);
    for (int i = 0; i < p.n_args; i++) {
        int t = g->arg[g->arg_at[u] + i];

        p.x[i] = t < 0 ? NULL : all[t]->value;
        p.s[i] = t < 0 ? NULL : &all[t]->shape;
    }
    p.y = (uint64_t *)y->value;
    p.to = &y->shape;
    if (strcmp(g->node[u].op, "Split") == 0) {
        plain_split(&p, all);
        return;
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strcmp(operators[i].op, g->node[u].op) == 0) {
            operators[i].run(&p);
            return;
        }
    plain_elements(&p);
}

exec_memory **exec_reference(const weft_graph *g, uint64_t seed, weft_arena *a)
{
    exec_memory **all = WEFT_NEW(a, exec_memory *, g->n_tensors);
    weft_rng r = weft_rng_seed(seed);

    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];

        all[t] = exec_memory_new(a, x->shape, weft_dtype_bits(x->type) / 8);
        for (int64_t i = 0; i < all[t]->n; i++) {
            all[t]->held[i] = true;
            if (x->value != NULL && x->value->ints != NULL)
                all[t]->value[i] = x->value->ints[i];
            else
                all[t]->value[i] = weft_rng_below(&r, 2001) - 1000;
        }
    }
    for (int u = 0; u < g->n_nodes; u++)
        run_node(g, u, all);
    return all;
}
