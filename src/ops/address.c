/* SPDX-License-Identifier: MIT */
/* address.c: which indices of loop nests are addresses.
 *
 * A nest counts what an operator touches. For a device that is given a part of the points this must
 * also say where these elements lie, and it does for the rules listed here: an index is the address
 * of the element, or a range of indices holds it. Three kinds of corrections:
 *
 * 1. Operators that share a nest with others but mix elements (deformable convolution, quantisation
 *    with a scale of all elements, rotations) have no addresses; nor have slices, pads and resizes
 *    whose amounts are not known before the run.
 * 2. A dimension that is looked up by data (Gather) is taken whole.
 * 3. A nest has room for few accesses: operands of a long Concat, Sum, Max, ... and results of a
 *    long Split get theirs from the shapes.
 *
 * Guarantee: if weft_node_has_addresses, then every element that the operator reads for a point, or
 * writes, has in each dimension one of the indices that the access has at that point; accesses that
 * are not given need all of the tensor. Checked by brute force in tests/unit/split/test_split_cost.c for the
 * operators whose arithmetic is known there. */
#include "shapes.h"

#include <string.h>

static weft_nest_rule *const rules[] = {
    weft_nest_attention,
    weft_nest_batch_norm,
    weft_nest_concat,
    weft_nest_conv,
    weft_nest_conv_transpose,
    weft_nest_einsum,
    weft_nest_elementwise,
    weft_nest_embed_layer_norm,
    weft_nest_gather,
    weft_nest_gemm,
    weft_nest_global_pool,
    weft_nest_grid_sample,
    weft_nest_group_norm,
    weft_nest_instance_norm,
    weft_nest_layer_norm,
    weft_nest_lrn,
    weft_nest_matmul,
    weft_nest_matmul_nbits,
    weft_nest_ms_gqa,
    weft_nest_ms_mha,
    weft_nest_mvn,
    weft_nest_pad,
    weft_nest_pool,
    weft_nest_qlinear_binary,
    weft_nest_reduce,
    weft_nest_resize,
    weft_nest_rnn,
    weft_nest_roi_align,
    weft_nest_scan,
    weft_nest_skip_layer_norm,
    weft_nest_slice,
    weft_nest_softmax,
    weft_nest_split,
    weft_nest_transpose,
};

/* They have one of these nests, but an element of the result depends on more than the nest says. */
static const char *const mixing[] = {
    "DeformConv",     "DynamicQuantizeLinear", "DynamicQuantizeMatMul",
    "QLinearSoftmax", "RotaryEmbedding",
};

static const weft_op *op_of(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    if (n->has_body || n->phase != WEFT_FORWARD)
        return NULL;
    return weft_op_find(n->domain, n->op);
}

static const weft_tensor *operand(const weft_graph *g, int u, int slot)
{
    int i = g->arg_at[u] + slot;

    return i < g->arg_at[u + 1] && g->arg[i] >= 0 ? &g->tensor[g->arg[i]] : NULL;
}

static const weft_tensor *result(const weft_graph *g, int u, int slot)
{
    int i = g->res_at[u] + slot;

    return i < g->res_at[u + 1] && g->res[i] >= 0 ? &g->tensor[g->res[i]] : NULL;
}

/* --- operators with amounts ------------------------------------------------------------------ */

/* Operands from `first` on that hold integers have known elements, or are left out. */
static bool has_known_integers(const weft_graph *g, int u, int first)
{
    for (int slot = first; slot < g->arg_at[u + 1] - g->arg_at[u]; slot++) {
        const weft_tensor *t = operand(g, u, slot);

        if (t == NULL || !weft_dtype_is_integer(t->type))
            continue;
        if (t->elements > 0 && (t->value == NULL || t->value->ints == NULL))
            return false;
        for (int i = 0; i < (int)t->elements; i++)
            if (t->value->ints[i] == WEFT_UNKNOWN_INT)
                return false;
    }
    return true;
}

static bool pads_with_constants(const weft_graph *g, int u)
{
    return strcmp(weft_node_text(&g->node[u], "mode", "constant"), "constant") == 0 &&
           has_known_integers(g, u, 1);
}

/* Scales of a resize, as a list of reals in operand 1 or 2 or an attribute; NULL if not known. */
static const double *scales_of(const weft_graph *g, int u, int rank)
{
    const weft_attr *attr = weft_node_attr(&g->node[u], "scales");

    if (attr && attr->kind == WEFT_ATTR_REALS && attr->n == rank)
        return attr->reals;
    for (int slot = 1; slot <= 2; slot++) {
        const weft_tensor *t = operand(g, u, slot);

        if (t && weft_dtype_is_float(t->type) && t->elements == rank && t->value && t->value->reals)
            return t->value->reals;
    }
    return NULL;
}

/* A dimension that keeps its size is copied only if it is not scaled, and nothing is cropped. */
static bool resizes_plainly(const weft_graph *g, int u)
{
    const weft_tensor *x = operand(g, u, 0), *y = result(g, u, 0), *sizes = operand(g, u, 3);
    const double *scale = x ? scales_of(g, u, x->shape->rank) : NULL;

    if (x == NULL || y == NULL ||
        strcmp(weft_node_text(&g->node[u], "coordinate_transformation_mode", ""),
               "tf_crop_and_resize") == 0)
        return false;
    if (sizes && sizes->elements > 0)
        return strcmp(weft_node_text(&g->node[u], "keep_aspect_ratio_policy", "stretch"),
                      "stretch") == 0;
    for (int d = 0; scale && d < x->shape->rank; d++)
        if (x->shape->dim[d] == y->shape->dim[d] && scale[d] != 1)
            return false;
    return scale != NULL;
}

