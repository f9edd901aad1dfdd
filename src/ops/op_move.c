/* SPDX-License-Identifier: MIT */
/* op_move.c: operators that only move elements: views, permutations, joins, cuts, look-ups.
 *
 * Shapes follow the ONNX operator definitions of opsets 7 to 21; arguments that moved from
 * attributes to operands are read from where they are. All sizes are computed with overflow checks:
 * a size beyond 2^62 elements is an error. Work: one parallel axis a dimension of the result
 * (Split: of the operand) and no arithmetic; only the index arithmetic tells what is touched. */
#include "shapes.h"

#include <math.h>
#include <string.h>

/* --- views ----------------------------------------------------------------------------------- */

/* A reshape: dimensions that the target copies with 0 are left out of both products, so that they
 * may be unknown. */
typedef struct reshape {
    weft_shape target;
    int free_dim;           /* of -1; or -1 */
    int64_t source, wanted; /* products of the other dimensions */
    bool source_known, wanted_known;
    bool may_be_empty; /* a copied dimension is 0, or may be: so are both counts */
} reshape;

/* Element i of the target: 0 copies, -1 is free, INT64_MIN is not known. */
static weft_status reshape_dim(const weft_call *c, int i, int64_t value, reshape *r)
{
    const weft_shape *data = &c->arg[0]->shape;
    bool copies = value == 0 && weft_node_int(c->node, "allowzero", 0) == 0;

    r->target.dim[i] = WEFT_UNKNOWN_DIM;
    if (value == WEFT_UNKNOWN_INT || (copies && data->rank < 0)) {
        r->wanted_known = false;
        return WEFT_OK;
    }
    if (copies && i >= data->rank)
        return weft_call_fail(c, "dimension %d of the new shape copies one that input 0 lacks", i);
    if (copies) {
        r->target.dim[i] = data->dim[i];
        return WEFT_OK;
    }
    if (value == -1 && r->free_dim < 0) {
        r->free_dim = i;
        return WEFT_OK;
    }
    if (value < 0)
        return weft_call_fail(c, "dimension %d of the new shape is %lld, expected a size%s", i,
                              (long long)value, value == -1 ? " (only one may be -1)" : "");
    r->target.dim[i] = value;
    return weft_dim_times(c, &r->wanted, value);
}

/* Product of the dimensions of operand 0 that the target does not copy. */
static weft_status reshape_source(const weft_call *c, const int64_t *list, int n, reshape *r)
{
    const weft_shape *data = &c->arg[0]->shape;
    bool copies = weft_node_int(c->node, "allowzero", 0) == 0;

    r->source = 1;
    r->source_known = data->rank >= 0;
    for (int i = 0; i < data->rank; i++) {
        if (copies && i < n && list[i] == 0)
            r->may_be_empty = r->may_be_empty || data->dim[i] <= 0;
        else if (data->dim[i] < 0)
            r->source_known = false;
        else
            WEFT_TRY(weft_dim_times(c, &r->source, data->dim[i]));
    }
    return WEFT_OK;
}

/* Where the batch stands in the target of a network read with another batch size, or -1 if that is
 * not certain: operand 0 grew along one dimension, and the target has a dimension that begins after
 * the same number of outer elements. At the very front it can only be the first; further in, the
 * batch could be a factor of either neighbour, so only a dimension of its own counts. */
static int batch_dim(const weft_call *c, const int64_t *list, int n)
{
    const weft_shape *old = c->old_shape, *now = &c->arg[0]->shape;
    int64_t outer = 1, product = 1;
    int grown = 0;

    if (old == NULL || old->rank != now->rank || weft_shape_elements(old) <= 0)
        return -1;
    while (grown < now->rank && old->dim[grown] == now->dim[grown])
        outer *= old->dim[grown++]; /* fits: a factor of the elements */
    for (int i = grown + 1; i < now->rank; i++)
        if (old->dim[i] != now->dim[i])
            return -1;
    for (int j = 0; j < n && grown < now->rank && list[j] > 0 && product <= outer; j++) {
        if (product == outer && (outer == 1 || list[j] == c->old_batch))
            return j;
        if (__builtin_mul_overflow(product, list[j], &product))
            return -1;
    }
    return -1;
}

