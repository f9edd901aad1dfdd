/* SPDX-License-Identifier: MIT */
/* Lower bounds of subproblems, and what they are made of. All of them hold for the transfer model
 * `overlap`, which is a relaxation of `contend` and `block`; all but the memory bound leave memory
 * out, which can only lower them. Everything is deterministic; work is counted, not timed. */
#ifndef WEFT_BOUND_H
#define WEFT_BOUND_H

#include "subproblem.h"

/* --- the strongest without search (bound_more.c) --------------------------------------------- */

/* Raises what weft_place_bound has found; the rest of weft_place_bound_more. */
void weft_bound_raise(const weft_problem *p, double upper, double most_work, weft_proof *out);

/* --- one machine (bound_machine.c) ----------------------------------------------------------- */

typedef struct weft_job {
    double head_s, time_s, tail_s; /* not before; so long; at least this follows */
} weft_job;

/* The least value of one machine that may interrupt jobs: no order without interruption has less.
 * INFINITY if a number is; 0 without jobs. Sorts the jobs. `scratch` has room for n numbers. */
double weft_machine_bound(weft_job *job, int n, double *scratch);

/* --- heads and tails (bound_ancestor.c) ------------------------------------------------------ */

enum {
    WEFT_MOST_ANCESTORS = 64
}; /* tasks of a subproblem whose ancestors are looked at one by one */

/* The subproblem run backwards: task u becomes n_tasks - 1 - u, releases and tails change places.
 * free_s has no counterpart and is 0, so the values of its schedules are no larger. Memory and
 * groups are left out. Heads of the one are tails of the other. Belongs to `a`. */
weft_subproblem *weft_subproblem_reverse(const weft_subproblem *x, weft_arena *a);

/* Steps that weft_ancestor_heads takes; INFINITY if the subproblem has too many tasks for it. */
double weft_ancestor_work(const weft_subproblem *x);
/* Lower bounds of starts, [task * n_devices + device], at least those along single ways; INFINITY
 * where the task cannot run. With is_deep, ancestors that must share the device count together (at
 * most WEFT_MOST_ANCESTORS tasks). */
void weft_ancestor_heads(const weft_subproblem *x, bool is_deep, double *head_s, weft_arena *a);

/* --- loads between heads and tails (bound_head_tail.c) ---------------------------------------------------- */

/* The largest sum over the tasks of min over devices of price * time that a search for prices of
 * sum 1 finds; some device works that long. Keeps the prices if `price` is not NULL. */
double weft_priced_mapping_bound(const weft_subproblem *x, const int *task, int n, double *price,
                                 weft_arena *a);
/* Tasks that all have long heads and long tails share the time between. */
double weft_head_tail_bound(const weft_subproblem *x, double most_work, weft_arena *a);

/* --- refutation (bound_refute.c) ------------------------------------------------------------- */

/* Work beyond which a refutation gives up; `weft check` grants as much. */
#define WEFT_MOST_REFUTE_WORK 2e9

/* True: no schedule of x has a value less than limit_s. This holds for the numbers as they are, in
 * exact arithmetic: sums must pass the limit by more than rounding can have added. False says
 * nothing. */
bool weft_refute(const weft_subproblem *x, double limit_s, bool is_shaving, double most_work,
                 weft_arena *a);
/* The largest limit that is refuted, up to rounding, and at most `upper` (INFINITY: unknown). If
 * even `upper` is, the bound is less than it by 1e-11 at most, relative. */
double weft_refute_bound(const weft_subproblem *x, double upper, bool is_shaving, double most_work,
                         weft_arena *a);

/* --- memory (bound_memory.c) ----------------------------------------------------------------- */

/* Bytes of weights have prices on each device, and memories pay them back. 0 if memory cannot
 * matter. */
double weft_memory_bound(const weft_subproblem *x, weft_arena *a);

/* --- chains of devices (bound_device_chain.c) ------------------------------------------------------------- */

/* The tasks of a subproblem on other devices without memory limits, with tails of series.c. */
typedef struct weft_tails {
    const weft_subproblem *subproblem;
    const int *kind; /* [devices of the subproblem] a device that is equal, and linked no worse */
} weft_tails;

/* From barrier to barrier on devices none of which holds all weights: the network is sent on. 0 if
 * memory cannot matter or there is no barrier; INFINITY if no plan exists. */
double weft_device_chain_bound(const weft_subproblem *x, const weft_tails *t, weft_arena *a);
/* A plan made of what the bound found, with these rooms for weights; false if devices differ or a
 * part is too large. Starts are for the order only. */
bool weft_device_chain_plan(const weft_subproblem *x, const weft_tails *t, const double *room_bytes,
                            weft_arena *a, weft_plan *plan);

/* --- series (bound_series.c) ----------------------------------------------------------------- */

enum { WEFT_MOST_PART = 64 };

/* Parts of which each precedes all of the next one cannot overlap: the sum of their bounds. Parts
 * have at most most_tasks tasks, which is at most WEFT_MOST_PART. */
double weft_series_bound(const weft_subproblem *x, int most_tasks, double most_work, weft_arena *a);

/* --- sections (bound_between_barriers.c) ----------------------------------------------------- */

typedef struct weft_between_barriers_effort {
    double upper;        /* a bound that reaches this is enough */
    int64_t part_states; /* of the search of a part of few tasks */
    int64_t most_steps;  /* about; INT64_MAX: no limit */
    const weft_run *run;
} weft_between_barriers_effort;

/* The shortest way from barrier to barrier over their devices, by search and linear programs. For
 * subproblems with parts that search does not close. *steps: taken. */
double weft_between_barriers_bound(const weft_subproblem *x, const weft_between_barriers_effort *e,
                                   int64_t *steps);

#endif
