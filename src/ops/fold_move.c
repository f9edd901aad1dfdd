/* SPDX-License-Identifier: MIT */
/* fold_move.c: constants that are moved or given, not computed: which element of which operand,
 * shape or attribute an element of the result is.
 *
 * 1. The elements of the operands are taken as they are; those not known stay unknown.
 * 2. For each element of the result (Concat, scatter: of the operands) its indices give an offset
 *    into the other side; offsets are checked, whatever the shape rule has promised.
 * 3. What depends on an unknown index is unknown; an index out of range leaves the whole result
 *    unknown, since the network itself is wrong then.
 *
 * Exact. Time O(elements * rank) of the results, which have WEFT_MAX_LITERAL elements at most;
 * TopK sorts. */
#include "fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- elements -------------------------------------------------------------------------------- */

bool weft_cells_of(const weft_value *v, weft_cells *out)
{
    if (v == NULL)
        return false;
    *out = (weft_cells){v->type, &v->shape, weft_shape_elements(&v->shape), NULL, NULL};
    if (out->n < 0)
        return false;
    if (v->data == NULL)
        return true;
    if (weft_dtype_is_integer(v->type))
        out->ints = v->data->ints;
    else if (weft_dtype_is_float(v->type))
        out->reals = v->data->reals;
    return v->data->n == out->n;
}

int64_t weft_cells_scalar(const weft_value *v)
{
    weft_cells s;

    return weft_cells_of(v, &s) && s.n == 1 && s.ints ? s.ints[0] : WEFT_UNKNOWN_INT;
}

bool weft_draft_begin(weft_call *c, int i, weft_draft *out)
{
    weft_value *r = i < c->n_results ? &c->result[i] : NULL;
    int64_t n = r ? weft_shape_elements(&r->shape) : -1;

    if (n < 0 || n > WEFT_MAX_LITERAL)
        return false;
    *out = (weft_draft){r, &r->shape, (int)n, NULL, NULL, c->arena, weft_arena_mark(c->arena)};
    if (weft_dtype_is_integer(r->type))
        out->ints = WEFT_NEW(c->arena, int64_t, n);
    else if (weft_dtype_is_float(r->type))
        out->reals = WEFT_NEW(c->arena, double, n);
    else
        return false;
    for (int k = 0; k < out->n; k++)
        if (out->ints)
            out->ints[k] = WEFT_UNKNOWN_INT;
        else
            out->reals[k] = NAN;
    return true;
}

void weft_draft_copy(weft_draft *d, int64_t to, const weft_cells *s, int64_t from)
{
    if (d->ints && s->ints)
        d->ints[to] = s->ints[from];
    else if (d->reals && s->reals)
        d->reals[to] = s->reals[from];
}

void weft_draft_end(weft_draft *d)
{
    bool is_known = d->n == 0;
    weft_literal *literal;

    for (int i = 0; i < d->n && !is_known; i++)
        is_known = d->ints ? d->ints[i] != WEFT_UNKNOWN_INT : !isnan(d->reals[i]);
    if (!is_known) {
        weft_arena_rewind(d->arena, d->mark);
        return;
    }
    literal = WEFT_NEW(d->arena, weft_literal, 1);
    *literal = (weft_literal){d->n, d->ints, d->reals};
    d->result->data = literal;
}

void weft_strides(const weft_shape *s, int64_t stride[WEFT_MAX_RANK])
{
    /* without elements the products of the other dimensions may be out of any range */
    int64_t step = weft_shape_elements(s) > 0 ? 1 : 0;

    for (int d = s->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step = step ? step * s->dim[d] : 0;
    }
}

int64_t weft_offset(const weft_shape *s, const int64_t stride[WEFT_MAX_RANK], int64_t at)
{
    int64_t offset = 0;

    for (int d = s->rank - 1; d >= 0; d--) {
        offset += at % s->dim[d] * stride[d];
        at /= s->dim[d];
    }
    return offset;
}

