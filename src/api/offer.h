/* SPDX-License-Identifier: MIT */
/* The question of a plan, asked again for another machine (offer.c). */
#ifndef WEFT_API_OFFER_H
#define WEFT_API_OFFER_H

#include "weft/api.h"

typedef struct weft_offer_ask {
    const weft_question *question;
    const char *solver;  /* that weft_offer_solver knows */
    const char *machine; /* its text */
    const weft_run *run; /* seed, limit_s, steps and stop count */
} weft_offer_ask;

/* What the machine gives. */
typedef struct weft_offer {
    weft_proof proof; /* of the solve */
    double kept;      /* the value of the old plan; NAN: it does not run there */
} weft_offer;

/* The texts of the proof belong to `a`. A machine on which the problem cannot be stated is
 * WEFT_E_INPUT. */
WEFT_CHECKED weft_status weft_offer_find(const weft_offer_ask *k, weft_arena *a, weft_offer *out);
bool weft_offer_has_plan(const weft_offer *o);
/* Refuses what is no solver for this kind of plans. */
WEFT_CHECKED weft_status weft_offer_solver(const weft_question *q, const char *name);

#endif
