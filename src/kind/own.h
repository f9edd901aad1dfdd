/* SPDX-License-Identifier: MIT */
/* Solvers of users, by what is typed: "exec:PROGRAM [WORD...]", or the path of a library. */
#ifndef WEFT_KIND_OWN_H
#define WEFT_KIND_OWN_H

#include "kind.h"

/* Is this a solver of the user, and may it be one of the kind? */
bool weft_own_is(const char *solver);
WEFT_CHECKED weft_status weft_own_check(const weft_kind *k, const char *solver);
/* The name that plans keep: without folders and words. In `a`. */
const char *weft_own_name(const char *solver, weft_arena *a);
/* Runs it apart, takes its decisions, simulates and checks them, and holds them against the bound
 * that needs no search. Whatever it does wrong is one line (WEFT_E_INPUT). */
WEFT_CHECKED weft_status weft_own_solve(const weft_kind *k, const weft_opened *p,
                                        const char *solver, const weft_run *run, weft_arena *a,
                                        void *solution);

/* The document that a program gets (own_problem.c). */
WEFT_CHECKED weft_status weft_own_problem(const weft_kind *k, const weft_opened *p,
                                          const weft_run *run, weft_arena *a, weft_doc **out);

#endif
