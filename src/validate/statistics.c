/* SPDX-License-Identifier: MIT */
/* statistics.c: quantiles, rank correlation, regret. */
#include "statistics.h"

#include "sort.h"

#include <math.h>
#include <string.h>

double weft_quantile(const double *value, int n, double part, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    double *sorted, at = part * (n - 1), result;
    int below = (int)floor(at);

    if (n == 0)
        return NAN;
    sorted = WEFT_NEW(scratch, double, n);
    memcpy(sorted, value, (size_t)n * sizeof value[0]);
    weft_sort_reals(sorted, n);
    result = sorted[below];
    if (below + 1 < n && at > below)
        result += (at - below) * (sorted[below + 1] - sorted[below]);
    weft_arena_rewind(scratch, mark);
    return result;
}

static double *ranks(const double *x, int n, weft_arena *a)
{
    int *order = weft_sorted_rising(x, n, a);
    double *rank = WEFT_NEW(a, double, n);

    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && x[order[next]] == x[order[i]]; next++)
            ;
        for (int k = i; k < next; k++)
            rank[order[k]] = (i + next - 1) / 2.0;
    }
    return rank;
}

double weft_spearman(const double *x, const double *y, int n, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    const double *p = ranks(x, n, scratch), *q = ranks(y, n, scratch);
    double mean = (n - 1) / 2.0, both = 0, of_x = 0, of_y = 0;

    for (int i = 0; i < n; i++) {
        both += (p[i] - mean) * (q[i] - mean);
        of_x += (p[i] - mean) * (p[i] - mean);
        of_y += (q[i] - mean) * (q[i] - mean);
    }
    weft_arena_rewind(scratch, mark);
    return of_x > 0 && of_y > 0 ? both / sqrt(of_x * of_y) : NAN;
}

weft_errors weft_errors_of(const double *measured, const double *predicted, int n,
                           weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    double *error = WEFT_NEW(scratch, double, n + 1), *size = WEFT_NEW(scratch, double, n + 1);
    weft_errors e = {.n = n};

    for (int i = 0; i < n; i++) {
        error[i] = predicted[i] / measured[i] - 1;
        size[i] = fabs(error[i]);
    }
    e.median = weft_quantile(size, n, 0.5, scratch);
    e.p90 = weft_quantile(size, n, 0.9, scratch);
    e.bias = weft_quantile(error, n, 0.5, scratch);
    e.spearman = weft_spearman(measured, predicted, n, scratch);
    weft_arena_rewind(scratch, mark);
    return e;
}

double weft_regret(const double *measured, const double *predicted, int n)
{
    double least = INFINITY, best = INFINITY, sum = 0;
    int n_chosen = 0;

    for (int i = 0; i < n; i++) {
        least = fmin(least, predicted[i]);
        best = fmin(best, measured[i]);
    }
    for (int i = 0; i < n; i++)
        if (predicted[i] == least) {
            sum += measured[i];
            n_chosen++;
        }
    return n > 0 ? sum / n_chosen / best - 1 : NAN;
}
