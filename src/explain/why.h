/* SPDX-License-Identifier: MIT */
/* Shared by the reasons of all kinds of plans (why.c). */
#ifndef WEFT_EXPLAIN_WHY_H
#define WEFT_EXPLAIN_WHY_H

#include "explain.h"

/* Reasons as they are found. */
typedef struct weft_reasons {
    weft_arena *a;
    WEFT_VEC(weft_why_part) part;
} weft_reasons;

/* Adds a reason; bounds that say nothing (0, or not finite) are left out. The n tasks need not be
 * sorted: weight[i] is what task[i] counts; NULL: all of them as they are. */
typedef struct weft_reason {
    const char *key, *name, *text;
    double seconds;
    int n_tasks;
    const int *task;
    const double *weight; /* [n_tasks]; tasks of weight 0 are left out */
} weft_reason;

void weft_reason_add(weft_reasons *r, const weft_reason *reason);
/* Sorts reasons by falling seconds, puts what only a search proves in front, and says whether the
 * first reason is the bound of the proof. is_search: that its method rests on a search. */
void weft_reasons_end(weft_reasons *r, const weft_proof *proof, bool is_search, weft_why *out);
/* compute_s, transfer_s and wait_s along "waits for", from the job that ends last back to the
 * start. is_compute: [n_jobs]. */
void weft_why_chain(const weft_jobs *j, const weft_timeline *t, const bool *is_compute,
                    weft_why *out);
/* The sentence of `text`; `more` (may be NULL) is what a kind of plans adds to it. */
void weft_why_words(const weft_proof *proof, bool has_plan, const char *more, weft_arena *a,
                    weft_why *out);
/* "1.23 ms", in `a`. */
const char *weft_why_seconds(weft_arena *a, double seconds);

#endif
