/* SPDX-License-Identifier: MIT */
/* op_conv.c: convolutions, plain, transposed, quantised and deformable.
 *
 * With G groups, C input and M output channels, batch b, group g, places r and kernel elements i:
 *
 *   convolution   y[b, g M/G + m, r] += x[b, g C/G + n, s r + d i - p] * w[g M/G + m, n, i]
 *                 for every place r of the result: |y| * C/G * kernel multiply-accumulates
 *   transposed    y[b, g M/G + m, s r + d i - p] += x[b, g C/G + n, r] * w[g C/G + n, m, i]
 *                 for every place r of the operand: |x| * M/G * kernel multiply-accumulates
 *
 * Padding counts as work, as in the usual counts of published networks. A deformable convolution
 * has the accesses of a plain one: where its offsets lead is not known before the run.
 *
 * Guarantee: shapes follow ONNX Conv-11, ConvInteger-10, QLinearConv-10, ConvTranspose-11 and
 * DeformConv-19; sizes that contradict each other are errors. */
#include "nn.h"

#include <string.h>

/* Which operands an operator of the family has where; bias -1: none. */
typedef struct slots {
    int x, w, bias;
} slots;

typedef struct conv {
    weft_window window;
    int64_t group, channels, filters; /* channels of the operand, of the result */
    weft_shape result;
} conv;

/* --- shapes ---------------------------------------------------------------------------------- */

/* Spatial dimensions of operand and weight; -1 if neither rank is known. */
static weft_status spatial_rank(const weft_call *c, slots s, int *n)
{
    int x, w;
    char a[192], b[192];

    WEFT_TRY(weft_need_rank(c, s.x, 3, WEFT_MAX_RANK));
    WEFT_TRY(weft_need_rank(c, s.w, 3, WEFT_MAX_RANK));
    x = weft_arg(c, s.x)->shape.rank;
    w = weft_arg(c, s.w)->shape.rank;
    if (x >= 0 && w >= 0 && x != w)
        return weft_call_fail(c,
                              "input %d (weight) is %s but input %d is %s: expected as many "
                              "dimensions in both",
                              s.w, weft_arg_print(c, s.w, b), s.x, weft_arg_print(c, s.x, a));
    *n = x >= 0 ? x - 2 : w >= 0 ? w - 2 : -1;
    return WEFT_OK;
}

static weft_status fail_channels(const weft_call *c, slots s, int64_t per_group, int64_t group)
{
    char a[192], b[192];

    return weft_call_fail(
        c, "input %d (weight) is %s but input %d is %s: expected %lld channels x group %lld", s.w,
        weft_arg_print(c, s.w, b), s.x, weft_arg_print(c, s.x, a), (long long)per_group,
        (long long)group);
}

static weft_status fail_groups(const weft_call *c, slots s, int64_t channels, int64_t group)
{
    char text[192];

    return weft_call_fail(
        c, "input %d (weight) is %s: its %lld output channels do not divide into %lld groups", s.w,
        weft_arg_print(c, s.w, text), (long long)channels, (long long)group);
}

/* Weight M x C/group x kernel. */
static weft_status read_channels(const weft_call *c, slots s, const weft_shape *w, conv *v)
{
    int64_t product;

    v->filters = w->dim[0];
    if (v->filters != WEFT_UNKNOWN_DIM && v->filters % v->group != 0)
        return fail_groups(c, s, v->filters, v->group);
    WEFT_TRY(weft_multiply(c, "number of channels", w->dim[1], v->group, &product));
    if (v->channels == WEFT_UNKNOWN_DIM)
        v->channels = product;
    if (product != WEFT_UNKNOWN_DIM && product != v->channels)
        return fail_channels(c, s, w->dim[1], v->group);
    return WEFT_OK;
}

