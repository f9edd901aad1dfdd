/* SPDX-License-Identifier: MIT */
/* Plans as files: write, read, check, and make a report of them. Designs of mine are plans too. */
#ifndef WEFT_PUBLIC_PLAN_H
#define WEFT_PUBLIC_PLAN_H

#include "weft/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_public_plan weft_plan;
typedef struct weft_public_check weft_check;

/* The plan of a result. No plan is an error. It does not need the result any more; the caller closes
 * *out. */
WEFT_CHECKED weft_status weft_plan_of_result(const weft_result *r, weft_plan **out);
/* Reads a plan file: its form is checked, what it says is not (weft_plan_verify does). */
WEFT_CHECKED weft_status weft_plan_load(const char *path, weft_plan **out);
/* Writes the file, whole or not at all. */
WEFT_CHECKED weft_status weft_plan_save(const weft_plan *p, const char *path);
void weft_plan_close(weft_plan *p); /* NULL is allowed */

/* "place", "shard", "train", "serve" or "design". */
const char *weft_plan_type(const weft_plan *p);
const char *weft_plan_json(const weft_plan *p);
double weft_plan_value(const weft_plan *p);       /* as the file claims it; NAN: it does not */
double weft_plan_bound(const weft_plan *p);       /* likewise */
const char *weft_plan_solver(const weft_plan *p); /* "": not said */
/* Decisions of place, as in weft_result; the ends are not part of the file. */
int weft_plan_n_decisions(const weft_plan *p);
const char *weft_plan_task(const weft_plan *p, int i);
const char *weft_plan_device(const weft_plan *p, int i);
double weft_plan_start_s(const weft_plan *p, int i);

/* Opens the model and the platform that a plan file names (or these, where they are not NULL) and
 * recomputes everything, as `weft check` does. WEFT_OK also for a wrong plan: the check says what is
 * wrong. The caller closes *out. */
WEFT_CHECKED weft_status weft_plan_verify(const char *path, const char *model, const char *platform,
                                          weft_check **out);
void weft_check_close(weft_check *c);         /* NULL is allowed */
int weft_check_is_legal(const weft_check *c); /* 1: nothing is wrong; else 0 */
int weft_check_n_wrong(const weft_check *c);  /* at most 100 are listed */
const char *weft_check_wrong(const weft_check *c, int i);
/* 1: the whole bound was proved again; 0: a part of it rests on a search. */
int weft_check_is_bound_proved(const weft_check *c);
/* What was not compared, such as the seed. */
int weft_check_n_unchecked(const weft_check *c);
const char *weft_check_unchecked(const weft_check *c, int i);
const char *weft_check_json(const weft_check *c); /* everything, as --json prints it */

/* Checks a plan file and writes one self-contained HTML page to `page`. options: NULL, or more flags
 * of `weft report` without "--", ending with NULL ("timeline=t.svg"). A wrong plan is an error. */
WEFT_CHECKED weft_status weft_plan_report(const char *path, const char *page,
                                          const char *const *options);

#ifdef __cplusplus
}
#endif
#endif
