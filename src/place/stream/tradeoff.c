/* SPDX-License-Identifier: MIT */
/* tradeoff.c: plans between least latency and least period.
 *
 * A mapping has a period; an order for it (mapping.c) and the simulator give a latency. Every plan
 * that is simulated and keeps memory enters the front: pairs of which none is beaten in both.
 * 1. Starts: the plans of the list schedulers as they are; the mappings of least period.
 * 2. Small problems: every mapping whose path bound with these devices and whose period are not
 *    beaten already is simulated, with the order of a list scheduler and, if that leaves room, with
 *    the best order (exact.c).
 * 3. Others: from each of the best starts a walk. A group moves, or two change places; a walk goes
 *    on from the new mapping if it breaks the limits less, or breaks none and the goal is smaller,
 *    or with a probability that fades.
 *
 * A heuristic: points of the front are simulated plans, better ones may exist. Deterministic. Time:
 * one simulation a step. */
#include "tradeoff.h"

#include "subproblem.h"

#include <math.h>
#include <string.h>

enum { MOST_MAPPINGS = 100000, MOST_ORDER_STATES = 2000, MOST_ORDERS = 3000 };

typedef struct trading {
    const weft_domain *domain;
    const weft_problem *p;
    weft_problem free; /* without limits */
    weft_domain free_domain;
    weft_mapping map;
    weft_front *front;
    weft_plan plan;
    const weft_subproblem *subproblem; /* of the whole; NULL: orders are not searched */
    double *end_s;                     /* [n_tasks] scratch of path bounds */
    int64_t left;                      /* simulations */
    int n_orders;                      /* mappings whose orders were searched */
    weft_run *run;
    weft_arena *a;
} trading;

/* --- fronts ---------------------------------------------------------------------------------- */

weft_front weft_front_new(weft_arena *a)
{
    return (weft_front){.arena = a};
}

static weft_plan copy_plan(const weft_plan *plan, weft_arena *a)
{
    weft_plan copy = weft_plan_new(plan->n_tasks, a);

    memcpy(copy.device, plan->device, (size_t)plan->n_tasks * sizeof *copy.device);
    memcpy(copy.start_s, plan->start_s, (size_t)plan->n_tasks * sizeof *copy.start_s);
    return copy;
}

/* Is there a point that is no worse in both? Rounding apart. */
static bool is_beaten(const weft_front *f, double latency_s, double period_s)
{
    for (int i = 0; i < f->n; i++)
        if (f->at[i].latency_s <= latency_s * (1 + 1e-12) &&
            f->at[i].period_s <= period_s * (1 + 1e-12))
            return true;
    return false;
}

bool weft_front_add(weft_front *f, double latency_s, double period_s, const weft_plan *plan)
{
    weft_tradeoff point = {latency_s, period_s, {0}};
    int n = 0, at;

    if (is_beaten(f, latency_s, period_s))
        return false;
    for (int i = 0; i < f->n; i++)
        if (f->at[i].latency_s < latency_s || f->at[i].period_s < period_s)
            f->at[n++] = f->at[i];
    f->n = n;
    f->at = weft_arena_grow(f->arena, f->at, f->n, &f->room, sizeof *f->at);
    for (at = f->n++; at > 0 && f->at[at - 1].latency_s > latency_s; at--)
        f->at[at] = f->at[at - 1];
    point.plan = copy_plan(plan, f->arena);
    f->at[at] = point;
    return true;
}

const weft_tradeoff *weft_front_best(const weft_front *f, const weft_constraints *constraints)
{
    const weft_tradeoff *best = NULL;

    for (int i = 0; i < f->n; i++) {
        const weft_tradeoff *x = &f->at[i];

        if (!weft_constraints_allow(constraints, x->latency_s, x->period_s))
            continue;
        if (best == NULL || (constraints->goal == WEFT_THROUGHPUT && x->period_s < best->period_s))
            best = x;
    }
    return best;
}

/* --- one mapping ----------------------------------------------------------------------------- */

static weft_tried try_mapping(trading *x, const int *device)
{
    weft_tried tried = weft_mapping_try(&x->free_domain, device, x->a, &x->plan);

    x->left--;
    if (tried.is_legal)
        weft_front_add(x->front, tried.latency_s, tried.period_s, &x->plan);
    return tried;
}

/* No order of this mapping is faster: its longest way. */
static double path_s(trading *x)
{
    const weft_problem *p = x->p;
    const int *device = x->map.device;
    double most_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        double ready_s = weft_input_s(p, u, device[u]);

        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            int t = p->arg[i], v = p->producer[t];

            if (v >= 0)
                ready_s = fmax(ready_s, x->end_s[v] + weft_data_s(p, t, device[v], device[u]));
        }
        x->end_s[u] = ready_s + weft_task_s(p, u, device[u]);
        most_s = fmax(most_s, x->end_s[u]);
    }
    return most_s;
}

