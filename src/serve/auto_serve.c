/* SPDX-License-Identifier: MIT */
/* auto_serve.c: the solvers of serving.
 *
 * auto: bound and value approach each other.
 *  1. Bounds by bisection between what is known to flow and what cannot: a target is refuted by
 *     prices, whole configurations or links (refute.c), or is not.
 *  2. The best chain, then lanes for targets from the bound downwards; nodes of a class then change places where links
 *     are missing. After each better plan: is anything just above it refuted?
 *  3. Small fleets are enumerated.
 *  4. Stages annealed for targets between value and bound, more of them near the value, every other
 *     one a sum of rates: what flows are made of. In rounds of PARALLEL runs with seeds of their own,
 *     so that threads change nothing.
 * It ends when value and bound meet, when the steps or the time are used up, or after ROUNDS. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

enum {
    BISECTIONS = 24,
    CHAIN_TARGETS = 40,
    LANE_TARGETS = 12,
    SWAPS = 60000,
    SWAPS_PART = 50, /* of the steps that the user allows */
    ENUMERATED = 3000000,
    PARALLEL = 4,
    ANNEALED = 500000, /* steps of a run */
    ROUNDS = 30,
};

static const double ABOVE = 5e-10;   /* a bound so little above a value is the value */
static const double NEAR = 1e-7;     /* targets that are so close are one */
static const double NEAREST = 0.002; /* part of the gap that a next target closes at least */

typedef struct search {
    const weft_serve_problem *p;
    weft_run *run;
    weft_arena *a;
    weft_serve_pool pool;
    weft_dinic *dinic;
    weft_rng rng;
    double *price, value, cut;
    double refuted; /* no plan passes so much */
    int64_t steps;  /* left */
    weft_serve_found *out;
} search;

static search begin(const weft_serve_problem *p, weft_run *run, weft_serve_found *out)
{
    weft_arena *a = run->scratch;
    search s = {.p = p,
                .run = run,
                .a = a,
                .pool = weft_serve_pool_new(p, run, a),
                .dinic = weft_dinic_new(p, a),
                .rng = weft_rng_seed((uint64_t)run->seed),
                .price = WEFT_NEW(a, double, p->n_classes),
                .steps = run->steps > 0 ? run->steps : INT64_MAX,
                .out = out};

    s.cut = weft_serve_cut_bound(p, a);
    s.refuted = s.cut;
    out->plan = weft_serve_plan_new(p->n_nodes, a);
    out->certificate = (weft_serve_certificate){.method = WEFT_SERVE_CUT, .target = s.cut};
    return s;
}

static bool is_closed(const search *s)
{
    return s->refuted <= s->value * (1 + 1e-9) || !(s->refuted > 0);
}

static bool is_over(const search *s)
{
    return is_closed(s) || s->steps <= 0 || weft_run_is_over(s->run);
}

static void tell(const search *s)
{
    if (s->run->progress != NULL)
        s->run->progress(s->run->context, s->value, s->refuted);
}

/* --- bounds ---------------------------------------------------------------------------------- */

typedef bool (*refuter)(weft_serve_pool *pool, double target, double *price,
                        weft_serve_certificate *out);

static bool refute_by(search *s, double target, refuter by)
{
    weft_serve_certificate c;

    s->out->log.n_targets++;
    if (!by(&s->pool, target, s->price, &c))
        return false;
    s->out->certificate = c;
    s->refuted = target;
    tell(s);
    return true;
}

static bool refute(search *s, double target)
{
    return refute_by(s, target, weft_serve_refute);
}

/* The least target that is refuted, above `low`, which is not. */
static void bisect_by(search *s, double low, refuter by)
{
    for (int i = 0; i < BISECTIONS && !is_over(s) && s->refuted > low * (1 + NEAR); i++) {
        double middle = low > 0 ? sqrt(low * s->refuted) : s->refuted / 16;

        if (!refute_by(s, middle, by))
            low = middle;
    }
}

/* First without a search: what takes longest is not to refute. */
static void bisect_bound(search *s, double low)
{
    bisect_by(s, low, weft_serve_refute_by_work);
    bisect_by(s, low, weft_serve_refute);
}

/* No plan holds all layers, or nothing gets from the source to the sink. */
static bool is_hopeless(search *s)
{
    int64_t layers = 0;

    for (int i = 0; i < s->p->n_nodes; i++)
        layers += s->p->most[i];
    if (layers >= s->p->n_layers && s->cut > 0)
        return false;
    s->refuted = 0;
    s->out->is_complete = true;
    return true;
}

/* --- values ---------------------------------------------------------------------------------- */