bool weft_broadcast_strides(const weft_shape *to, const weft_shape *from, int lead,
                            int64_t stride[WEFT_MAX_RANK])
{
    int64_t own[WEFT_MAX_RANK];

    if (lead < 0 || lead > to->rank - from->rank)
        return false;
    weft_strides(from, own);
    for (int d = 0; d < to->rank; d++) {
        int k = d - lead;

        stride[d] = 0;
        if (k < 0 || k >= from->rank || from->dim[k] == 1)
            continue;
        if (from->dim[k] != to->dim[d])
            return false;
        stride[d] = own[k];
    }
    return true;
}

/* --- whole operands -------------------------------------------------------------------------- */

/* Result 0 read from an operand through strides that are known to stay inside. */
static void fold_view(weft_draft *d, const weft_cells *x, const int64_t *stride, int64_t start)
{
    for (int i = 0; i < d->n; i++)
        weft_draft_copy(d, i, x, start + weft_offset(d->shape, stride, i));
    weft_draft_end(d);
}

void weft_fold_copy(weft_call *c)
{
    const weft_value *training = weft_arg(c, 2); /* only Dropout has a third operand */
    weft_value *r = c->result;
    weft_cells x;

    if (c->n_results < 1 || !weft_cells_of(weft_arg(c, 0), &x))
        return;
    if (training && weft_cells_scalar(training) != 0)
        return;
    /* the same elements in the same order: the literal is shared, nobody ever writes to one */
    if (x.n <= WEFT_MAX_LITERAL && x.n == weft_shape_elements(&r->shape) && r->type == x.type)
        r->data = c->arg[0]->data;
}

void weft_fold_expand(weft_call *c)
{
    int64_t stride[WEFT_MAX_RANK];
    weft_draft d;
    weft_cells x;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d))
        return;
    if (weft_broadcast_strides(d.shape, x.shape, d.shape->rank - x.shape->rank, stride))
        fold_view(&d, &x, stride, 0);
}

void weft_fold_transpose(weft_call *c)
{
    int64_t own[WEFT_MAX_RANK], stride[WEFT_MAX_RANK];
    int count, rank;
    const int64_t *perm = weft_node_ints(c->node, "perm", &count);
    unsigned seen = 0; /* a dimension taken twice would lead outside */
    weft_draft d;
    weft_cells x;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d))
        return;
    rank = x.shape->rank;
    if (d.shape->rank != rank || (perm && count != rank))
        return;
    weft_strides(x.shape, own);
    for (int k = 0; k < rank; k++) {
        int64_t from = perm ? perm[k] : rank - 1 - k;

        if (from < 0 || from >= rank || (seen >> from & 1) || x.shape->dim[from] != d.shape->dim[k])
            return;
        seen |= 1u << from;
        stride[k] = own[from];
    }
    fold_view(&d, &x, stride, 0);
}

void weft_fold_tile(weft_call *c)
{
    int64_t stride[WEFT_MAX_RANK];
    weft_draft d;
    weft_cells x;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d))
        return;
    if (d.shape->rank != x.shape->rank || (x.n == 0 && d.n > 0))
        return;
    weft_strides(x.shape, stride);
    for (int i = 0; i < d.n; i++) {
        int64_t at = i, from = 0;

        for (int k = d.shape->rank - 1; k >= 0; k--) {
            from += at % d.shape->dim[k] % x.shape->dim[k] * stride[k];
            at /= d.shape->dim[k];
        }
        weft_draft_copy(&d, i, &x, from);
    }
    weft_draft_end(&d);
}

void weft_fold_trilu(weft_call *c)
{
    bool is_upper = weft_node_int(c->node, "upper", 1) != 0;
    int64_t k = weft_arg(c, 1) ? weft_cells_scalar(c->arg[1]) : 0;
    weft_draft d;
    weft_cells x;
    int rank;

    if (k == WEFT_UNKNOWN_INT || !weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d))
        return;
    rank = d.shape->rank;
    if (rank < 2 || !weft_shape_equal(d.shape, x.shape))
        return;
    for (int i = 0; i < d.n; i++) {
        int64_t column = i % d.shape->dim[rank - 1];
        int64_t row = i / d.shape->dim[rank - 1] % d.shape->dim[rank - 2];

        /* column - row is small, k may be anything */
        if (is_upper ? column - row >= k : column - row <= k)
            weft_draft_copy(&d, i, &x, i);
        else if (d.ints)
            d.ints[i] = 0;
        else
            d.reals[i] = 0;
    }
    weft_draft_end(&d);
}

