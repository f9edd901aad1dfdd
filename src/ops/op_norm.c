/* SPDX-License-Identifier: MIT */
/* op_norm.c: normalisations.
 *
 * A nest visits each element once (local response normalisation: each element's window). Axes over
 * which mean and variance are taken are REDUCE and index the result too: a cut along them exchanges
 * statistics only. Batch normalisation of an inference graph has its statistics as operands, so it
 * is element-wise.
 *
 * Guarantee: shapes follow ONNX BatchNormalization-7 to -15, LayerNormalization-17,
 * RMSNormalization-23 and com.microsoft SkipLayerNormalization, EmbedLayerNormalization. */
#include "nn.h"

/* --- shapes ---------------------------------------------------------------------------------- */

/* Shape of scale, bias, mean and variance: one element a channel, or with spatial = 0 (opsets 7 and
 * 8) one for every element of an item. */
static weft_shape statistics_shape(const weft_call *c, const weft_shape *x)
{
    weft_shape s = weft_shape_any(1);

    if (weft_node_int(c->node, "spatial", 1) != 0) {
        if (x->rank >= 1)
            s.dim[0] = x->rank == 1 ? 1 : x->dim[1];
        return s;
    }
    s = weft_shape_any(x->rank > 1 ? x->rank - 1 : -1);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = x->dim[i + 1];
    return s;
}

weft_status weft_infer_batch_norm(weft_call *c)
{
    weft_shape x, statistics;

    x = weft_arg(c, 0)->shape;
    statistics = statistics_shape(c, &x);
    for (int i = 1; i < 5 && statistics.rank == 1; i++) {
        static const char *const name[] = {"", "scale", "bias", "mean", "variance"};

        WEFT_TRY(weft_need_rank(c, i, 1, 1));
        WEFT_TRY(weft_need_list(c, i, name[i], statistics.dim[0]));
        if (statistics.dim[0] == WEFT_UNKNOWN_DIM)
            statistics.dim[0] = weft_arg_shape(c, i, 1).dim[0];
    }
    if (x.rank > 1 && statistics.rank == 1)
        x.dim[1] = statistics.dim[0];
    for (int i = 1; i < c->n_results; i++) {
        weft_dtype type = weft_arg_type(c, i % 2 == 1 ? 3 : 4);

        weft_set_result(c, i, type ? type : weft_arg_type(c, 0), &statistics);
    }
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &x);
}

/* Fails unless operand i, if it is there, broadcasts to x without changing it. */
static weft_status check_broadcast(const weft_call *c, int i, const weft_shape *x)
{
    weft_shape s = weft_arg_shape(c, i, 0);
    int lead = x->rank - s.rank;
    bool fits = lead >= 0;
    char left[192], right[192];

    for (int d = 0; fits && d < s.rank; d++)
        fits = s.dim[d] == 1 || s.dim[d] == WEFT_UNKNOWN_DIM ||
               x->dim[lead + d] == WEFT_UNKNOWN_DIM || s.dim[d] == x->dim[lead + d];
    if (!fits)
        return weft_call_fail(c, "input %d is %s, expected a shape that broadcasts to %s", i,
                              weft_shape_print(&s, left), weft_shape_print(x, right));
    return WEFT_OK;
}

weft_status weft_infer_layer_norm(weft_call *c)
{
    weft_shape x, statistics;
    weft_dtype type = weft_arg_type(c, 1), stash; /* the result has the type of the scale */
    int axis = 0;

    WEFT_TRY(weft_type_of(c, "stash_type", WEFT_F32, &stash));
    x = statistics = weft_arg(c, 0)->shape;
    if (x.rank >= 0) {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", -1), x.rank, &axis));
        WEFT_TRY(check_broadcast(c, 1, &x));
        WEFT_TRY(check_broadcast(c, 2, &x));
    }
    for (int i = axis; i < x.rank; i++)
        statistics.dim[i] = 1;
    weft_set_result(c, 1, stash, &statistics);
    weft_set_result(c, 2, stash, &statistics);
    return weft_set_sized(c, 0, type ? type : weft_arg_type(c, 0), &x);
}

