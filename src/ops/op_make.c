/* SPDX-License-Identifier: MIT */
/* op_make.c: operators whose result is not shaped like an operand: shapes as data, constants,
 * ranges, one-hot codes, random numbers, windows, spectra; and those whose number of results is
 * found at run time (NonZero, Unique, NonMaxSuppression).
 *
 * Dimensions that are elements of an operand are known if that operand is a constant. Sub-graphs
 * are not entered: their results stay unknown. */
#include "shapes.h"

#include <math.h>

weft_status weft_infer_shape(weft_call *c)
{
    weft_shape out = weft_shape_any(1);
    int64_t rank, start, end;

    rank = c->arg[0]->shape.rank;
    if (rank >= 0) {
        start = weft_node_int(c->node, "start", 0);
        end = weft_node_int(c->node, "end", rank);
        start = start < 0 ? start + rank : start;
        end = end < 0 ? end + rank : end;
        start = start < 0 ? 0 : start;
        end = end > rank ? rank : end;
        out.dim[0] = end > start ? end - start : 0;
    }
    return weft_set_sized(c, 0, WEFT_I64, &out);
}

weft_status weft_infer_size(weft_call *c)
{
    weft_shape scalar = weft_shape_any(0);

    return weft_set_sized(c, 0, WEFT_I64, &scalar);
}

/* The attributes a Constant may have: the type of each, and whether it is a list. */
static const struct constant_kind {
    const char *name;
    weft_dtype type;
    bool is_list;
} constant_kinds[] = {
    {"value_float",   WEFT_F32,    false},
    {"value_floats",  WEFT_F32,    true },
    {"value_int",     WEFT_I64,    false},
    {"value_ints",    WEFT_I64,    true },
    {"value_string",  WEFT_STRING, false},
    {"value_strings", WEFT_STRING, true },
};

enum { N_CONSTANT_KINDS = (int)(sizeof constant_kinds / sizeof constant_kinds[0]) };

weft_status weft_infer_constant(weft_call *c)
{
    const weft_attr *value = weft_node_attr(c->node, "value");
    weft_shape out = weft_shape_any(0);

    if (value != NULL && value->kind == WEFT_ATTR_LITERAL)
        return weft_set_sized(c, 0, value->type, &value->shape);
    for (int i = 0; i < N_CONSTANT_KINDS; i++) {
        const weft_attr *attr = weft_node_attr(c->node, constant_kinds[i].name);

        if (attr == NULL)
            continue;
        if (constant_kinds[i].is_list) {
            out.rank = 1;
            out.dim[0] = attr->n;
        }
        weft_set_result(c, 0, constant_kinds[i].type, &out);
        return WEFT_OK;
    }
    if (weft_node_attr(c->node, "sparse_value") == NULL)
        return weft_call_fail(c, "attribute 'value' is missing");
    out = weft_shape_any(-1);
    return weft_set_sized(c, 0, WEFT_TYPE_UNKNOWN, &out);
}

weft_status weft_infer_constant_of_shape(weft_call *c)
{
    const weft_attr *value = weft_node_attr(c->node, "value");
    bool has_type = value != NULL && value->kind == WEFT_ATTR_LITERAL;
    weft_shape out;

    WEFT_TRY(weft_dims_of(c, NULL, 0, &out));
    return weft_set_sized(c, 0, has_type ? value->type : WEFT_F32, &out);
}

/* Steps from start to limit, without the latter: ceil((limit - start) / delta), at least 0. */
static weft_status count_ints(const weft_call *c, const int64_t x[3], int64_t *out)
{
    bool is_up = x[2] > 0;
    uint64_t low = (uint64_t)(is_up ? x[0] : x[1]), high = (uint64_t)(is_up ? x[1] : x[0]);
    uint64_t step = is_up ? (uint64_t)x[2] : 0 - (uint64_t)x[2], n;

    *out = 0;
    if ((int64_t)high <= (int64_t)low)
        return WEFT_OK;
    n = (high - low - 1) / step + 1; /* the difference fits 64 bits without sign */
    if (n > (uint64_t)WEFT_LARGEST_DIM)
        return weft_call_fail(c, "the range from %lld to %lld is too large", (long long)x[0],
                              (long long)x[1]);
    *out = (int64_t)n;
    return WEFT_OK;
}