/* The least latency that would still be news at this period. */
static double to_beat(const weft_front *f, double period_s)
{
    double least_s = INFINITY;

    for (int i = 0; i < f->n; i++)
        if (f->at[i].period_s <= period_s * (1 + 1e-12))
            least_s = fmin(least_s, f->at[i].latency_s);
    return least_s;
}

/* The best order for the mapping at hand, by the exact search of exact.c with all devices fixed. It
 * plans for transfers beside each other; the simulator judges. */
static void try_orders(trading *x, double period_s)
{
    const weft_problem *p = x->p;
    size_t mark = weft_arena_mark(x->a);
    weft_subproblem fixed = *x->subproblem;
    weft_effort effort = {
        .upper = to_beat(x->front, period_s), .most_states = MOST_ORDER_STATES, .run = x->run};
    double *time_s = WEFT_NEW(x->a, double, (size_t)p->n_tasks *(size_t)p->n_devices);
    weft_answer answer;
    weft_measures m;

    x->n_orders++;
    for (int i = 0; i < p->n_tasks * p->n_devices; i++)
        time_s[i] =
            i % p->n_devices == x->map.device[i / p->n_devices] ? fixed.time_s[i] : INFINITY;
    fixed.time_s = time_s;
    answer = weft_subproblem_solve(&fixed, &effort, x->a);
    if (answer.device != NULL) {
        memcpy(x->plan.device, x->map.device, (size_t)p->n_tasks * sizeof *x->plan.device);
        memcpy(x->plan.start_s, answer.start_s, (size_t)p->n_tasks * sizeof *x->plan.start_s);
        if (weft_evaluate(&x->free, &x->plan, x->a, &m) == WEFT_OK && m.over_device < 0)
            weft_front_add(x->front, m.makespan_s, m.period_s, &x->plan);
    }
    weft_arena_rewind(x->a, mark);
}

/* --- starts ---------------------------------------------------------------------------------- */

/* A plan of a list schedule with its own order. */
static void add_solver(trading *x, const weft_solver *solver)
{
    size_t mark = weft_arena_mark(x->a);
    weft_run quick = {.seed = x->run->seed, .n_threads = 1, .limit_s = INFINITY, .scratch = x->a};
    weft_plan plan = weft_plan_new(x->p->n_tasks, x->a);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};
    weft_measures m;

    if (solver->solve(&x->free, NULL, &quick, &plan, &proof) == WEFT_OK &&
        proof.outcome == WEFT_BOUNDED && weft_evaluate(&x->free, &plan, x->a, &m) == WEFT_OK &&
        m.over_device < 0) {
        weft_front_add(x->front, m.makespan_s, m.period_s, &plan);
        try_mapping(x, plan.device);
    }
    weft_arena_rewind(x->a, mark);
}

/* --- every mapping --------------------------------------------------------------------------- */

static double n_mappings(const weft_domain *m)
{
    double n = 1;

    for (int g = 0; g < m->n_groups; g++) {
        int k = 0;

        for (int d = 0; d < m->problem->n_devices; d++)
            k += m->has[g * m->problem->n_devices + d];
        n *= k;
    }
    return n;
}

/* Groups g and later on every device. */
static void try_all(trading *x, int g)
{
    int n_devices = x->p->n_devices;

    if (x->map.n_cut > 0 || x->map.n_over > 0 || weft_run_is_over(x->run))
        return;
    if (g == x->domain->n_groups) {
        /* one run keeps the busiest resource busy for its whole load */
        double period_s = weft_mapping_period(&x->map), least_s = fmax(path_s(x), period_s);

        if (!is_beaten(x->front, least_s, period_s))
            try_mapping(x, x->map.device);
        if (!is_beaten(x->front, least_s, period_s) && x->n_orders < MOST_ORDERS)
            try_orders(x, period_s);
        return;
    }
    for (int d = 0; d < n_devices; d++)
        if (x->domain->has[g * n_devices + d]) {
            weft_mapping_move(&x->map, g, d);
            weft_mapping_keep(&x->map);
            try_all(x, g + 1);
        }
    weft_mapping_move(&x->map, g, -1);
    weft_mapping_keep(&x->map);
}

/* --- walks ----------------------------------------------------------------------------------- */