/* Operands: x, skip (may be broadcast over the batch), gamma, then beta and bias or bias alone. */
weft_status weft_infer_skip_layer_norm(weft_call *c)
{
    weft_shape x, statistics;
    weft_dtype type = weft_arg_type(c, 0);

    x = statistics = weft_arg(c, 0)->shape;
    if (x.rank >= 0) {
        WEFT_TRY(check_broadcast(c, 1, &x));
        for (int i = 2; i < 5; i++)
            WEFT_TRY(weft_need_list(c, i, "vector", x.dim[x.rank - 1]));
        statistics.dim[x.rank - 1] = 1;
    }
    weft_set_result(c, 1, WEFT_F32, &statistics);
    weft_set_result(c, 2, WEFT_F32, &statistics);
    weft_set_result(c, 3, type, &x);
    return weft_set_sized(c, 0, type, &x);
}

/* Operands: ids, segments, three embedding tables, gamma, beta, mask, positions. */
weft_status weft_infer_embed_layer_norm(weft_call *c)
{
    weft_shape ids, result = weft_shape_any(3), batch = weft_shape_any(1);
    weft_dtype type = weft_arg_type(c, 2);

    ids = weft_arg_shape(c, 0, 2);
    result.dim[0] = batch.dim[0] = ids.dim[0];
    result.dim[1] = ids.dim[1];
    for (int i = 2; i < 5; i++) {
        weft_shape table = weft_arg_shape(c, i, 2);

        if (table.rank != 2)
            return weft_call_fail(c, "input %d has %d dimensions, expected 2", i, table.rank);
        WEFT_TRY(weft_agree(c, i, "row length", &result.dim[2], table.dim[1]));
    }
    WEFT_TRY(weft_need_list(c, 5, "gamma", result.dim[2]));
    WEFT_TRY(weft_need_list(c, 6, "beta", result.dim[2]));
    weft_set_result(c, 1, WEFT_I32, &batch);
    weft_set_result(c, 2, type, &result);
    return weft_set_sized(c, 0, type, &result);
}

/* --- nests ----------------------------------------------------------------------------------- */

static weft_nest *new_norm(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_new(out);

    n->point_flops = c->op->flops;
    return n;
}

/* Axes b, m and those of the spatial dimensions of x; `kind` is that of the latter. */
static void channel_axes(weft_nest *n, const weft_shape *x, weft_axis_kind kind, int *axis)
{
    static const char *const name[] = {"b", "m"};

    for (int i = 0; i < x->rank && i < 2; i++)
        axis[i] = weft_nest_axis(n, name[i], WEFT_AXIS_PARALLEL, x->dim[i]);
    for (int i = 2; i < x->rank; i++)
        axis[i] = weft_nest_axis(n, weft_spatial_name(x->rank - 2, i - 2), kind, x->dim[i]);
}

static void access_whole(weft_nest *n, bool is_result, const weft_shape *x, const int *axis)
{
    weft_index_list(weft_nest_access(n, is_result, 0, x->rank)->index, axis, x->rank);
}

/* Operands first .. last that have one element a channel, or one for each element of an item. */
static void access_channels(const weft_call *c, weft_nest *n, int last, const int *axis)
{
    int rank = c->arg[0]->shape.rank;

    for (int i = 1; i <= last; i++) {
        const weft_value *v = weft_arg(c, i);

        if (v == NULL || (v->shape.rank != 1 && v->shape.rank != rank - 1))
            continue;
        if (rank > 1 && n->axis[axis[1]].extent == v->shape.dim[0])
            weft_index_list(weft_nest_access(n, false, i, v->shape.rank)->index, axis + 1,
                            v->shape.rank);
    }
}

void weft_nest_batch_norm(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int axis[WEFT_MAX_RANK];
    weft_nest *n = new_norm(c, out);

    channel_axes(n, x, WEFT_AXIS_PARALLEL, axis);
    access_whole(n, false, x, axis);
    access_whole(n, true, x, axis);
    access_channels(c, n, 4, axis);
}

