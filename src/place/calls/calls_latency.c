/* SPDX-License-Identifier: MIT */
/* calls_latency.c: the least latency under calls, by annealing and by the bound of calls_bound.c.
 *
 * 1. Start: everything on the host; what the host does not support, on the first device that does.
 *    If calls then wait for each other, single devices and random placements are tried. Devices
 *    filled one after another are a first plan: where memory is tight there may be no other.
 * 2. A move takes a random task's group to the device of a neighbour of the task, sometimes to any
 *    device. Half of the moves out of a call take along all tasks of the call behind that task (or
 *    all before it): so calls stay convex, and the border between two of them shifts.
 * 3. What is annealed is the latency, a little of the sum of all calls (progress beside the longest
 *    chain), and memory that is missing, whose weight grows; or no move into missing memory is
 *    accepted. This and the first temperature are drawn for each round: which of them leads to the
 *    best placement differs from network to network. Placements whose calls wait for each
 *    other in a circle are never accepted; the best one that fits every memory is kept.
 * 4. Rounds of annealing start anew from step 1. Their lengths follow the sequence of Luby et al.
 *    (1 1 2 1 1 2 4 ...), which suits searches whose chance of success is not known. Between rounds
 *    paths are tried for the bound.
 * 5. The end: the latency meets the bound, the time or the steps are used up, or without such
 * limits DEFAULT_UNITS of rounds are done.
 *
 * No guarantee but the bound. The seed and the number of steps alone decide, unless there is a
 * limit in seconds. Time O(tasks + edges) a step. Memory O(tasks^2 / 64) words for the bound. */
#include "calls_latency.h"

#include "calls_state.h"
#include "calls_stream.h"

#include <math.h>
#include <string.h>

enum {
    STEPS_PER_TASK = 160, /* of a round of one unit */
    LEAST_STEPS = 1000,
    DEFAULT_UNITS = 40,
    STEPS_PER_LOOK = 256, /* between two looks at the clock */
};
/* Found by trial on the public instances; temperatures and weights in parts of the bound. */
static const double HOT[] = {0.05, 0.05, 0.2, 1}, COLD = 1e-3; /* first and last temperature */
static const double OVER_FIRST = 0.3,
                    OVER_LAST = 1;    /* price of a memory that is exceeded by 100 % */
static const double SUM_SHARE = 0.03; /* of the sum of all calls */
static const double MOST_OVER = 1e9;  /* of a memory of no bytes */
static const double EXACT = 1e-9;

typedef struct search {
    const weft_domain *m;
    const weft_problem *p;
    weft_run *run;
    weft_rng rng;
    weft_calls_state *s;
    weft_calls_paths *paths;
    weft_proof bound;
    const int *start; /* [n_tasks] */
    int *best;        /* [n_tasks] */
    double best_s, scale_s;
    int *moved, *old; /* groups of the last move, and where they were */
    int n_moved;
    bool *is_moved; /* [n_groups] */
    int64_t n_steps;
    bool is_over;
} search;

/* --- moves ----------------------------------------------------------------------------------- */

static bool take_group(search *x, int g, int to)
{
    if (x->is_moved[g])
        return true;
    if (!x->m->has[g * x->p->n_devices + to])
        return false;
    x->is_moved[g] = true;
    x->moved[x->n_moved] = g;
    x->old[x->n_moved++] = x->s->device[x->s->member.item[x->s->member.at[g]]];
    return true;
}

/* Takes along what is behind (or before) the tasks of group g on device `from`. */
static bool take_neighbours(search *x, int g, int from, int to, bool is_down)
{
    const weft_calls_state *s = x->s;
    const int *at = is_down ? x->p->succ_at : x->p->pred_at;
    const int *link = is_down ? x->p->succ : x->p->pred;

    for (int k = s->member.at[g]; k < s->member.at[g + 1]; k++)
        for (int l = at[s->member.item[k]]; l < at[s->member.item[k] + 1]; l++)
            if (s->device[link[l]] == from && !take_group(x, x->m->group[link[l]], to))
                return false;
    return true;
}

/* Draws the groups of a move into moved[], and where they go. False: there is no such move. */
static bool propose(search *x, int *to)
{
    const weft_problem *p = x->p;
    int u = weft_rng_below(&x->rng, p->n_tasks), from = x->s->device[u];
    bool is_down = weft_rng_below(&x->rng, 2) == 0;
    const int *at = is_down ? p->succ_at : p->pred_at, *link = is_down ? p->succ : p->pred;
    int n = at[u + 1] - at[u];

    *to = -1;
    if (n > 0 && weft_rng_below(&x->rng, 16) > 0)
        *to = x->s->device[link[at[u] + weft_rng_below(&x->rng, n)]];
    if (*to < 0 || (*to == from && weft_rng_below(&x->rng, 8) == 0))
        *to = weft_rng_below(&x->rng, p->n_devices);
    if (*to == from || !take_group(x, x->m->group[u], *to))
        return false;
    if (from == p->host || weft_rng_below(&x->rng, 2) == 0)
        return true;
    for (int i = 0; i < x->n_moved; i++)
        if (!take_neighbours(x, x->moved[i], from, *to, is_down))
            return false;
    return true;
}

