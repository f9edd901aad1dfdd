/* SPDX-License-Identifier: MIT */
/* bound_more.c: the strongest lower bound without search, and its certificates.
 *
 * 1. Path and load (bound.c).
 * 2. For latency, on the subproblem of the whole problem: propagation, then shaving if a pass of it fits
 *    the work (bound_refute.c); memory (bound_memory.c); heads and tails (bound_head_tail.c); parts in series if
 * there are several (bound_series.c).
 * 3. The largest is kept, the earlier one on a tie. Its certificate takes the place of that of step
 *    1: the limit that was refuted, or the name of the bound, which anybody can compute again from
 *    the problem.
 *
 * Memory, heads and tails, and series are granted a fixed amount of work, or left out: so the same bound is
 * found again by `weft check`. All hold for `overlap` and therefore for `contend` and `block`, in
 * which no transfer takes less. Problems in which accelerators are called once have rules of their
 * own; nothing but step 1 applies to them. */
#include "bound.h"

#include <math.h>
#include <string.h>

static const double HEAD_TAIL_WORK = 1e7, SERIES_WORK = 3e8;
static const double SAME = 1e-9;      /* relative difference that is none */
static const double MOST_SENDS = 1e7; /* numbers that describe the edges of a subproblem */

/* --- methods --------------------------------------------------------------------------------- */

/* Bounds of these methods are results of a search, which nobody repeats to check them. */
static const char *const searches[] = {"search", "milp", "lp", "symmetry", "ideals", "cut"};

bool weft_method_is_search(const char *method)
{
    for (size_t i = 0; method != NULL && i < sizeof searches / sizeof *searches; i++) {
        if (strcmp(method, searches[i]) == 0)
            return true;
    }
    return false;
}

/* --- subproblems ----------------------------------------------------------------------------- */

static bool is_subproblem(const weft_problem *p)
{
    double n_sends = (double)p->pred_at[p->n_tasks] * p->n_devices * p->n_devices;
    bool is_relaxed =
        p->transfer == WEFT_OVERLAP || p->transfer == WEFT_CONTEND || p->transfer == WEFT_BLOCK;

    return p->constraints.goal == WEFT_LATENCY && is_relaxed && !p->constraints.is_calls &&
           p->n_tasks > 0 && n_sends <= MOST_SENDS;
}

/* NULL if no bound of a subproblem says anything about the problem. */
static const weft_subproblem *whole(const weft_problem *p, weft_arena *a)
{
    weft_domain m = weft_domain_new(p, a);

    return is_subproblem(p) && !m.is_empty ? weft_subproblem_of(&m, a) : NULL;
}

bool weft_refuted_again(const weft_problem *p, double limit_s, bool is_shaving)
{
    weft_arena *a = weft_arena_new();
    const weft_subproblem *x = whole(p, a);
    bool is_refuted = x != NULL && limit_s < INFINITY &&
                      weft_refute(x, limit_s, is_shaving, WEFT_MOST_REFUTE_WORK, a);

    weft_arena_free(a);
    return is_refuted;
}

/* --- bounds by name -------------------------------------------------------------------------- */

static double head_tail_of(const weft_subproblem *x, weft_arena *a)
{
    return weft_head_tail_bound(x, HEAD_TAIL_WORK, a);
}

static double series_of(const weft_subproblem *x, weft_arena *a)
{
    return weft_series_bound(x, WEFT_MOST_PART, SERIES_WORK, a);
}

typedef struct named {
    const char *name;
    double (*bound)(const weft_subproblem *x, weft_arena *a);
    double work;
    int least_tasks; /* smaller subproblems have no parts worth it */
} named;

static const named by_name[] = {
    {"memory",    weft_memory_bound, HEAD_TAIL_WORK, 1},
    {"head-tail", head_tail_of,      HEAD_TAIL_WORK, 1},
    {"series",    series_of,         SERIES_WORK,    8},
};