/* --- shapes and attributes ------------------------------------------------------------------- */

/* The attribute "start" or "end" of Shape as an index in 0 .. rank. */
static int64_t shape_bound(const weft_call *c, const char *name, int64_t fallback, int rank)
{
    int64_t at = weft_node_int(c->node, name, fallback);

    if (at < 0)
        at += rank;
    return at < 0 ? 0 : at > rank ? rank : at;
}

void weft_fold_shape(weft_call *c)
{
    const weft_value *x = weft_arg(c, 0);
    int64_t start, end;
    weft_draft d;

    if (x == NULL || x->shape.rank < 0 || !weft_draft_begin(c, 0, &d) || d.ints == NULL)
        return;
    start = shape_bound(c, "start", 0, x->shape.rank);
    end = shape_bound(c, "end", x->shape.rank, x->shape.rank);
    if (d.n != (end > start ? end - start : 0))
        return;
    for (int i = 0; i < d.n; i++)
        if (x->shape.dim[start + i] != WEFT_UNKNOWN_DIM)
            d.ints[i] = x->shape.dim[start + i];
    weft_draft_end(&d);
}

void weft_fold_size(weft_call *c)
{
    const weft_value *x = weft_arg(c, 0);
    int64_t n = x ? weft_shape_elements(&x->shape) : -1;
    weft_draft d;

    if (n < 0 || !weft_draft_begin(c, 0, &d) || d.ints == NULL || d.n != 1)
        return;
    d.ints[0] = n;
    weft_draft_end(&d);
}

/* Elements given by an attribute; n is -1 if there are none. */
static weft_literal attr_literal(const weft_attr *a)
{
    switch (a->kind) {
    case WEFT_ATTR_INT:
        return (weft_literal){1, &a->i, NULL};
    case WEFT_ATTR_INTS:
        return (weft_literal){a->n, a->ints, NULL};
    case WEFT_ATTR_REAL:
        return (weft_literal){1, NULL, &a->f};
    case WEFT_ATTR_REALS:
        return (weft_literal){a->n, NULL, a->reals};
    case WEFT_ATTR_LITERAL:
        if (a->literal)
            return *a->literal;
        break;
    default: /* text, sparse tensors */
        break;
    }
    return (weft_literal){-1, NULL, NULL};
}

void weft_fold_constant(weft_call *c)
{
    static const char *const name[] = {"value", "value_int", "value_ints", "value_float",
                                       "value_floats"};
    const weft_attr *attr = NULL;
    weft_literal from;
    weft_draft d;

    for (size_t k = 0; k < sizeof name / sizeof *name && attr == NULL; k++)
        attr = weft_node_attr(c->node, name[k]);
    if (attr == NULL || !weft_draft_begin(c, 0, &d))
        return;
    from = attr_literal(attr);
    if (from.n != d.n)
        return;
    /* copied: attributes need not live as long as the results */
    for (int i = 0; i < d.n; i++) {
        weft_cells x = {d.result->type, d.shape, d.n, from.ints, from.reals};

        weft_draft_copy(&d, i, &x, i);
    }
    weft_draft_end(&d);
}

void weft_fold_constant_of_shape(weft_call *c)
{
    static const double zero = 0;
    const weft_attr *attr = weft_node_attr(c->node, "value");
    weft_literal from = attr ? attr_literal(attr) : (weft_literal){1, NULL, &zero};
    weft_draft d;

    if (from.n != 1 || !weft_draft_begin(c, 0, &d))
        return;
    for (int i = 0; i < d.n; i++) {
        weft_cells x = {d.result->type, d.shape, 1, from.ints, from.reals};

        weft_draft_copy(&d, i, &x, 0);
    }
    weft_draft_end(&d);
}

/* --- parts of an axis ------------------------------------------------------------------------ */

/* A shape seen around one axis: element (o, i, k) is number (o * extent + i) * inner + k. */
typedef struct span {
    int64_t outer, extent, inner;
} span;

