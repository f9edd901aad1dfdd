/* SPDX-License-Identifier: MIT */
/* Shared by the files of sim. */
#ifndef WEFT_SIM_PARTS_H
#define WEFT_SIM_PARTS_H

#include "queue.h"
#include "sim.h"

/* A key that sorts as the time does; not for NAN. */
uint64_t weft_time_key(double at_s);
/* Sorts order[0 .. n - 1] by key[order[i]], ascending; equal keys stay as they are. */
void weft_sort(const uint64_t *key, int *order, int n, weft_arena *scratch);

/* The jobs of a plan, in `a`. Compute jobs of a device are queued in order of start; transfers by
 * the transfer model of the problem. NULL if there would be more jobs, dependences or uses than an
 * int counts. The plan's devices must exist. */
weft_jobs *weft_lower(const weft_problem *p, const weft_plan *plan, weft_arena *a);
/* The same for WEFT_CALLS (lower_calls.c). */
weft_jobs *weft_lower_calls(const weft_problem *p, const weft_plan *plan, weft_arena *a);

/* Compute jobs of no task; the counts are room for the lists. In `a`. */
weft_jobs *weft_jobs_new(int n_jobs, int n_resources, int64_t n_deps, int64_t n_uses,
                         weft_arena *a);

/* --- memory over time (memory_curve.c) ------------------------------------------------------- */

/* From at_s on, a holder (a device, a set) has so many bytes more, or less. */
typedef struct weft_change {
    double at_s, bytes;
    int holder;
} weft_change;

typedef struct weft_holdings {
    WEFT_VEC(weft_change) change;
    weft_arena *scratch;
} weft_holdings;

typedef struct weft_curve {
    const weft_sample *sample;
    int n;
    double peak_bytes;
} weft_curve;

/* Bytes from start_s to end_s; INFINITY: to the end of the run. */
void weft_hold(weft_holdings *h, int holder, double bytes, double start_s, double end_s);
/* [n_holders]; samples belong to `a`. */
const weft_curve *weft_curves(const weft_holdings *h, int n_holders, weft_arena *a);

/* Every field of *out from a finished run of one item. Arrays belong to `a`. */
void weft_measure(const weft_problem *p, const weft_jobs *j, const weft_timeline *t, weft_arena *a,
                  weft_measures *out);

/* The measures of a mix from those of its ways (measure_variants.c). */
void weft_measure_variants(const weft_problem *p, const weft_plan *plan, const weft_measures *way,
                           weft_arena *a, weft_measures *out);
/* Fills period_s and bottleneck from the loads. */
void weft_measure_period(const weft_problem *p, weft_measures *out);

#endif
