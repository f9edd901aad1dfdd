/* SPDX-License-Identifier: MIT */
/* layer.c: loop nests in the words of hardware, and the key by which costs are memoised.
 *
 * A multiply-accumulate nest has a result R and two factors A and B. Each axis is told by who is
 * indexed by it:
 *   R, A and B     groups (a product of its own for each value)
 *   R and B        m, output channels
 *   R and A        places: batch, and r and c if a summed axis slides along the same dimension of A
 *   A and B        summed: kernel axes kh and kw if they slide along r and c, else n
 * So a convolution gives its usual sizes, a matrix product r = rows, m = columns, n = inner size;
 * the gradient of a weight is a convolution whose kernel is the picture, as it is in mathematics.
 * Where a nest lacks accesses, as recurrent layers do, kinds of axes decide. */
#include "cost.h"

#include <string.h>

typedef struct factors {
    const weft_access *result, *a, *b;
} factors;

static bool indexes(const weft_access *x, int axis)
{
    for (int d = 0; x && d < x->rank; d++)
        for (int i = 0; i < x->index[d].n_terms; i++)
            if (x->index[d].axis[i] == axis)
                return true;
    return false;
}

static bool is_summed(const weft_nest *n, const weft_access *result, int axis)
{
    (void)n;
    return !indexes(result, axis);
}

/* The result and the two operands that the sum runs over; biases are left out. */
static factors find_factors(const weft_nest *n)
{
    factors f = {NULL, NULL, NULL};

    for (int i = 0; i < n->n_accesses && f.result == NULL; i++)
        if (n->access[i].is_result)
            f.result = &n->access[i];
    for (int i = 0; i < n->n_accesses; i++) {
        const weft_access *x = &n->access[i];
        bool has_sum = false;

        for (int k = 0; k < n->n_axes; k++)
            has_sum = has_sum || (is_summed(n, f.result, k) && indexes(x, k));
        if (x->is_result || !has_sum)
            continue;
        if (f.a == NULL)
            f.a = x;
        else if (f.b == NULL)
            f.b = x;
    }
    return f;
}

bool weft_nest_factors(const weft_nest *n, int *left, int *right)
{
    factors f = find_factors(n);

    if (!n->is_mac || f.result == NULL || f.a == NULL || f.b == NULL)
        return false;
    *left = (int)(f.a - n->access);
    *right = (int)(f.b - n->access);
    return true;
}

