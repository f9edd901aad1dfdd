/* SPDX-License-Identifier: MIT */
/* Plans of training: pipeline stages, each with replicas and a tensor width. */
#ifndef WEFT_TRAIN_H
#define WEFT_TRAIN_H

#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lower bounds on a step of any plan, and what they rest on. */
typedef struct weft_train_bound_parts {
    double compute_s; /* all work at the peak of all devices, best share and width for each class */
    double memory_s;  /* the same for memory traffic */
    double send_s;    /* communication that no plan avoids; 0: there is a plan without */
    double pipeline_s; /* least over all plans of the space of the bound of a pipeline */
} weft_train_bound_parts;

typedef struct weft_train_log {
    weft_train_bound_parts floor;
    int64_t n_stages_tried; /* configurations of stages that were evaluated */
    int64_t n_plans_tried;  /* plans whose step was computed exactly */
} weft_train_log;

/* Fills plan and proof (outcome, bound, method, reason); the driver fills the value. Plans may lie
 * in run->scratch. */
typedef struct weft_train_solver {
    const char *name, *summary;
    weft_status (*solve)(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                         weft_proof *proof, weft_train_log *log);
    const char *(*search)(
        const weft_train_problem *p); /* that proves its bounds; NULL: it has none */
} weft_train_solver;

int weft_train_count(void);
const weft_train_solver *weft_train_at(int i);
const weft_train_solver *weft_train_find(const char *name); /* NULL: none */

typedef struct weft_train_solution {
    weft_train_plan plan;
    weft_proof proof;
    weft_train_measures measures;
    weft_train_log log;
    double seconds;
} weft_train_solution;

/* Runs a solver, checks and simulates its plan, fills the proof. */
WEFT_CHECKED weft_status weft_train_solve(const weft_train_solver *s, const weft_train_problem *p,
                                          weft_run *run, weft_arena *a, weft_train_solution *out);

/* The bounds without any search, for anybody to compute again: floor.compute_s, memory_s, send_s
 * and what is larger. proof.again names it. */
void weft_train_bound(const weft_train_problem *p, weft_arena *a, weft_proof *out,
                      weft_train_bound_parts *floor);

/* Why a legal plan is none of the space that searches cover and that "optimal" refers to
 * (docs/solvers.md); NULL: it is one. */
const char *weft_train_outside(const weft_train_problem *p, const weft_train_plan *plan,
                               weft_arena *a);

/* How the searches call what they prove of this problem. */
const char *weft_train_search_method(const weft_train_problem *p);
/* Does a bound of this method rest on a search, which nobody repeats? */
bool weft_train_method_is_search(const char *method);

#ifdef __cplusplus
}
#endif
#endif