void weft_nest_instance_norm(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int axis[WEFT_MAX_RANK];
    weft_nest *n = new_norm(c, out);

    channel_axes(n, x, WEFT_AXIS_REDUCE, axis);
    access_whole(n, false, x, axis);
    access_whole(n, true, x, axis);
    access_channels(c, n, 2, axis);
}

/* Channel of a group, for tensors whose dimension 1 or only dimension is the channel. */
static void index_group(weft_index *i, const int axis[3], int64_t per_group)
{
    weft_index_term(i, axis[1], per_group);
    weft_index_term(i, axis[2], 1);
}

/* Scale and bias have one element a channel (opset 21) or a group (opset 18). */
static void access_groups(const weft_call *c, weft_nest *n, const int *axis)
{
    int64_t per_group = n->axis[axis[2]].extent;

    for (int i = 1; i <= 2; i++) {
        const weft_value *v = weft_arg(c, i);
        weft_access *to;

        if (v == NULL || v->shape.rank != 1)
            continue;
        to = weft_nest_access(n, false, i, 1);
        if (v->shape.dim[0] == n->axis[axis[1]].extent)
            weft_index_axis(&to->index[0], axis[1]);
        else
            index_group(&to->index[0], axis, per_group);
    }
}

void weft_nest_group_norm(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int64_t groups = weft_node_int(c->node, "num_groups", 1);
    int axis[WEFT_MAX_RANK + 1] = {0}; /* b, g, m, then the spatial ones */
    weft_nest *n;

    if (x->rank < 2)
        return;
    if (groups < 1 || x->dim[1] % groups != 0) /* no rule refuses it; the work is the same */
        groups = 1;
    n = new_norm(c, out);
    axis[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, x->dim[0]);
    axis[1] = weft_nest_axis(n, "g", WEFT_AXIS_PARALLEL, groups);
    axis[2] = weft_nest_axis(n, "m", WEFT_AXIS_REDUCE, x->dim[1] / groups);
    for (int i = 2; i < x->rank; i++)
        axis[i + 1] =
            weft_nest_axis(n, weft_spatial_name(x->rank - 2, i - 2), WEFT_AXIS_REDUCE, x->dim[i]);
    for (int k = 0; k < 2; k++) {
        weft_access *to = weft_nest_access(n, k == 1, 0, x->rank);

        weft_index_axis(&to->index[0], axis[0]);
        index_group(&to->index[1], axis, x->dim[1] / groups);
        weft_index_list(&to->index[2], axis + 3, x->rank - 2);
    }
    access_groups(c, n, axis);
}

/* Axes d0, d1, ...; those in the mask are REDUCE. */
static void plain_axes(weft_nest *n, const weft_shape *x, unsigned reduced, int *axis)
{
    static const char *const name[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

    for (int i = 0; i < x->rank; i++)
        axis[i] = weft_nest_axis(
            n, name[i], reduced >> i & 1 ? WEFT_AXIS_REDUCE : WEFT_AXIS_PARALLEL, x->dim[i]);
}

static void access_broadcast(weft_nest *n, bool is_result, int slot, const weft_value *v,
                             const int *axis)
{
    if (v != NULL && v->shape.rank >= 0 && v->shape.rank <= n->n_axes)
        weft_index_broadcast(n, weft_nest_access(n, is_result, slot, v->shape.rank), &v->shape,
                             axis, n->n_axes);
}

/* A normalisation over dimensions axis, axis + 1, ... of operand 0. */
static void nest_from(const weft_call *c, int64_t axis, int n_args, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int axes[WEFT_MAX_RANK];
    weft_nest *n = new_norm(c, out);

    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank)
        axis = x->rank;
    plain_axes(n, x, ~0u << axis, axes);
    for (int i = 0; i < n_args; i++)
        access_broadcast(n, false, i, weft_arg(c, i), axes);
    for (int i = 0; i < c->n_results && n->n_accesses < WEFT_MAX_ACCESSES; i++)
        if (c->result[i].shape.rank == x->rank) /* those not asked for have no shape */
            access_broadcast(n, true, i, &c->result[i], axes);
}