/* A network exported with a fixed batch size and read with another one: a dimension of the target
 * was computed from the old size. */
static bool reshape_rebatch(const weft_call *c, const int64_t *list, reshape *r)
{
    int j = c->new_batch > 0 && !c->arg[0]->is_const ? batch_dim(c, list, r->target.rank) : -1;
    int64_t scaled, wanted;

    if (j < 0 || __builtin_mul_overflow(list[j], c->new_batch, &scaled) ||
        scaled % c->old_batch != 0)
        return false;
    scaled /= c->old_batch;
    if (__builtin_mul_overflow(r->wanted / list[j], scaled, &wanted))
        return false;
    /* a free dimension takes any count: only the batch itself is sure to be meant */
    if (r->free_dim >= 0 ? list[j] != c->old_batch || wanted == 0 || r->source % wanted != 0
                         : wanted != r->source)
        return false;
    r->target.dim[j] = scaled;
    r->wanted = wanted;
    return true;
}

static weft_status reshape_fail(const weft_call *c, const int64_t *list, int n)
{
    char from[192], to[192];
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(to + at, sizeof to - at, "%s%lld", i ? "," : "", (long long)list[i]);
    return weft_call_fail(c, "input 0 has shape %s, which cannot be reshaped to [%s]",
                          weft_shape_print(&c->arg[0]->shape, from), n > 0 ? to : "");
}

static weft_status reshape_known(weft_call *c, const int64_t *list, int n)
{
    reshape r = {.target = weft_shape_any(n), .free_dim = -1, .wanted = 1, .wanted_known = true};
    bool has_both;

    for (int i = 0; i < n; i++)
        WEFT_TRY(reshape_dim(c, i, list[i], &r));
    WEFT_TRY(reshape_source(c, list, n, &r));
    has_both = r.source_known && r.wanted_known;
    if (has_both && (r.free_dim >= 0 ? c->new_batch != c->old_batch : r.source != r.wanted) &&
        !reshape_rebatch(c, list, &r) && r.free_dim < 0 && !r.may_be_empty)
        return reshape_fail(c, list, n);
    if (has_both && r.free_dim >= 0) {
        if (r.wanted == 0 ? r.source != 0 : r.source % r.wanted != 0)
            return reshape_fail(c, list, n);
        r.target.dim[r.free_dim] = r.wanted == 0 ? 0 : r.source / r.wanted;
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &r.target);
}

weft_status weft_infer_reshape(weft_call *c)
{
    int n;
    bool known;
    const int64_t *list = weft_list_of(c, "shape", 1, &n, &known);
    weft_shape any;

    if (list == NULL && known)
        return weft_call_fail(c, "the new shape is missing");
    if (n > WEFT_MAX_RANK)
        return weft_call_fail(c, "the new shape has %d dimensions, at most %d are supported", n,
                              WEFT_MAX_RANK);
    if (list != NULL)
        return reshape_known(c, list, n);
    any = weft_shape_any(n);
    return weft_set_sized(c, 0, c->arg[0]->type, &any);
}

