/* SPDX-License-Identifier: MIT */
/* bound_machine.c: one machine with heads and tails.
 *
 * The value of a set of jobs that starts with the least head, works without a pause and ends with
 * the least tail is  least head + sum of times + least tail;  no schedule of a single machine beats
 * it. The largest over all sets is the value of Jackson's schedule that may interrupt jobs, so
 * nothing better is to be had from that relaxation. A best set is of the form {head >= a, tail >=
 * b}: adding a job changes neither of the least and adds its time.
 *
 * 1. Jobs by decreasing tail, one after the other: sets with tail >= that of the last.
 * 2. For each head a, sum[a] of the times of the jobs so far with head >= a. The job of step 1 is
 *    counted, then every a is tried.
 *
 * Only sums of numbers that are not negative: the relative error is at most n + 2 roundings. Time
 * O(n^2). Carlier, European J. of Operational Research 11, 1982. */
#include "bound.h"

#include <math.h>
#include <stdlib.h>

static int by_tail(const void *left, const void *right)
{
    const weft_job *a = left, *b = right;

    if (a->tail_s != b->tail_s)
        return a->tail_s > b->tail_s ? -1 : 1;
    return (a->head_s > b->head_s) - (a->head_s < b->head_s);
}

double weft_machine_bound(weft_job *job, int n, double *scratch)
{
    double most_s = 0;

    for (int j = 0; j < n; j++) {
        if (!(job[j].head_s + job[j].time_s + job[j].tail_s < INFINITY))
            return INFINITY;
        scratch[j] = 0;
    }
    qsort(job, (size_t)n, sizeof *job, by_tail);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) { /* scratch[i] is the sum of heads >= that of job i */
            if (job[i].head_s > job[j].head_s)
                continue;
            scratch[i] += job[j].time_s;
            most_s = fmax(most_s, job[i].head_s + scratch[i] + job[j].tail_s);
        }
    }
    return most_s;
}