static bool has_known_amounts(const weft_graph *g, int u, const weft_op *op)
{
    if (op->nests == weft_nest_slice)
        return has_known_integers(g, u, 1);
    if (op->nests == weft_nest_pad)
        return pads_with_constants(g, u);
    if (op->nests == weft_nest_resize)
        return resizes_plainly(g, u);
    if (op->nests == weft_nest_batch_norm) /* else mean and variance are those of the batch */
        return weft_node_int(&g->node[u], "training_mode", 0) == 0;
    return true;
}

bool weft_node_has_addresses(const weft_graph *g, int u)
{
    const weft_op *op = op_of(g, u);
    bool is_listed = false;

    if (op == NULL || !weft_node_is_static(g, u))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        is_listed = is_listed || op->nests == rules[i];
    for (size_t i = 0; i < sizeof mixing / sizeof mixing[0]; i++)
        is_listed = is_listed && strcmp(op->name, mixing[i]) != 0;
    return is_listed && has_known_amounts(g, u, op);
}

bool weft_node_is_reshape(const weft_graph *g, int u)
{
    const weft_op *op = op_of(g, u);
    const weft_tensor *x = operand(g, u, 0), *y = result(g, u, 0);

    return op && op->fusion == WEFT_FUSE_VIEW && x && y && x->elements == y->elements &&
           weft_node_is_static(g, u) && op->infer != weft_infer_shape &&
           op->infer != weft_infer_size;
}

bool weft_node_combines(const weft_graph *g, int u)
{
    const weft_op *op = op_of(g, u);

    return op && op->infer != weft_infer_arg_reduce; /* the largest values would be needed, too */
}

/* --- accesses -------------------------------------------------------------------------------- */

/* Dimension d is indexed by axis d. */
static void index_dims(weft_access *to, bool is_result, int slot, int rank)
{
    memset(to, 0, sizeof *to);
    *to = (weft_access){.is_result = is_result, .slot = slot, .rank = rank};
    for (int d = 0; d < rank; d++)
        weft_index_axis(&to->index[d], d);
}

static int axis_of(const weft_graph *g, int u, int64_t fallback, int rank)
{
    int64_t axis = weft_node_int(&g->node[u], "axis", fallback);

    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

/* Operand of a join, or result of a cut: it begins where those before it end. */
static bool access_piece(const weft_graph *g, int u, bool is_result, int slot, weft_access *out)
{
    const weft_tensor *t = is_result ? result(g, u, slot) : operand(g, u, slot);
    int axis = axis_of(g, u, is_result ? 0 : 1, t->shape->rank);
    int64_t start = 0;

    if (axis < 0)
        return false;
    for (int i = 0; i < slot; i++) {
        const weft_tensor *before = is_result ? result(g, u, i) : operand(g, u, i);

        if (before == NULL || before->shape->rank != t->shape->rank)
            return false; /* its size is not known */
        start += before->shape->dim[axis];
    }
    index_dims(out, is_result, slot, t->shape->rank);
    out->index[axis].offset = -start;
    return true;
}

/* Operand of an element-wise operator, aligned with the last axes. */
static bool access_aligned(const weft_nest *n, const weft_tensor *t, int slot, weft_access *out)
{
    int lead = n->n_axes - t->shape->rank;

    if (lead < 0)
        return false;
    *out = (weft_access){.slot = slot, .rank = t->shape->rank};
    for (int d = 0; d < t->shape->rank; d++)
        if (n->axis[lead + d].extent == t->shape->dim[d])
            weft_index_axis(&out->index[d], lead + d);
    return true;
}

static bool derive_access(const weft_graph *g, int u, const weft_nests *nests, bool is_result,
                          int slot, weft_access *out)
{
    const weft_op *op = op_of(g, u);
    const weft_tensor *t = is_result ? result(g, u, slot) : operand(g, u, slot);

    if (op == NULL || t == NULL)
        return false;
    if (is_result ? op->nests == weft_nest_split : op->nests == weft_nest_concat)
        return access_piece(g, u, is_result, slot, out);
    return !is_result && op->nests == weft_nest_elementwise && op->max_args < 0 &&
           access_aligned(&nests->nest[0], t, slot, out);
}

bool weft_node_access(const weft_graph *g, int u, const weft_nests *nests, int i, bool is_result,
                      int slot, weft_access *out)
{
    const weft_nest *n = &nests->nest[i];
    const weft_op *op = op_of(g, u);

    for (int k = 0; k < n->n_accesses; k++) {
        if (n->access[k].is_result != is_result || n->access[k].slot != slot)
            continue;
        *out = n->access[k];
        if (op && op->nests == weft_nest_gather && !is_result && slot == 0) {
            int axis = axis_of(g, u, 0, out->rank);

            if (axis < 0)
                return false;
            out->index[axis] = (weft_index){.is_whole = true};
        }
        return true;
    }
    return i == 0 && derive_access(g, u, nests, is_result, slot, out);
}
