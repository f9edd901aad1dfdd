/* SPDX-License-Identifier: MIT */
/* What a card or a link more is worth to a plan of serving. */
#ifndef WEFT_WORTH_SERVE_H
#define WEFT_WORTH_SERVE_H

#include "serve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A fleet with one thing better, planned anew. */
typedef struct weft_serve_worth {
    const char *kind; /* "device", "speed", "link" */
    const char *what; /* for people */
    weft_outcome outcome;
    double value, bound; /* of the better of a new plan and the old one; no plan passes more */
    double gain, most_gain;
} weft_serve_worth;

/* Kinds: bits 1 << weft_upgrade_kind; memory is no part of the problem. For each kind of node one
 * more (linked as the first of its kind, and with that as that is with the best linked node), and
 * twice the rates of all of its nodes; twice each link of the cut, and all links between nodes. Best
 * value first. like: limit_s and steps of each solve, seed. In `a`. */
WEFT_CHECKED weft_status weft_serve_worths(const weft_serve_problem *p,
                                           const weft_serve_solution *s, const char *solver,
                                           unsigned kinds, const weft_run *like, weft_arena *a,
                                           const weft_serve_worth **out, int *n);

#ifdef __cplusplus
}
#endif
#endif