static weft_status conv_read(const weft_call *c, slots s, conv *out)
{
    int n = -1;
    weft_shape x, w;

    WEFT_TRY(spatial_rank(c, s, &n));
    *out = (conv){.group = 1, .result = weft_shape_any(n < 0 ? -1 : n + 2)};
    if (n < 0)
        return WEFT_OK;
    x = weft_arg_shape(c, s.x, n + 2);
    w = weft_arg_shape(c, s.w, n + 2);
    WEFT_TRY(weft_int_of(c, "group", 1, 1, &out->group));
    out->channels = x.dim[1];
    WEFT_TRY(read_channels(c, s, &w, out));
    WEFT_TRY(weft_window_read(c, n, &w, &out->window));
    if (s.bias >= 0)
        WEFT_TRY(weft_need_list(c, s.bias, "bias", out->filters));
    out->result.dim[0] = x.dim[0];
    out->result.dim[1] = out->filters;
    return weft_window_slide(c, &out->window, &x, &out->result);
}

static slots slots_of(const weft_call *c)
{
    if (strcmp(c->node->op, "QLinearConv") == 0)
        return (slots){0, 3, 8};
    if (strcmp(c->node->op, "ConvInteger") == 0)
        return (slots){0, 1, -1};
    return (slots){0, 1, strcmp(c->node->op, "DeformConv") == 0 ? 3 : 2};
}

/* Quantised: the type of the result's zero point; integers without scale: their sum. */
weft_status weft_infer_conv(weft_call *c)
{
    slots s = slots_of(c);
    weft_dtype type = s.bias < 0 ? WEFT_I32 : weft_arg_type(c, s.w == 3 ? 7 : 0);
    conv v;

    if (s.bias == 2)
        WEFT_TRY(weft_need_type(c, 1, 0));
    WEFT_TRY(conv_read(c, s, &v));
    return weft_set_sized(c, 0, type ? type : weft_arg_type(c, 0), &v.result);
}

/* Offsets: batch x (2 * kernel elements * offset groups) x the result's places; mask: half. */
static weft_status check_offsets(const weft_call *c, const conv *v, int slot, int64_t each)
{
    weft_shape s = weft_arg_shape(c, slot, v->window.n + 2);
    int64_t channels = each, batch = v->result.dim[0];
    char text[192];

    if (s.rank != v->window.n + 2)
        return weft_call_fail(c, "input %d is %s, expected %d dimensions", slot,
                              weft_arg_print(c, slot, text), v->window.n + 2);
    WEFT_TRY(weft_agree(c, slot, "batch size", &batch, s.dim[0]));
    for (int i = 0; i < v->window.n; i++) {
        int64_t places = v->result.dim[i + 2];

        WEFT_TRY(weft_agree(c, slot, "spatial size", &places, s.dim[i + 2]));
        WEFT_TRY(weft_multiply(c, "number of offsets", channels, v->window.kernel[i], &channels));
    }
    return weft_agree(c, slot, "number of channels", &channels, s.dim[1]);
}

weft_status weft_infer_deform_conv(weft_call *c)
{
    conv v;
    int64_t groups;

    WEFT_TRY(conv_read(c, slots_of(c), &v));
    WEFT_TRY(weft_int_of(c, "offset_group", 1, 1, &groups));
    if (v.result.rank >= 0) {
        WEFT_TRY(check_offsets(c, &v, 2, 2 * groups));
        WEFT_TRY(check_offsets(c, &v, 4, groups));
    }
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &v.result);
}

/* --- transposed convolution ------------------------------------------------------------------ */

/* Weight C x M/group x kernel. */
static weft_status read_transposed_channels(const weft_call *c, const weft_shape *w, conv *v)
{
    const slots s = {0, 1, 2};

    WEFT_TRY(weft_multiply(c, "number of channels", w->dim[1], v->group, &v->filters));
    if (v->channels == WEFT_UNKNOWN_DIM)
        v->channels = w->dim[0];
    if (w->dim[0] != WEFT_UNKNOWN_DIM && w->dim[0] != v->channels)
        return fail_channels(c, s, w->dim[0], 1);
    if (v->channels != WEFT_UNKNOWN_DIM && v->channels % v->group != 0) {
        char text[192];

        return weft_call_fail(c, "input 0 is %s: its %lld channels do not divide into %lld groups",
                              weft_arg_print(c, 0, text), (long long)v->channels,
                              (long long)v->group);
    }
    return WEFT_OK;
}

