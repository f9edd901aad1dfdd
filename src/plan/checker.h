/* SPDX-License-Identifier: MIT */
/* Shared by the rules of legality (plan_check*.c). */
#ifndef WEFT_PLAN_CHECKER_H
#define WEFT_PLAN_CHECKER_H

#include "weft/plan.h"

typedef struct weft_checker {
    const weft_problem *problem;
    const weft_plan *plan;
    weft_arena *arena;
    weft_breach *breach;
    int n, most;
    int way;         /* that `plan` is a view of, from 1; 0: there is only one */
    bool is_whole;   /* all tasks of all ways are placed where they are supported */
    bool *is_placed; /* [n_tasks] has a device that exists and a start that is a time */
    double *end_s;   /* [n_tasks] */
    double slack_s;
} weft_checker;

/* Counts a breach and lists it while there is room. */
void weft_checker_tell(weft_checker *c, const char *format, ...) WEFT_PRINTF(2, 3);

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
    return c->problem->transfer == WEFT_CALLS && c->problem->ask.goal == WEFT_LATENCY;
}

/* The rules of calls, instead of those for the inputs of single tasks. */
void weft_check_calls(weft_checker *c);
/* Throughput, if it is asked for: the forward tasks of the devices form stages, no two of which
 * wait for each other. */
void weft_check_stages(weft_checker *c);

#endif
