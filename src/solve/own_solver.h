/* SPDX-License-Identifier: MIT */
/* Solvers of users, as weft/solver.h declares them: registered, or in a library of their own. */
#ifndef WEFT_SOLVE_OWN_SOLVER_H
#define WEFT_SOLVE_OWN_SOLVER_H

#include "solve.h"
#include "weft/solver.h"

struct weft_instance {
    const weft_problem *problem;
    const weft_run *run;
};

struct weft_decisions {
    int *device;      /* [n_tasks] */
    double *start_s;  /* [n_tasks] */
    bool *is_decided; /* [n_tasks] */
    int n_tasks, n_decided;
    bool is_wrong; /* a task that there is not */
};

#endif