/* False if there are no elements. */
static bool span_of(const weft_shape *s, int axis, span *out)
{
    *out = (span){1, s->dim[axis], 1};
    if (weft_shape_elements(s) <= 0)
        return false;
    for (int d = 0; d < axis; d++)
        out->outer *= s->dim[d];
    for (int d = axis + 1; d < s->rank; d++)
        out->inner *= s->dim[d];
    return true;
}

/* The attribute "axis", counted from the front; false if it makes no sense. */
static bool axis_of(const weft_call *c, int64_t fallback, int rank, int *axis)
{
    return weft_axis_of(c, weft_node_int(c->node, "axis", fallback), rank, axis) == WEFT_OK;
}

/* True if shapes agree in all dimensions but `axis`. */
static bool agree(const weft_shape *a, const weft_shape *b, int axis)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (d != axis && a->dim[d] != b->dim[d])
            return false;
    return true;
}

void weft_fold_concat(weft_call *c)
{
    int64_t begin = 0; /* of the operand, along the axis */
    weft_draft d;
    span to;
    int axis;

    if (!weft_draft_begin(c, 0, &d) || !axis_of(c, 1, d.shape->rank, &axis))
        return;
    for (int a = 0; a < c->n_args && span_of(d.shape, axis, &to); a++) {
        weft_cells x;

        if (!weft_cells_of(c->arg[a], &x) || !agree(x.shape, d.shape, axis) ||
            x.shape->dim[axis] > to.extent - begin)
            return;
        for (int64_t i = 0; i < x.n; i++) {
            int64_t row = i / to.inner / x.shape->dim[axis];
            int64_t column = i / to.inner % x.shape->dim[axis] + begin;

            weft_draft_copy(&d, (row * to.extent + column) * to.inner + i % to.inner, &x, i);
        }
        begin += x.shape->dim[axis];
    }
    weft_draft_end(&d);
}

void weft_fold_split(weft_call *c)
{
    int64_t begin = 0, stride[WEFT_MAX_RANK];
    weft_cells x;
    int axis;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !axis_of(c, 0, x.shape->rank, &axis))
        return;
    weft_strides(x.shape, stride);
    for (int i = 0; i < c->n_results; i++) {
        const weft_shape *part = &c->result[i].shape;
        weft_draft d;

        if (!agree(part, x.shape, axis) || part->dim[axis] < 0 ||
            part->dim[axis] > x.shape->dim[axis] - begin)
            return;
        if (weft_draft_begin(c, i, &d))
            fold_view(&d, &x, stride, begin * stride[axis]);
        begin += part->dim[axis];
    }
}

/* First index and step of a slice along each dimension. */
typedef struct slicing {
    int64_t start[WEFT_MAX_RANK], step[WEFT_MAX_RANK];
} slicing;

/* Start of a slice in 0 .. dim - 1, as ONNX clamps it. */
static int64_t clamp_start(int64_t start, int64_t step, int64_t dim)
{
    int64_t highest = step > 0 ? dim : dim - 1;

    if (start < 0)
        start += dim;
    return start < 0 ? 0 : start > highest ? highest : start;
}

/* Reads starts, axes and steps. The ends are not needed: the shape rule has counted. */
static bool slicing_of(const weft_call *c, const weft_shape *s, slicing *out)
{
    int n, n_axes, n_steps;
    bool has_starts, has_axes, has_steps;
    const int64_t *starts = weft_list_of(c, "starts", 1, &n, &has_starts);
    const int64_t *axes = weft_list_of(c, "axes", 3, &n_axes, &has_axes);
    const int64_t *steps = weft_list_of(c, "steps", 4, &n_steps, &has_steps);

    if (!has_starts || !has_axes || !has_steps || starts == NULL || (axes && n_axes != n) ||
        (steps && n_steps != n))
        return false;
    for (int d = 0; d < s->rank; d++) {
        out->start[d] = 0;
        out->step[d] = 1;
    }
    for (int i = 0; i < n; i++) {
        int64_t step = steps ? steps[i] : 1;
        int d;

        if (starts[i] == WEFT_UNKNOWN_INT || step == WEFT_UNKNOWN_INT || step == 0 ||
            weft_axis_of(c, axes ? axes[i] : i, s->rank, &d) != WEFT_OK)
            return false;
        out->start[d] = clamp_start(starts[i], step, s->dim[d]);
        out->step[d] = step;
    }
    return true;
}

