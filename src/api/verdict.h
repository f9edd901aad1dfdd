/* SPDX-License-Identifier: MIT */
/* Shared by the verification of all kinds of plans (verdict.c). */
#ifndef WEFT_API_VERDICT_H
#define WEFT_API_VERDICT_H

#include "weft/api.h"

#define WEFT_NEAR 1e-9 /* relative difference that is none */

enum { WEFT_MOST_WRONG = 100 };

/* Things that are wrong; the first WEFT_MOST_WRONG are in `line`. */
typedef struct weft_wrongs {
    weft_arena *a;
    const char **line;
    int n;
} weft_wrongs;

void weft_wrong(weft_wrongs *w, const char *text);
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

/* The value is the simulator's, certified is what the certificate proves, a bound above it rests on
 * a search of the solver, no bound exceeds the value; gap, status and method follow from these. */
void weft_check_proof(weft_wrongs *w, const weft_proof *proof, const weft_finding *f,
                      weft_verdict *out);
/* The bound of sharding and of training that certifies is computed again by its name. */
void weft_check_again(weft_wrongs *w, const char *claimed, const char *name);
/* Options that change nothing have their usual values; says what is not checked. */
void weft_check_origin(weft_wrongs *w, const weft_plan_origin *o, weft_verdict *out);
/* Adds to what is not checked: a field of the file, "proof.bound". */
void weft_unchecked(weft_verdict *out, const char *field);
/* Where a file that a plan names is: as it is named, from the current folder; else from the folder
 * of the plan, or one above it; else beside the plan, without the folders of its name. */
const char *weft_beside(const char *plan_path, const char *name, weft_arena *a);

/* What the reader of a plan asks for: model and platform, if not NULL, take the place of those that
 * the file names. */
typedef struct weft_named {
    const char *plan_path, *model, *platform;
} weft_named;

/* The message of a file that cannot be opened says who names it and what can be done. */
WEFT_CHECKED weft_status weft_explain_missing(weft_status status, const weft_named *by,
                                              const weft_plan_origin *o, weft_arena *a);

weft_request weft_place_request_of(const weft_plan_file *f, const weft_named *by, weft_arena *a);
weft_shard_request weft_shard_request_of(const weft_shards_file *f, const weft_named *by,
                                         weft_arena *a);
weft_train_request weft_train_request_of(const weft_pipeline_file *f, const weft_named *by,
                                         weft_arena *a);

/* The message of the reader of a file, without the name of the file, which everybody knows. */
const char *weft_line_of_file(const weft_doc *doc, weft_arena *a);

/* weft_verify for plans of sharded networks, of training, and for designs. */
WEFT_CHECKED weft_status weft_verify_shards(const char *plan_path, const char *model,
                                            const char *platform, weft_wrongs *w,
                                            weft_shard_case *c, weft_verdict *out);
WEFT_CHECKED weft_status weft_verify_train(const char *plan_path, const char *model,
                                           const char *platform, weft_wrongs *w, weft_train_case *c,
                                           weft_verdict *out);
WEFT_CHECKED weft_status weft_verify_mine(const char *plan_path, const char *model,
                                          const char *template_, weft_wrongs *w, weft_case *c,
                                          weft_verdict *out);

#endif
