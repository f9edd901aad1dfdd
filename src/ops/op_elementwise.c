/* SPDX-License-Identifier: MIT */
/* op_elementwise.c: operators that compute each element of the result from the elements at the
 * same place of their operands: activations, arithmetic, comparisons, casts, quantization.
 *
 * Shapes: numpy broadcasting (ONNX, "Multidirectional Broadcasting"). Work: one axis a dimension
 * of the result, all parallel; a dimension of size 1 against a larger one is read at index 0. */
#include "shapes.h"

#include <string.h>

weft_status weft_infer_same(weft_call *c)
{
    return weft_set_sized(c, 0, c->arg[0]->type, &c->arg[0]->shape);
}

weft_status weft_infer_boolean(weft_call *c)
{
    return weft_set_sized(c, 0, WEFT_BOOL, &c->arg[0]->shape);
}

/* Broadcasts all operands; *type is that of the first one whose type is known. */
static weft_status broadcast_all(const weft_call *c, weft_dtype *type, weft_shape *shape)
{
    *type = WEFT_TYPE_UNKNOWN;
    *shape = weft_shape_any(0);
    for (int i = 0; i < c->n_args; i++) {
        WEFT_TRY(weft_need_rank(c, i, 0, WEFT_MAX_RANK));
        WEFT_TRY(weft_broadcast(c, shape, &c->arg[i]->shape));
        if (*type == WEFT_TYPE_UNKNOWN)
            *type = c->arg[i]->type;
    }
    return WEFT_OK;
}

static weft_status need_one_type(const weft_call *c)
{
    for (int i = 1; i < c->n_args; i++)
        WEFT_TRY(weft_need_type(c, i, 0));
    return WEFT_OK;
}

weft_status weft_infer_broadcast(weft_call *c)
{
    weft_shape shape;
    weft_dtype type;

    WEFT_TRY(broadcast_all(c, &type, &shape));
    if (strcmp(c->node->op, "Pow") != 0) /* its exponent may be of another type */
        WEFT_TRY(need_one_type(c));
    return weft_set_sized(c, 0, type, &shape);
}

weft_status weft_infer_compare(weft_call *c)
{
    weft_shape shape;
    weft_dtype type;

    WEFT_TRY(broadcast_all(c, &type, &shape));
    WEFT_TRY(need_one_type(c));
    return weft_set_sized(c, 0, WEFT_BOOL, &shape);
}

weft_status weft_infer_where(weft_call *c)
{
    weft_shape shape;
    weft_dtype type;

    WEFT_TRY(broadcast_all(c, &type, &shape));
    WEFT_TRY(weft_need_type(c, 2, 1));
    type = c->arg[1]->type == WEFT_TYPE_UNKNOWN ? c->arg[2]->type : c->arg[1]->type;
    return weft_set_sized(c, 0, type, &shape);
}

weft_status weft_infer_cast(weft_call *c)
{
    weft_dtype type;

    if (c->n_args > 1) { /* CastLike */
        WEFT_TRY(weft_need_rank(c, 1, 0, WEFT_MAX_RANK));
        type = c->arg[1]->type;
    } else {
        if (weft_node_attr(c->node, "to") == NULL)
            return weft_call_fail(c, "attribute 'to' is missing");
        WEFT_TRY(weft_type_of(c, "to", WEFT_F32, &type));
    }
    return weft_set_sized(c, 0, type, &c->arg[0]->shape);
}

weft_status weft_infer_cast_optional(weft_call *c)
{
    bool is_matrix = strcmp(c->node->op, "EyeLike") == 0;
    weft_dtype type;

    WEFT_TRY(weft_need_rank(c, 0, is_matrix ? 2 : 0, is_matrix ? 2 : WEFT_MAX_RANK));
    WEFT_TRY(weft_type_of(c, "dtype", c->arg[0]->type, &type));
    return weft_set_sized(c, 0, type, &c->arg[0]->shape);
}

weft_status weft_infer_dropout(weft_call *c)
{
    WEFT_TRY(weft_infer_same(c));
    /* before opset 10 the mask had the type of the data */
    weft_set_result(c, 1, c->node->opset < 10 ? c->arg[0]->type : WEFT_BOOL, &c->arg[0]->shape);
    return WEFT_OK;
}

bool weft_op_has_mask(const weft_op *op)
{
    return op->infer == weft_infer_dropout;
}

/* The dimension of operand 0 that a vector of scales belongs to; -1 for one scale, for blocks, or
 * if that is not known. */
static weft_status scale_axis(const weft_call *c, int slot, int *axis)
{
    const weft_shape *x = &c->arg[0]->shape, *s;

    *axis = -1;
    if (weft_arg(c, slot) == NULL)
        return WEFT_OK;
    s = &c->arg[slot]->shape;
    if (x->rank < 0 || s->rank != 1 || s->dim[0] == 1 || s->dim[0] == WEFT_UNKNOWN_DIM ||
        weft_node_int(c->node, "block_size", 0) != 0)
        return WEFT_OK;
    return weft_axis_of(c, weft_node_int(c->node, "axis", 1), x->rank, axis);
}

