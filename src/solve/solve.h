/* SPDX-License-Identifier: MIT */
/* The driver: solvers return decisions; it checks and evaluates every answer. */
#ifndef WEFT_SOLVE_H
#define WEFT_SOLVE_H

#include <signal.h>

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What reaches a solver besides the problem. */
typedef struct weft_run {
    int64_t seed;
    int n_threads;
    double limit_s; /* wall seconds it may take; INFINITY: no limit. Limits are met, not used up */
    int64_t steps;  /* steps of search it may take; 0: no limit. The same steps, the same bytes */
    weft_arena *scratch;
    const volatile sig_atomic_t *stop; /* not 0: the user wants what there is, now; NULL: never */
    /* Told of progress: the best value and bound so far; NULL: nobody listens. */
    void (*progress)(void *context, double value, double bound);
    void *context;
    double begin_s;    /* when the solve began; weft_solve sets it */
    bool is_used_up;   /* set by a solver that kept some time for the end: the rest is used up */
    bool is_exhausted; /* set by a solver that ended before its limits: nothing is left to try */
} weft_run;

/* Seconds of a clock that only goes forward. */
/* Wall seconds left, never negative; 0 if the user stopped it. */
double weft_run_left_s(const weft_run *run);
static inline bool weft_run_is_over(const weft_run *run)
{
    return weft_run_left_s(run) <= 0;
}

/* What a search of placements is for: under calls, latency has certificates only. */
enum { WEFT_FOR_LATENCY = 1, WEFT_FOR_THROUGHPUT = 2, WEFT_FOR_CALLS = 4 };

/* A method by which a solver raises bounds above what certificates prove. */
typedef struct weft_search_method {
    const char *name;
    unsigned what; /* WEFT_FOR_... */
} weft_search_method;

typedef struct weft_solver {
    const char *name, *summary;
    const weft_option *options; /* NULL if it has none */
    size_t options_size;
    /* Fills plan (device and start of each task) and proof.outcome; leaves value, bound to the
     * driver unless it proves one. */
    weft_status (*solve)(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof);
    bool (*applies)(const weft_problem *p); /* NULL: to all problems; else it has no plan */
    const weft_search_method *searches;     /* ends with a name that is NULL; NULL: none */
} weft_solver;

/* May a bound of this solver rest on a search of this name? */
bool weft_solver_searches(const weft_solver *s, const weft_problem *p, const char *method);

static inline bool weft_solver_applies(const weft_solver *s, const weft_problem *p)
{
    return s->applies == NULL || s->applies(p);
}

/* The one way of a lower bound into a search or a proof: the larger of both. What is not a finite
 * number proves nothing and is wrong code: it aborts where assertions are on and is left out where
 * they are not. That there is no plan at all is an outcome (WEFT_INFEASIBLE), never a bound. */
double weft_bound_larger(double bound, double found);
/* Why a search ended that a solver with `searches` made: "proved", "interrupted", "time limit",
 * "steps" or "search exhausted". */
const char *weft_why_stopped(const weft_run *run, weft_outcome outcome);
/* The larger bound with its method; certificates are those of the floor. */
void weft_proof_take_bound(weft_proof *proof, const weft_proof *floor);
/* What the simulator says of the plan of a solver: value, gap, and whether it is optimal (a gap of
 * 1e-9 at most). A bound above the value is an internal error. */
WEFT_CHECKED weft_status weft_proof_settle(weft_proof *proof, double value, const char *solver);

/* The same where more is better and bounds are above; unit: of both. */
WEFT_CHECKED weft_status weft_proof_settle_most(weft_proof *proof, double value, const char *unit,
                                                const char *solver);

static inline bool weft_has_plan(const weft_proof *proof)
{
    return proof->outcome == WEFT_OPTIMAL || proof->outcome == WEFT_BOUNDED;
}

/* --- answers against each other (cross.c) ---------------------------------------------------- */

/* What somebody says about a problem: a solver, a baseline, a bound. */
typedef struct weft_claim {
    const char *by;
    weft_outcome outcome; /* optimal, bounded: there is a plan of this value */
    double value;
    double bound;       /* no plan is better; 0, or INFINITY where more is better: not known */
    const char *method; /* of the bound; or NULL */
} weft_claim;

typedef struct weft_contest {
    int n;
    const weft_claim *claim;
    bool is_max;         /* larger values are better */
    const char *unit;    /* of values; NULL: seconds */
    const char *machine; /* the text of a machine that is in no file; or NULL */
    /* The file of the plan of a claim, in `a`, or NULL; asked only if something is wrong. NULL: no
     * plan is kept. */
    weft_doc *(*plan)(const void *context, int claim, weft_arena *a);
    const void *context;
} weft_contest;

/* No plan is better than a bound of another, and there is none where another proves that there is
 * none: else WEFT_E_INTERNAL, in one line. The tolerance is one part in 10^9, as everywhere. */
WEFT_CHECKED weft_status weft_cross_check(const weft_contest *x);
/* The words that a program was called with, which are to stay: from now on a contradiction is
 * written to a file of its own in the current folder, weft-contradiction-HASH.json. */
void weft_cross_command(const char *const *word, int n);
weft_claim weft_claim_of(const char *by, const weft_proof *proof);
/* A plan without a bound; value NAN: there is none. worst: the bound that says nothing. */
weft_claim weft_claim_plan(const char *by, double value, double worst);

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

/* --- solvers of sharding --------------------------------------------------------------------- */

typedef struct weft_shard_options {
    const weft_solver *placer; /* places steps on single accelerators side by side; NULL: none */
    const weft_proof *floor; /* of weft_shard_bound for the problem; NULL: weft_shard_solve asks */
} weft_shard_options;

/* Fills plan (sets, set and split of each step, starts for the order) and proof.outcome; a bound
 * only if it proves one. Without a plan the outcome is WEFT_INFEASIBLE or WEFT_UNKNOWN and `reason`
 * says why. Plans may lie in run->scratch. */
typedef struct weft_shard_solver {
    const char *name, *summary;
    weft_status (*solve)(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof);
    bool (*applies)(const weft_shard_problem *p); /* NULL: to all */
    /* NULL if it proves no bounds; else by which search it does. */
    const char *(*search)(const weft_shard_problem *p);
} weft_shard_solver;

#ifdef __cplusplus
}
#endif
#endif