/* How much a plan breaks the limits, then the goal: one number, the smaller the better. */
static double score(const trading *x, weft_tried t)
{
    const weft_constraints *constraints = &x->p->constraints;
    double over = 0;

    if (!t.is_legal)
        return INFINITY;
    if (constraints->most_latency_s > 0)
        over += fmax(0, t.latency_s / constraints->most_latency_s - 1);
    if (constraints->most_period_s > 0)
        over += fmax(0, t.period_s / constraints->most_period_s - 1);
    if (over > 1e-9)
        return 1e200 * (1 + over);
    return constraints->goal == WEFT_THROUGHPUT ? t.period_s : t.latency_s;
}

static bool propose(trading *x, weft_rng *rng)
{
    const weft_domain *m = x->domain;
    int n = m->n_groups, n_devices = x->p->n_devices, g = weft_rng_below(rng, n);
    int d = weft_rng_below(rng, n_devices), h = weft_rng_below(rng, n);

    if (weft_rng_below(rng, 3) == 0) {
        int from = x->map.home[g], to = x->map.home[h];

        if (from == to || !m->has[g * n_devices + to] || !m->has[h * n_devices + from])
            return false;
        weft_mapping_move(&x->map, g, to);
        weft_mapping_move(&x->map, h, from);
    } else {
        if (d == x->map.home[g] || !m->has[g * n_devices + d])
            return false;
        weft_mapping_move(&x->map, g, d);
    }
    if (x->map.n_cut == 0 && x->map.n_over == 0)
        return true;
    weft_mapping_undo_all(&x->map);
    return false;
}

static void walk(trading *x, const int *device, int64_t steps, uint64_t seed)
{
    weft_rng rng = weft_rng_seed(seed);
    double now;

    weft_mapping_set(&x->map, device);
    now = score(x, try_mapping(x, device));
    for (int64_t i = 0; i < steps && x->left > 0 && !weft_run_is_over(x->run); i++) {
        double heat = 0.05 * (1 - (double)i / (double)steps), next;

        if (!propose(x, &rng))
            continue;
        next = score(x, try_mapping(x, x->map.device));
        if (next <= now || weft_rng_real(&rng) < exp(-(next / now - 1) / (heat + 1e-9))) {
            weft_mapping_keep(&x->map);
            now = next;
        } else {
            weft_mapping_undo_all(&x->map);
        }
    }
}

/* Walks from the points of the front, those of the goal first. */
static void walk_all(trading *x)
{
    enum { MOST_WALKS = 6 };
    int n = x->front->n < MOST_WALKS ? x->front->n : MOST_WALKS;
    int **from = WEFT_NEW(x->a, int *, n + 1);
    int64_t share = n > 0 ? x->left / n : 0;

    for (int i = 0; i < n; i++) {
        int at = n == 1 ? 0 : i * (x->front->n - 1) / (n - 1);

        from[i] = weft_arena_copy(x->a, x->front->at[at].plan.device,
                                  (size_t)x->p->n_tasks * sizeof(int));
    }
    for (int i = 0; i < n; i++)
        walk(x, from[i], share, (uint64_t)x->run->seed + (uint64_t)i);
}

/* --- all ------------------------------------------------------------------------------------- */

int64_t weft_tradeoff_evaluations(const weft_problem *p, const weft_run *run)
{
    int64_t n = 400000 / p->n_tasks;

    if (run->steps > 0)
        return run->steps;
    return n < 150 ? 150 : n > 4000 ? 4000 : n;
}

bool weft_tradeoff_search(const weft_domain *m, const weft_candidates *found, int64_t evaluations,
                          weft_run *run, weft_front *front)
{
    bool is_small = n_mappings(m) <= MOST_MAPPINGS;
    const weft_problem *p = m->problem;
    trading x = {.domain = m,
                 .p = p,
                 .free = *p,
                 .free_domain = *m,
                 .map = weft_mapping_new(m, run->scratch),
                 .front = front,
                 .plan = weft_plan_new(p->n_tasks, run->scratch),
                 .end_s = WEFT_NEW(run->scratch, double, p->n_tasks),
                 .left = evaluations,
                 .run = run,
                 .a = run->scratch};
    static const weft_solver *const lists[] = {
        &weft_place_single, &weft_place_met,  &weft_place_greedy,   &weft_place_heft,
        &weft_place_cpop,   &weft_place_peft, &weft_place_lookahead};

    x.free.constraints.most_latency_s = x.free.constraints.most_period_s = 0;
    x.free_domain.problem = &x.free;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        add_solver(&x, lists[i]);
    for (int i = 0; i < found->n; i++)
        try_mapping(&x, found->device[i]);
    if (is_small) {
        x.subproblem = weft_subproblem_of(m, run->scratch);
        weft_mapping_clear(&x.map);
        try_all(&x, 0);
    } else {
        walk_all(&x);
    }
    return is_small;
}