void weft_nest_layer_norm(const weft_call *c, weft_nests *out)
{
    nest_from(c, weft_node_int(c->node, "axis", -1), 3, out);
}

void weft_nest_skip_layer_norm(const weft_call *c, weft_nests *out)
{
    nest_from(c, -1, 5, out);
}

/* Rows of the embedding tables that are read depend on data, except those of positions that are
 * not given. */
void weft_nest_embed_layer_norm(const weft_call *c, weft_nests *out)
{
    weft_shape x = weft_arg_shape(c, 0, 2);
    int axis[3];
    weft_nest *n = new_norm(c, out);

    axis[0] = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, x.dim[0]);
    axis[1] = weft_nest_axis(n, "s", WEFT_AXIS_PARALLEL, x.dim[1]);
    axis[2] = weft_nest_axis(n, "h", WEFT_AXIS_REDUCE, c->arg[2]->shape.dim[1]);
    for (int i = 0; i < 2; i++)
        if (weft_arg(c, i) != NULL && c->arg[i]->shape.rank == 2)
            weft_index_list(weft_nest_access(n, false, i, 2)->index, axis, 2);
    for (int i = 2; i < 5; i++) {
        weft_access *to;

        if (weft_arg(c, i) == NULL)
            continue;
        to = weft_nest_access(n, false, i, 2);
        to->index[0].is_whole = i != 3 || weft_arg(c, 8) != NULL;
        if (!to->index[0].is_whole)
            weft_index_axis(&to->index[0], axis[1]);
        weft_index_axis(&to->index[1], axis[2]);
    }
    for (int i = 5; i < 7; i++)
        if (weft_arg(c, i) != NULL)
            weft_index_axis(&weft_nest_access(n, false, i, 1)->index[0], axis[2]);
    weft_index_list(weft_nest_access(n, true, 0, 3)->index, axis, 3);
}

/* Each element is divided by a power of the sum of squares of `size` channels around it. */
void weft_nest_lrn(const weft_call *c, weft_nests *out)
{
    enum { SQUARE_AND_ADD = 2 };
    const weft_shape *x = &c->arg[0]->shape;
    int64_t size = weft_node_int(c->node, "size", 1);
    int axis[WEFT_MAX_RANK], window;
    weft_access *to;
    weft_nest *n;

    if (x->rank < 2)
        return;
    if (size < 1 || size > x->dim[1])
        size = x->dim[1];
    n = weft_nest_new(out);
    n->point_flops = SQUARE_AND_ADD;
    channel_axes(n, x, WEFT_AXIS_PARALLEL, axis);
    if (size > 1) /* neighbours read overlapping channels */
        n->axis[axis[1]].kind = WEFT_AXIS_SPATIAL;
    window = weft_nest_axis(n, "w", WEFT_AXIS_REDUCE, size);
    to = weft_nest_access(n, false, 0, x->rank);
    weft_index_list(to->index, axis, x->rank);
    weft_index_term(&to->index[1], window, 1);
    to->index[1].offset = -((size - 1) / 2);
    access_whole(n, true, x, axis);
}

/* Mean and variance over attribute axes, by default all but the channels. */
void weft_nest_mvn(const weft_call *c, weft_nests *out)
{
    const weft_shape *x = &c->arg[0]->shape;
    int axis[WEFT_MAX_RANK];
    unsigned reduced;
    bool present, known;
    weft_nest *n;

    if (weft_axes_of(c, -1, x->rank, &reduced, &present, &known) != WEFT_OK)
        return;
    if (!present) /* 0, 2, 3 */
        reduced = 0xd;
    n = new_norm(c, out);
    plain_axes(n, x, reduced, axis);
    access_whole(n, false, x, axis);
    access_whole(n, true, x, axis);
}