static bool take_plan(search *s, const weft_serve_plan *plan, double value)
{
    size_t bytes = sizeof *plan->start * (size_t)s->p->n_nodes;

    if (!(value > s->value * (1 + 1e-12)))
        return false;
    s->value = value;
    s->out->has_plan = true;
    memcpy(s->out->plan.start, plan->start, bytes);
    memcpy(s->out->plan.end, plan->end, bytes);
    tell(s);
    return true;
}

/* After a better plan: perhaps it is the best. */
static void close_gap(search *s)
{
    double target = s->value * (1 + ABOVE);

    if (!is_closed(s) && !refute_by(s, target, weft_serve_refute_by_work) && !is_over(s))
        refute(s, target);
}

/* What a plan that knows no links is worth, and after nodes of a class have changed places. */
static double take_linked(search *s, double target, weft_serve_plan *plan)
{
    int64_t part = s->run->steps > 0 ? s->run->steps / SWAPS_PART + 1 : SWAPS;
    int64_t steps = part < SWAPS ? part : SWAPS;
    double value = weft_dinic_flow(s->dinic, plan);
    bool is_better = take_plan(s, plan, value);

    if (value < target * (1 - 1e-9)) {
        value = weft_serve_swaps(s->p, s->dinic, target, &s->rng, steps, s->run, plan);
        s->steps -= s->run->steps > 0 ? steps : 0;
        is_better |= take_plan(s, plan, value);
    }
    if (is_better)
        close_gap(s);
    return value;
}

/* The largest target that a chain has. */
static void search_chains(search *s)
{
    double low = 0, high = s->refuted;
    weft_serve_plan plan = weft_serve_plan_new(s->p->n_nodes, s->a);

    for (int i = 0; i < CHAIN_TARGETS; i++) {
        double middle = (low + high) / 2;

        if (weft_serve_chain(s->p, middle, &plan))
            low = middle;
        else
            high = middle;
    }
    if (low > 0)
        take_linked(s, low, &plan);
}

static bool try_lanes(search *s, double target)
{
    weft_serve_plan plan = weft_serve_plan_new(s->p->n_nodes, s->a);

    weft_serve_best_prices(&s->pool, target, s->price);
    return weft_serve_lanes(&s->pool, target, s->price, &plan) &&
           take_linked(s, target, &plan) >= target * (1 - 1e-9);
}

static void search_lanes(search *s)
{
    double high = s->refuted * (1 - 1e-6), low = s->value;

    if (is_over(s) || try_lanes(s, high))
        return;
    for (int i = 0; i < LANE_TARGETS && !is_over(s) && high > fmax(low, s->value) * (1 + 1e-5);
         i++) {
        double middle;

        low = fmax(low, s->value);
        middle = low > 0 ? (low + high) / 2 : high / 4;
        if (try_lanes(s, middle))
            low = fmax(s->value, middle);
        else
            high = middle;
    }
}

static void enumerate(search *s)
{
    int64_t asked = s->run->steps > 0 ? s->run->steps : ENUMERATED, n = 0;
    int64_t most = ENUMERATED < asked ? ENUMERATED : asked;
    double value = s->value;
    weft_serve_plan plan = weft_serve_plan_copy(&s->out->plan, s->a);
    bool is_complete = weft_serve_enumerate(s->p, s->dinic, most, s->run, &plan, &value, &n);

    s->out->log.n_placements += n;
    take_plan(s, &plan, value);
    if (s->value > 0)
        close_gap(s); /* a certificate is better than the word of a search */
    s->out->is_complete = is_complete;
    if (is_complete)
        s->refuted = s->value;
}

/* --- stages ---------------------------------------------------------------------------------- */

typedef struct attempt {
    double target, value;
    weft_serve_plan plan;
    weft_rng rng;
    bool is_found;
} attempt;

typedef struct attempts {
    const search *s;
    int64_t steps;
    attempt item[PARALLEL];
} attempts;

static void run_attempt(void *context, int i)
{
    attempts *all = context;
    attempt *x = &all->item[i];
    weft_arena *a = weft_arena_new();
    weft_dinic *d = weft_dinic_new(all->s->p, a);

    x->is_found =
        weft_serve_stages(all->s->p, x->target, &x->rng, all->steps, all->s->run, a, &x->plan);
    if (x->is_found)
        x->value = weft_dinic_flow(d, &x->plan);
    if (x->is_found && x->value < x->target * (1 - 1e-9))
        x->value = weft_serve_swaps(all->s->p, d, x->target, &x->rng, all->steps / 50, all->s->run,
                                    &x->plan);
    weft_arena_free(a);
}

