/* SPDX-License-Identifier: MIT */
/* What the rows share: lines of what is wrong, proofs found again, files beside a plan (check.c). */
#ifndef WEFT_KIND_CHECK_H
#define WEFT_KIND_CHECK_H

#include "kind.h"

#define WEFT_NEAR 1e-9 /* relative difference that is none */

enum { WEFT_MOST_WRONG = 100 };

/* Things that are wrong; the first WEFT_MOST_WRONG are in `line`. */
typedef struct weft_wrongs {
    weft_arena *a;
    const char **line;
    int n;
} weft_wrongs;

weft_wrongs weft_wrongs_new(weft_arena *a);
/* Adds a line, as printf does. */
void weft_wrong(weft_wrongs *w, const char *format, ...) WEFT_PRINTF(2, 3);
void weft_check_hash(weft_wrongs *w, const char *what, uint64_t now, uint64_t then);
/* Every entry of what is claimed is found again, and the other way round; numbers to WEFT_NEAR. */
void weft_compare(weft_wrongs *w, const char *where, const weft_doc *claimed,
                  const weft_doc *found);
/* What is found again of a proof. */
typedef struct weft_finding {
    double value;       /* the simulator's */
    double proved;      /* by the certificate; 0: there is none */
    const char *method; /* that it is of */
    const char *solver; /* that the file names */
    bool is_search;     /* the method of the file is a search that this solver makes */
} weft_finding;

/* The value is the simulator's, certified is what the certificate proves, a bound that says more
 * rests on a search of the solver, no bound says more than the value; gap, status and method follow
 * from these. Lower bounds, or upper ones where more is better. */
void weft_check_proof(weft_wrongs *w, const weft_proof *proof, const weft_finding *f,
                      weft_check_result *out);
/* The bound of sharding and of training: computed again by its name; search: the one that the
 * solver of the plan makes, or NULL. */
void weft_check_again(weft_wrongs *w, const weft_proof *claimed, const weft_proof *bound,
                      const char *search, weft_finding *f);
/* Options that change nothing have their usual values; says what is not checked. */
void weft_check_origin(weft_wrongs *w, const weft_plan_origin *o, weft_check_result *out);
/* Adds to what is not checked: a field of the file, "proof.bound". */
void weft_unchecked(weft_check_result *out, const char *field);
/* Where a file that a plan names is: as it is named, from the current folder; else from the folder
 * of the plan, or one above it; else beside the plan, without the folders of its name. */
const char *weft_beside(const char *plan_path, const char *name, weft_arena *a);
/* The model of a plan, and its platform (NULL for files of tasks), where they are. */
const char *weft_model_beside(const weft_plan_origin *o, const weft_named *by, weft_arena *a);
const char *weft_platform_beside(const weft_plan_origin *o, const weft_named *by, weft_arena *a);
/* The message of a file that cannot be opened says who names it and what can be done. */
WEFT_CHECKED weft_status weft_explain_missing(weft_status status, const weft_named *by,
                                              const weft_plan_origin *o, weft_arena *a);
/* The message of the reader of a file, without the name of the file, which everybody knows. */
const char *weft_line_of_file(const weft_doc *doc, weft_arena *a);
/* Samples that the value of a plan is of; NAN: not known. */
double weft_samples_of(const weft_plan_origin *o, weft_arena *a);
/* A platform is named. */
WEFT_CHECKED weft_status weft_need_platform(const char *platform);
/* text NULL: the platform that `source` names. The caller owns *out. */
WEFT_CHECKED weft_status weft_machine_open(const char *source, const char *text,
                                           weft_platform **out);

/* The commands that make a plan and its page again, as a user would type them (remake.c). */
const char *weft_remake_place(const void *report, const weft_remake *m, weft_arena *a);
const char *weft_remake_shard(const void *report, const weft_remake *m, weft_arena *a);
const char *weft_remake_train(const void *report, const weft_remake *m, weft_arena *a);
const char *weft_remake_serve(const void *report, const weft_remake *m, weft_arena *a);
const char *weft_remake_mine(const void *report, const weft_remake *m, weft_arena *a);
const char *weft_remake_pipeline(const void *report, const weft_remake *m, weft_arena *a);

extern const weft_kind weft_kind_place, weft_kind_shard, weft_kind_train, weft_kind_serve,
    weft_kind_mine, weft_kind_pipeline;

#endif
