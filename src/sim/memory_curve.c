/* SPDX-License-Identifier: MIT */
/* memory_curve.c: intervals in which bytes are held -> memory over time.
 *
 * Intervals are closed at the start and open at the end: what ends at a time makes room for what
 * starts then. Time O(intervals): they are sorted by radix. */
#include <math.h>

#include "parts.h"

void weft_hold(weft_holdings *h, int holder, double bytes, double start_s, double end_s)
{
    if (!(bytes > 0) || !(end_s > start_s))
        return;
    WEFT_PUSH(h->scratch, h->change, ((weft_change){start_s, bytes, holder}));
    if (end_s < INFINITY)
        WEFT_PUSH(h->scratch, h->change, ((weft_change){end_s, -bytes, holder}));
}

/* Changes by holder, then time; those at one time in the order in which they were found. */
static const int *sort_changes(const weft_holdings *h)
{
    int n = h->change.n, *order = WEFT_NEW(h->scratch, int, n + 1);
    uint64_t *key = WEFT_NEW(h->scratch, uint64_t, n + 1);

    for (int i = 0; i < n; i++) {
        order[i] = i;
        key[i] = weft_time_key(h->change.at[i].at_s);
    }
    weft_sort(key, order, n, h->scratch);
    for (int i = 0; i < n; i++)
        key[i] = (uint64_t)h->change.at[i].holder;
    weft_sort(key, order, n, h->scratch);
    return order;
}

/* The curve of one holder from its n changes in order of time. The first sample is at time 0. */
static weft_curve curve_of(const weft_holdings *h, const int *order, int n, weft_arena *a)
{
    weft_sample *sample = WEFT_NEW(a, weft_sample, n + 1);
    weft_curve curve = {.sample = sample, .n = 1};
    double bytes = 0.0;

    for (int i = 0; i < n; i++) {
        const weft_change *c = &h->change.at[order[i]];

        bytes += c->bytes;
        if (i + 1 < n && h->change.at[order[i + 1]].at_s <= c->at_s)
            continue;
        bytes = fmax(bytes, 0.0); /* amounts that are no whole numbers leave rounding behind */
        if (c->at_s > sample[curve.n - 1].at_s)
            curve.n++;
        sample[curve.n - 1] = (weft_sample){c->at_s, bytes};
        curve.peak_bytes = fmax(curve.peak_bytes, bytes);
    }
    return curve;
}

const weft_curve *weft_curves(const weft_holdings *h, int n_holders, weft_arena *a)
{
    weft_curve *curve = WEFT_NEW(h->scratch, weft_curve, n_holders + 1);
    const int *order = sort_changes(h);
    int first = 0;

    for (int k = 0; k < n_holders; k++) {
        int n = 0;

        while (first + n < h->change.n && h->change.at[order[first + n]].holder == k)
            n++;
        curve[k] = curve_of(h, order + first, n, a);
        first += n;
    }
    return curve;
}
