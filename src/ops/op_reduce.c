/* SPDX-License-Identifier: MIT */
/* op_reduce.c: operators that combine the elements along some dimensions: reductions,
 * arg-reductions, softmax, scans, top-k, losses.
 *
 * Work: one axis a dimension of operand 0. Dimensions that are combined are reducing axes (scans
 * and top-k: sequential ones), the others are parallel. */
#include "shapes.h"

#include <string.h>

/* Axes of a reduction as a bit mask over `rank` dimensions; *known false if they are not known. */
static weft_status reduced_axes(const weft_call *c, int rank, unsigned *mask, bool *known)
{
    unsigned all = rank < 0 ? 0 : (1u << rank) - 1;
    bool present;

    WEFT_TRY(weft_axes_of(c, 1, rank, mask, &present, known));
    if (*known && *mask == 0 && weft_node_int(c->node, "noop_with_empty_axes", 0) == 0)
        *mask = all;
    return WEFT_OK;
}

/* The shape without the marked dimensions, or with 1 in their place. */
static weft_shape reduce_dims(const weft_shape *s, unsigned mask, bool keeps)
{
    weft_shape out = weft_shape_any(0);

    for (int i = 0; i < s->rank; i++) {
        if (!(mask >> i & 1))
            out.dim[out.rank++] = s->dim[i];
        else if (keeps)
            out.dim[out.rank++] = 1;
    }
    return out;
}

/* What is known of the result of a reduction along axes that are not known. */
static weft_shape reduce_some(const weft_call *c, bool keeps)
{
    const weft_shape *s = &c->arg[0]->shape;
    weft_shape out = weft_shape_any(-1);
    bool known;
    int n;

    if (s->rank < 0)
        return out;
    (void)weft_list_of(c, "axes", 1, &n, &known);
    if (keeps) {
        out = weft_shape_any(s->rank);
        for (int i = 0; i < s->rank; i++)
            out.dim[i] = s->dim[i] == 1 ? 1 : WEFT_UNKNOWN_DIM;
    } else if (n > 0 && n <= s->rank) {
        out = weft_shape_any(s->rank - n);
    }
    return out;
}

weft_status weft_infer_reduce(weft_call *c)
{
    bool keeps = weft_node_int(c->node, "keepdims", 1) != 0, known;
    const weft_shape *s = &c->arg[0]->shape;
    weft_shape out;
    unsigned mask;

    WEFT_TRY(reduced_axes(c, s->rank, &mask, &known));
    if (known && s->rank >= 0)
        out = reduce_dims(s, mask, keeps);
    else if (known && !keeps && weft_node_int(c->node, "noop_with_empty_axes", 0) == 0)
        out = weft_shape_any(0); /* all dimensions, however many */
    else
        out = reduce_some(c, keeps);
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

weft_status weft_infer_arg_reduce(weft_call *c)
{
    bool keeps = weft_node_int(c->node, "keepdims", 1) != 0;
    const weft_shape *s = &c->arg[0]->shape;
    weft_shape out = weft_shape_any(-1);
    int axis;

    if (s->rank >= 0) {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), s->rank, &axis));
        out = reduce_dims(s, 1u << axis, keeps);
    }
    return weft_set_sized(c, 0, WEFT_I64, &out);
}

/* Before opset 13 softmax worked on a matrix: the dimensions from `axis` on were one. */
static bool is_coerced(const weft_call *c)
{
    return c->op->infer == weft_infer_softmax && c->node->opset < 13;
}

weft_status weft_infer_softmax(weft_call *c)
{
    int axis;

    WEFT_TRY(weft_infer_same(c));
    if (c->arg[0]->shape.rank < 0)
        return WEFT_OK;
    return weft_axis_of(c, weft_node_int(c->node, "axis", is_coerced(c) ? 1 : -1),
                        c->arg[0]->shape.rank, &axis);
}