enum { N_NAMED = sizeof by_name / sizeof *by_name };

double weft_bound_again(const weft_problem *p, const char *name)
{
    weft_arena *a = weft_arena_new();
    const weft_subproblem *x = whole(p, a);
    double bound = 0;

    for (int i = 0; x != NULL && i < N_NAMED; i++) {
        if (strcmp(name, by_name[i].name) == 0)
            bound = by_name[i].bound(x, a);
    }
    weft_arena_free(a);
    return bound;
}

/* --- all of them ----------------------------------------------------------------------------- */

/* A pass of shaving tries each task on each device, a few rounds each. */
static bool can_shave(const weft_subproblem *x, double work)
{
    double n = x->n_devices, round = 2 * n * n * (x->n_edges + x->n_tasks);

    return 4 * n * x->n_tasks * round <= work;
}

/* Larger by more than rounding. */
static bool is_larger(double bound, const weft_proof *out)
{
    return bound > out->certified * (1 + SAME);
}

/* A proof has one certificate: the one that proves most. */
static void drop_certificates(weft_proof *out)
{
    out->n_path = 0;
    out->path = NULL;
    out->price = NULL;
    out->refuted_s = 0;
    out->is_shaved = false;
    out->again = NULL;
}

/* A certificate takes the place of that of `out` if it proves more, whole numbers counted. */
typedef struct raising {
    const weft_subproblem *x;
    double upper, most_work;
    double grain_s;
    weft_proof *out;
} raising;

static bool keep(const raising *r, double bound, const char *method)
{
    weft_proof *out = r->out;

    if (!is_larger(weft_grain_up(r->grain_s, bound), out))
        return false;
    drop_certificates(out);
    out->grain_s = 0;
    out->bound = out->certified = bound;
    out->method = out->certified_by = method;
    weft_proof_round(out, r->grain_s);
    return true;
}

static void keep_refuted(const raising *r, double bound, bool is_shaving)
{
    if (!keep(r, bound, is_shaving ? "shaving" : "propagation"))
        return;
    r->out->refuted_s = bound;
    r->out->is_shaved = is_shaving;
}

static void keep_named(const raising *r, double bound, const char *name)
{
    if (keep(r, bound, name))
        r->out->again = name;
}

/* May a larger bound exist that is of use? */
static bool is_open(const weft_proof *out, double upper)
{
    return out->outcome != WEFT_INFEASIBLE && out->bound < upper * (1 - SAME);
}

static void refute_more(const raising *r, weft_arena *a)
{
    const weft_subproblem *x = r->x;
    double work = r->most_work;

    keep_refuted(r, weft_refute_bound(x, r->upper, false, work / 4, a), false);
    if (can_shave(x, work / 4) && is_open(r->out, r->upper))
        keep_refuted(r, weft_refute_bound(x, r->upper, true, work, a), true);
}

void weft_bound_raise(const weft_problem *p, double upper, double most_work, weft_proof *out)
{
    weft_arena *scratch = weft_arena_new();
    const weft_subproblem *x = is_open(out, upper) ? whole(p, scratch) : NULL;
    raising r = {x, upper, most_work, x != NULL ? weft_problem_grain_s(p) : 0, out};

    if (x != NULL)
        refute_more(&r, scratch);
    for (int i = 0; x != NULL && i < N_NAMED && is_open(out, upper); i++) {
        if (by_name[i].work <= most_work && x->n_tasks >= by_name[i].least_tasks)
            keep_named(&r, by_name[i].bound(x, scratch), by_name[i].name);
    }
    if (!(out->bound < INFINITY))
        out->outcome = WEFT_INFEASIBLE;
    weft_arena_free(scratch);
}

void weft_place_bound_more(const weft_problem *p, double upper, double most_work, weft_arena *a,
                           weft_proof *out)
{
    weft_place_bound(p, a, out);
    weft_bound_raise(p, upper, most_work, out);
}
