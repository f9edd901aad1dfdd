/* SPDX-License-Identifier: MIT */
/* What the rules for constants share: elements of operands and of results under construction.
 *
 * An operand without literal counts as one whose elements are all unknown, so that rules need no
 * special case: Concat of a known and an unknown vector is known in part. */
#ifndef WEFT_FOLD_H
#define WEFT_FOLD_H

#include "rules.h"

/* Elements of an operand with static shape. Both arrays NULL: none is known. */
typedef struct weft_cells {
    weft_dtype type;
    const weft_shape *shape;
    int64_t n;
    const int64_t *ints;
    const double *reals;
} weft_cells;

/* Elements of a result. Exactly one array is there; all its elements are unknown at first. */
typedef struct weft_draft {
    weft_value *result;
    const weft_shape *shape;
    int n;
    int64_t *ints;
    double *reals;
    weft_arena *arena;
    size_t mark;
} weft_draft;

/* False if the operand was left out, its shape is not static or the literal does not fit it. */
bool weft_cells_of(const weft_value *v, weft_cells *out);
static inline bool weft_cells_any(const weft_cells *s)
{
    return s->ints || s->reals;
}
/* The only element of an operand of integers; WEFT_UNKNOWN_INT if there is none. */
int64_t weft_cells_scalar(const weft_value *v);

/* False if result i has no static shape, too many elements or elements without literals. */
bool weft_draft_begin(weft_call *c, int i, weft_draft *out);
/* Element `to` becomes element `from` of an operand; it stays unknown if kinds differ. */
void weft_draft_copy(weft_draft *d, int64_t to, const weft_cells *s, int64_t from);
/* Publishes the draft, unless all its elements are unknown. */
void weft_draft_end(weft_draft *d);

/* Elements between neighbours along each dimension, row by row; zeros if there are no elements. */
void weft_strides(const weft_shape *s, int64_t stride[WEFT_MAX_RANK]);
/* Sum of index * stride, for the indices of element `at` of a shape that has elements. */
int64_t weft_offset(const weft_shape *s, const int64_t stride[WEFT_MAX_RANK], int64_t at);
/* Strides that read `from` as if it had been broadcast to `to`, its first dimension being
 * dimension `lead` of `to`; false if it does not broadcast. */
bool weft_broadcast_strides(const weft_shape *to, const weft_shape *from, int lead,
                            int64_t stride[WEFT_MAX_RANK]);

#endif
