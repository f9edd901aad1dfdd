/* SPDX-License-Identifier: MIT */
/* What the rules of layers share: sliding windows, checked sizes, nest accesses that broadcast.
 * A size is WEFT_UNKNOWN_DIM where it depends on the data; unknown in, unknown out. */
#ifndef WEFT_NN_H
#define WEFT_NN_H

#include "shapes.h"

/* --- sizes ----------------------------------------------------------------------------------- */

/* No dimension and no product of dimensions may pass this, so that sums of a few never overflow. */
#define WEFT_MAX_DIM ((int64_t)1 << 62)

/* The shape of operand i; of that rank with unknown dimensions if its rank is not known. */
weft_shape weft_arg_shape(const weft_call *c, int i, int rank);
/* Text of the shape of operand i for messages. Returns `to`. */
const char *weft_arg_print(const weft_call *c, int i, char to[192]);
weft_dtype weft_arg_type(const weft_call *c, int i); /* WEFT_TYPE_UNKNOWN if left out */

/* Integer attribute in lowest .. 2^31 - 1. */
WEFT_CHECKED weft_status weft_int_of(const weft_call *c, const char *name, int64_t fallback,
                                     int64_t lowest, int64_t *out);
/* *known takes `value` if it was unknown; if both are known they must be equal: otherwise an error
 * that names operand `slot` and `what`. */
WEFT_CHECKED weft_status weft_agree(const weft_call *c, int slot, const char *what, int64_t *known,
                                    int64_t value);
/* Product of two sizes; an error that names `what` if it passes WEFT_MAX_DIM. */
WEFT_CHECKED weft_status weft_multiply(const weft_call *c, const char *what, int64_t a, int64_t b,
                                       int64_t *out);
/* Operand i, if it is there, must be a list of n elements. */
WEFT_CHECKED weft_status weft_need_list(const weft_call *c, int i, const char *what, int64_t n);

/* --- windows that slide over the spatial dimensions 2, 3, ... of N x C x D1 x D2 ... --------- */

enum { WEFT_MAX_SPATIAL = WEFT_MAX_RANK - 2 };

typedef enum weft_auto_pad {
    WEFT_PAD_GIVEN,
    WEFT_PAD_VALID,
    WEFT_PAD_SAME_UPPER,
    WEFT_PAD_SAME_LOWER,
} weft_auto_pad;

typedef struct weft_window {
    int n; /* spatial dimensions */
    weft_auto_pad pad;
    bool is_ceil; /* a last window that is not full counts */
    int64_t kernel[WEFT_MAX_SPATIAL], stride[WEFT_MAX_SPATIAL], dilation[WEFT_MAX_SPATIAL];
    int64_t begin[WEFT_MAX_SPATIAL], end[WEFT_MAX_SPATIAL]; /* padding */
} weft_window;

/* Attribute `name` with n integers, each in lowest .. 2^31 - 1; *to is kept if it is absent. */
WEFT_CHECKED weft_status weft_window_list(const weft_call *c, const char *name, int n,
                                          int64_t lowest, int64_t *to);
/* Attributes of a window over n spatial dimensions. The kernel is that of `weight` (dimensions 2
 * and on), which kernel_shape must not contradict; without a weight kernel_shape is required. */
WEFT_CHECKED weft_status weft_window_read(const weft_call *c, int n, const weft_shape *weight,
                                          weft_window *out);
/* First to last element that the kernel spans in spatial dimension i. */
int64_t weft_window_extent(const weft_window *w, int i);
/* Spatial dimensions of the result from those of x (operand 0); settles automatic padding. */
WEFT_CHECKED weft_status weft_window_slide(const weft_call *c, weft_window *w, const weft_shape *x,
                                           weft_shape *result);

/* --- nests ----------------------------------------------------------------------------------- */

/* One more nest, empty; at most WEFT_MAX_NESTS. */
weft_nest *weft_nest_new(weft_nests *out);

/* Axes of a window in a nest; -1 for dimensions that share one axis with others. */
typedef struct weft_window_axes {
    int n;
    int at[WEFT_MAX_SPATIAL], kernel[WEFT_MAX_SPATIAL];
} weft_window_axes;

/* Adds an axis for each spatial dimension ("r", "c", or "x0" ...), shape giving the extents, and
 * for each kernel dimension ("i", "j", or "k0" ...). */
void weft_window_nest(weft_nest *n, const weft_window *w, const weft_shape *shape,
                      weft_window_axes *out);
/* Indices stride * r + dilation * i - padding of the spatial dimensions 2, ... */
void weft_index_window(weft_index *index, const weft_window *w, const weft_window_axes *axes);
/* index[i] = axis[i]; axes below 0: the whole dimension. */
void weft_index_list(weft_index *index, const int *axis, int n);

/* Indices of a tensor of that shape which is broadcast, numpy's way, over `rank` axes. */
void weft_index_broadcast(const weft_nest *n, weft_access *to, const weft_shape *shape,
                          const int *axis, int rank);
/* Name of the spatial axis i of n; of kernel axis i of n. */
const char *weft_spatial_name(int n, int i);
const char *weft_kernel_name(int n, int i);

#endif
