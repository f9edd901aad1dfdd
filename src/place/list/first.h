/* SPDX-License-Identifier: MIT */
/* Plans that cost nothing to find, and the best of several by simulation. */
#ifndef WEFT_FIRST_H
#define WEFT_FIRST_H

#include "list.h"

/* The best legal plan so far; value INFINITY: none. The arrays belong to the arena it was made
 * with. */
typedef struct weft_best {
    weft_plan plan;
    double value;
    weft_arena *arena;
} weft_best;

weft_best weft_best_new(const weft_problem *p, weft_arena *a);
/* Simulates a plan and keeps it if it is legal, within the limits of the problem, and better.
 * `plan` gets the simulated starts. Returns its value, INFINITY if it is not legal. */
double weft_best_try(weft_best *b, const weft_problem *p, weft_plan *plan, weft_arena *scratch);
/* Tries the plans of the list schedulers, the quick ones first; with many tasks the slow ones are
 * left out. */
WEFT_CHECKED weft_status weft_best_first(weft_best *b, const weft_problem *p, weft_run *run);
/* Tries plans with each part of the graph on one device, if it has a few (parts.c). */
void weft_best_parts(weft_best *b, const weft_problem *p, weft_run *run);
/* The answer of a solver: the plan, if there is one, and that it is bounded. */
void weft_best_answer(const weft_best *b, weft_plan *plan, weft_proof *proof);
/* Devices and starts of a plan of one way. */
void weft_plan_copy(weft_plan *to, const weft_plan *from);

/* The run with a share of the time that is left. */
weft_run weft_run_share(const weft_run *run, double share);

/* What a search has proved so far: no plan is below `bound`, which is finite, or there is none. */
typedef struct weft_proved {
    double bound;
    bool is_impossible;
} weft_proved;

/* Takes over what a relaxation or a search says: no plan is below found_s; INFINITY: there is no
 * plan at all, which no known plan (of `value`, INFINITY: none) may contradict. */
void weft_proved_take(weft_proved *known, double found_s, double value);

#endif
