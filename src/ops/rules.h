/* SPDX-License-Identifier: MIT */
/* The rules that rows of the operator table point to (see weft_op in weft/ops.h), and the helpers
 * that rules share. */
#ifndef WEFT_RULES_H
#define WEFT_RULES_H

#include "ops.h"

/* --- shapes: fill type and shape of each result (rank -1, dim -1 where not known) ------------ */

typedef weft_status weft_infer_rule(weft_call *c);
weft_infer_rule weft_infer_affine_grid, weft_infer_arg_reduce, weft_infer_attention,
    weft_infer_batch_norm, weft_infer_body, weft_infer_boolean, weft_infer_broadcast,
    weft_infer_cast, weft_infer_cast_optional, weft_infer_center_crop_pad, weft_infer_col2im,
    weft_infer_compare, weft_infer_compress, weft_infer_concat, weft_infer_constant,
    weft_infer_constant_of_shape, weft_infer_conv, weft_infer_conv_transpose,
    weft_infer_deform_conv, weft_infer_depth_space, weft_infer_dequantize, weft_infer_det,
    weft_infer_dft, weft_infer_dropout, weft_infer_dynamic_quantize, weft_infer_einsum,
    weft_infer_embed_layer_norm, weft_infer_expand, weft_infer_flatten, weft_infer_gather,
    weft_infer_gather_elements, weft_infer_gather_nd, weft_infer_gemm, weft_infer_global_pool,
    weft_infer_grid_sample, weft_infer_layer_norm, weft_infer_loss, weft_infer_matmul,
    weft_infer_matmul_nbits, weft_infer_max_roi_pool, weft_infer_max_unpool, weft_infer_mel,
    weft_infer_ms_attention, weft_infer_ms_gqa, weft_infer_ms_mha, weft_infer_multinomial,
    weft_infer_nms, weft_infer_nonzero, weft_infer_one_hot, weft_infer_pad, weft_infer_pool,
    weft_infer_qlinear_binary, weft_infer_qlinear_concat, weft_infer_quantize, weft_infer_random,
    weft_infer_range, weft_infer_reduce, weft_infer_reshape, weft_infer_resize, weft_infer_rnn,
    weft_infer_roi_align, weft_infer_same, weft_infer_scatter, weft_infer_shape, weft_infer_size,
    weft_infer_skip_layer_norm, weft_infer_slice, weft_infer_softmax, weft_infer_split,
    weft_infer_squeeze, weft_infer_stft, weft_infer_tile, weft_infer_topk, weft_infer_transpose,
    weft_infer_unique, weft_infer_unsqueeze, weft_infer_upsample, weft_infer_where,
    weft_infer_window;

/* --- constants: fill result[i].data where the elements follow from known operands ------------ */

typedef void weft_fold_rule(weft_call *c);
weft_fold_rule weft_fold_binary, weft_fold_cast, weft_fold_clip, weft_fold_compare,
    weft_fold_concat, weft_fold_constant, weft_fold_constant_of_shape, weft_fold_copy,
    weft_fold_cumsum, weft_fold_expand, weft_fold_gather, weft_fold_gather_elements,
    weft_fold_nonzero, weft_fold_range, weft_fold_reduce, weft_fold_scatter_elements,
    weft_fold_scatter_nd, weft_fold_shape, weft_fold_size, weft_fold_slice, weft_fold_split,
    weft_fold_tile, weft_fold_topk, weft_fold_transpose, weft_fold_trilu, weft_fold_unary,
    weft_fold_variadic, weft_fold_where;

/* --- loop nests: called with static shapes only ---------------------------------------------- */

typedef void weft_nest_rule(const weft_call *c, weft_nests *out);
weft_nest_rule weft_nest_attention, weft_nest_batch_norm, weft_nest_concat, weft_nest_conv,
    weft_nest_conv_transpose, weft_nest_det, weft_nest_dft, weft_nest_einsum, weft_nest_elementwise,
    weft_nest_embed_layer_norm, weft_nest_gather, weft_nest_gemm, weft_nest_global_pool,
    weft_nest_grid_sample, weft_nest_group_norm, weft_nest_instance_norm, weft_nest_layer_norm,
    weft_nest_loss, weft_nest_lrn, weft_nest_matmul, weft_nest_matmul_nbits, weft_nest_ms_attention,
    weft_nest_ms_gqa, weft_nest_ms_mha, weft_nest_mvn, weft_nest_pad, weft_nest_pool,
    weft_nest_qlinear_binary, weft_nest_reduce, weft_nest_resize, weft_nest_rnn,
    weft_nest_roi_align, weft_nest_scan, weft_nest_skip_layer_norm, weft_nest_slice,
    weft_nest_softmax, weft_nest_split, weft_nest_stft, weft_nest_transpose;

/* --- shared by rules ------------------------------------------------------------------------- */

/* Operand i, or NULL if it was left out or is beyond the last one. */
static inline const weft_value *weft_arg(const weft_call *c, int i)
{
    return i < c->n_args ? c->arg[i] : NULL;
}

/* Types and shapes of the results by the row of the table: numbers of operands and results, kinds of
 * attributes and numbers of dimensions are checked before the rule is called. */
WEFT_CHECKED weft_status weft_infer(weft_call *c);
/* Sets result i, if it is asked for. */
void weft_set_result(weft_call *c, int i, weft_dtype type, const weft_shape *shape);
/* A shape of that rank with unknown dimensions. */
weft_shape weft_shape_any(int rank);
/* Axis in -rank .. rank - 1 -> 0 .. rank - 1; an error that names the value otherwise. */
WEFT_CHECKED weft_status weft_axis_of(const weft_call *c, int64_t axis, int rank, int *out);
/* Fails unless operand i is there; its rank, if known, must lie in lowest .. highest. */
WEFT_CHECKED weft_status weft_need_rank(const weft_call *c, int i, int lowest, int highest);
/* Fails unless inputs i and k have the same element type, where both are known. */
WEFT_CHECKED weft_status weft_need_type(const weft_call *c, int i, int k);
/* numpy broadcasting of b into *a; an error that names both shapes. */
WEFT_CHECKED weft_status weft_broadcast(const weft_call *c, weft_shape *a, const weft_shape *b);
/* Integers given as attribute `name`, or as operand `slot` (slot < 0: attribute only). *known
 * false: the operand is there but its elements are not known; *count is then its length or -1.
 * Absent: NULL, *known true, *count 0. Single elements may be WEFT_UNKNOWN_INT. */
const int64_t *weft_list_of(const weft_call *c, const char *name, int slot, int *count,
                            bool *known);
/* Normalised axes of a reduction, squeeze and the like: attribute "axes" or operand `slot`. Marks
 * them in the bit mask *mask; *known false if they cannot be known. */
WEFT_CHECKED weft_status weft_axes_of(const weft_call *c, int slot, int rank, unsigned *mask,
                                      bool *present, bool *known);

/* Nest pieces. An axis is added and its number returned; an access gets one index a dimension. */
int weft_nest_axis(weft_nest *n, const char *name, weft_axis_kind kind, int64_t extent);
weft_access *weft_nest_access(weft_nest *n, bool is_result, int slot, int rank);
/* index = axis (factor 1). */
void weft_index_axis(weft_index *i, int axis);
void weft_index_term(weft_index *i, int axis, int64_t factor);

#endif
