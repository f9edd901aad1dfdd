/* SPDX-License-Identifier: MIT */
/* Serving: solvers that choose which node holds which layers, and upper bounds on what any choice is
 * worth (docs/solvers.md). Nothing here values a plan for a user: sim/serve_flow.c does. */
#ifndef WEFT_SERVE_H
#define WEFT_SERVE_H

#include "serve_flow.h"
#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- bounds ---------------------------------------------------------------------------------- */

/* Is it proved, by what the certificate holds and the problem alone, that no plan passes `target`
 * tokens per second? False for searches. */
bool weft_serve_refuted(const weft_serve_problem *p, const weft_serve_certificate *c);
/* No plan passes more than source, links and nodes with their best numbers of layers do. */
double weft_serve_cut_bound(const weft_serve_problem *p, weft_arena *a);

/* --- solvers --------------------------------------------------------------------------------- */

typedef struct weft_serve_log {
    int64_t n_targets;    /* flows that were asked for */
    int64_t n_placements; /* of enumeration */
} weft_serve_log;

/* What a solver has found. */
typedef struct weft_serve_found {
    weft_serve_plan plan;
    bool has_plan;
    bool is_complete; /* every placement was looked at or cannot be better than the plan */
    weft_serve_certificate certificate; /* target INFINITY: none */
    weft_serve_log log;
} weft_serve_found;

typedef struct weft_serve_solver {
    const char *name, *summary;
    /* Everything may lie in run->scratch. */
    void (*solve)(const weft_serve_problem *p, weft_run *run, weft_serve_found *out);
    bool is_search; /* it may prove bounds by enumeration */
} weft_serve_solver;

int weft_serve_count(void);
const weft_serve_solver *weft_serve_at(int i);
const weft_serve_solver *weft_serve_find(const char *name); /* NULL: none */

typedef struct weft_serve_solution {
    weft_serve_plan plan;
    weft_proof proof; /* more is better: bounds are above; without a plan value and gap INFINITY */
    weft_serve_certificate certificate;
    weft_serve_flow flow;
    weft_serve_log log;
    double seconds;
} weft_serve_solution;

/* Runs a solver, checks its plan, lets the simulator value it, and its certificate be proved anew. */
WEFT_CHECKED weft_status weft_serve_solve(const weft_serve_solver *s, const weft_serve_problem *p,
                                          weft_run *run, weft_arena *a, weft_serve_solution *out);

#ifdef __cplusplus
}
#endif
#endif