static void apply(search *x, int to)
{
    for (int i = 0; i < x->n_moved; i++)
        weft_calls_state_move(x->s, x->moved[i], to);
}

static void undo(search *x)
{
    for (int i = x->n_moved - 1; i >= 0; i--)
        weft_calls_state_move(x->s, x->moved[i], x->old[i]);
}

static void forget_move(search *x)
{
    for (int i = 0; i < x->n_moved; i++)
        x->is_moved[x->moved[i]] = false;
    x->n_moved = 0;
}

/* --- annealing ------------------------------------------------------------------------------- */

/* What is annealed, in its parts. */
typedef struct merit {
    double value_s; /* INFINITY: not legal */
    double sum_s;   /* of all calls */
    double over;    /* missing memory, in parts of what is there */
} merit;

static merit merit_of(search *x)
{
    const weft_problem *p = x->p;
    merit q = {weft_calls_state_value(x->s), 0, 0};

    for (int d = 0; d < p->n_devices; d++) {
        if (d != p->host)
            q.sum_s += x->s->call_s[d];
        if (!weft_calls_state_fits(x->s, d))
            q.over += fmin(x->s->bytes[d] / p->capacity[d] - 1, MOST_OVER);
    }
    return q;
}

static void tell_progress(const search *x)
{
    if (x->run->progress)
        x->run->progress(x->run->context, x->best_s, x->bound.bound);
}

/* Sums are made anew first: rounding must not make a placement fit. */
static void keep_if_best(search *x, const merit *q)
{
    merit anew;

    if (q->over > 0 || !(q->value_s < x->best_s * (1 - 1e-12)))
        return;
    weft_calls_state_set(x->s, x->s->device);
    anew = merit_of(x);
    if (anew.over > 0 || !(anew.value_s < x->best_s))
        return;
    x->best_s = anew.value_s;
    memcpy(x->best, x->s->device, (size_t)x->p->n_tasks * sizeof *x->best);
    tell_progress(x);
}

static bool is_proved(const search *x)
{
    return x->best_s <= x->bound.bound * (1 + EXACT);
}

static void count_step(search *x)
{
    x->n_steps++;
    if (x->run->steps > 0 && x->n_steps >= x->run->steps)
        x->is_over = true;
    if (x->n_steps % STEPS_PER_LOOK == 0 && weft_run_is_over(x->run))
        x->is_over = true;
}

/* One round of n steps from the start; `at` runs from 0 to 1. */
static void anneal(search *x, int64_t n)
{
    double hot = HOT[weft_rng_below(&x->rng, 4)];
    bool is_strict = weft_rng_below(&x->rng, 2) == 0;
    merit now, next;

    weft_calls_state_set(x->s, x->start);
    now = merit_of(x);
    keep_if_best(x, &now);
    for (int64_t i = 0; i < n && !x->is_over && !is_proved(x); i++) {
        double at = (double)i / (double)n, worse_s;
        double heat_s = x->scale_s * hot * pow(COLD / hot, at);
        double over_s = x->scale_s * OVER_FIRST * pow(OVER_LAST / OVER_FIRST, at);
        int to = 0;

        count_step(x);
        if (propose(x, &to)) {
            apply(x, to);
            next = merit_of(x);
            if (is_strict && next.over > now.over)
                next.value_s = INFINITY;
            worse_s = next.value_s - now.value_s + SUM_SHARE * (next.sum_s - now.sum_s) +
                      over_s * (next.over - now.over);
            if (worse_s <= 0 || weft_rng_real(&x->rng) < exp(-worse_s / heat_s)) {
                now = next;
                keep_if_best(x, &now);
            } else {
                undo(x);
            }
        }
        forget_move(x);
    }
}

/* --- where to start -------------------------------------------------------------------------- */

/* The n-th placement to try: the host, single devices, random ones. */
static void draw_start(search *x, int n)
{
    const weft_problem *p = x->p;

    for (int g = 0; g < x->m->n_groups; g++) {
        const bool *has = x->m->has + (size_t)g * (size_t)p->n_devices;
        int d = n == 0              ? p->host
                : n <= p->n_devices ? n - 1
                                    : weft_rng_below(&x->rng, p->n_devices);

        for (int i = 0; i < p->n_devices && !has[d]; i++)
            d = i;
        weft_calls_state_move(x->s, g, d);
    }
}

/* False: no placement without a circle was found. */
static bool find_start(search *x)
{
    int *start = WEFT_NEW(x->run->scratch, int, x->p->n_tasks);
    bool is_found = false;

    for (int n = 0; n < 2 * x->p->n_devices + 64 && !is_found; n++) {
        draw_start(x, n);
        is_found = weft_calls_state_value(x->s) < INFINITY;
    }
    memcpy(start, x->s->device, (size_t)x->p->n_tasks * sizeof *start);
    x->start = start;
    return is_found;
}

/* Devices filled one after another, in the order of the tasks: calls that hardly wait for each
 * other, and where memory is tight a plan at all. */
