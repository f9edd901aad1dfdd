/* SPDX-License-Identifier: MIT */
/* The search over all families (pipe_solve.c), for the solvers. */
#ifndef WEFT_PIPE_SOLVE_H
#define WEFT_PIPE_SOLVE_H

#include "space.h"

/* How far to go. */
typedef struct weft_pipe_effort {
    bool is_uniform; /* leave out device sets */
    bool is_first;   /* the first plans of every family only; nothing is proved but their bounds */
    int64_t steps;   /* 0: the default */
    double below_s;  /* only plans that take less are looked for; 0: any */
} weft_pipe_effort;

enum { WEFT_PIPE_STEPS = 30000000 }; /* most of them stages evaluated */

/* Without a number of steps: those, and as many more as the limit of time is longer than 10 s. */
int64_t weft_pipe_default_steps(const weft_run *run);

typedef struct weft_pipe_result {
    double value_s;       /* INFINITY: no plan */
    weft_train_plan plan; /* in the arena that was given */
    double bound_s;       /* no plan of the space takes less; INFINITY: there is none */
    int64_t n_stages_tried, n_plans_tried, n_steps;
} weft_pipe_result;

/* Of a problem without variants. */
void weft_pipe_search(const weft_train_problem *p, weft_run *run, const weft_pipe_effort *effort,
                      weft_arena *a, weft_pipe_result *out);
/* Of all variants together. */
void weft_pipe_search_all(const weft_train_problem *p, weft_run *run,
                          const weft_pipe_effort *effort, weft_arena *a, weft_pipe_result *out);

#endif
