/* SPDX-License-Identifier: MIT */
/* op_pool.c: pools, regions of interest, sampling.
 *
 * A pool visits every element of every window: |y| * kernel points. Regions and grids read operand
 * places that depend on data, so their accesses take those dimensions whole.
 *
 * Guarantee: shapes follow ONNX AveragePool-22, MaxPool-22, LpPool-22, GlobalAveragePool-1,
 * MaxRoiPool-1, MaxUnpool-11, RoiAlign-16, GridSample-20 and AffineGrid-20 and their earlier
 * versions. A window that starts behind dimension and leading padding does not count (ceil_mode),
 * whatever the opset: run times agree on that. */
#include "nn.h"

/* --- shapes ---------------------------------------------------------------------------------- */

/* Quantised pools may be asked to have channels last, which no other rule could follow. */
static weft_status refuse_channels_last(const weft_call *c)
{
    if (weft_node_int(c->node, "channels_last", 0) != 0)
        return weft_call_fail(c,
                              "attribute channels_last is set, expected channels in dimension 1");
    return WEFT_OK;
}

/* Spatial dimensions of operand 0; -1 if they cannot be known. */
static int spatial_rank(const weft_call *c)
{
    int count;
    int rank = weft_arg(c, 0)->shape.rank;

    if (rank >= 0)
        return rank - 2;
    (void)weft_node_ints(c->node, "kernel_shape", &count);
    return 0 < count && count <= WEFT_MAX_SPATIAL ? count : -1;
}

static weft_status pool_read(const weft_call *c, weft_window *w, weft_shape *result)
{
    weft_shape x;
    int n;

    WEFT_TRY(weft_need_rank(c, 0, 3, WEFT_MAX_RANK));
    WEFT_TRY(refuse_channels_last(c));
    n = spatial_rank(c);
    *result = weft_shape_any(n < 0 ? -1 : n + 2);
    if (n < 0)
        return WEFT_OK;
    x = weft_arg_shape(c, 0, n + 2);
    WEFT_TRY(weft_window_read(c, n, NULL, w));
    w->is_ceil = weft_node_int(c->node, "ceil_mode", 0) != 0;
    result->dim[0] = x.dim[0];
    result->dim[1] = x.dim[1];
    return weft_window_slide(c, w, &x, result);
}

