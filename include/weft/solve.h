/* SPDX-License-Identifier: MIT */
/* The driver: solvers return decisions; it checks and evaluates every answer. */
#ifndef WEFT_SOLVE_H
#define WEFT_SOLVE_H

#include "weft/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What reaches a solver besides the problem. */
typedef struct weft_run {
    int64_t seed;
    int n_threads;
    double deadline_s; /* wall seconds from the start of the solve; INFINITY: none */
    weft_arena *scratch;
} weft_run;

typedef struct weft_solver {
    const char *name, *summary;
    const weft_option *options; /* NULL if it has none */
    size_t options_size;
    /* Fills plan (device and start of each task) and proof.outcome; leaves value, bound to the
     * driver unless it proves one. */
    weft_status (*solve)(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof);
} weft_solver;

typedef struct weft_solution {
    weft_plan plan;
    weft_proof proof;
    weft_measures measures;
    double seconds; /* wall time of the solver */
} weft_solution;

/* Runs a solver, simulates its plan, checks legality, and fills the proof with the value of the
 * simulator and the larger of the solver's bound and `bound` (a valid lower bound from elsewhere).
 */
WEFT_CHECKED weft_status weft_solve(const weft_solver *s, const weft_problem *p,
                                    const void *options, weft_run *run, const weft_proof *bound,
                                    weft_arena *a, weft_solution *out);

#ifdef __cplusplus
}
#endif
#endif