weft_status weft_infer_flatten(weft_call *c)
{
    int64_t axis = weft_node_int(c->node, "axis", 1);
    weft_shape out = weft_shape_any(2);
    const weft_shape *s = &c->arg[0]->shape;

    if (s->rank >= 0) {
        if (axis < -s->rank || axis > s->rank)
            return weft_call_fail(c, "axis is %lld, expected %d to %d", (long long)axis, -s->rank,
                                  s->rank);
        axis += axis < 0 ? s->rank : 0;
        WEFT_TRY(weft_product_of(c, s, 0, (int)axis, &out.dim[0]));
        WEFT_TRY(weft_product_of(c, s, (int)axis, s->rank, &out.dim[1]));
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Marks the dimensions of size 1; false if that of some dimension is not known. */
static bool mark_ones(const weft_shape *s, unsigned *mask)
{
    bool known = s->rank >= 0;

    *mask = 0;
    for (int i = 0; i < s->rank; i++) {
        known = known && s->dim[i] >= 0;
        if (s->dim[i] == 1)
            *mask |= 1u << i;
    }
    return known;
}

weft_status weft_infer_squeeze(weft_call *c)
{
    weft_shape out = weft_shape_any(-1);
    const weft_shape *s = &c->arg[0]->shape;
    char text[192];
    unsigned mask;
    bool present, known;
    int n;

    WEFT_TRY(weft_axes_of(c, 1, s->rank, &mask, &present, &known));
    if (!present)
        known = mark_ones(s, &mask);
    if (known && s->rank >= 0) {
        out.rank = 0;
        for (int i = 0; i < s->rank; i++) {
            if (!(mask >> i & 1))
                out.dim[out.rank++] = s->dim[i];
            else if (s->dim[i] != 1 && s->dim[i] != WEFT_UNKNOWN_DIM)
                return weft_call_fail(c, "input 0 has shape %s, dimension %d cannot be removed",
                                      weft_shape_print(s, text), i);
        }
    } else if (present && s->rank >= 0) {
        (void)weft_list_of(c, "axes", 1, &n, &known);
        if (n >= 0 && n <= s->rank)
            out = weft_shape_any(s->rank - n);
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Puts dimensions of size 1 at the axes of the list, which count in the result. */
static weft_status insert_ones(const weft_call *c, const int64_t *axes, int n, weft_shape *out)
{
    const weft_shape *s = &c->arg[0]->shape;
    unsigned mask = 0;
    int from = 0;

    for (int i = 0; i < n; i++) {
        int axis;

        if (axes[i] == WEFT_UNKNOWN_INT)
            return WEFT_OK;
        WEFT_TRY(weft_axis_of(c, axes[i], out->rank, &axis));
        if (mask >> axis & 1)
            return weft_call_fail(c, "axis %d is given twice", axis);
        mask |= 1u << axis;
    }
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = mask >> i & 1 ? 1 : s->dim[from++];
    return WEFT_OK;
}

weft_status weft_infer_unsqueeze(weft_call *c)
{
    int n;
    bool known;
    const int64_t *axes = weft_list_of(c, "axes", 1, &n, &known);
    weft_shape out = weft_shape_any(-1);

    if (axes == NULL && known)
        return weft_call_fail(c, "the axes are missing");
    if (n > WEFT_MAX_RANK || n + c->arg[0]->shape.rank > WEFT_MAX_RANK)
        return weft_call_fail(c, "%d more dimensions, but at most %d are supported", n,
                              WEFT_MAX_RANK);
    if (n >= 0 && c->arg[0]->shape.rank >= 0) {
        out = weft_shape_any(c->arg[0]->shape.rank + n);
        if (axes != NULL)
            WEFT_TRY(insert_ones(c, axes, n, &out));
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* --- permutation, join, cut ------------------------------------------------------------------ */

/* Dimension of the operand that dimension i of the transposed one is. */
static weft_status permutation(const weft_call *c, int rank, int perm[WEFT_MAX_RANK])
{
    int n;
    const int64_t *given = weft_node_ints(c->node, "perm", &n);
    unsigned seen = 0;

    if (n != 0 && n != rank)
        return weft_call_fail(c, "attribute 'perm' has %d elements, expected %d", n, rank);
    for (int i = 0; i < rank; i++) {
        WEFT_TRY(weft_axis_of(c, given == NULL ? rank - 1 - i : given[i], rank, &perm[i]));
        if (seen >> perm[i] & 1)
            return weft_call_fail(c, "attribute 'perm' has %d twice", perm[i]);
        seen |= 1u << perm[i];
    }
    return WEFT_OK;
}

weft_status weft_infer_transpose(weft_call *c)
{
    int n, perm[WEFT_MAX_RANK];
    weft_shape out;

    (void)weft_node_ints(c->node, "perm", &n);
    out = c->arg[0]->shape;
    if (out.rank < 0 && n > 0 && n <= WEFT_MAX_RANK)
        out = weft_shape_any(n);
    if (out.rank >= 0)
        WEFT_TRY(permutation(c, out.rank, perm));
    for (int i = 0; i < out.rank && c->arg[0]->shape.rank >= 0; i++)
        out.dim[i] = c->arg[0]->shape.dim[perm[i]];
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

static weft_status add_dim(const weft_call *c, int64_t *sum, int64_t more)
{
    if (*sum < 0 || more < 0) {
        *sum = WEFT_UNKNOWN_DIM;
        return WEFT_OK;
    }
    if (__builtin_add_overflow(*sum, more, sum) || *sum > WEFT_LARGEST_DIM)
        return weft_call_fail(c, "the result is too large");
    return WEFT_OK;
}

/* A constant that was stored once for each item of the old batch (a class token) stands beside
 * activations of the new batch: it is repeated like them. */
static bool is_repeated(const weft_call *c, int i)
{
    if (c->new_batch == 0 || !c->arg[i]->is_const || c->arg[i]->shape.dim[0] != c->old_batch)
        return false;
    for (int k = 0; k < c->n_args; k++)
        if (c->arg[k] && !c->arg[k]->is_const && c->arg[k]->shape.rank > 0 &&
            c->arg[k]->shape.dim[0] == c->new_batch)
            return true;
    return false;
}

/* Adds operand i to what is joined so far: the axis grows, the others must agree. */
static weft_status join(const weft_call *c, int i, int axis, weft_shape *out)
{
    const weft_shape *s = &c->arg[i]->shape;
    char left[192], right[192];

    for (int d = 0; d < out->rank; d++) {
        int64_t dim = s->rank < 0 ? WEFT_UNKNOWN_DIM : s->dim[d];

        if (d == 0 && axis > 0 && dim >= 0 && is_repeated(c, i))
            dim = c->new_batch;
        if (d == axis)
            WEFT_TRY(add_dim(c, &out->dim[d], dim));
        else if (out->dim[d] < 0)
            out->dim[d] = dim;
        else if (dim >= 0 && dim != out->dim[d])
            return weft_call_fail(c, "input %d has shape %s, which does not fit %s along axis %d",
                                  i, weft_shape_print(s, left), weft_shape_print(out, right), axis);
    }
    return WEFT_OK;
}

/* Joins operands first, first + step, ... */
static weft_status concat_every(weft_call *c, int first, int step)
{
    weft_dtype type = WEFT_TYPE_UNKNOWN;
    int rank = -1, axis;
    weft_shape out;

    for (int i = first; i < c->n_args; i += step) {
        WEFT_TRY(weft_need_rank(c, i, rank < 0 ? 1 : rank, rank < 0 ? WEFT_MAX_RANK : rank));
        rank = c->arg[i]->shape.rank < 0 ? rank : c->arg[i]->shape.rank;
        type = type == WEFT_TYPE_UNKNOWN ? c->arg[i]->type : type;
    }
    if (weft_node_attr(c->node, "axis") == NULL && c->node->opset >= 4)
        return weft_call_fail(c, "attribute 'axis' is missing");
    out = weft_shape_any(rank);
    if (rank >= 0) {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 1), rank, &axis));
        out.dim[axis] = 0;
        for (int i = first; i < c->n_args; i += step)
            WEFT_TRY(join(c, i, axis, &out));
    }
    return weft_set_sized(c, 0, type, &out);
}

weft_status weft_infer_concat(weft_call *c)
{
    return concat_every(c, 0, 1);
}

/* Operands: scale and zero point of the result, then a tensor, its scale and zero point, ... */
weft_status weft_infer_qlinear_concat(weft_call *c)
{
    /* versions of this operator's domain say nothing about the ONNX rule for 'axis' */
    if (weft_node_attr(c->node, "axis") == NULL)
        return weft_call_fail(c, "attribute 'axis' is missing");
    return concat_every(c, 2, 3);
}

/* Size of part i of equal parts; with num_outputs (opset 18) the last one may be smaller. */
static weft_status equal_part(const weft_call *c, int64_t dim, int i, int64_t *out)
{
    int64_t n = c->n_results, parts = weft_node_int(c->node, "num_outputs", 0);
    int64_t chunk;

    if (parts != 0 && parts != n)
        return weft_call_fail(c, "attribute 'num_outputs' is %lld, but there are %lld outputs",
                              (long long)parts, (long long)n);
    *out = WEFT_UNKNOWN_DIM;
    if (dim < 0)
        return WEFT_OK;
    chunk = dim / n + (dim % n != 0);
    if (parts == 0 ? dim % n != 0 : chunk * (n - 1) > dim)
        return weft_call_fail(c, "%lld elements cannot be split into %lld%s parts", (long long)dim,
                              (long long)n, parts == 0 ? " equal" : "");
    *out = i < n - 1 ? chunk : dim - chunk * (n - 1);
    return WEFT_OK;
}

/* Sizes given one by one must be as many as the results and add up to the dimension. */
static weft_status check_parts(const weft_call *c, int64_t dim, const int64_t *list, int n)
{
    int64_t sum = 0;

    if (n != c->n_results)
        return weft_call_fail(c, "%d sizes are given for %d outputs", n, c->n_results);
    for (int i = 0; i < n; i++) {
        if (list[i] < 0 && list[i] != WEFT_UNKNOWN_INT)
            return weft_call_fail(c, "size of part %d is %lld, must not be negative", i,
                                  (long long)list[i]);
        WEFT_TRY(add_dim(c, &sum, list[i]));
    }
    if (sum >= 0 && dim >= 0 && sum != dim)
        return weft_call_fail(c, "sizes of the parts add up to %lld, expected %lld", (long long)sum,
                              (long long)dim);
    return WEFT_OK;
}

/* Size of part i along the axis, as given or by the rule of equal parts. */
static weft_status split_part(const weft_call *c, int64_t dim, int i, int64_t *out)
{
    int n;
    bool known;
    const int64_t *list = weft_list_of(c, "split", 1, &n, &known);

    if (list == NULL && known)
        return equal_part(c, dim, i, out);
    if (list != NULL && i == 0)
        WEFT_TRY(check_parts(c, dim, list, n));
    *out = i >= n || list == NULL || list[i] == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_DIM : list[i];
    return WEFT_OK;
}

weft_status weft_infer_split(weft_call *c)
{
    weft_shape out;
    int axis;

    for (int i = 0; i < c->n_results; i++) {
        out = c->arg[0]->shape;
        if (out.rank >= 0) {
            WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), out.rank, &axis));
            WEFT_TRY(split_part(c, c->arg[0]->shape.dim[axis], i, &out.dim[axis]));
        }
        weft_set_result(c, i, c->arg[0]->type, &out);
    }
    return WEFT_OK;
}

/* First index, step and length of each dimension; length -1 where it is not known. */
typedef struct slice {
    int64_t first[WEFT_MAX_RANK], step[WEFT_MAX_RANK], length[WEFT_MAX_RANK];
} slice;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

/* As numpy: negative indices count from the end, then both are clamped to the dimension. */
static void slice_dim(slice *s, int d, int64_t start, int64_t end)
{
    int64_t dim = s->length[d], step = s->step[d];
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;

    if (start == WEFT_UNKNOWN_INT || end == WEFT_UNKNOWN_INT || step == WEFT_UNKNOWN_INT ||
        dim < 0) {
        s->length[d] = dim == 0 ? 0 : WEFT_UNKNOWN_DIM;
        return;
    }
    start = clamp(start < 0 ? start + dim : start, 0, high);
    end = clamp(end < 0 ? end + dim : end, low, high);
    s->first[d] = start;
    if (step > 0)
        s->length[d] = end > start ? (end - start - 1) / step + 1 : 0;
    else
        s->length[d] = start > end && dim > 0 ? (start - end - 1) / -step + 1 : 0;
}

/* The common length of the lists of a slice in *n; -1 if it is not known. */
static weft_status slice_count(const weft_call *c, const weft_list *l, int n_lists, int *n)
{
    *n = -1;
    for (int i = 0; i < n_lists; i++) {
        if (!l[i].present || l[i].n < 0)
            continue;
        if (*n >= 0 && *n != l[i].n)
            return weft_call_fail(c, "starts, ends, axes and steps differ in length: %d and %d", *n,
                                  l[i].n);
        *n = l[i].n;
    }
    return WEFT_OK;
}

/* What operand 0, of known rank, is sliced to. */
static weft_status slice_of(const weft_call *c, slice *s)
{
    const weft_shape *data = &c->arg[0]->shape;
    weft_list l[4] = {weft_list_read(c, "starts", 1), weft_list_read(c, "ends", 2),
                      weft_list_read(c, "axes", 3), weft_list_read(c, "steps", 4)};
    int n, axis;

    if (!l[0].present || !l[1].present)
        return weft_call_fail(c, "%s are missing", l[0].present ? "ends" : "starts");
    WEFT_TRY(slice_count(c, l, 4, &n));
    for (int d = 0; d < data->rank; d++) {
        s->first[d] = 0;
        s->step[d] = 1;
        s->length[d] = n < 0 || !l[2].known ? WEFT_UNKNOWN_DIM : data->dim[d];
    }
    for (int i = 0; i < n && l[2].known; i++) {
        int64_t given = weft_list_get(&l[2], i, i), step = weft_list_get(&l[3], i, 1);

        if (given == WEFT_UNKNOWN_INT) { /* any of them may be cut */
            for (int d = 0; d < data->rank; d++)
                s->length[d] = WEFT_UNKNOWN_DIM;
            return WEFT_OK;
        }
        WEFT_TRY(weft_axis_of(c, given, data->rank, &axis));
        if (step == 0)
            return weft_call_fail(c, "step of axis %d is 0", axis);
        s->step[axis] = step;
        s->length[axis] = data->dim[axis];
        slice_dim(s, axis, weft_list_get(&l[0], i, 0), weft_list_get(&l[1], i, 0));
    }
    return WEFT_OK;
}

weft_status weft_infer_slice(weft_call *c)
{
    weft_shape out = c->arg[0]->shape;
    slice s;

    if (out.rank >= 0) {
        WEFT_TRY(slice_of(c, &s));
        memcpy(out.dim, s.length, (size_t)out.rank * sizeof out.dim[0]);
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* --- look-ups -------------------------------------------------------------------------------- */

weft_status weft_infer_gather(weft_call *c)
{
    const weft_shape *data, *indices;
    weft_shape out = weft_shape_any(0);
    int axis;

    data = &c->arg[0]->shape;
    indices = &c->arg[1]->shape;
    if (data->rank >= 0)
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), data->rank, &axis));
    if (data->rank < 0 || indices->rank < 0) {
        out.rank = -1;
    } else {
        WEFT_TRY(weft_shape_append(c, &out, data, 0, axis));
        WEFT_TRY(weft_shape_append(c, &out, indices, 0, indices->rank));
        WEFT_TRY(weft_shape_append(c, &out, data, axis + 1, data->rank));
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Indices of the element-wise look-ups have as many dimensions as the data. */
static weft_status check_elements(const weft_call *c)
{
    const weft_shape *data = &c->arg[0]->shape, *indices = &c->arg[1]->shape;
    char left[192], right[192];
    int axis;

    if (data->rank >= 0)
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), data->rank, &axis));
    if (data->rank >= 0 && indices->rank >= 0 && data->rank != indices->rank)
        return weft_call_fail(c,
                              "input 1 (indices) has shape %s, expected as many dimensions as %s",
                              weft_shape_print(indices, left), weft_shape_print(data, right));
    return WEFT_OK;
}