weft_status weft_infer_pool(weft_call *c)
{
    weft_window w;
    weft_shape result;

    WEFT_TRY(pool_read(c, &w, &result));
    weft_set_result(c, 1, WEFT_I64, &result); /* places of the maxima */
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

weft_status weft_infer_global_pool(weft_call *c)
{
    weft_shape result;

    WEFT_TRY(refuse_channels_last(c));
    result = weft_arg(c, 0)->shape;
    for (int i = 2; i < result.rank; i++)
        result.dim[i] = 1;
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

weft_status weft_infer_max_roi_pool(weft_call *c)
{
    weft_shape result = weft_shape_any(4), rois;
    int64_t columns = 5;

    rois = weft_arg_shape(c, 1, 2);
    WEFT_TRY(weft_agree(c, 1, "row length", &columns, rois.dim[1]));
    WEFT_TRY(weft_window_list(c, "pooled_shape", 2, 1, result.dim + 2));
    if (result.dim[2] == WEFT_UNKNOWN_DIM)
        return weft_call_fail(c, "attribute pooled_shape is missing");
    result.dim[0] = rois.dim[0];
    result.dim[1] = weft_arg_shape(c, 0, 4).dim[1];
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

/* Size before a pool with this window, padding taken off. */
static weft_status unpool_size(const weft_call *c, const weft_window *w, int i, int64_t *size)
{
    int64_t full;

    if (*size == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    WEFT_TRY(weft_multiply(c, "size", *size, w->stride[i], &full));
    *size = full - w->stride[i] + w->kernel[i] - w->begin[i] - w->end[i];
    if (*size < 0)
        return weft_call_fail(c, "padding %lld + %lld of dimension %d exceeds its size %lld",
                              (long long)w->begin[i], (long long)w->end[i], i + 2,
                              (long long)(*size + w->begin[i] + w->end[i]));
    return WEFT_OK;
}

/* The shape given as operand 2, as far as its elements are known. */
static weft_status unpool_given(const weft_call *c, weft_shape *result)
{
    weft_shape given;

    WEFT_TRY(weft_dims_of(c, NULL, 2, &given));
    if (given.rank >= 0 && result->rank >= 0 && given.rank != result->rank)
        return weft_call_fail(c, "input 2 (output shape) has %d elements, expected %d", given.rank,
                              result->rank);
    *result = given.rank >= 0 ? given : weft_shape_any(result->rank);
    return WEFT_OK;
}

weft_status weft_infer_max_unpool(weft_call *c)
{
    weft_window w;
    weft_shape result;
    int n = spatial_rank(c);

    result = weft_arg_shape(c, 0, n < 0 ? -1 : n + 2);
    if (n >= 0) {
        weft_shape places = weft_arg_shape(c, 1, n + 2);

        if (places.rank != n + 2)
            return weft_call_fail(c, "input 1 (indices) has %d dimensions, expected %d",
                                  places.rank, n + 2);
        for (int i = 0; i < n + 2; i++)
            WEFT_TRY(weft_agree(c, 1, "size", &result.dim[i], places.dim[i]));
        WEFT_TRY(weft_window_read(c, n, NULL, &w));
        for (int i = 0; i < n && weft_arg(c, 2) == NULL; i++)
            WEFT_TRY(unpool_size(c, &w, i, &result.dim[i + 2]));
    }
    if (weft_arg(c, 2) != NULL)
        WEFT_TRY(unpool_given(c, &result));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

weft_status weft_infer_roi_align(weft_call *c)
{
    weft_shape result = weft_shape_any(4), rois;
    int64_t columns = 4;

    rois = weft_arg_shape(c, 1, 2);
    WEFT_TRY(weft_agree(c, 1, "row length", &columns, rois.dim[1]));
    WEFT_TRY(weft_agree(c, 2, "number of regions", &rois.dim[0], weft_arg_shape(c, 2, 1).dim[0]));
    result.dim[0] = rois.dim[0];
    result.dim[1] = weft_arg_shape(c, 0, 4).dim[1];
    WEFT_TRY(weft_int_of(c, "output_height", 1, 1, &result.dim[2]));
    WEFT_TRY(weft_int_of(c, "output_width", 1, 1, &result.dim[3]));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

weft_status weft_infer_grid_sample(weft_call *c)
{
    int rank;
    int64_t columns;
    weft_shape x, grid, result;

    x = weft_arg(c, 0)->shape;
    rank = x.rank < 0 ? weft_arg(c, 1)->shape.rank : x.rank;
    result = weft_shape_any(rank);
    if (rank >= 0) {
        x = weft_arg_shape(c, 0, rank);
        grid = weft_arg_shape(c, 1, rank);
        if (grid.rank != rank)
            return weft_call_fail(c, "input 1 (grid) has %d dimensions, input 0 has %d", grid.rank,
                                  rank);
        columns = rank - 2;
        WEFT_TRY(weft_agree(c, 1, "row length", &columns, grid.dim[rank - 1]));
        WEFT_TRY(weft_agree(c, 1, "batch size", &x.dim[0], grid.dim[0]));
        result.dim[0] = x.dim[0];
        result.dim[1] = x.dim[1];
        for (int i = 2; i < rank; i++)
            result.dim[i] = grid.dim[i - 1];
    }
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

/* theta N x 2 x 3 and size (N, C, H, W) give N x H x W x 2; one dimension more in three. */
static weft_status affine_sizes(const weft_call *c, int n, const int64_t *size, weft_shape *result)
{
    weft_shape theta = weft_arg_shape(c, 0, 3);
    int64_t rows = n, columns = n + 1;

    WEFT_TRY(weft_agree(c, 0, "number of rows", &rows, theta.dim[1]));
    WEFT_TRY(weft_agree(c, 0, "number of columns", &columns, theta.dim[2]));
    *result = weft_shape_any(n + 2);
    result->dim[0] = theta.dim[0];
    result->dim[n + 1] = n;
    for (int i = 0; size != NULL && i < n + 2; i++) {
        int64_t d = size[i] == WEFT_UNKNOWN_INT ? WEFT_UNKNOWN_DIM : size[i];

        if (size[i] < 0 && size[i] != WEFT_UNKNOWN_INT)
            return weft_call_fail(c, "input 1 (size) contains %lld, expected 0 or more",
                                  (long long)size[i]);
        if (i == 0)
            WEFT_TRY(weft_agree(c, 0, "batch size", &d, theta.dim[0]));
        if (i != 1) /* channels do not matter */
            result->dim[i == 0 ? 0 : i - 1] = d;
    }
    return WEFT_OK;
}

weft_status weft_infer_affine_grid(weft_call *c)
{
    int count;
    bool known;
    const int64_t *size;
    weft_shape theta, result = weft_shape_any(-1);

    theta = weft_arg_shape(c, 0, 3);
    size = weft_list_of(c, NULL, 1, &count, &known);
    if (count < 0 && theta.dim[1] != WEFT_UNKNOWN_DIM) /* 2 or 3 rows: so many dimensions */
        count = theta.dim[1] == 2 || theta.dim[1] == 3 ? (int)theta.dim[1] + 2 : 0;
    if (count >= 0 && count != 4 && count != 5)
        return weft_call_fail(c, "input 1 (size) has %d elements, expected 4 or 5", count);
    if (count >= 0)
        WEFT_TRY(affine_sizes(c, count - 2, known ? size : NULL, &result));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &result);
}

/* --- nests ----------------------------------------------------------------------------------- */

void weft_nest_pool(const weft_call *c, weft_nests *out)
{
    weft_window w;
    weft_window_axes axes;
    weft_shape result;
    weft_access *to;
    weft_nest *n;
    int channel[2];

    if (pool_read(c, &w, &result) != WEFT_OK)
        return;
    n = weft_nest_new(out);
    n->point_flops = c->op->flops;
    channel[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, result.dim[0]);
    channel[1] = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, result.dim[1]);
    weft_window_nest(n, &w, &result, &axes);
    to = weft_nest_access(n, false, 0, result.rank);
    weft_index_list(to->index, channel, 2);
    weft_index_window(&to->index[2], &w, &axes);
    for (int i = 0; i < c->n_results && i < 2; i++) {
        to = weft_nest_access(n, true, i, result.rank);
        weft_index_list(to->index, channel, 2);
        weft_index_list(&to->index[2], axes.at, w.n);
    }
}

void weft_nest_global_pool(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int axis[WEFT_MAX_RANK];
    weft_nest *n = weft_nest_new(out);

    n->point_flops = c->op->flops;
    axis[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, x->dim[0]);
    axis[1] = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, x->dim[1]);
    for (int i = 2; i < x->rank; i++)
        axis[i] =
            weft_nest_axis(n, weft_kernel_name(x->rank - 2, i - 2), WEFT_AXIS_REDUCE, x->dim[i]);
    weft_index_list(weft_nest_access(n, false, 0, x->rank)->index, axis, x->rank);
    weft_index_list(weft_nest_access(n, true, 0, x->rank)->index, axis, 2);
}

/* Each bin of a region averages samples, each interpolated from four places. Without a sampling
 * ratio their number follows from the size of the region; it is then taken as one. */
void weft_nest_roi_align(const weft_call *c, weft_nests *out)
{
    const weft_shape *y = &c->result[0].shape;
    int64_t samples = weft_node_int(c->node, "sampling_ratio", 0);
    const int whole[] = {-1, -1};
    int axis[4];
    weft_access *to;
    weft_nest *n = weft_nest_new(out);

    if (samples < 1 || samples > INT32_MAX)
        samples = 1;
    n->point_flops = c->op->flops;
    axis[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, y->dim[0]);
    axis[1] = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, y->dim[1]);
    axis[2] = weft_nest_axis(n, "r", WEFT_AXIS_PARALLEL, y->dim[2]);
    axis[3] = weft_nest_axis(n, "c", WEFT_AXIS_PARALLEL, y->dim[3]);
    weft_nest_axis(n, "i", WEFT_AXIS_REDUCE, samples);
    weft_nest_axis(n, "j", WEFT_AXIS_REDUCE, samples);
    to = weft_nest_access(n, false, 0, 4);
    to->index[0].is_whole = true;
    weft_index_axis(&to->index[1], axis[1]);
    weft_index_list(&to->index[2], whole, 2);
    to = weft_nest_access(n, false, 1, 2);
    weft_index_axis(&to->index[0], axis[0]);
    to->index[1].is_whole = true;
    weft_index_axis(&weft_nest_access(n, false, 2, 1)->index[0], axis[0]);
    weft_index_list(weft_nest_access(n, true, 0, 4)->index, axis, 4);
}

void weft_nest_grid_sample(const weft_call *c, weft_nests *out)
{
    const weft_shape *y = &c->result[0].shape;
    int axis[WEFT_MAX_RANK];
    weft_access *to;
    weft_nest *n = weft_nest_new(out);

    n->point_flops = c->op->flops;
    axis[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, y->dim[0]);
    axis[1] = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, y->dim[1]);
    for (int i = 2; i < y->rank; i++)
        axis[i] =
            weft_nest_axis(n, weft_spatial_name(y->rank - 2, i - 2), WEFT_AXIS_PARALLEL, y->dim[i]);
    to = weft_nest_access(n, false, 0, y->rank);
    weft_index_list(to->index, axis, 2);
    for (int i = 2; i < y->rank; i++)
        to->index[i].is_whole = true;
    to = weft_nest_access(n, false, 1, y->rank);
    weft_index_axis(&to->index[0], axis[0]);
    weft_index_list(&to->index[1], axis + 2, y->rank - 2);
    to->index[y->rank - 1].is_whole = true;
    weft_index_list(weft_nest_access(n, true, 0, y->rank)->index, axis, y->rank);
}
