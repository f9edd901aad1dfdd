/* SPDX-License-Identifier: MIT */
/* box.c: parts of tensors. A box is a product of intervals, so what two boxes share is one, too,
 * and its size is the product of the overlaps. */
#include "step_rule.h"

#include <assert.h>

weft_box weft_box_whole(const weft_shape *s)
{
    weft_box b = {.rank = s->rank};

    for (int d = 0; d < s->rank; d++)
        b.hi[d] = s->dim[d];
    return b;
}

int64_t weft_box_elements(const weft_box *b)
{
    int64_t n = 1;

    for (int d = 0; d < b->rank; d++)
        n *= b->hi[d] > b->lo[d] ? b->hi[d] - b->lo[d] : 0;
    return n;
}

int64_t weft_box_common(const weft_box *a, const weft_box *b)
{
    int64_t n = 1;

    assert(a->rank == b->rank);
    for (int d = 0; d < a->rank; d++) {
        int64_t lo = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        int64_t hi = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];

        n *= hi > lo ? hi - lo : 0;
    }
    return n;
}

static int64_t clip(int64_t x, int64_t size)
{
    return x < 0 ? 0 : x > size ? size : x;
}

/* The indices of one dimension: interval arithmetic over the terms. Of a reshape, values within one
 * period of stride * size are in order; beyond, every index may occur. */
static void touch(const weft_dim_rule *d, const weft_design_points *p, int64_t *lo, int64_t *hi)
{
    int64_t first = d->lo, last = d->hi;

    for (int i = 0; i < d->n_terms; i++) {
        int64_t low = p->lo[d->axis[i]], high = p->hi[d->axis[i]] - 1, f = d->factor[i];

        first += f * (f >= 0 ? low : high);
        last += f * (f >= 0 ? high : low);
    }
    if (d->stride > 0) {
        int64_t period = d->stride * d->size;
        bool is_one = period > 0 && first / period == last / period;

        first = is_one ? first / d->stride % d->size : 0;
        last = is_one ? last / d->stride % d->size : d->size - 1;
    }
    *lo = clip(first, d->size);
    *hi = clip(last + 1, d->size);
}

weft_box weft_rule_box(const weft_tensor_rule *t, const weft_design_points *p)
{
    weft_box b = t->whole;

    for (int i = 0; i < t->n_variants; i++)
        for (int d = 0; d < b.rank; d++) {
            int64_t lo, hi;

            touch(&t->way[i].dim[d], p, &lo, &hi);
            b.lo[d] = i == 0 || lo < b.lo[d] ? lo : b.lo[d];
            b.hi[d] = i == 0 || hi > b.hi[d] ? hi : b.hi[d];
        }
    return b;
}