/* Size of one spatial dimension: `asked`, or that of SAME padding, or what the operand spreads to
 * less the padding. The first two settle the padding instead. */
static weft_status spread(const weft_call *c, conv *v, int i, int64_t extra, int64_t *size)
{
    weft_window *w = &v->window;
    int64_t in = weft_arg_shape(c, 0, w->n + 2).dim[i + 2], full, total;
    bool is_same = w->pad == WEFT_PAD_SAME_UPPER || w->pad == WEFT_PAD_SAME_LOWER;

    if (is_same && *size == WEFT_UNKNOWN_DIM)
        WEFT_TRY(weft_multiply(c, "size", in, w->stride[i], size));
    if (in == WEFT_UNKNOWN_DIM || w->kernel[i] == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    WEFT_TRY(weft_multiply(c, "size", in, w->stride[i], &full));
    full += extra + weft_window_extent(w, i) - w->stride[i];
    if (*size == WEFT_UNKNOWN_DIM) {
        *size = full - w->begin[i] - w->end[i];
        if (*size < 0)
            return weft_call_fail(c, "padding %lld + %lld of dimension %d exceeds its size %lld",
                                  (long long)w->begin[i], (long long)w->end[i], i + 2,
                                  (long long)full);
        return WEFT_OK;
    }
    total = full > *size ? full - *size : 0;
    w->begin[i] = w->pad == WEFT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
    return WEFT_OK;
}

static weft_status transposed_read(const weft_call *c, conv *out)
{
    int n;
    weft_shape x, w;
    int64_t extra[WEFT_MAX_SPATIAL] = {0};

    WEFT_TRY(spatial_rank(c, (slots){0, 1, 2}, &n));
    *out = (conv){.group = 1, .result = weft_shape_any(n < 0 ? -1 : n + 2)};
    if (n < 0)
        return WEFT_OK;
    x = weft_arg_shape(c, 0, n + 2);
    w = weft_arg_shape(c, 1, n + 2);
    WEFT_TRY(weft_int_of(c, "group", 1, 1, &out->group));
    out->channels = x.dim[1];
    WEFT_TRY(read_transposed_channels(c, &w, out));
    WEFT_TRY(weft_window_read(c, n, &w, &out->window));
    WEFT_TRY(weft_need_list(c, 2, "bias", out->filters));
    WEFT_TRY(weft_window_list(c, "output_padding", n, 0, extra));
    WEFT_TRY(weft_window_list(c, "output_shape", n, 1, out->result.dim + 2));
    out->result.dim[0] = x.dim[0];
    out->result.dim[1] = out->filters;
    for (int i = 0; i < n; i++)
        WEFT_TRY(spread(c, out, i, extra[i], &out->result.dim[i + 2]));
    return WEFT_OK;
}

weft_status weft_infer_conv_transpose(weft_call *c)
{
    conv v;

    WEFT_TRY(weft_need_type(c, 1, 0));
    WEFT_TRY(transposed_read(c, &v));
    return weft_set_sized(c, 0, weft_arg_type(c, 0), &v.result);
}

/* --- nests ----------------------------------------------------------------------------------- */

typedef struct conv_axes {
    int b, g, m, n;
    weft_window_axes window;
} conv_axes;

static conv_axes add_axes(weft_nest *n, const conv *v, const weft_shape *places)
{
    conv_axes a;

    a.b = weft_nest_axis(n, "b", WEFT_AXIS_PARALLEL, v->result.dim[0]);
    a.g = weft_nest_axis(n, "g", WEFT_AXIS_PARALLEL, v->group);
    a.m = weft_nest_axis(n, "m", WEFT_AXIS_PARALLEL, v->filters / v->group);
    a.n = weft_nest_axis(n, "n", WEFT_AXIS_REDUCE, v->channels / v->group);
    weft_window_nest(n, &v->window, places, &a.window);
    return a;
}

/* Channel of a group: group * channels a group + channel. */
static void index_channel(weft_index *i, int group_axis, int axis, int64_t per_group)
{
    weft_index_term(i, group_axis, per_group);
    weft_index_term(i, axis, 1);
}

/* Operands beside x and w: those with one element an output channel (bias, scales), and those of
 * the result's extent (a summand, offsets, masks). Others, being scalars, need no access. */
static void access_others(const weft_call *c, slots s, const conv *v, const conv_axes *a,
                          weft_nest *n)
{
    for (int i = 0; i < c->n_args && n->n_accesses < WEFT_MAX_ACCESSES; i++) {
        const weft_shape *shape = c->arg[i] == NULL ? NULL : &c->arg[i]->shape;
        weft_access *to;

        if (shape == NULL || i == s.x || i == s.w)
            continue;
        if (shape->rank == 1 && shape->dim[0] == v->filters) {
            to = weft_nest_access(n, false, i, 1);
            index_channel(&to->index[0], a->g, a->m, v->filters / v->group);
        } else if (shape->rank == v->result.rank) {
            to = weft_nest_access(n, false, i, shape->rank);
            weft_index_axis(&to->index[0], a->b);
            to->index[1].is_whole = shape->dim[1] != v->filters;
            if (!to->index[1].is_whole)
                index_channel(&to->index[1], a->g, a->m, v->filters / v->group);
            weft_index_list(&to->index[2], a->window.at, v->window.n);
        }
    }
}

void weft_nest_conv(const weft_call *c, weft_nests *out)
{
    const slots s = slots_of(c);
    conv v;
    conv_axes a;
    weft_access *to;
    weft_nest *n;

    if (conv_read(c, s, &v) != WEFT_OK)
        return;
    n = weft_nest_new(out);
    n->is_mac = true;
    a = add_axes(n, &v, &v.result);
    to = weft_nest_access(n, false, s.x, v.result.rank);
    weft_index_axis(&to->index[0], a.b);
    index_channel(&to->index[1], a.g, a.n, v.channels / v.group);
    weft_index_window(&to->index[2], &v.window, &a.window);
    to = weft_nest_access(n, false, s.w, v.result.rank);
    index_channel(&to->index[0], a.g, a.m, v.filters / v.group);
    weft_index_axis(&to->index[1], a.n);
    weft_index_list(&to->index[2], a.window.kernel, v.window.n);
    to = weft_nest_access(n, true, 0, v.result.rank);
    weft_index_axis(&to->index[0], a.b);
    index_channel(&to->index[1], a.g, a.m, v.filters / v.group);
    weft_index_list(&to->index[2], a.window.at, v.window.n);
    access_others(c, s, &v, &a, n);
}

void weft_nest_conv_transpose(const weft_call *c, weft_nests *out)
{
    conv v;
    conv_axes a;
    weft_access *to;
    weft_nest *n;

    if (transposed_read(c, &v) != WEFT_OK)
        return;
    n = weft_nest_new(out);
    n->is_mac = true;
    a = add_axes(n, &v, &c->arg[0]->shape);
    to = weft_nest_access(n, false, 0, v.result.rank);
    weft_index_axis(&to->index[0], a.b);
    index_channel(&to->index[1], a.g, a.n, v.channels / v.group);
    weft_index_list(&to->index[2], a.window.at, v.window.n);
    to = weft_nest_access(n, false, 1, v.result.rank);
    index_channel(&to->index[0], a.g, a.n, v.channels / v.group);
    weft_index_axis(&to->index[1], a.m);
    weft_index_list(&to->index[2], a.window.kernel, v.window.n);
    to = weft_nest_access(n, true, 0, v.result.rank);
    weft_index_axis(&to->index[0], a.b);
    index_channel(&to->index[1], a.g, a.m, v.filters / v.group);
    weft_index_window(&to->index[2], &v.window, &a.window);
    if (weft_arg(c, 2) != NULL)
        index_channel(&weft_nest_access(n, false, 2, 1)->index[0], a.g, a.m, v.filters / v.group);
}