static void attempt_targets(search *s, const double *target)
{
    attempts all = {.s = s, .steps = ANNEALED};
    bool is_better = false;

    if (s->run->steps > 0)
        all.steps = s->steps / PARALLEL < ANNEALED ? s->steps / PARALLEL + 1 : ANNEALED;
    for (int i = 0; i < PARALLEL; i++) {
        all.item[i].target = target[i];
        all.item[i].plan = weft_serve_plan_new(s->p->n_nodes, s->a);
        all.item[i].rng = weft_rng_split(&s->rng, (uint64_t)i);
    }
    weft_parallel(s->run->n_threads, PARALLEL, run_attempt, &all);
    s->steps -= s->run->steps > 0 ? all.steps * PARALLEL : 0;
    s->out->log.n_targets += PARALLEL;
    for (int i = 0; i < PARALLEL; i++)
        if (all.item[i].is_found)
            is_better |= take_plan(s, &all.item[i].plan, all.item[i].value);
    if (is_better)
        close_gap(s);
}

/* The least rate of a node, or sum of two, from `low` on: what flows are made of; 0: none. */
static double next_sum(const search *s, double low)
{
    const weft_serve_items *items = &s->pool.items;
    double best = INFINITY;

    for (int i = 0; i < items->n; i++)
        for (int j = -1; j <= i; j++) {
            double sum = items->item[i].rate + (j < 0 ? 0 : items->item[j].rate);

            if (sum >= low && sum < best)
                best = sum;
        }
    return best < s->refuted ? best : 0;
}

/* Between value and bound, more of them near the value; every other one a sum of rates. */
static double draw_target(search *s, int i)
{
    double part = weft_rng_real(&s->rng), target, sum;

    target = s->value + (s->refuted - s->value) * (NEAREST + (1 - NEAREST) * part * part);
    sum = i % 2 == 0 ? next_sum(s, target) : 0;
    return sum > 0 ? sum * (1 - 1e-9) : target;
}

static void search_stages(search *s)
{
    for (int i = 0; i < ROUNDS && !is_over(s); i++) {
        double target[PARALLEL];

        for (int n = 0; n < PARALLEL; n++)
            target[n] = draw_target(s, n);
        attempt_targets(s, target);
    }
}

/* --- solvers --------------------------------------------------------------------------------- */

static void solve_auto(const weft_serve_problem *p, weft_run *run, weft_serve_found *out)
{
    search s = begin(p, run, out);

    if (is_hopeless(&s))
        return;
    bisect_by(&s, 0, weft_serve_refute_by_work);
    search_chains(&s);
    bisect_bound(&s, s.value);
    search_lanes(&s);
    if (!is_closed(&s) && !weft_run_is_over(run))
        enumerate(&s);
    if (!is_over(&s))
        bisect_bound(&s, s.value);
    search_stages(&s);
    if (!is_closed(&s) && s.value > 0)
        bisect_bound(&s, s.value);
}

static void solve_lanes(const weft_serve_problem *p, weft_run *run, weft_serve_found *out)
{
    search s = begin(p, run, out);

    if (is_hopeless(&s))
        return;
    bisect_by(&s, 0, weft_serve_refute_by_work);
    search_chains(&s);
    bisect_bound(&s, s.value);
    search_lanes(&s);
}

static void solve_stages(const weft_serve_problem *p, weft_run *run, weft_serve_found *out)
{
    search s = begin(p, run, out);

    if (is_hopeless(&s))
        return;
    bisect_by(&s, 0, weft_serve_refute_by_work);
    search_chains(&s);
    bisect_bound(&s, s.value);
    search_stages(&s);
}

static void solve_all(const weft_serve_problem *p, weft_run *run, weft_serve_found *out)
{
    search s = begin(p, run, out);

    if (!is_hopeless(&s))
        enumerate(&s);
}

static const weft_serve_solver solvers[] = {
    {"auto",      "lanes, enumeration of small fleets, annealed stages; proves bounds", solve_auto,
     true                                                                                                  },
    {"lanes",     "lanes of equal length by whole-number programs, links ignored",      solve_lanes,  false},
    {"stages",    "stages annealed for a target, links included",                       solve_stages, false},
    {"enumerate", "all placements, of small fleets",                                    solve_all,    true },
};

int weft_serve_count(void)
{
    return (int)(sizeof solvers / sizeof *solvers);
}

const weft_serve_solver *weft_serve_at(int i)
{
    return &solvers[i];
}

const weft_serve_solver *weft_serve_find(const char *name)
{
    for (int i = 0; i < weft_serve_count(); i++)
        if (strcmp(solvers[i].name, name) == 0)
            return &solvers[i];
    return NULL;
}