weft_status weft_infer_gather_elements(weft_call *c)
{
    weft_shape out;

    WEFT_TRY(check_elements(c));
    out = c->arg[1]->shape;
    if (out.rank < 0 && c->arg[0]->shape.rank >= 0)
        out = weft_shape_any(c->arg[0]->shape.rank);
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* The last dimension of the indices is a tuple into the dimensions of the data after the batch. */
static weft_status gather_tuples(const weft_call *c, int64_t batch, weft_shape *out)
{
    const weft_shape *data = &c->arg[0]->shape, *indices = &c->arg[1]->shape;
    int64_t tuple = indices->dim[indices->rank - 1];
    char left[192], right[192];

    if (batch < 0 || batch >= data->rank || batch >= indices->rank || tuple > data->rank - batch)
        return weft_call_fail(c,
                              "input 1 (indices) has shape %s, which does not index %s with %lld "
                              "batch dimensions",
                              weft_shape_print(indices, left), weft_shape_print(data, right),
                              (long long)batch);
    for (int i = 0; i < batch; i++)
        if (data->dim[i] >= 0 && indices->dim[i] >= 0 && data->dim[i] != indices->dim[i])
            return weft_call_fail(c, "batch dimension %d of %s and %s differs", i,
                                  weft_shape_print(data, left), weft_shape_print(indices, right));
    if (tuple < 0) {
        *out = weft_shape_any(-1);
        return WEFT_OK;
    }
    WEFT_TRY(weft_shape_append(c, out, indices, 0, indices->rank - 1));
    return weft_shape_append(c, out, data, (int)(batch + tuple), data->rank);
}

weft_status weft_infer_gather_nd(weft_call *c)
{
    weft_shape out = weft_shape_any(0);

    if (c->arg[0]->shape.rank < 0 || c->arg[1]->shape.rank < 0)
        out.rank = -1;
    else
        WEFT_TRY(gather_tuples(c, weft_node_int(c->node, "batch_dims", 0), &out));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

weft_status weft_infer_scatter(weft_call *c)
{
    const weft_shape *data, *indices;
    char left[192], right[192];

    data = &c->arg[0]->shape;
    indices = &c->arg[1]->shape;
    if (strcmp(c->node->op, "ScatterND") != 0)
        WEFT_TRY(check_elements(c));
    else if (data->rank >= 0 && indices->rank > 0 && indices->dim[indices->rank - 1] > data->rank)
        return weft_call_fail(c, "input 1 (indices) has shape %s, which does not index %s",
                              weft_shape_print(indices, left), weft_shape_print(data, right));
    return weft_set_sized(c, 0, c->arg[0]->type, data);
}

weft_status weft_infer_compress(weft_call *c)
{
    weft_shape out = weft_shape_any(1);
    const weft_value *condition;
    int64_t kept = 0;
    int axis = 0;

    condition = c->arg[1];
    if (weft_node_attr(c->node, "axis") != NULL) {
        out = c->arg[0]->shape;
        if (out.rank >= 0)
            WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), out.rank, &axis));
    }
    for (int i = 0; condition->data != NULL && i < condition->data->n && kept >= 0; i++) {
        double x = weft_element(condition, i);

        kept = isnan(x) ? WEFT_UNKNOWN_DIM : kept + (x != 0);
    }
    if (out.rank > 0)
        out.dim[axis] = condition->data == NULL ? WEFT_UNKNOWN_DIM : kept;
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* --- loop nests ------------------------------------------------------------------------------ */