static void try_filling(search *x)
{
    const weft_problem *p = x->p;
    double *bytes = WEFT_NEW(x->run->scratch, double, p->n_devices);
    int *device = WEFT_NEW(x->run->scratch, int, p->n_tasks), d = 0;
    merit q;

    for (int u = 0; u < p->n_tasks; u++)
        device[u] = -1;
    for (int u = 0; u < p->n_tasks; u++) {
        int g = x->m->group[u], n = 0;
        double more = weft_domain_bytes(x->m, g);

        if (device[u] >= 0)
            continue;
        while (n < p->n_devices && !(x->m->has[(size_t)g * (size_t)p->n_devices + (size_t)d] &&
                                     weft_fits(bytes[d] + more, p->capacity[d]))) {
            d = (d + 1) % p->n_devices;
            n++;
        }
        if (n == p->n_devices) /* no device has room for it, or none that has supports it */
            return;
        bytes[d] += more;
        for (int k = x->s->member.at[g]; k < x->s->member.at[g + 1]; k++)
            device[x->s->member.item[k]] = d;
    }
    weft_calls_state_set(x->s, device);
    q = merit_of(x);
    keep_if_best(x, &q);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... */
static int64_t luby(int64_t i)
{
    int64_t size = 1;

    while (size < i + 1)
        size = 2 * size + 1;
    while (size - 1 != i) {
        size = (size - 1) / 2;
        i %= size;
    }
    return (size + 1) / 2;
}

/* Tries paths for about a fifth of the time that n steps take. */
static void raise_bound(search *x, int64_t n)
{
    double length = x->bound.n_path;
    int64_t n_tries = 1 + (int64_t)(5 * (double)n / (1 + length * length));

    for (int64_t i = 0; i < n_tries && !x->is_over && !is_proved(x); i++) {
        count_step(x);
        if (weft_run_is_over(x->run))
            x->is_over = true;
        else if (weft_calls_paths_try(x->paths)) {
            weft_calls_paths_best(x->paths, &x->bound);
            tell_progress(x);
        }
    }
    weft_calls_paths_best(x->paths, &x->bound);
}

static void run_rounds(search *x)
{
    bool is_limited = x->run->limit_s < INFINITY || x->run->steps > 0;
    int64_t unit = (int64_t)STEPS_PER_TASK * x->p->n_tasks, n_units = 0;

    if (unit < LEAST_STEPS)
        unit = LEAST_STEPS;
    for (int64_t i = 0; !x->is_over && !is_proved(x); i++) {
        int64_t n = luby(i);

        if (!is_limited && n_units >= DEFAULT_UNITS)
            break;
        anneal(x, n * unit);
        raise_bound(x, n * unit);
        n_units += n;
    }
}

static search new_search(const weft_domain *m, weft_run *run)
{
    weft_arena *a = run->scratch;
    search x = {.m = m, .p = m->problem, .run = run, .best_s = INFINITY};

    x.rng = weft_rng_seed((uint64_t)run->seed);
    x.s = weft_calls_state_new(m, a);
    x.best = WEFT_NEW(a, int, m->problem->n_tasks);
    x.moved = WEFT_NEW(a, int, m->n_groups);
    x.old = WEFT_NEW(a, int, m->n_groups);
    x.is_moved = WEFT_NEW(a, bool, m->n_groups);
    x.paths = weft_calls_paths_new(m, (uint64_t)run->seed, a);
    weft_calls_paths_best(x.paths, &x.bound);
    return x;
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain m = weft_domain_new(p, run->scratch);
    search x;

    (void)options;
    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (m.is_empty || p->transfer != WEFT_CALLS)
        return WEFT_OK;
    if (p->constraints.goal == WEFT_THROUGHPUT)
        return p->constraints.is_contiguous ? weft_calls_contiguous(p, run, plan, proof)
                                            : weft_calls_free(p, run, plan, proof);
    x = new_search(&m, run);
    try_filling(&x);
    if (x.bound.bound < INFINITY && find_start(&x)) {
        x.scale_s = x.bound.bound > 0 ? x.bound.bound : weft_calls_state_value(x.s);
        run_rounds(&x);
    }
    *proof = x.bound;
    proof->outcome = x.bound.bound < INFINITY ? WEFT_UNKNOWN : WEFT_INFEASIBLE;
    if (!(x.best_s < INFINITY))
        return WEFT_OK;
    proof->outcome = WEFT_BOUNDED;
    for (int u = 0; u < p->n_tasks; u++) {
        plan->device[u] = x.best[u];
        plan->start_s[u] = u;
    }
    return WEFT_OK;
}

static bool applies(const weft_problem *p)
{
    return p->transfer == WEFT_CALLS;
}

const weft_solver weft_place_calls = {
    .name = "calls",
    .summary =
        "semantics calls: calls by annealing with a path bound; streams, pipelines proved optimal",
    .solve = solve,
    .applies = applies,
    .searches =
        (const weft_search_method[]){{"ideals", WEFT_FOR_CALLS}, {"cut", WEFT_FOR_CALLS}, {0}},
};
