/* SPDX-License-Identifier: MIT */
/* Shared by the files of sim. */
#ifndef WEFT_SIM_PARTS_H
#define WEFT_SIM_PARTS_H

#include "weft/sim.h"

/* A waiting line: the entry with the least (at_s, rank) comes first. Ranks in a line differ. */
typedef struct weft_waiting {
    double at_s;
    int64_t rank;
    int id;
} weft_waiting;

typedef struct weft_line {
    weft_waiting *entry; /* room is the maker's business */
    int n;
} weft_line;

void weft_line_push(weft_line *l, weft_waiting w);
weft_waiting weft_line_pop(weft_line *l); /* not empty */

/* A key that sorts as the time does; not for NAN. */
uint64_t weft_time_key(double at_s);
/* Sorts order[0 .. n - 1] by key[order[i]], ascending; equal keys stay as they are. */
void weft_sort(const uint64_t *key, int *order, int n, weft_arena *scratch);

/* weft_lower into an arena of the caller; the jobs' own `arena` is NULL. NULL if there would be
 * more jobs, dependences or uses than an int counts. The plan's devices must exist. */
weft_jobs *weft_lower_in(const weft_problem *p, const weft_plan *plan, int n_items, weft_arena *a);

/* The same for WEFT_CALLS (lower_calls.c). */
weft_jobs *weft_lower_calls(const weft_problem *p, const weft_plan *plan, int n_items,
                            weft_arena *a);

/* The jobs of one item while they are written; a stream is copies of it. Arrays as in weft_jobs. */
typedef struct weft_item {
    int n_jobs, n_resources;
    double *duration_s;
    int *dep_at, *dep, *use_at, *use;
    bool *is_queue;
    int64_t *rank;     /* of item 0 */
    int64_t rank_step; /* from item to item */
    weft_job_kind *kind;
    int *task, *tensor, *from, *to;
} weft_item;

/* Compute jobs of no task; the counts are room for the lists. */
weft_item weft_item_new(int n_jobs, int n_resources, int64_t n_deps, int64_t n_uses, weft_arena *a);
/* Ranks by which a stream keeps the period (items.c). `list`: all jobs in an order that agrees with
 * dependences; a job uses at most one resource. */
void weft_item_reserve(weft_item *one, const int *list, weft_arena *scratch);
/* The jobs of n_items copies, in `a`; their own `arena` is NULL. */
weft_jobs *weft_item_copies(const weft_item *one, int n_items, weft_arena *a);

/* Every field of *out from a finished run of one item. Arrays belong to `a`. */
void weft_measure(const weft_problem *p, const weft_jobs *j, const weft_timeline *t, weft_arena *a,
                  weft_measures *out);

/* The measures of a mix from those of its ways (measure_ways.c). */
void weft_measure_ways(const weft_problem *p, const weft_plan *plan, const weft_measures *way,
                       weft_arena *a, weft_measures *out);
/* Fills period_s and bottleneck from the loads. */
void weft_measure_period(const weft_problem *p, weft_measures *out);

#endif