void weft_nest_transpose(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    int rank = c->arg[0]->shape.rank, perm[WEFT_MAX_RANK];
    weft_access *access;

    if (rank != n->n_axes || permutation(c, rank, perm) != WEFT_OK)
        return;
    access = weft_nest_access(n, false, 0, rank);
    for (int i = 0; i < rank; i++)
        weft_index_axis(&access->index[perm[i]], i);
}

/* Each operand begins where the one before it ends. */
void weft_nest_concat(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    int64_t start = 0;
    int axis;

    if (weft_axis_of(c, weft_node_int(c->node, "axis", 1), n->n_axes, &axis) != WEFT_OK)
        return;
    for (int i = 0; i < c->n_args && n->n_accesses < WEFT_MAX_ACCESSES; i++) {
        if (c->arg[i] == NULL || c->arg[i]->shape.rank != n->n_axes)
            continue;
        weft_nest_whole(n, false, i, n->n_axes)->index[axis].offset = -start;
        start += c->arg[i]->shape.dim[axis];
    }
}

/* Over the operand: each result begins where the one before it ends. */
void weft_nest_split(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, 0);
    const weft_shape *s = &c->arg[0]->shape;
    int64_t start = 0, size;
    int axis;

    weft_nest_dims(n, s, WEFT_AXIS_PARALLEL);
    weft_nest_whole(n, false, 0, s->rank);
    if (weft_axis_of(c, weft_node_int(c->node, "axis", 0), s->rank, &axis) != WEFT_OK)
        return;
    for (int i = 0; i < c->n_results && n->n_accesses < WEFT_MAX_ACCESSES; i++) {
        bool is_there = c->result[i].shape.rank == s->rank;

        if (is_there)
            weft_nest_whole(n, true, i, s->rank)->index[axis].offset = -start;
        if (split_part(c, s->dim[axis], i, &size) != WEFT_OK || size < 0)
            size = is_there ? c->result[i].shape.dim[axis] : 0;
        start += size;
    }
}

