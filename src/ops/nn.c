/* SPDX-License-Identifier: MIT */
/* nn.c: what the rules of layers share.
 *
 * A window of kernel k, dilation d and stride s over a dimension of size x padded to p spans
 * e = d (k - 1) + 1 elements and stops at floor((p - e) / s) + 1 places. With ceil_mode it is
 * ceil instead of floor, less a last window that would start behind the dimension and its leading
 * padding: newer opsets say so, run times have always done it. SAME padding makes it ceil(x / s).
 *
 * Guarantee: attributes lie in 0 .. 2^31 - 1 and dimensions in 0 .. 2^62, so no sum below
 * overflows. ONNX operator specifications Conv-11, MaxPool-22, AveragePool-22, LpPool-18. */
#include "nn.h"

#include <assert.h>
#include <string.h>

/* --- sizes ----------------------------------------------------------------------------------- */

weft_shape weft_arg_shape(const weft_call *c, int i, int rank)
{
    const weft_value *v = weft_arg(c, i);

    return v == NULL || v->shape.rank < 0 ? weft_shape_any(rank) : v->shape;
}

const char *weft_arg_print(const weft_call *c, int i, char to[192])
{
    weft_shape s = weft_arg_shape(c, i, -1);

    return weft_shape_print(&s, to);
}

weft_dtype weft_arg_type(const weft_call *c, int i)
{
    const weft_value *v = weft_arg(c, i);

    return v == NULL ? WEFT_TYPE_UNKNOWN : v->type;
}

weft_status weft_int_of(const weft_call *c, const char *name, int64_t fallback, int64_t lowest,
                        int64_t *out)
{
    *out = weft_node_int(c->node, name, fallback);
    if (*out < lowest || *out > INT32_MAX)
        return weft_call_fail(c, "attribute %s is %lld, expected %lld .. %d", name, (long long)*out,
                              (long long)lowest, INT32_MAX);
    return WEFT_OK;
}

weft_status weft_agree(const weft_call *c, int slot, const char *what, int64_t *known,
                       int64_t value)
{
    char text[192];

    if (*known == WEFT_UNKNOWN_DIM)
        *known = value;
    if (value == WEFT_UNKNOWN_DIM || value == *known)
        return WEFT_OK;
    return weft_call_fail(c, "input %d is %s: its %s is %lld, expected %lld", slot,
                          weft_arg_print(c, slot, text), what, (long long)value, (long long)*known);
}