weft_status weft_infer_topk(weft_call *c)
{
    weft_shape out;
    int64_t k;
    int axis;

    WEFT_TRY(weft_scalar_of(c, "k", 1, "k", &k));
    if (k < 0 && k != WEFT_UNKNOWN_INT)
        return weft_call_fail(c, "k is %lld, must not be negative", (long long)k);
    out = c->arg[0]->shape;
    if (out.rank >= 0) {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", -1), out.rank, &axis));
        if (k > out.dim[axis] && out.dim[axis] != WEFT_UNKNOWN_DIM)
            return weft_call_fail(c, "k is %lld, but axis %d has %lld elements only", (long long)k,
                                  axis, (long long)out.dim[axis]);
        out.dim[axis] = k == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_DIM : k;
    }
    weft_set_result(c, 0, c->arg[0]->type, &out);
    weft_set_result(c, 1, WEFT_I64, &out);
    return WEFT_OK;
}

static bool may_equal(const weft_shape *a, const weft_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] >= 0 && b->dim[i] >= 0 && a->dim[i] != b->dim[i])
            return false;
    return true;
}

/* Labels have the shape of the scores without dimension 1, the classes. */
static weft_status label_shape(const weft_call *c, weft_shape *labels)
{
    const weft_shape *given = &c->arg[1]->shape;
    char left[192], right[192];

    *labels = *given;
    if (c->arg[0]->shape.rank < 0)
        return WEFT_OK;
    *labels = reduce_dims(&c->arg[0]->shape, 1u << 1, false);
    if (given->rank < 0)
        return WEFT_OK;
    if (!may_equal(given, labels))
        return weft_call_fail(c, "input 1 (labels) has shape %s, expected %s",
                              weft_shape_print(given, left), weft_shape_print(labels, right));
    for (int i = 0; i < labels->rank; i++)
        if (labels->dim[i] < 0)
            labels->dim[i] = given->dim[i];
    return WEFT_OK;
}

/* Weights of the classes are a vector with one element for each of them. */
static weft_status check_class_weights(const weft_call *c)
{
    const weft_value *w = weft_arg(c, 2);
    const weft_shape *scores = &c->arg[0]->shape;

    if (w == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_need_rank(c, 2, 1, 1));
    if (scores->rank > 1 && w->shape.rank == 1 && scores->dim[1] >= 0 && w->shape.dim[0] >= 0 &&
        scores->dim[1] != w->shape.dim[0])
        return weft_call_fail(c,
                              "input 2 (weights) has %lld elements, expected one for each of "
                              "%lld classes",
                              (long long)w->shape.dim[0], (long long)scores->dim[1]);
    return WEFT_OK;
}

weft_status weft_infer_loss(weft_call *c)
{
    const char *reduction = weft_node_text(c->node, "reduction", "mean");
    bool is_scalar = strcmp(reduction, "mean") == 0 || strcmp(reduction, "sum") == 0;
    weft_shape labels, scalar = weft_shape_any(0);

    if (!is_scalar && strcmp(reduction, "none") != 0)
        return weft_call_fail(c, "attribute 'reduction' is '%.40s', expected none, mean or sum",
                              reduction);
    WEFT_TRY(label_shape(c, &labels));
    WEFT_TRY(check_class_weights(c));
    weft_set_result(c, 0, c->arg[0]->type, is_scalar ? &scalar : &labels);
    weft_set_result(c, 1, c->arg[0]->type, &c->arg[0]->shape); /* log of the probabilities */
    return WEFT_OK;
}

/* --- loop nests ------------------------------------------------------------------------------ */

static void mark_axes(weft_nest *n, unsigned mask, weft_axis_kind kind)
{
    for (int i = 0; i < n->n_axes; i++)
        if (mask >> i & 1)
            n->axis[i].kind = kind;
}

/* Axes of a reduction whose shapes are all static. */
static unsigned nest_mask(const weft_call *c)
{
    const weft_shape *s = &c->arg[0]->shape, *r = &c->result[0].shape;
    unsigned mask = 0;
    bool known;
    int axis;

    if (c->op->infer == weft_infer_arg_reduce)
        return weft_axis_of(c, weft_node_int(c->node, "axis", 0), s->rank, &axis) == WEFT_OK
                   ? 1u << axis
                   : 0;
    if (reduced_axes(c, s->rank, &mask, &known) == WEFT_OK && known)
        return mask;
    mask = 0; /* axes given at run time: those where the shapes differ */
    for (int i = 0; i < s->rank; i++)
        if (r->rank != s->rank || r->dim[i] != s->dim[i])
            mask |= 1u << i;
    return mask;
}

