/* SPDX-License-Identifier: MIT */
/* pairwise_min_row.c: sums and minima of rows, the inner loops of the elimination.
 *
 * Machines with AVX have loops of their own, chosen when the program runs; compilers do not find
 * them by themselves (measured: half the speed and less). Which ones run does not change the
 * result: each number is the minimum of the same sums of two numbers, whatever the order. */
#include "pairwise_min.h"

#include <math.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = 4 }; /* minima side by side: one does not wait for the other */

static inline double lesser(double x, double y)
{
    return x < y ? x : y;
}

static void fold_plain(const weft_term *t, int n_terms, double *restrict to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = INFINITY;
    for (int k = 0; k < n_terms; k++) {
        const double *row = t[k].row;
        double add = t[k].add;

        for (int i = 0; i < n; i++)
            to[i] = lesser(add + row[i], to[i]);
    }
}

#if defined(__GNUC__) && defined(__x86_64__)
/* Blocks of 16 stay in registers. The last block overlaps the one before: a minimum may be taken
 * twice. */
__attribute__((target("avx"))) static void fold_16(const weft_term *t, int n_terms, double *to,
                                                   int n)
{
    for (int i = 0; i < n; i += 16) {
        int at = i + 16 <= n ? i : n - 16;
        __m256d a = _mm256_set1_pd(INFINITY), b = a, c = a, d = a;

        for (int k = 0; k < n_terms; k++) {
            const double *row = t[k].row + at;
            __m256d add = _mm256_broadcast_sd(&t[k].add);

            a = _mm256_min_pd(_mm256_add_pd(add, _mm256_loadu_pd(row)), a);
            b = _mm256_min_pd(_mm256_add_pd(add, _mm256_loadu_pd(row + 4)), b);
            c = _mm256_min_pd(_mm256_add_pd(add, _mm256_loadu_pd(row + 8)), c);
            d = _mm256_min_pd(_mm256_add_pd(add, _mm256_loadu_pd(row + 12)), d);
        }
        _mm256_storeu_pd(to + at, a);
        _mm256_storeu_pd(to + at + 4, b);
        _mm256_storeu_pd(to + at + 8, c);
        _mm256_storeu_pd(to + at + 12, d);
    }
}

__attribute__((target("avx"))) static void fold_4(const weft_term *t, int n_terms, double *to,
                                                  int n)
{
    for (int i = 0; i < n; i += 4) {
        int at = i + 4 <= n ? i : n - 4;
        __m256d a = _mm256_set1_pd(INFINITY);

        for (int k = 0; k < n_terms; k++) {
            __m256d add = _mm256_broadcast_sd(&t[k].add);

            a = _mm256_min_pd(_mm256_add_pd(add, _mm256_loadu_pd(t[k].row + at)), a);
        }
        _mm256_storeu_pd(to + at, a);
    }
}

void weft_row_fold(const weft_term *t, int n_terms, double *restrict to, int n)
{
    if (n < 4 || !__builtin_cpu_supports("avx"))
        fold_plain(t, n_terms, to, n);
    else if (n < 16)
        fold_4(t, n_terms, to, n);
    else
        fold_16(t, n_terms, to, n);
}
#else
void weft_row_fold(const weft_term *t, int n_terms, double *restrict to, int n)
{
    fold_plain(t, n_terms, to, n);
}
#endif

double weft_row_least_sum(const double *a, const double *b, int n)
{
    double lane[LANES], least = INFINITY;
    int i = 0;

    for (int k = 0; k < LANES; k++)
        lane[k] = INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = lesser(a[i + k] + b[i + k], lane[k]);
    for (; i < n; i++)
        least = lesser(a[i] + b[i], least);
    for (int k = 0; k < LANES; k++)
        least = lesser(lane[k], least);
    return least;
}

void weft_row_limits(const double *a, int n, double *low, double *high)
{
    double least[LANES], most[LANES];
    int i = 0;

    for (int k = 0; k < LANES; k++)
        least[k] = most[k] = a[0];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double x = a[i + k];

            least[k] = x < least[k] ? x : least[k];
            most[k] = x > most[k] ? x : most[k];
        }
    *low = *high = a[0];
    for (; i < n; i++) {
        *low = a[i] < *low ? a[i] : *low;
        *high = a[i] > *high ? a[i] : *high;
    }
    for (int k = 0; k < LANES; k++) {
        *low = least[k] < *low ? least[k] : *low;
        *high = most[k] > *high ? most[k] : *high;
    }
}