weft_status weft_multiply(const weft_call *c, const char *what, int64_t a, int64_t b, int64_t *out)
{
    *out = WEFT_UNKNOWN_DIM;
    if (a == WEFT_UNKNOWN_DIM || b == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    if (__builtin_mul_overflow(a, b, out) || *out > WEFT_MAX_DIM)
        return weft_call_fail(c, "%s of %lld x %lld is too large", what, (long long)a,
                              (long long)b);
    return WEFT_OK;
}

weft_status weft_need_list(const weft_call *c, int i, const char *what, int64_t n)
{
    char text[192];
    weft_shape s = weft_arg_shape(c, i, 1);

    if (s.rank == 1 && (s.dim[0] == n || s.dim[0] == WEFT_UNKNOWN_DIM || n == WEFT_UNKNOWN_DIM))
        return WEFT_OK;
    if (n == WEFT_UNKNOWN_DIM)
        return weft_call_fail(c, "input %d (%s) is %s, expected one dimension", i, what,
                              weft_arg_print(c, i, text));
    return weft_call_fail(c, "input %d (%s) is %s, expected %lld", i, what,
                          weft_arg_print(c, i, text), (long long)n);
}

/* --- windows --------------------------------------------------------------------------------- */

weft_status weft_window_list(const weft_call *c, const char *name, int n, int64_t lowest,
                             int64_t *to)
{
    int count;
    const int64_t *list = weft_node_ints(c->node, name, &count);

    if (count == 0)
        return WEFT_OK;
    if (count != n)
        return weft_call_fail(c, "attribute %s has %d values, expected %d", name, count, n);
    for (int i = 0; i < n; i++) {
        if (list[i] < lowest || list[i] > INT32_MAX)
            return weft_call_fail(c, "attribute %s has the value %lld, expected %lld .. %d", name,
                                  (long long)list[i], (long long)lowest, INT32_MAX);
        to[i] = list[i];
    }
    return WEFT_OK;
}

static weft_status read_kernel(const weft_call *c, const weft_shape *weight, weft_window *w)
{
    char text[192];
    int count;

    for (int i = 0; i < w->n; i++)
        w->kernel[i] = WEFT_UNKNOWN_DIM;
    WEFT_TRY(weft_window_list(c, "kernel_shape", w->n, 1, w->kernel));
    (void)weft_node_ints(c->node, "kernel_shape", &count);
    if (weight == NULL && count == 0)
        return weft_call_fail(c, "attribute kernel_shape is missing");
    for (int i = 0; weight != NULL && i < w->n; i++) {
        int64_t k = weight->dim[i + 2];

        if (k == WEFT_UNKNOWN_DIM)
            continue;
        if (k < 1 || k > INT32_MAX)
            return weft_call_fail(c, "the weight is %s: its kernel has size %lld, expected 1 .. %d",
                                  weft_shape_print(weight, text), (long long)k, INT32_MAX);
        if (w->kernel[i] != WEFT_UNKNOWN_DIM && w->kernel[i] != k)
            return weft_call_fail(
                c, "the weight is %s but attribute kernel_shape has %lld for %lld",
                weft_shape_print(weight, text), (long long)w->kernel[i], (long long)k);
        w->kernel[i] = k;
    }
    return WEFT_OK;
}

static weft_status read_padding(const weft_call *c, weft_window *w)
{
    static const char *const name[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const char *given = weft_node_text(c->node, "auto_pad", "NOTSET");
    int64_t pads[2 * WEFT_MAX_SPATIAL] = {0};
    int kind = 0;

    while (kind < 4 && strcmp(given, name[kind]) != 0)
        kind++;
    if (given[0] == '\0') /* written by some exporters for "not set" */
        kind = 0;
    if (kind == 4)
        return weft_call_fail(
            c, "attribute auto_pad is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
            given);
    w->pad = (weft_auto_pad)kind;
    if (w->pad != WEFT_PAD_GIVEN) /* then pads has no meaning */
        return WEFT_OK;
    WEFT_TRY(weft_window_list(c, "pads", 2 * w->n, 0, pads));
    memcpy(w->begin, pads, (size_t)w->n * sizeof *pads);
    memcpy(w->end, pads + w->n, (size_t)w->n * sizeof *pads);
    return WEFT_OK;
}

weft_status weft_window_read(const weft_call *c, int n, const weft_shape *weight, weft_window *out)
{
    assert(0 < n && n <= WEFT_MAX_SPATIAL);
    *out = (weft_window){.n = n};
    for (int i = 0; i < n; i++)
        out->stride[i] = out->dilation[i] = 1;
    WEFT_TRY(read_kernel(c, weight, out));
    WEFT_TRY(weft_window_list(c, "strides", n, 1, out->stride));
    WEFT_TRY(weft_window_list(c, "dilations", n, 1, out->dilation));
    return read_padding(c, out);
}

int64_t weft_window_extent(const weft_window *w, int i)
{
    return w->dilation[i] * (w->kernel[i] - 1) + 1;
}

/* Padding so that windows start at every stride of the dimension. */
static int64_t slide_same(weft_window *w, int i, int64_t size)
{
    int64_t places = size / w->stride[i] + (size % w->stride[i] != 0);
    int64_t total = 0;

    if (w->kernel[i] != WEFT_UNKNOWN_DIM && places > 0)
        total = (places - 1) * w->stride[i] - size + weft_window_extent(w, i);
    if (total < 0)
        total = 0;
    w->begin[i] = w->pad == WEFT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
    return places;
}

/* Places of a window that has `room` to move; none if it is larger than the padded dimension. With
 * ceil_mode the last may reach over the end, even the only one. */
static int64_t slide_given(const weft_window *w, int i, int64_t size, int64_t room)
{
    int64_t places;

    if (!w->is_ceil || w->pad != WEFT_PAD_GIVEN)
        return room < 0 ? 0 : room / w->stride[i] + 1;
    places = room / w->stride[i] + (room % w->stride[i] > 0) + 1; /* division rounds to 0 */
    if ((places - 1) * w->stride[i] >= size + w->begin[i])
        places--;
    return places;
}

static weft_status slide(const weft_call *c, weft_window *w, int i, const weft_shape *x,
                         int64_t *out)
{
    char text[192];
    int64_t size = x->dim[i + 2], padded;

    *out = WEFT_UNKNOWN_DIM;
    if (size == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    if (size > WEFT_MAX_DIM)
        return weft_call_fail(c, "input 0 is %s: too large", weft_shape_print(x, text));
    if (w->pad == WEFT_PAD_SAME_UPPER || w->pad == WEFT_PAD_SAME_LOWER) {
        *out = slide_same(w, i, size);
        return WEFT_OK;
    }
    if (w->kernel[i] == WEFT_UNKNOWN_DIM)
        return WEFT_OK;
    padded = size + w->begin[i] + w->end[i];
    *out = slide_given(w, i, size, padded - weft_window_extent(w, i));
    if (*out < 1)
        return weft_call_fail(
            c, "input 0 is %s: its dimension %d, padded to %lld, is smaller than the kernel, %lld",
            weft_shape_print(x, text), i + 2, (long long)padded,
            (long long)weft_window_extent(w, i));
    return WEFT_OK;
}

weft_status weft_window_slide(const weft_call *c, weft_window *w, const weft_shape *x,
                              weft_shape *result)
{
    for (int i = 0; i < w->n; i++)
        WEFT_TRY(slide(c, w, i, x, &result->dim[i + 2]));
    return WEFT_OK;
}

/* --- nests ----------------------------------------------------------------------------------- */

weft_nest *weft_nest_new(weft_nests *out)
{
    weft_nest *n = &out->nest[out->n++];

    assert(out->n <= WEFT_MAX_NESTS);
    memset(n, 0, sizeof *n);
    return n;
}

const char *weft_spatial_name(int n, int i)
{
    static const char *const flat[] = {"r", "c"};
    static const char *const any[] = {"x0", "x1", "x2", "x3", "x4", "x5"};

    return n == 2 ? flat[i] : any[i];
}

const char *weft_kernel_name(int n, int i)
{
    static const char *const flat[] = {"i", "j"};
    static const char *const any[] = {"k0", "k1", "k2", "k3", "k4", "k5"};

    return n == 2 ? flat[i] : any[i];
}

static int64_t saturating_product(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Four axes beside those of the window fit a nest with four spatial dimensions. Beyond, dimensions
 * from the fourth on share two axes and are accessed whole: work stays exact, accesses are an upper
 * bound. No known network has more than three. */
enum { MAX_EXACT = 4, N_KEPT = 3 };

void weft_window_nest(weft_nest *n, const weft_window *w, const weft_shape *shape,
                      weft_window_axes *out)
{
    int n_own = w->n <= MAX_EXACT ? w->n : N_KEPT;
    int64_t places = 1, kernel = 1;

    *out = (weft_window_axes){.n = w->n};
    for (int i = 0; i < n_own; i++) {
        bool overlaps = w->kernel[i] > 1 || w->stride[i] > 1;

        out->at[i] =
            weft_nest_axis(n, weft_spatial_name(w->n, i),
                           overlaps ? WEFT_AXIS_SPATIAL : WEFT_AXIS_PARALLEL, shape->dim[i + 2]);
    }
    for (int i = 0; i < n_own; i++)
        out->kernel[i] =
            weft_nest_axis(n, weft_kernel_name(w->n, i), WEFT_AXIS_REDUCE, w->kernel[i]);
    for (int i = n_own; i < w->n; i++) {
        out->at[i] = out->kernel[i] = -1;
        places = saturating_product(places, shape->dim[i + 2]);
        kernel = saturating_product(kernel, w->kernel[i]);
    }
    if (n_own < w->n) {
        weft_nest_axis(n, weft_spatial_name(w->n, n_own), WEFT_AXIS_SPATIAL, places);
        weft_nest_axis(n, weft_kernel_name(w->n, n_own), WEFT_AXIS_REDUCE, kernel);
    }
}

void weft_index_window(weft_index *index, const weft_window *w, const weft_window_axes *axes)
{
    for (int i = 0; i < axes->n; i++) {
        index[i].is_whole = axes->at[i] < 0;
        if (index[i].is_whole)
            continue;
        weft_index_term(&index[i], axes->at[i], w->stride[i]);
        weft_index_term(&index[i], axes->kernel[i], w->dilation[i]);
        index[i].offset = -w->begin[i];
    }
}

void weft_index_list(weft_index *index, const int *axis, int n)
{
    for (int i = 0; i < n; i++) {
        index[i].is_whole = axis[i] < 0;
        if (!index[i].is_whole)
            weft_index_axis(&index[i], axis[i]);
    }
}

void weft_index_broadcast(const weft_nest *n, weft_access *to, const weft_shape *shape,
                          const int *axis, int rank)
{
    int lead = rank - shape->rank; /* leading axes that the tensor does not have */

    assert(lead >= 0);
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] != 1 || n->axis[axis[lead + i]].extent == 1)
            weft_index_axis(&to->index[i], axis[lead + i]);
}