/* The axis that slides along the same dimension of `x`, or -1; *step is its own factor there. */
static int partner(const weft_access *x, int axis, int64_t *step)
{
    for (int d = 0; d < x->rank; d++) {
        const weft_index *index = &x->index[d];

        for (int i = 0; i < index->n_terms && index->n_terms == 2; i++)
            if (index->axis[i] == axis) {
                *step = index->factor[i];
                return index->axis[1 - i];
            }
    }
    return -1;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* A place axis: r and c if it slides with a summed one, else batch. */
static void add_place(const weft_nest *n, const factors *f, int axis, int *n_windows, weft_layer *l)
{
    int64_t step = 1;
    int other = partner(f->a, axis, &step);

    if (other < 0 || !is_summed(n, f->result, other)) {
        l->batch = times(l->batch, n->axis[axis].extent);
        return;
    }
    if (*n_windows == 1) {
        l->c = n->axis[axis].extent;
        l->kw = n->axis[other].extent;
    } else { /* the first, and a third of volumes */
        l->r = times(l->r, n->axis[axis].extent);
        l->kh = times(l->kh, n->axis[other].extent);
    }
    if (step > l->stride)
        l->stride = step;
    (*n_windows)++;
}

static bool slides_with_place(const factors *f, int axis)
{
    int64_t step;
    int other = partner(f->a, axis, &step);

    return other >= 0 && indexes(f->result, other) && !indexes(f->b, other);
}

/* --- recurrent layers: gates are no tensor, so that accesses do not tell all */

static bool is_recurrent(const weft_nest *n)
{
    for (int i = 0; i < n->n_axes; i++)
        if (n->axis[i].kind == WEFT_AXIS_SEQUENTIAL)
            return true;
    return false;
}

static bool is_read_along(const weft_nest *n, int axis)
{
    for (int i = 0; i < n->n_accesses; i++)
        if (!n->access[i].is_result && indexes(&n->access[i], axis))
            return true;
    return false;
}

/* Is this sequential axis summed over? It is, if a result is indexed by all that is parallel and
 * not by it, and no operand has one of these axes, the gates: the gradient of a weight, a sum over
 * time. That of the first state is indexed in the same way, but weights are read, which have the
 * gates. */
static bool is_sum_over_time(const weft_nest *n, int axis)
{
    for (int i = 0; i < n->n_accesses; i++) {
        bool is_whole = n->access[i].is_result && !indexes(&n->access[i], axis), has_gates = false;

        for (int k = 0; k < n->n_axes; k++)
            if (n->axis[k].kind == WEFT_AXIS_PARALLEL) {
                is_whole = is_whole && indexes(&n->access[i], k);
                has_gates = has_gates || !is_read_along(n, k);
            }
        if (is_whole && has_gates)
            return true;
    }
    return false;
}

/* Steps that wait for each other; 1 if there are none. */
static int64_t steps_of(const weft_nest *n)
{
    int64_t steps = 1;

    for (int i = 0; i < n->n_axes; i++)
        if (n->axis[i].kind == WEFT_AXIS_SEQUENTIAL && !is_sum_over_time(n, i))
            steps = times(steps, n->axis[i].extent);
    return steps;
}

/* The last unsummed axis is m, the others are places. */
static void guess_free(const weft_nest *n, weft_layer *l)
{
    int last = -1;

    for (int i = 0; i < n->n_axes; i++) {
        bool is_sum = n->axis[i].kind == WEFT_AXIS_REDUCE ||
                      (n->axis[i].kind == WEFT_AXIS_SEQUENTIAL && is_sum_over_time(n, i));

        if (is_sum) {
            l->n = times(l->n, n->axis[i].extent);
            continue;
        }
        if (last >= 0)
            l->r = times(l->r, n->axis[last].extent);
        last = i;
    }
    if (last >= 0)
        l->m = n->axis[last].extent;
}

/* The weights of a nest that writes nothing, whose axes are all summed or sequential: the gradient
 * of the state, passed from step to step. NULL: it is another nest. */
static const weft_access *state_weights(const weft_nest *n)
{
    const weft_access *found = NULL;

    for (int i = 0; i < n->n_axes; i++)
        if (n->axis[i].kind != WEFT_AXIS_REDUCE && n->axis[i].kind != WEFT_AXIS_SEQUENTIAL)
            return NULL;
    for (int i = 0; i < n->n_accesses; i++) {
        bool is_fixed = true; /* over time */

        if (n->access[i].is_result)
            return NULL;
        for (int k = 0; k < n->n_axes; k++)
            is_fixed =
                is_fixed && (n->axis[k].kind != WEFT_AXIS_SEQUENTIAL || !indexes(&n->access[i], k));
        found = is_fixed && found == NULL ? &n->access[i] : found;
    }
    return found;
}

/* Gradients of gates times the weights (.., gates, state): the last axis of the weights is m, the
 * one before is summed, all others are places. */
static void guess_state(const weft_nest *n, const weft_access *weights, weft_layer *l)
{
    for (int i = 0; i < n->n_axes; i++) {
        int place = -1;

        for (int d = 0; d < weights->rank; d++)
            if (weights->index[d].n_terms == 1 && weights->index[d].axis[0] == i)
                place = d;
        if (place >= 0 && place == weights->rank - 1)
            l->m = times(l->m, n->axis[i].extent);
        else if (place >= 0 && place == weights->rank - 2)
            l->n = times(l->n, n->axis[i].extent);
        else
            l->r = times(l->r, n->axis[i].extent);
    }
}

bool weft_layer_of_nest(const weft_nest *n, weft_layer *out)
{
    factors f = find_factors(n);
    int n_windows = 0;

    *out = (weft_layer){1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (!n->is_mac)
        return false;
    if (is_recurrent(n) || f.result == NULL || f.a == NULL || f.b == NULL) {
        const weft_access *weights = state_weights(n);

        if (weights != NULL)
            guess_state(n, weights, out);
        else
            guess_free(n, out);
        return true;
    }
    for (int i = 0; i < n->n_axes; i++) {
        bool in_r = indexes(f.result, i), in_a = indexes(f.a, i), in_b = indexes(f.b, i);

        if (in_r && in_a && in_b)
            out->groups = times(out->groups, n->axis[i].extent);
        else if (in_r && in_a)
            add_place(n, &f, i, &n_windows, out);
        else if (in_r)
            out->m = times(out->m, n->axis[i].extent);
        else if (!slides_with_place(&f, i))
            out->n = times(out->n, n->axis[i].extent);
    }
    if (n_windows == 0) { /* a matrix product: its rows are places */
        out->r = out->batch;
        out->batch = 1;
    }
    return true;
}

/* Along a dimension behind batch and channels a place, times the stride, and a place in the kernel
 * make an index; gradients have the same indices, of other operands and results. */
static weft_sliding sliding_of(const weft_nest *n)
{
    weft_sliding w = {0, 1};

    for (int i = 0; i < n->n_accesses && w.kernel == 0; i++)
        for (int d = 2; d < n->access[i].rank; d++) {
            const weft_index *index = &n->access[i].index[d];

            if (index->n_terms != 2)
                continue;
            w.kernel = times(w.kernel > 0 ? w.kernel : 1, n->axis[index->axis[1]].extent);
            w.stride = index->factor[0] > w.stride ? index->factor[0] : w.stride;
        }
    return w;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Of the first result, else of the first operand. */
static weft_dtype type_of(const weft_graph *g, int u)
{
    int t = -1;

    for (int i = g->res_at[u]; i < g->res_at[u + 1] && t < 0; i++)
        t = g->res[i];
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1] && t < 0; i++)
        t = g->arg[i];
    return t < 0 ? WEFT_TYPE_UNKNOWN : g->tensor[t].type;
}

static weft_fusion family_of(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];
    const weft_op *op;

    if (n->has_body)
        return n->phase == WEFT_FORWARD ? WEFT_FUSE_NONE : WEFT_FUSE_ELEMENT;
    if (n->phase == WEFT_BACKWARD && n->forward >= 0)
        n = &g->node[n->forward];
    op = weft_op_find(n->domain, n->op);
    return op ? op->fusion : WEFT_FUSE_NONE;
}