static weft_status count_reals(const weft_call *c, const double x[3], int64_t *out)
{
    double n = ceil((x[1] - x[0]) / x[2]);

    if (!(n < (double)WEFT_LARGEST_DIM)) /* not a number, too */
        return weft_call_fail(c, "the range from %g to %g in steps of %g is too large", x[0], x[1],
                              x[2]);
    *out = n > 0 ? (int64_t)n : 0;
    return WEFT_OK;
}

weft_status weft_infer_range(weft_call *c)
{
    weft_shape out = weft_shape_any(1);
    bool is_known = true, is_int = true;
    int64_t ints[3] = {0, 0, 0};
    double reals[3];

    for (int i = 0; i < 3; i++) {
        WEFT_TRY(weft_need_rank(c, i, 0, 1));
        reals[i] = weft_element(c->arg[i], 0);
        is_known = is_known && !isnan(reals[i]);
        is_int = is_int && is_known && c->arg[i]->data->reals == NULL;
        ints[i] = is_int ? c->arg[i]->data->ints[0] : 0;
    }
    if (reals[2] == 0)
        return weft_call_fail(c, "the step is 0");
    if (is_known)
        WEFT_TRY(is_int ? count_ints(c, ints, &out.dim[0]) : count_reals(c, reals, &out.dim[0]));
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* A size that is the only element of an operand, of whatever type; unknown if that is not known. */
static weft_status size_of(const weft_call *c, int slot, const char *what, int64_t *out)
{
    double x;

    WEFT_TRY(weft_need_rank(c, slot, 0, 1));
    x = weft_element(c->arg[slot], 0);
    *out = WEFT_UNKNOWN_DIM;
    if (isnan(x))
        return WEFT_OK;
    if (!(x >= 0 && x < (double)WEFT_LARGEST_DIM))
        return weft_call_fail(c, "%s is %g, expected a size", what, x);
    *out = c->arg[slot]->data->ints != NULL ? c->arg[slot]->data->ints[0] : (int64_t)x;
    return WEFT_OK;
}

weft_status weft_infer_one_hot(weft_call *c)
{
    const weft_shape *s;
    weft_shape out = weft_shape_any(-1);
    int64_t depth;
    int axis;

    WEFT_TRY(size_of(c, 1, "depth", &depth));
    s = &c->arg[0]->shape;
    if (s->rank >= 0) {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", -1), s->rank + 1, &axis));
        out = weft_shape_any(s->rank + 1);
        for (int i = 0; i < out.rank; i++)
            out.dim[i] = i == axis ? depth : s->dim[i < axis ? i : i - 1];
    }
    return weft_set_sized(c, 0, c->arg[2]->type, &out);
}

/* One row a dimension of the operand, one column an element that is not zero. */
weft_status weft_infer_nonzero(weft_call *c)
{
    weft_shape out = weft_shape_any(2);

    out.dim[0] = c->arg[0]->shape.rank; /* -1 is unknown here and there */
    return weft_set_sized(c, 0, WEFT_I64, &out);
}

weft_status weft_infer_unique(weft_call *c)
{
    weft_shape out = weft_shape_any(1), list = weft_shape_any(1), inverse = weft_shape_any(1);
    const weft_shape *s = &c->arg[0]->shape;
    int axis;

    if (weft_node_attr(c->node, "axis") == NULL) {
        inverse.dim[0] = weft_shape_elements(s); /* -1 if not known */
    } else if (s->rank < 0) {
        out = weft_shape_any(-1);
    } else {
        WEFT_TRY(weft_axis_of(c, weft_node_int(c->node, "axis", 0), s->rank, &axis));
        inverse.dim[0] = s->dim[axis];
        out = *s;
        out.dim[axis] = WEFT_UNKNOWN_DIM;
    }
    weft_set_result(c, 0, c->arg[0]->type, &out);
    weft_set_result(c, 1, WEFT_I64, &list);
    weft_set_result(c, 2, WEFT_I64, &inverse);
    weft_set_result(c, 3, WEFT_I64, &list);
    return WEFT_OK;
}

/* Each row of the result is (batch, class, box). */
weft_status weft_infer_nms(weft_call *c)
{
    weft_shape out = weft_shape_any(2);

    out.dim[1] = 3;
    return weft_set_sized(c, 0, WEFT_I64, &out);
}

weft_status weft_infer_random(weft_call *c)
{
    weft_dtype type;
    weft_shape out;

    WEFT_TRY(weft_type_of(c, "dtype", WEFT_F32, &type));
    WEFT_TRY(weft_dims_of(c, "shape", -1, &out));
    return weft_set_sized(c, 0, type, &out);
}

weft_status weft_infer_multinomial(weft_call *c)
{
    int64_t samples = weft_node_int(c->node, "sample_size", 1);
    weft_shape out = weft_shape_any(2);
    weft_dtype type;

    WEFT_TRY(weft_type_of(c, "dtype", WEFT_I32, &type));
    if (samples < 0)
        return weft_call_fail(c, "attribute 'sample_size' is %lld, must not be negative",
                              (long long)samples);
    if (c->arg[0]->shape.rank == 2)
        out.dim[0] = c->arg[0]->shape.dim[0];
    out.dim[1] = samples;
    return weft_set_sized(c, 0, type, &out);
}

weft_status weft_infer_window(weft_call *c)
{
    weft_shape out = weft_shape_any(1);
    weft_dtype type;

    WEFT_TRY(weft_type_of(c, "output_datatype", WEFT_F32, &type));
    WEFT_TRY(size_of(c, 0, "the size", &out.dim[0]));
    return weft_set_sized(c, 0, type, &out);
}

/* Operands: number of bands, length of the transform, sample rate, lowest and highest frequency. */
weft_status weft_infer_mel(weft_call *c)
{
    weft_shape out = weft_shape_any(2);
    weft_dtype type;

    WEFT_TRY(weft_type_of(c, "output_datatype", WEFT_F32, &type));
    WEFT_TRY(size_of(c, 1, "the transform's length", &out.dim[0]));
    WEFT_TRY(size_of(c, 0, "the number of bands", &out.dim[1]));
    if (out.dim[0] >= 0)
        out.dim[0] = out.dim[0] / 2 + 1;
    return weft_set_sized(c, 0, type, &out);
}

weft_status weft_infer_body(weft_call *c)
{
    weft_shape any = weft_shape_any(-1);

    for (int i = 0; i < c->n_results; i++)
        weft_set_result(c, i, WEFT_TYPE_UNKNOWN, &any);
    return WEFT_OK;
}

/* --- determinants and spectra ---------------------------------------------------------------- */

weft_status weft_infer_det(weft_call *c)
{
    weft_shape out = c->arg[0]->shape;
    char text[192];

    if (out.rank >= 2) {
        int64_t n = out.dim[out.rank - 2], m = out.dim[out.rank - 1];

        if (n >= 0 && m >= 0 && n != m)
            return weft_call_fail(c, "input 0 has shape %s, expected square matrices",
                                  weft_shape_print(&out, text));
        out.rank -= 2;
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* The last dimension holds a real or a complex number. */
static weft_status check_complex(const weft_call *c)
{
    const weft_shape *s = &c->arg[0]->shape;
    char text[192];

    if (s->rank > 0 && s->dim[s->rank - 1] > 2)
        return weft_call_fail(c, "input 0 has shape %s, expected 1 or 2 as last dimension",
                              weft_shape_print(s, text));
    return WEFT_OK;
}

/* The transformed dimension of an operand of known rank; *axis -1 if it is given at run time. */
static weft_status dft_axis(const weft_call *c, int *axis)
{
    int rank = c->arg[0]->shape.rank;
    int64_t given = weft_node_int(c->node, "axis", c->node->opset < 20 ? 1 : -2);

    if (weft_arg(c, 2) != NULL)
        WEFT_TRY(weft_scalar_of(c, NULL, 2, "axis", &given));
    *axis = -1;
    if (given == WEFT_UNKNOWN_INT)
        return WEFT_OK;
    WEFT_TRY(weft_axis_of(c, given, rank, axis));
    if (*axis == rank - 1)
        return weft_call_fail(c, "axis %d is the last one, which holds the complex number", *axis);
    return WEFT_OK;
}

/* Length of the transform: operand 1, or the whole axis. */
static weft_status dft_length(const weft_call *c, int axis, int64_t *out)
{
    if (weft_arg(c, 1) != NULL)
        return size_of(c, 1, "the transform's length", out);
    *out = axis < 0 ? WEFT_UNKNOWN_DIM : c->arg[0]->shape.dim[axis];
    return WEFT_OK;
}

/* Frequencies of a transform of `length`: half of them if the signal is real. */
static int64_t bins_of(int64_t length, bool is_onesided)
{
    if (length < 0)
        return WEFT_UNKNOWN_DIM;
    return is_onesided ? length / 2 + 1 : length;
}

weft_status weft_infer_dft(weft_call *c)
{
    bool is_onesided = weft_node_int(c->node, "onesided", 0) != 0;
    weft_shape out;
    int64_t length;
    int axis;

    WEFT_TRY(check_complex(c));
    if (is_onesided && weft_node_int(c->node, "inverse", 0) != 0)
        return weft_call_fail(c, "an inverse transform cannot be one-sided");
    out = c->arg[0]->shape;
    if (out.rank >= 0) {
        WEFT_TRY(dft_axis(c, &axis));
        WEFT_TRY(dft_length(c, axis, &length));
        if (axis < 0)
            out = weft_shape_any(out.rank);
        else
            out.dim[axis] = bins_of(length, is_onesided);
        out.dim[out.rank - 1] = 2;
    }
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* Samples in a frame: operand 3, or the length of the window, operand 2. */
static weft_status frame_length(const weft_call *c, int64_t *out)
{
    const weft_value *window = weft_arg(c, 2);

    *out = WEFT_UNKNOWN_DIM;
    if (weft_arg(c, 3) != NULL)
        return size_of(c, 3, "the frame's length", out);
    if (window == NULL)
        return weft_call_fail(c, "expected a window or a frame length");
    WEFT_TRY(weft_need_rank(c, 2, 1, 1));
    if (window->shape.rank == 1)
        *out = window->shape.dim[0];
    return WEFT_OK;
}

/* Frames of `length` samples that begin every `step` samples of a signal. */
static weft_status count_frames(const weft_call *c, int64_t length, int64_t *out)
{
    int64_t step, samples = c->arg[0]->shape.rank < 0 ? WEFT_UNKNOWN_DIM : c->arg[0]->shape.dim[1];

    WEFT_TRY(size_of(c, 1, "the frame's step", &step));
    if (step == 0)
        return weft_call_fail(c, "the frame's step is 0");
    *out = WEFT_UNKNOWN_DIM;
    if (step < 0 || samples < 0 || length < 0)
        return WEFT_OK;
    if (length > samples)
        return weft_call_fail(c, "a frame of %lld samples is longer than the signal of %lld",
                              (long long)length, (long long)samples);
    *out = (samples - length) / step + 1;
    return WEFT_OK;
}

weft_status weft_infer_stft(weft_call *c)
{
    weft_shape out = weft_shape_any(4);
    int64_t length;

    WEFT_TRY(check_complex(c));
    WEFT_TRY(frame_length(c, &length));
    WEFT_TRY(count_frames(c, length, &out.dim[1]));
    if (c->arg[0]->shape.rank == 3)
        out.dim[0] = c->arg[0]->shape.dim[0];
    out.dim[2] = bins_of(length, weft_node_int(c->node, "onesided", 1) != 0);
    out.dim[3] = 2;
    return weft_set_sized(c, 0, c->arg[0]->type, &out);
}

/* --- loop nests ------------------------------------------------------------------------------ */

/* Elimination: each of n pivots changes the n x n matrix. */
void weft_nest_det(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape;
    weft_access *result;

    if (s->rank < 2)
        return;
    weft_nest_dims(n, s, WEFT_AXIS_PARALLEL);
    n->axis[s->rank - 2].kind = WEFT_AXIS_REDUCE;
    n->axis[s->rank - 1].kind = WEFT_AXIS_REDUCE;
    weft_nest_axis(n, "pivot", WEFT_AXIS_SEQUENTIAL, s->dim[s->rank - 1]);
    weft_nest_whole(n, false, 0, s->rank);
    result = weft_nest_access(n, true, 0, s->rank - 2);
    for (int i = 0; i < s->rank - 2; i++)
        weft_index_axis(&result->index[i], i);
}

/* Stages of a fast transform: log2 of its length, rounded up, at least 1. */
static int64_t stages_of(int64_t length)
{
    int64_t n = 1;

    while (n < 62 && (int64_t)1 << n < length)
        n++;
    return n;
}

/* A fast transform: all samples in each stage. The last dimension, a complex number, is one. */
void weft_nest_dft(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    weft_shape points = c->arg[0]->shape;
    const weft_shape *r = &c->result[0].shape;
    weft_access *data, *result;
    int64_t length;
    int axis;

    points.rank--;
    if (points.rank < 1 || r->rank != points.rank + 1 || dft_axis(c, &axis) != WEFT_OK ||
        dft_length(c, axis, &length) != WEFT_OK)
        return;
    if (axis >= 0 && length >= 0)
        points.dim[axis] = length;
    weft_nest_dims(n, &points, WEFT_AXIS_PARALLEL);
    weft_nest_axis(n, "stage", WEFT_AXIS_SEQUENTIAL, stages_of(axis < 0 ? 1 : points.dim[axis]));
    data = weft_nest_whole(n, false, 0, points.rank + 1);
    result = weft_nest_whole(n, true, 0, points.rank + 1);
    data->index[points.rank] = result->index[points.rank] = (weft_index){.is_whole = true};
    if (axis >= 0) {
        n->axis[axis].kind = WEFT_AXIS_REDUCE;
        result->index[axis] = (weft_index){.is_whole = true}; /* each sample adds to all bins */
    }
}

/* A fast transform of each frame; neighbouring frames share samples. */
void weft_nest_stft(const weft_call *c, weft_nests *out)
{
    weft_nest *n = weft_nest_start(out, c->op->flops);
    const weft_shape *s = &c->arg[0]->shape, *r = &c->result[0].shape;
    int64_t length, step;
    weft_access *data, *result;

    if (s->rank != 3 || r->rank != 4 || frame_length(c, &length) != WEFT_OK ||
        size_of(c, 1, "the frame's step", &step) != WEFT_OK)
        return;
    if (length < 0) /* given at run time: as in the declared result */
        length = r->dim[2];
    weft_nest_axis(n, "batch", WEFT_AXIS_PARALLEL, s->dim[0]);
    weft_nest_axis(n, "frame", WEFT_AXIS_SPATIAL, r->dim[1]);
    weft_nest_axis(n, "sample", WEFT_AXIS_REDUCE, length);
    weft_nest_axis(n, "stage", WEFT_AXIS_SEQUENTIAL, stages_of(length));
    data = weft_nest_access(n, false, 0, 3);
    weft_index_axis(&data->index[0], 0);
    weft_index_term(&data->index[1], 1, step < 0 ? 1 : step);
    weft_index_axis(&data->index[1], 2);
    data->index[2].is_whole = true;
    if (weft_arg(c, 2) != NULL && c->arg[2]->shape.rank == 1)
        weft_index_axis(&weft_nest_access(n, false, 2, 1)->index[0], 2);
    result = weft_nest_access(n, true, 0, 4);
    weft_index_axis(&result->index[0], 0);
    weft_index_axis(&result->index[1], 1);
    result->index[2].is_whole = result->index[3].is_whole = true;
}
