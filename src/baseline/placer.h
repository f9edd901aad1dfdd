/* SPDX-License-Identifier: MIT */
/* Placements as searches of other people see them: a device for each group of tasks that must share
 * one, an order of all tasks, and what the simulator says of both. */
#ifndef WEFT_PLACER_H
#define WEFT_PLACER_H

#include "solve.h"

typedef struct weft_placer {
    const weft_problem *p;
    weft_run *run;
    weft_arena *a;
    int n_groups;
    const int *group;      /* [n_tasks] */
    const int *n_choices;  /* [n_groups] */
    const int *choice;     /* [group * n_devices ..] devices that run all its tasks */
    const int *fastest;    /* [n_groups] the device of least time, ties: the first */
    const double *upward;  /* [n_tasks] mean time of the longest way from the task to the end */
    int64_t n_evaluations; /* so far: the steps of the search */
    weft_plan trial, best;
    double best_cost;    /* INFINITY: no legal plan yet */
    bool is_empty;       /* some group has no device */
    double restart_cost; /* best_cost when the search last began again with a better one */
    int n_idle;          /* times it began again since */
} weft_placer;

weft_placer weft_placer_new(const weft_problem *p, weft_run *run);
/* What the plan is worth whose groups are on device[] and whose tasks start in the order of key[]; the
 * best legal one is kept. What breaks a memory or a limit costs far more than any legal plan, and the
 * more, the further it is off; what cannot run at all costs INFINITY. */
double weft_placer_cost(weft_placer *x, const int *device, const double *key);
/* Are limits of time or steps used up? */
bool weft_placer_is_over(const weft_placer *x);
/* True if there is time to begin again, and the last times were not in vain. */
bool weft_placer_may_restart(weft_placer *x);
/* The best plan, if there is one. */
void weft_placer_answer(const weft_placer *x, weft_plan *plan, weft_proof *proof);

extern const weft_solver weft_place_genetic, weft_place_anneal;

#endif