/* --- kernels of several nodes ---- */

/* Part of the products of node u that this part of its nests has. */
static double part_of_products(const weft_graph *g, int u, const weft_nest *nest, int n)
{
    double part = 0, all = 0;
    weft_nests whole;

    weft_node_nests(g, u, &whole);
    for (int i = 0; i < whole.n; i++)
        all += whole.nest[i].is_mac ? (double)weft_nest_points(&whole.nest[i]) : 0;
    for (int i = 0; i < n; i++)
        part += nest[i].is_mac ? (double)weft_nest_points(&nest[i]) : 0;
    return all > 0 && part < all ? part / all : 1;
}

/* At least this part of n. */
static int64_t shrunk(int64_t n, double part)
{
    int64_t least = (int64_t)((double)n * part);

    return (double)least < (double)n * part || least < 1 ? least + 1 : least;
}

/* Adds the scores that a backward node computes again: as large a part as it has of its own. */
static void add_again(const weft_graph *g, int u, const weft_nest *nest, int n, weft_work_key *out)
{
    double part = part_of_products(g, u, nest, n);
    weft_nests scores;
    int i = 0;

    weft_node_nests(g, g->again[u], &scores);
    while (i < scores.n && !scores.nest[i].is_mac)
        i++;
    if (i < scores.n && out->n_layers < WEFT_MAX_NESTS) {
        weft_layer *l = &out->layer[out->n_layers];

        (void)weft_layer_of_nest(&scores.nest[i], l);
        if ((double)l->groups * part >= 1)
            l->groups = shrunk(l->groups, part);
        else
            l->r = shrunk(l->r, part);
        out->steps[out->n_layers++] = 1;
        out->n_again = 1;
    }
}

/* Half of each product, rounded up. */
static void skip_masked(weft_work_key *k)
{
    for (int i = 0; i < k->n_layers; i++) {
        weft_layer *l = &k->layer[i];

        if (l->groups > 1)
            l->groups = shrunk(l->groups, 0.5);
        else
            l->r = shrunk(l->r, 0.5);
    }
}

static void fill_kernel(const weft_graph *g, int u, const weft_work_part *p, weft_work_key *out)
{
    weft_graph plain = *g;
    weft_work all;

    plain.kernel = NULL;
    all = weft_part_work(&plain, u, p);
    out->inner_bytes = all.read_bytes + all.write_bytes - out->read_bytes - out->write_bytes;
    out->is_joined = !g->is_launched[u];
    if (g->again[u] >= 0)
        add_again(g, u, p->nest, p->n, out);
    out->is_attention = out->is_attention || g->attention[u] >= 0;
    if (g->is_causal && g->attention[u] >= 0 && g->is_causal[u])
        skip_masked(out);
}

static void fill_key(const weft_graph *g, int u, const weft_work_part *p, weft_work w,
                     weft_work_key *out)
{
    const weft_nest *nest = p->nest;
    int n = p->n;

    memset(out, 0, sizeof *out); /* keys are compared as bytes */
    out->family = family_of(g, u);
    out->type = type_of(g, u);
    out->element_bytes = weft_dtype_bits(out->type) < 8 ? 1 : weft_dtype_bits(out->type) / 8;
    out->is_view = out->family == WEFT_FUSE_VIEW;
    out->read_bytes = w.read_bytes;
    out->write_bytes = w.write_bytes;
    out->flops = w.flops - 2 * w.macs;
    for (int i = 0; i < n; i++) {
        if (nest[i].is_mac) {
            out->steps[out->n_layers] = steps_of(&nest[i]);
            out->sliding[out->n_layers] = sliding_of(&nest[i]);
            (void)weft_layer_of_nest(&nest[i], &out->layer[out->n_layers++]);
        } else
            out->points += weft_nest_points(&nest[i]);
    }
    if (g->node[u].has_body)
        out->points = out->flops;
    out->is_eager = g->is_eager;
    out->is_attention = weft_node_is_attention(g, u);
    if (g->kernel)
        fill_kernel(g, u, p, out);
}

void weft_work_key_of(const weft_graph *g, int u, weft_work_key *out)
{
    weft_nests nests;
    weft_work w = weft_node_measure(g, u, &nests);

    fill_key(g, u, &(weft_work_part){.n = nests.n, .nest = nests.nest}, w, out);
}

void weft_part_key_of(const weft_graph *g, int u, const weft_work_part *p, weft_work_key *out)
{
    fill_key(g, u, p, weft_part_work(g, u, p), out);
}
