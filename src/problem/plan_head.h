/* SPDX-License-Identifier: MIT */
/* What all plan files have in common (plan_head.c). */
#ifndef WEFT_PLAN_HEAD_H
#define WEFT_PLAN_HEAD_H

#include "problem.h"

/* Schema, kind, model and platform. */
void weft_plan_put_head(weft_arena *a, weft_doc *plan, const char *kind,
                        const weft_plan_origin *origin);
/* Solver, seed and the hash of the problem. */
void weft_plan_put_maker(weft_arena *a, weft_doc *plan, const weft_plan_origin *origin);
/* Status, value, bound, gap, method, certified. */
void weft_plan_put_claims(weft_arena *a, weft_doc *d, const weft_proof *proof);
/* The key "proof" with these and the bound that can be computed again, for plans that have no other
 * certificate. */
void weft_plan_put_proof(weft_arena *a, weft_doc *plan, const weft_proof *proof);

/* Reads a file and checks schema and kind; a file of decisions is completed. */
WEFT_CHECKED weft_status weft_plan_open(const char *path, const char *kind, weft_arena *a,
                                        const weft_doc **out);
/* Decisions that were made elsewhere (weft.decisions/1), as the document of a plan file that claims
 * nothing. */
WEFT_CHECKED weft_status weft_decisions_complete(const weft_doc *d, weft_arena *a,
                                                 const weft_doc **out);
/* Stands in such a document for a name that was left out; told by its address, so that no file can
 * have it. */
extern const char weft_unnamed[];
/* What weft_plan_put_head and weft_plan_put_maker wrote, but schema and kind. */
WEFT_CHECKED weft_status weft_plan_read_origin(const weft_doc *plan, weft_arena *a,
                                               weft_plan_origin *out);
WEFT_CHECKED weft_status weft_plan_read_claims(const weft_doc *d, weft_proof *out);
WEFT_CHECKED weft_status weft_plan_read_proof(const weft_doc *plan, weft_proof *out);

/* Text or null. */
WEFT_CHECKED weft_status weft_plan_optional_text(const weft_doc *map, const char *key,
                                                 const char **out);
/* One of the words that `name` gives for 0 .. n - 1. */
WEFT_CHECKED weft_status weft_plan_read_word(const weft_doc *map, const char *key,
                                             const char *(*name)(int), int n, int *out);

#endif