/* Scales and zero points: one, or one for each index along the axis, or one for each block. */
static weft_status check_scales(const weft_call *c)
{
    const weft_shape *x = &c->arg[0]->shape;
    char left[192], right[192];

    for (int i = 1; i < c->n_args; i++) {
        int axis;

        if (i == 1 || c->arg[i] != NULL) {
            bool has_blocks = weft_node_int(c->node, "block_size", 0) != 0;

            WEFT_TRY(weft_need_rank(c, i, 0, has_blocks ? WEFT_MAX_RANK : 1));
        }
        WEFT_TRY(scale_axis(c, i, &axis));
        if (axis >= 0 && x->dim[axis] >= 0 && x->dim[axis] != c->arg[i]->shape.dim[0])
            return weft_call_fail(c,
                                  "input %d has shape %s, expected one element, or %lld for "
                                  "axis %d of %s",
                                  i, weft_shape_print(&c->arg[i]->shape, left),
                                  (long long)x->dim[axis], axis, weft_shape_print(x, right));
    }
    return WEFT_OK;
}

weft_status weft_infer_quantize(weft_call *c)
{
    const weft_value *zero = weft_arg(c, 2);
    weft_dtype type;

    WEFT_TRY(check_scales(c));
    WEFT_TRY(weft_type_of(c, "output_dtype", WEFT_TYPE_UNKNOWN, &type));
    if (zero != NULL && zero->type != WEFT_TYPE_UNKNOWN)
        type = zero->type;
    return weft_set_sized(c, 0, type == WEFT_TYPE_UNKNOWN ? WEFT_U8 : type, &c->arg[0]->shape);
}

weft_status weft_infer_dequantize(weft_call *c)
{
    weft_dtype type;

    WEFT_TRY(check_scales(c));
    type = c->arg[1]->type;
    return weft_set_sized(c, 0, type == WEFT_TYPE_UNKNOWN ? WEFT_F32 : type, &c->arg[0]->shape);
}

weft_status weft_infer_dynamic_quantize(weft_call *c)
{
    weft_shape scalar = weft_shape_any(0);

    weft_set_result(c, 0, WEFT_U8, &c->arg[0]->shape);
    weft_set_result(c, 1, WEFT_F32, &scalar);
    weft_set_result(c, 2, WEFT_U8, &scalar);
    return WEFT_OK;
}

/* Operands: a, its scale and zero point, b, its scale and zero point, those of the result. */
weft_status weft_infer_qlinear_binary(weft_call *c)
{
    weft_shape shape = c->arg[0]->shape;

    WEFT_TRY(weft_broadcast(c, &shape, &c->arg[3]->shape));
    return weft_set_sized(c, 0, c->arg[0]->type, &shape);
}

/* An operand aligned with the last axes of the nest. Dimensions that do not broadcast (tables that
 * are looked up, scales of blocks) are read whole. */
static void access_broadcast(weft_nest *n, const weft_call *c, int slot)
{
    const weft_shape *s = &c->arg[slot]->shape;
    weft_access *access = weft_nest_access(n, false, slot, s->rank);

    for (int i = 0; i < s->rank; i++) {
        int axis = i + n->n_axes - s->rank;

        if (axis >= 0 && n->axis[axis].extent == s->dim[i])
            weft_index_axis(&access->index[i], axis);
        else if (s->dim[i] != 1)
            access->index[i].is_whole = true;
    }
}

static void access_operand(weft_nest *n, const weft_call *c, int slot)
{
    bool has_scales = c->op->infer == weft_infer_quantize || c->op->infer == weft_infer_dequantize;
    int axis = -1;

    if (has_scales && slot > 0 && scale_axis(c, slot, &axis) == WEFT_OK && axis >= 0)
        weft_index_axis(&weft_nest_access(n, false, slot, 1)->index[0], axis);
    else
        access_broadcast(n, c, slot);
}

/* Operands of an operator with any number of them take one operation less than there are. */
static int64_t flops_a_point(const weft_call *c)
{
    return c->op->max_args < 0 ? (int64_t)c->op->flops * (c->n_args - 1) : c->op->flops;
}

void weft_nest_elementwise(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, flops_a_point(c));
    /* the second operand of these is a shape or a type, not data */
    bool is_single = c->op->infer == weft_infer_expand || c->op->infer == weft_infer_cast;
    int n_data = is_single ? 1 : c->n_args;

    weft_nest_dims(n, &c->result[0].shape, WEFT_AXIS_PARALLEL);
    for (int i = 0; i < n_data && i < WEFT_MAX_ACCESSES - 1; i++)
        if (c->arg[i] != NULL)
            access_operand(n, c, i);
    weft_nest_whole(n, true, 0, c->result[0].shape.rank);
}

void weft_nest_qlinear_binary(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);

    weft_nest_dims(n, &c->result[0].shape, WEFT_AXIS_PARALLEL);
    access_broadcast(n, c, 0);
    access_broadcast(n, c, 3);
    weft_nest_whole(n, true, 0, c->result[0].shape.rank);
}
