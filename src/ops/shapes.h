/* SPDX-License-Identifier: MIT */
/* Helpers of the rules for element-wise, reducing, moving and making operators (infer.c). */
#ifndef WEFT_SHAPES_H
#define WEFT_SHAPES_H

#include "rules.h"

#define WEFT_LARGEST_DIM ((int64_t)1 << 62)

/* Sets result i; an error if its elements do not fit 2^62. */
WEFT_CHECKED weft_status weft_set_sized(weft_call *c, int i, weft_dtype type,
                                        const weft_shape *shape);
/* The shape whose dimensions are the integers of attribute `name` (may be NULL) or operand `slot`:
 * unknown dimensions or rank where these are not known; negative ones are an error. */
WEFT_CHECKED weft_status weft_dims_of(const weft_call *c, const char *name, int slot,
                                      weft_shape *out);
/* The only integer of attribute `name` (may be NULL) or operand `slot`; WEFT_UNKNOWN_INT if it is
 * not known. Absent, or more than one: an error that calls it `what`. */
WEFT_CHECKED weft_status weft_scalar_of(const weft_call *c, const char *name, int slot,
                                        const char *what, int64_t *out);
/* The element type an attribute names by its ONNX number. */
WEFT_CHECKED weft_status weft_type_of(const weft_call *c, const char *name, weft_dtype fallback,
                                      weft_dtype *out);
/* *product *= factor, both not negative; an error beyond WEFT_LARGEST_DIM. */
WEFT_CHECKED weft_status weft_dim_times(const weft_call *c, int64_t *product, int64_t factor);
/* Product of dimensions from .. to - 1; unknown if one of them is, unless another is 0. */
WEFT_CHECKED weft_status weft_product_of(const weft_call *c, const weft_shape *s, int from, int to,
                                         int64_t *out);
/* Appends dimensions from .. to - 1 of s. */
WEFT_CHECKED weft_status weft_shape_append(const weft_call *c, weft_shape *out, const weft_shape *s,
                                           int from, int to);

/* A list of integers that is an attribute or an operand (weft_list_of). */
typedef struct weft_list {
    const int64_t *at; /* NULL if absent or not known */
    int n;             /* -1: not known either */
    bool known, present;
} weft_list;

weft_list weft_list_read(const weft_call *c, const char *name, int slot);
/* Element i; `fallback` if the list is absent, WEFT_UNKNOWN_INT if it is not known. */
int64_t weft_list_get(const weft_list *l, int i, int64_t fallback);

/* True if the node has this text attribute with this value. */
bool weft_attr_is(const weft_call *c, const char *name, const char *value);
/* True if the operand is left out or has no elements. */
bool weft_is_empty(const weft_value *v);
/* The element as a number; NaN if it is not known. */
double weft_element(const weft_value *v, int i);

/* Starts the only nest of an operator. */
weft_nest *weft_nest_start(weft_nests *out, int64_t point_flops);
/* An axis "d0", "d1", .. for each dimension. */
void weft_nest_dims(weft_nest *n, const weft_shape *s, weft_axis_kind kind);
/* An access whose dimension i is indexed by axis i. */
weft_access *weft_nest_whole(weft_nest *n, bool is_result, int slot, int rank);
/* Starts the only nest of a movement: over the dimensions of result 0, which is accessed. */
weft_nest *weft_nest_over_result(const weft_call *c, weft_nests *out);

#endif