/* True if start + (count - 1) * step is an index of a dimension. */
static bool ends_inside(int64_t start, int64_t step, int64_t count, int64_t dim)
{
    int64_t last;

    return !__builtin_mul_overflow(count - 1, step, &last) &&
           !__builtin_add_overflow(last, start, &last) && start < dim && last >= 0 && last < dim;
}

void weft_fold_slice(weft_call *c)
{
    int64_t own[WEFT_MAX_RANK], stride[WEFT_MAX_RANK], start = 0;
    weft_draft d;
    weft_cells x;
    slicing s;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_draft_begin(c, 0, &d) ||
        d.shape->rank != x.shape->rank || !slicing_of(c, x.shape, &s))
        return;
    weft_strides(x.shape, own);
    for (int k = 0; k < d.shape->rank && d.n > 0; k++) {
        if (!ends_inside(s.start[k], s.step[k], d.shape->dim[k], x.shape->dim[k]))
            return;
        /* a dimension of which one index is taken has no use for its stride, however large */
        stride[k] = d.shape->dim[k] > 1 ? s.step[k] * own[k] : 0;
        start += s.start[k] * own[k];
    }
    fold_view(&d, &x, stride, start);
}

/* --- indices --------------------------------------------------------------------------------- */

/* An index in -dim .. dim - 1 -> 0 .. dim - 1; -1 if it is out of range. */
static int64_t index_of(int64_t index, int64_t dim)
{
    if (index < -dim || index >= dim)
        return -1;
    return index < 0 ? index + dim : index;
}

void weft_fold_gather(weft_call *c)
{
    weft_draft d;
    weft_cells x, at;
    span from;
    int axis;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_cells_of(weft_arg(c, 1), &at) ||
        (at.n > 0 && at.ints == NULL) || !weft_draft_begin(c, 0, &d) ||
        !axis_of(c, 0, x.shape->rank, &axis))
        return;
    if (!span_of(x.shape, axis, &from) ? d.n > 0 : d.n != from.outer * at.n * from.inner)
        return;
    for (int i = 0; i < d.n; i++) {
        int64_t index = at.ints[i / from.inner % at.n];

        if (index == WEFT_UNKNOWN_INT)
            continue;
        index = index_of(index, from.extent);
        if (index < 0)
            return;
        weft_draft_copy(
            &d, i, &x, (i / from.inner / at.n * from.extent + index) * from.inner + i % from.inner);
    }
    weft_draft_end(&d);
}

/* Where element `at` of a tensor of indices points to in x, along an axis: WEFT_UNKNOWN_INT if the
 * index is not known, -1 if some index is out of range. */
static int64_t element_of(const weft_cells *x, const weft_cells *indices, int axis, int64_t at)
{
    int64_t stride[WEFT_MAX_RANK], offset = 0, rest = at;

    if (indices->ints[at] == WEFT_UNKNOWN_INT)
        return WEFT_UNKNOWN_INT;
    weft_strides(x->shape, stride);
    for (int d = x->shape->rank - 1; d >= 0; d--) {
        int64_t index = d == axis ? indices->ints[at] : rest % indices->shape->dim[d];

        index = index_of(index, x->shape->dim[d]);
        if (index < 0)
            return -1;
        offset += index * stride[d];
        rest /= indices->shape->dim[d];
    }
    return offset;
}

void weft_fold_gather_elements(weft_call *c)
{
    weft_draft d;
    weft_cells x, at;
    int axis;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_cells_of(weft_arg(c, 1), &at) ||
        (at.n > 0 && at.ints == NULL) || !weft_draft_begin(c, 0, &d) ||
        !axis_of(c, 0, x.shape->rank, &axis))
        return;
    if (!weft_shape_equal(at.shape, d.shape) || at.shape->rank != x.shape->rank)
        return;
    for (int i = 0; i < d.n; i++) {
        int64_t from = element_of(&x, &at, axis, i);

        if (from == -1)
            return;
        if (from >= 0)
            weft_draft_copy(&d, i, &x, from);
    }
    weft_draft_end(&d);
}

/* Operands of a scatter; false if they do not tell where each update goes. The draft starts as a
 * copy of the data. */