void weft_nest_reduce(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape, *r = &c->result[0].shape;
    unsigned mask = nest_mask(c);
    weft_access *access;
    int at = 0;

    weft_nest_dims(n, s, WEFT_AXIS_PARALLEL);
    mark_axes(n, mask, WEFT_AXIS_REDUCE);
    weft_nest_whole(n, false, 0, s->rank);
    access = weft_nest_access(n, true, 0, r->rank);
    for (int i = 0; i < s->rank && at < r->rank; i++) {
        if (!(mask >> i & 1))
            weft_index_axis(&access->index[at++], i);
        else if (r->rank == s->rank) /* kept with size 1: index 0 */
            at++;
    }
    for (; at < r->rank; at++) /* which dimensions are left is known at run time only */
        access->index[at].is_whole = true;
}

/* LpNormalization, too: a statistic along the axis, then one operation an element. */
void weft_nest_softmax(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape;
    int axis = 0;

    weft_nest_dims(n, s, WEFT_AXIS_PARALLEL);
    if (weft_axis_of(c, weft_node_int(c->node, "axis", is_coerced(c) ? 1 : -1), s->rank, &axis) ==
        WEFT_OK)
        mark_axes(n, is_coerced(c) ? ~0u << axis : 1u << axis, WEFT_AXIS_REDUCE);
    weft_nest_whole(n, false, 0, s->rank);
    weft_nest_whole(n, true, 0, s->rank);
}

/* Axis of CumSum (an operand) or TopK (an attribute) as a bit mask; all bits if it is not known,
 * since any axis may then be the one whose steps depend on each other. */
static unsigned scan_mask(const weft_call *c)
{
    int64_t given = weft_node_int(c->node, "axis", -1);
    int axis;

    if (c->op->infer != weft_infer_topk &&
        (weft_scalar_of(c, NULL, 1, "axis", &given) != WEFT_OK || given == WEFT_UNKNOWN_INT))
        return ~0u;
    return weft_axis_of(c, given, c->arg[0]->shape.rank, &axis) == WEFT_OK ? 1u << axis : ~0u;
}

/* A result of a scan. Of a dimension that is cut to k elements, any may change at each step. */
static void access_scanned(weft_nest *n, int slot, const weft_shape *r)
{
    weft_access *access = weft_nest_access(n, true, slot, r->rank);

    for (int i = 0; i < r->rank; i++) {
        if (r->dim[i] == n->axis[i].extent)
            weft_index_axis(&access->index[i], i);
        else
            access->index[i].is_whole = true;
    }
}

void weft_nest_scan(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape;

    weft_nest_dims(n, s, WEFT_AXIS_PARALLEL);
    mark_axes(n, scan_mask(c), WEFT_AXIS_SEQUENTIAL);
    weft_nest_whole(n, false, 0, s->rank);
    for (int i = 0; i < c->n_results && i < 2; i++)
        if (c->result[i].shape.rank == s->rank) /* not left out */
            access_scanned(n, i, &c->result[i].shape);
}

/* Labels, or losses that are not reduced: every dimension of the scores but the classes. */
static void access_labels(weft_nest *n, bool is_result, int slot)
{
    weft_access *access = weft_nest_access(n, is_result, slot, n->n_axes - 1);

    for (int i = 0; i < n->n_axes - 1; i++)
        weft_index_axis(&access->index[i], i == 0 ? 0 : i + 1);
}

void weft_nest_loss(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape;
    bool is_scalar = c->result[0].shape.rank == 0;

    weft_nest_dims(n, s, is_scalar ? WEFT_AXIS_REDUCE : WEFT_AXIS_PARALLEL);
    mark_axes(n, 1u << 1, WEFT_AXIS_REDUCE);
    weft_nest_whole(n, false, 0, s->rank);
    access_labels(n, false, 1);
    if (weft_arg(c, 2) != NULL)
        weft_index_axis(&weft_nest_access(n, false, 2, 1)->index[0], 1);
    if (is_scalar)
        weft_nest_access(n, true, 0, 0);
    else
        access_labels(n, true, 0);
    if (c->n_results > 1 && c->result[1].shape.rank == s->rank) /* not left out */
        weft_nest_whole(n, true, 1, s->rank);
}
