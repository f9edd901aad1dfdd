/* SPDX-License-Identifier: MIT */
/* Problems and their results.
 *
 * A problem is what one of the commands place, shard, train and mine is asked: a kind, and arguments
 * with the names of that command's flags (weft help KIND). A result is what the command answers:
 * value, bound, gap, status, and the plan. */
#ifndef WEFT_PUBLIC_PROBLEM_H
#define WEFT_PUBLIC_PROBLEM_H

#include <stdint.h>

#include "weft/call.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_public_problem weft_problem;
typedef struct weft_public_result weft_result;

/* --- problems -------------------------------------------------------------------------------- */

/* kind: "place", "shard", "train", "serve" or "mine". model: as for weft_model_load, or a file of
 * tasks (place) or of a fleet (serve). platform: as for weft_platform_load; NULL for files of tasks, for
 * serve and for mine. Files are read when it is solved. The caller closes *out. */
WEFT_CHECKED weft_status weft_problem_open(const char *kind, const char *model,
                                           const char *platform, weft_problem **out);
void weft_problem_close(weft_problem *p); /* NULL is allowed */
const char *weft_problem_kind(const weft_problem *p);

/* Sets an argument by the name of the flag without "--": "goal", "batch", "area", ...; one that is
 * set again is replaced. Flags without a value take "true" and "false". An unknown name is an error
 * now, a wrong value when the problem is solved. The text is copied. */
WEFT_CHECKED weft_status weft_problem_set(weft_problem *p, const char *name, const char *value);
/* One more network (mine). */
WEFT_CHECKED weft_status weft_problem_add_model(weft_problem *p, const char *model);
/* The usual ones of them. */
WEFT_CHECKED weft_status weft_problem_set_solver(weft_problem *p, const char *name);
WEFT_CHECKED weft_status weft_problem_set_time_limit(weft_problem *p, double seconds);
/* Steps of search; of mine: designs evaluated. The same steps give the same answer. */
WEFT_CHECKED weft_status weft_problem_set_steps(weft_problem *p, int64_t steps);
WEFT_CHECKED weft_status weft_problem_set_seed(weft_problem *p, int64_t seed);
WEFT_CHECKED weft_status weft_problem_set_threads(weft_problem *p, int threads);
/* Who is told of progress; NULL: nobody. */
void weft_problem_watch(weft_problem *p, weft_progress_callback progress, void *context);

/* Solves it, as often as you like. WEFT_OK also if there is no plan: the status of the result says
 * so. The caller closes *out, which does not need the problem. */
WEFT_CHECKED weft_status weft_problem_solve(weft_problem *p, weft_result **out);
/* Ends the solve that is running with what it has. Any thread, a signal handler and the progress
 * callback may call it. */
void weft_problem_cancel(weft_problem *p);

/* --- results --------------------------------------------------------------------------------- */

void weft_result_close(weft_result *r); /* NULL is allowed */
/* "optimal" (proved), "bounded", "infeasible" (proved: there is no plan), "unknown" (none found). */
const char *weft_result_status(const weft_result *r);
int weft_result_has_plan(const weft_result *r); /* 1: optimal or bounded; else 0 */
/* What the simulator says of the plan; NAN: there is none. */
double weft_result_value(const weft_result *r);
const char *weft_result_unit(const weft_result *r);  /* of value and bound: "s", "samples/s" */
const char *weft_result_sense(const weft_result *r); /* "min": less is better; "max" */
double weft_result_bound(const weft_result *r);      /* no plan is better; NAN: nothing proved */
double weft_result_gap(const weft_result *r);        /* (value - bound) / value; NAN: unknown */
const char *weft_result_solver(const weft_result *r);
const char *weft_result_method(const weft_result *r); /* how the bound is proved; "": not said */
const char *weft_result_reason(const weft_result *r); /* why there is no plan; "": there is one */
double weft_result_seconds(const weft_result *r);     /* wall time of the search */
/* Everything, as --json prints it (docs/formats.md). */
const char *weft_result_json(const weft_result *r);

/* Decisions of place: one for each task, and of plans with several variants for each of them. */
int weft_result_n_decisions(const weft_result *r); /* 0: another kind, or no plan */
const char *weft_result_task(const weft_result *r, int i);
const char *weft_result_device(const weft_result *r, int i);
double weft_result_start_s(const weft_result *r, int i);
double weft_result_end_s(const weft_result *r, int i);

#ifdef __cplusplus
}
#endif
#endif
