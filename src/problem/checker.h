/* SPDX-License-Identifier: MIT */
/* Shared by the rules of legality (plan_check*.c). */
#ifndef WEFT_PLAN_CHECKER_H
#define WEFT_PLAN_CHECKER_H

#include "violations.h"

typedef struct weft_checker {
    const weft_problem *problem;
    const weft_plan *plan;
    weft_arena *arena;
    weft_violations v; /* `plan` is a view of its way */
    bool is_whole;     /* all tasks of all ways are placed where they are supported */
    bool *is_placed;   /* [n_tasks] has a device that exists and a start that is a time */
    double *end_s;     /* [n_tasks] */
    double slack_s;
} weft_checker;

static inline const char *weft_checker_task(const weft_checker *c, int u)
{
    return c->problem->task_name[u];
}

static inline const char *weft_checker_device(const weft_checker *c, int u)
{
    return c->problem->device_name[c->plan->device[u]];
}

/* True if each accelerator is one call: latency under WEFT_CALLS. */
static inline bool weft_checker_has_calls(const weft_checker *c)
{
    return c->problem->transfer == WEFT_CALLS && c->problem->constraints.goal == WEFT_LATENCY;
}

/* Seconds of a placed task, with a switch if it pays for one; 0 where it is not supported. */
double weft_checker_length_s(const weft_checker *c, int u);

/* The rules of calls, instead of those for the inputs of single tasks. */
void weft_check_calls(weft_checker *c);
/* If it is asked for: the forward tasks of the devices form stages, no two of which
 * wait for each other. */
void weft_check_stages(weft_checker *c);

#endif