void weft_nest_slice(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    int rank = c->arg[0]->shape.rank;
    weft_access *access;
    slice s;

    if (rank != n->n_axes || slice_of(c, &s) != WEFT_OK)
        return;
    access = weft_nest_access(n, false, 0, rank);
    for (int i = 0; i < rank; i++) {
        bool known = s.length[i] >= 0; /* else the cut is chosen at run time: any place */

        weft_index_term(&access->index[i], i, known ? s.step[i] : 1);
        access->index[i].offset = known ? s.first[i] : 0;
    }
}

/* The dimension that is looked up is indexed by all axes of the indices, as far as terms go. */
void weft_nest_gather(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    int rank = c->arg[0]->shape.rank, n_indices = c->arg[1]->shape.rank, axis;
    weft_access *data, *indices;

    if (rank + n_indices - 1 != n->n_axes ||
        weft_axis_of(c, weft_node_int(c->node, "axis", 0), rank, &axis) != WEFT_OK)
        return;
    data = weft_nest_access(n, false, 0, rank);
    indices = weft_nest_access(n, false, 1, n_indices);
    for (int i = 0; i < rank; i++)
        if (i != axis)
            weft_index_axis(&data->index[i], i < axis ? i : i + n_indices - 1);
    for (int i = 0; i < n_indices; i++) {
        weft_index_axis(&indices->index[i], axis + i);
        if (i < WEFT_MAX_TERMS)
            weft_index_axis(&data->index[axis], axis + i);
    }
    if (n_indices > WEFT_MAX_TERMS)
        data->index[axis] = (weft_index){.is_whole = true};
}
