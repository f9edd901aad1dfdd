/* SPDX-License-Identifier: MIT */
/* op_resize.c: operators that make dimensions larger or smaller: broadcasts, repeats, pads, crops,
 * resampling, exchange of depth and space.
 *
 * Shapes follow the ONNX operator definitions of opsets 7 to 21. All sizes are computed with
 * overflow checks: a size beyond 2^62 elements is an error. Work: one parallel axis a dimension of
 * the result and no arithmetic. */
#include "shapes.h"

#include <math.h>
#include <string.h>

weft_status weft_infer_expand(weft_call *c)
{
    weft_shape out;

    WEFT_TRY(weft_dims_of(c, NULL, 1, &out));
    WEFT_TRY(weft_broadcast(c, &out, &c->arg[0]->shape));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

weft_status weft_infer_tile(weft_call *c)
{
    weft_shape repeats, out;

    WEFT_TRY(weft_dims_of(c, NULL, 1, &repeats));
    out = c->arg[0]->shape;
    if (out.rank >= 0 && repeats.rank >= 0 && out.rank != repeats.rank)
        return weft_call_fail(c, "%d repeats for %d dimensions", repeats.rank, out.rank);
    if (out.rank < 0)
        out = weft_shape_any(repeats.rank);
    for (int i = 0; i < out.rank; i++) {
        int64_t times = repeats.rank < 0 ? WEFT_UNKNOWN_DIM : repeats.dim[i];

        if (out.dim[i] == 0 || times == 0)
            out.dim[i] = 0;
        else if (out.dim[i] < 0 || times < 0)
            out.dim[i] = WEFT_UNKNOWN_DIM;
        else
            WEFT_TRY(weft_dim_times(c, &out.dim[i], times));
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Elements put before and after each dimension of operand 0, of known rank; WEFT_UNKNOWN_INT where
 * not known. */
static weft_status pads_of(const weft_call *c, int64_t before[WEFT_MAX_RANK],
                           int64_t after[WEFT_MAX_RANK])
{
    int rank = c->arg[0]->shape.rank, n = rank, axis;
    weft_list pads = weft_list_read(c, "pads", 1), axes = weft_list_read(c, "axes", 3);
    bool known = pads.known && axes.known;

    if (!pads.present)
        pads = weft_list_read(c, "paddings", -1);
    if (!pads.present)
        return weft_call_fail(c, "the pads are missing");
    if (axes.present)
        n = axes.n;
    if (n >= 0 && pads.n >= 0 && (int64_t)pads.n != 2 * (int64_t)n)
        return weft_call_fail(c, "%d pads, expected 2 for each of %d axes", pads.n, n);
    for (int i = 0; i < n && axes.at != NULL; i++)
        known = known && axes.at[i] != WEFT_UNKNOWN_INT;
    for (int i = 0; i < rank; i++)
        before[i] = after[i] = known ? 0 : WEFT_UNKNOWN_INT;
    for (int i = 0; i < n && known; i++) {
        WEFT_TRY(weft_axis_of(c, weft_list_get(&axes, i, i), rank, &axis));
        before[axis] = pads.at[i];
        after[axis] = pads.at[n + i];
    }
    return WEFT_OK;
}

/* A dimension with `more` elements, or fewer if that is negative; it may not become negative. */
static weft_status grow_dim(const weft_call *c, int64_t *dim, int64_t before, int64_t after)
{
    int64_t old = *dim;

    if (old < 0 || before == WEFT_UNKNOWN_INT || after == WEFT_UNKNOWN_INT) {
        *dim = WEFT_UNKNOWN_DIM;
        return WEFT_OK;
    }
    if (__builtin_add_overflow(old, before, dim) || __builtin_add_overflow(*dim, after, dim) ||
        *dim < 0 || *dim > WEFT_LARGEST_DIM)
        return weft_call_fail(c, "a dimension of %lld elements cannot be padded by %lld and %lld",
                              (long long)old, (long long)before, (long long)after);
    return WEFT_OK;
}

weft_status weft_infer_pad(weft_call *c)
{
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    weft_shape out = c->arg[0]->shape;

    if (out.rank >= 0)
        WEFT_TRY(pads_of(c, before, after));
    for (int i = 0; i < out.rank; i++)
        WEFT_TRY(grow_dim(c, &out.dim[i], before[i], after[i]));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* floor(dim * scale), in single precision as runtimes compute it: 3 * float(5 / 3) is 5. A scale
 * that is not known is a NaN. */
static weft_status scale_dim(const weft_call *c, int64_t *dim, double scale)
{
    float scaled = floorf((float)*dim * (float)scale);

    if (*dim < 0 || isnan(scale)) {
        *dim = WEFT_UNKNOWN_DIM;
        return WEFT_OK;
    }
    if (!(scale > 0))
        return weft_call_fail(c, "a scale is %g, must be positive", scale);
    if (scale == 1.0) /* exact for dimensions that single precision cannot hold */
        return WEFT_OK;
    if (!(scaled < (float)WEFT_LARGEST_DIM))
        return weft_call_fail(c, "%lld elements scaled by %g are too many", (long long)*dim, scale);
    *dim = (int64_t)scaled;
    return WEFT_OK;
}

/* Factor i of n; a crop along the region of interest counts, too. */
static double resize_factor(const weft_call *c, const weft_value *scales, int i, int n)
{
    double scale = weft_element(scales, i);

    if (!weft_attr_is(c, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return scale;
    return scale * (weft_element(weft_arg(c, 1), n + i) - weft_element(weft_arg(c, 1), i));
}

/* The dimension that entry i of scales or sizes is for. */
static weft_status resize_axis(const weft_call *c, int i, int *axis)
{
    int n;
    const int64_t *axes = weft_node_ints(c->node, "axes", &n);

    return weft_axis_of(c, axes == NULL ? i : axes[i], c->arg[0]->shape.rank, axis);
}

/* Checks that a list has an entry for each dimension, or for each of the attribute's axes. */
static weft_status resize_count(const weft_call *c, const weft_value *v, const char *what, int *n)
{
    weft_node_ints(c->node, "axes", n);
    if (*n == 0)
        *n = c->arg[0]->shape.rank;
    if (v->shape.rank == 1 && v->shape.dim[0] >= 0 && v->shape.dim[0] != *n)
        return weft_call_fail(c, "%lld %s, expected one for each of %d axes",
                              (long long)v->shape.dim[0], what, *n);
    return WEFT_OK;
}

static weft_status resize_by_scales(const weft_call *c, const weft_value *scales, weft_shape *out)
{
    int n, axis;

    WEFT_TRY(resize_count(c, scales, "scales", &n));
    for (int i = 0; i < n; i++) {
        WEFT_TRY(resize_axis(c, i, &axis));
        out->dim[axis] = c->arg[0]->shape.dim[axis];
        WEFT_TRY(scale_dim(c, &out->dim[axis], resize_factor(c, scales, i, n)));
    }
    return WEFT_OK;
}

/* The one factor that fits all sizes; NaN if it is not known. */
static float common_scale(const weft_call *c, const weft_value *sizes, int n, bool is_smallest)
{
    float best = NAN;

    for (int i = 0; i < n; i++) {
        int axis;
        float scale;

        if (resize_axis(c, i, &axis) != WEFT_OK || c->arg[0]->shape.dim[axis] <= 0)
            return NAN;
        scale = (float)weft_element(sizes, i) / (float)c->arg[0]->shape.dim[axis];
        if (isnan(scale))
            return NAN;
        if (i == 0 || (is_smallest ? scale < best : scale > best))
            best = scale;
    }
    return best;
}

static weft_status resize_by_sizes(const weft_call *c, const weft_value *sizes, weft_shape *out)
{
    bool is_smallest = weft_attr_is(c, "keep_aspect_ratio_policy", "not_larger");
    bool is_largest = weft_attr_is(c, "keep_aspect_ratio_policy", "not_smaller");
    int n, axis;
    float scale;

    WEFT_TRY(resize_count(c, sizes, "sizes", &n));
    scale = is_smallest || is_largest ? common_scale(c, sizes, n, is_smallest) : 1.0f;
    for (int i = 0; i < n; i++) {
        int64_t size = sizes->data == NULL || sizes->data->ints == NULL || i >= sizes->data->n
                           ? WEFT_UNKNOWN_INT
                           : sizes->data->ints[i];
        float fitted;

        WEFT_TRY(resize_axis(c, i, &axis));
        if (size < 0 && size != WEFT_UNKNOWN_INT)
            return weft_call_fail(c, "a size is %lld, must not be negative", (long long)size);
        fitted = roundf(scale * (float)c->arg[0]->shape.dim[axis]);
        if (size == WEFT_UNKNOWN_INT || isnan(scale))
            size = WEFT_UNKNOWN_DIM;
        else if ((is_smallest || is_largest) && !(fitted < (float)WEFT_LARGEST_DIM))
            return weft_call_fail(c, "axis %d would be too large", axis);
        else if (is_smallest || is_largest)
            size = (int64_t)fitted;
        out->dim[axis] = size;
    }
    return WEFT_OK;
}

static bool is_filled(const weft_value *v)
{
    return v != NULL && weft_shape_is_static(&v->shape) && !weft_is_empty(v);
}

/* Scales and sizes are operands of which one is left out or empty; which one may not be known. */
weft_status weft_infer_resize(weft_call *c)
{
    bool is_first = c->node->opset < 11; /* operands: data, scales */
    const weft_value *scales = weft_arg(c, is_first ? 1 : 2);
    const weft_value *sizes = is_first ? NULL : weft_arg(c, 3);
    bool has_none = weft_is_empty(scales) && weft_is_empty(sizes);
    weft_shape out;

    if (has_none || (is_filled(scales) && is_filled(sizes)))
        return weft_call_fail(c, "expected either scales or sizes, got %s",
                              has_none ? "none" : "both");
    out = c->arg[0]->shape;
    if (out.rank >= 0 && (weft_is_empty(scales) || is_filled(sizes)))
        WEFT_TRY(resize_by_sizes(c, sizes, &out));
    else if (out.rank >= 0 && (weft_is_empty(sizes) || is_filled(scales)))
        WEFT_TRY(resize_by_scales(c, scales, &out));
    else
        out = weft_shape_any(out.rank);
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

weft_status weft_infer_upsample(weft_call *c)
{
    const weft_attr *attr = weft_node_attr(c->node, "scales");
    bool has_list = attr != NULL && attr->kind == WEFT_ATTR_REALS;
    weft_literal list_data = {has_list ? attr->n : 0, NULL, has_list ? attr->reals : NULL};
    weft_value given = {.type = WEFT_F32, .shape = {.rank = 1}, .data = &list_data};
    weft_shape out;

    given.shape.dim[0] = list_data.n;
    if (!has_list && weft_arg(c, 1) == NULL)
        return weft_call_fail(c, "the scales are missing");
    out = c->arg[0]->shape;
    if (out.rank >= 0)
        WEFT_TRY(resize_by_scales(c, has_list ? &given : c->arg[1], &out));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Divides a dimension; it must be a multiple. */
static weft_status divide(const weft_call *c, int64_t *dim, int64_t by)
{
    if (*dim >= 0 && *dim % by != 0)
        return weft_call_fail(c, "a dimension of %lld elements is not a multiple of %lld",
                              (long long)*dim, (long long)by);
    *dim = *dim < 0 ? WEFT_UNKNOWN_DIM : *dim / by;
    return WEFT_OK;
}

static weft_status times(const weft_call *c, int64_t *dim, int64_t by)
{
    return *dim < 0 ? WEFT_OK : weft_dim_times(c, dim, by);
}

weft_status weft_infer_depth_space(weft_call *c)
{
    int64_t block = weft_node_int(c->node, "blocksize", 0), area = block;
    bool to_space = strcmp(c->node->op, "DepthToSpace") == 0;
    weft_shape out;

    if (block <= 0)
        return weft_call_fail(c, "attribute 'blocksize' is %lld, must be positive",
                              (long long)block);
    WEFT_TRY(weft_dim_times(c, &area, block));
    out = c->arg[0]->shape.rank < 0 ? weft_shape_any(4) : c->arg[0]->shape;
    WEFT_TRY(to_space ? divide(c, &out.dim[1], area) : times(c, &out.dim[1], area));
    for (int i = 2; i < 4; i++)
        WEFT_TRY(to_space ? times(c, &out.dim[i], block) : divide(c, &out.dim[i], block));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

weft_status weft_infer_center_crop_pad(weft_call *c)
{
    weft_list axes = weft_list_read(c, "axes", -1);
    weft_shape target, out;
    int axis;

    WEFT_TRY(weft_dims_of(c, NULL, 1, &target));
    out = c->arg[0]->shape;
    if (out.rank >= 0 && target.rank >= 0 && target.rank != (axes.present ? axes.n : out.rank))
        return weft_call_fail(c, "%d sizes, expected one for each of %d axes", target.rank,
                              axes.present ? axes.n : out.rank);
    for (int i = 0; i < out.rank && (!axes.present || i < axes.n); i++) {
        WEFT_TRY(weft_axis_of(c, weft_list_get(&axes, i, i), out.rank, &axis));
        out.dim[axis] = target.rank < 0 ? WEFT_UNKNOWN_DIM : target.dim[i];
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Operands: columns (batch x channels * block x places), size of the image, size of a block. */
weft_status weft_infer_col2im(weft_call *c)
{
    weft_shape image, block, out = weft_shape_any(2);
    int64_t size;

    WEFT_TRY(weft_dims_of(c, NULL, 1, &image));
    WEFT_TRY(weft_dims_of(c, NULL, 2, &block));
    if (image.rank < 0) /* as many dimensions as the block */
        image = weft_shape_any(block.rank);
    if (image.rank >= 0 && block.rank >= 0 && image.rank != block.rank)
        return weft_call_fail(c, "the image has %d dimensions, the block %d", image.rank,
                              block.rank);
    WEFT_TRY(weft_product_of(c, &block, 0, block.rank, &size));
    if (size == 0)
        return weft_call_fail(c, "the block is empty");
    if (c->arg[0]->shape.rank == 3) {
        out.dim[0] = c->arg[0]->shape.dim[0];
        out.dim[1] = size < 0 || block.rank < 0 ? WEFT_UNKNOWN_DIM : c->arg[0]->shape.dim[1];
        if (size > 0)
            WEFT_TRY(divide(c, &out.dim[1], size));
    }
    if (image.rank < 0)
        out = image;
    else
        WEFT_TRY(weft_shape_append(c, &out, &image, 0, image.rank));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* --- loop nests ------------------------------------------------------------------------------ */

void weft_nest_pad(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    int rank = c->arg[0]->shape.rank;
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    weft_access *access;

    if (rank != n->n_axes || pads_of(c, before, after) != WEFT_OK)
        return;
    access = weft_nest_whole(n, false, 0, rank);
    for (int i = 0; i < rank; i++)
        access->index[i].offset = before[i] == WEFT_UNKNOWN_INT ? 0 : -before[i];
}

/* Rows that are resampled come from anywhere near: such a dimension is read whole. */
void weft_nest_resize(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_over_result(c, out);
    const weft_shape *s = &c->arg[0]->shape;
    weft_access *access;

    if (s->rank != n->n_axes)
        return;
    access = weft_nest_access(n, false, 0, s->rank);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == n->axis[i].extent) {
            weft_index_axis(&access->index[i], i);
        } else {
            n->axis[i].kind = WEFT_AXIS_SPATIAL;
            access->index[i].is_whole = true;
        }
    }
}
