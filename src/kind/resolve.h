/* SPDX-License-Identifier: MIT */
/* The problem of a plan, solved again for another machine (resolve.c). */
#ifndef WEFT_KIND_RESOLVE_H
#define WEFT_KIND_RESOLVE_H

#include "kind.h"

typedef struct weft_resolve_request {
    const weft_check_result *plan; /* that is solved again */
    const char *solver;            /* that weft_resolve_solver knows */
    const char *machine;           /* its text */
    const weft_run *run;           /* seed, limit_s, steps and stop count */
} weft_resolve_request;

/* What the machine gives. */
typedef struct weft_resolved {
    weft_proof proof; /* of the solve */
    double kept;      /* the value of the old plan; NAN: it does not run there */
} weft_resolved;

/* The texts of the proof belong to `a`. A machine on which the problem cannot be stated is
 * WEFT_E_INPUT. */
WEFT_CHECKED weft_status weft_resolve(const weft_resolve_request *q, weft_arena *a,
                                      weft_resolved *out);
bool weft_resolved_has_plan(const weft_resolved *o);
/* Refuses what is no solver for this kind of plans. */
WEFT_CHECKED weft_status weft_resolve_solver(const weft_check_result *v, const char *name);

#endif
