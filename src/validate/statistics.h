/* SPDX-License-Identifier: MIT */
/* How far predictions are from measurements. */
#ifndef WEFT_STATISTICS_H
#define WEFT_STATISTICS_H

#include "base.h"

/* Times of n rows, as measured and as predicted. */
typedef struct weft_errors {
    int n;
    double median, p90; /* of |predicted / measured - 1| */
    double bias;        /* median of predicted / measured - 1 */
    double spearman;    /* of the times; NAN if one of them does not vary */
} weft_errors;

/* The part-quantile with linear interpolation between neighbours, as numpy.percentile has it; NAN
 * without numbers. */
double weft_quantile(const double *value, int n, double part, weft_arena *scratch);
/* Pearson correlation of ranks; equal values share the mean of their ranks. */
double weft_spearman(const double *x, const double *y, int n, weft_arena *scratch);
weft_errors weft_errors_of(const double *measured, const double *predicted, int n,
                           weft_arena *scratch);
/* How much longer than the best measured choice that takes which is predicted to be the quickest,
 * 0: it is the best. Choices of equal prediction count as their mean. NAN without choices. */
double weft_regret(const double *measured, const double *predicted, int n);

#endif
