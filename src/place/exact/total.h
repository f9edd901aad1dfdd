/* SPDX-License-Identifier: MIT */
/* Sums whose differences are as exact as their own terms: a sum keeps what rounding took from it.
 */
#ifndef WEFT_TOTAL_H
#define WEFT_TOTAL_H

typedef struct weft_total {
    double high, low; /* the sum is both together */
} weft_total;

static inline weft_total weft_total_plus(weft_total sum, double term)
{
    double high = sum.high + term, part = high - sum.high;
    double lost = (sum.high - (high - part)) + (term - part);

    sum.high = high;
    sum.low += lost;
    return sum;
}

/* What came to the sum between `from` and `to`. */
static inline double weft_total_between(weft_total from, weft_total to)
{
    return (to.high - from.high) + (to.low - from.low);
}

#endif