static bool begin_scatter(weft_call *c, weft_draft *d, weft_cells *at, weft_cells *updates)
{
    weft_cells x;

    if (!weft_cells_of(weft_arg(c, 0), &x) || !weft_cells_of(weft_arg(c, 1), at) ||
        !weft_cells_of(weft_arg(c, 2), updates) || (at->n > 0 && at->ints == NULL) ||
        !weft_draft_begin(c, 0, d) || !weft_shape_equal(x.shape, d->shape))
        return false;
    /* shape arithmetic has no use for scatters that add or multiply */
    if (strcmp(weft_node_text(c->node, "reduction", "none"), "none") != 0)
        return false;
    for (int i = 0; i < d->n; i++)
        weft_draft_copy(d, i, &x, i);
    return true;
}

/* Element `to` becomes the update, which may be unknown. */
static void put_update(weft_draft *d, int64_t to, const weft_cells *updates, int64_t from)
{
    if (d->ints)
        d->ints[to] = WEFT_UNKNOWN_INT;
    else
        d->reals[to] = NAN;
    weft_draft_copy(d, to, updates, from);
}

void weft_fold_scatter_elements(weft_call *c)
{
    weft_draft d;
    weft_cells at, updates, frame;
    int axis;

    if (!begin_scatter(c, &d, &at, &updates) || !axis_of(c, 0, d.shape->rank, &axis) ||
        at.shape->rank != d.shape->rank || !weft_shape_equal(at.shape, updates.shape))
        return;
    frame = (weft_cells){d.result->type, d.shape, d.n, NULL, NULL};
    for (int64_t i = 0; i < at.n; i++) {
        int64_t to = element_of(&frame, &at, axis, i);

        if (to < 0) /* out of range, or it might go anywhere */
            return;
        put_update(&d, to, &updates, i);
    }
    weft_draft_end(&d);
}

/* Offset of the slice that a row of `depth` indices names; -1 if one is unknown or out of range. */
static int64_t slice_at(const weft_shape *s, const int64_t *index, int depth)
{
    int64_t stride[WEFT_MAX_RANK], offset = 0;

    weft_strides(s, stride);
    for (int d = 0; d < depth; d++) {
        int64_t at = index[d] == WEFT_UNKNOWN_INT ? -1 : index_of(index[d], s->dim[d]);

        if (at < 0)
            return -1;
        offset += at * stride[d];
    }
    return offset;
}

void weft_fold_scatter_nd(weft_call *c)
{
    weft_draft d;
    weft_cells at, updates;
    int64_t depth, n_rows, size = 1;

    if (!begin_scatter(c, &d, &at, &updates) || at.shape->rank < 1)
        return;
    depth = at.shape->dim[at.shape->rank - 1];
    if (depth < 1 || depth > d.shape->rank)
        return;
    n_rows = at.n / depth;
    for (int k = (int)depth; k < d.shape->rank && d.n > 0; k++)
        size *= d.shape->dim[k];
    /* rows first: the number of updates, were it wrong, might overflow the product */
    if (n_rows > 0 && (updates.n % n_rows != 0 || updates.n / n_rows != size))
        return;
    for (int64_t row = 0; row < n_rows && d.n > 0; row++) {
        int64_t to = slice_at(d.shape, at.ints + row * depth, (int)depth);

        if (to < 0)
            return;
        for (int64_t k = 0; k < size; k++)
            put_update(&d, to + k, &updates, row * size + k);
    }
    weft_draft_end(&d);
}

/* --- search ---------------------------------------------------------------------------------- */

/* True if element i differs from zero. */
static bool is_set(const weft_cells *x, int64_t i)
{
    return x->ints ? x->ints[i] != 0 : x->reals[i] != 0;
}

/* Number of elements other than zero; -1 if some element is not known. */
static int64_t count_set(const weft_cells *x)
{
    int64_t count = 0;

    if (!weft_cells_any(x))
        return x->n == 0 ? 0 : -1;
    for (int64_t i = 0; i < x->n; i++) {
        if (x->ints ? x->ints[i] == WEFT_UNKNOWN_INT : isnan(x->reals[i]))
            return -1;
        count += is_set(x, i);
    }
    return count;
}

void weft_fold_nonzero(weft_call *c)
{
    int64_t count, column = 0;
    weft_draft d;
    weft_cells x;
    int rank;

    if (c->n_results < 1 || !weft_cells_of(weft_arg(c, 0), &x))
        return;
    count = count_set(&x);
    if (count < 0)
        return;
    rank = x.shape->rank;
    c->result[0].shape.rank = 2;
    c->result[0].shape.dim[0] = rank;
    c->result[0].shape.dim[1] = count;
    if (!weft_draft_begin(c, 0, &d) || d.ints == NULL)
        return;
    for (int64_t i = 0; i < x.n && column < count; i++) {
        int64_t at = i;

        if (!is_set(&x, i))
            continue;
        for (int k = rank - 1; k >= 0; k--) {
            d.ints[k * count + column] = at % x.shape->dim[k];
            at /= x.shape->dim[k];
        }
        column++;
    }
    weft_draft_end(&d);
}

/* One element of a line that is sorted: integers by `i`, reals by `f`, ties by place. */
typedef struct entry {
    int64_t i;
    double f;
    int64_t place;
} entry;

static int ascending(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->i != b->i)
        return a->i < b->i ? -1 : 1;
    if (a->f < b->f || a->f > b->f)
        return a->f < b->f ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int descending(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->i != b->i || a->f < b->f || a->f > b->f)
        return -ascending(left, right);
    return ascending(left, right);
}

/* Sorts the line of `from.extent` elements that begins at `begin`; false if one is not known. */
static bool sort_line(const weft_cells *x, span from, int64_t begin, bool is_largest, entry *line)
{
    for (int64_t i = 0; i < from.extent; i++) {
        int64_t at = begin + i * from.inner;

        line[i] = (entry){x->ints ? x->ints[at] : 0, x->reals ? x->reals[at] : 0, i};
        if (line[i].i == WEFT_UNKNOWN_INT || isnan(line[i].f) ||
            (x->type == WEFT_U64 && line[i].i < 0)) /* beyond the integers of a literal */
            return false;
    }
    qsort(line, (size_t)from.extent, sizeof *line, is_largest ? descending : ascending);
    return true;
}

/* Values go to result 0 and indices to result 1; a line with an unknown element stays unknown. */
static void fold_lines(const weft_cells *x, int axis, bool is_largest, weft_draft d[2])
{
    span from, to;
    entry *line;

    if (!span_of(x->shape, axis, &from) || !span_of(d[0].shape, axis, &to))
        return;
    line = WEFT_NEW(d[0].arena, entry, from.extent);
    for (int64_t i = 0; i < from.outer * from.inner; i++) {
        int64_t row = i / from.inner, column = i % from.inner;
        int64_t begin = row * from.extent * from.inner + column;

        if (!sort_line(x, from, begin, is_largest, line))
            continue;
        for (int64_t k = 0; k < to.extent; k++) {
            int64_t at = (row * to.extent + k) * to.inner + column;

            weft_draft_copy(&d[0], at, x, begin + line[k].place * from.inner);
            d[1].ints[at] = line[k].place;
        }
    }
}

void weft_fold_topk(weft_call *c)
{
    bool is_largest = weft_node_int(c->node, "largest", 1) != 0;
    weft_draft d[2];
    weft_cells x;
    int axis;

    /* unsorted results may come in any order */
    if (weft_node_int(c->node, "sorted", 1) == 0 || !weft_cells_of(weft_arg(c, 0), &x) ||
        !weft_cells_any(&x) || !axis_of(c, -1, x.shape->rank, &axis))
        return;
    if (!weft_draft_begin(c, 0, &d[0]) || !weft_draft_begin(c, 1, &d[1]) || d[1].ints == NULL ||
        !agree(d[0].shape, x.shape, axis) || !weft_shape_equal(d[0].shape, d[1].shape) ||
        d[0].shape->dim[axis] > x.shape->dim[axis] || d[0].result->type != x.type)
        return;
    fold_lines(&x, axis, is_largest, d);
    /* both are unknown or none is, so a rewind never takes what the other one has published */
    weft_draft_end(&d[1]);
    weft_draft_end(&d[0]);
}
