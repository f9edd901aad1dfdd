/* SPDX-License-Identifier: MIT */
/* place_anneal.c: simulated annealing of mappings, as it is usual for task graphs on multiprocessors.
 *
 * 1. All groups begin on the device that does all fastest (each group that it cannot run: on its
 *    own fastest). Tasks of a device run by falling upward rank.
 * 2. A move takes a random group to a random other device. It is accepted if the cost falls, or with
 *    the probability 1 / (1 + exp(rise / (0.5 * first cost * T))).
 * 3. L = groups * (devices - 1) moves are tried at each temperature, which then falls to 0.95 of it,
 *    from T0 = 2 t_max / (sum of times on the fastest device) to Tf = t_min / (2 * sum on the
 *    slowest). The search ends below Tf once L moves in a row were rejected.
 * 4. If limits allow more, it begins again with other random numbers, until 20 runs in a row found
 *    nothing better; the best plan is kept.
 *
 * A re-implementation, with the parameters that the authors give for directed task graphs: Orsila,
 * Kangas, Salminen, Hamalainen, Int. Symposium on System-on-Chip, 2006. No guarantee. A step is a
 * run of the simulator. */
#include "placer.h"

#include <string.h>

static const double COOLING = 0.95, FACTOR = 2, HALF = 0.5;

typedef struct annealing {
    weft_placer x;
    weft_rng rng;
    int *device;       /* [n_groups] */
    double *key;       /* [n_tasks] places by falling upward rank */
    double first_cost; /* of all groups on one device */
    double cost, hot, cold;
    int64_t n_level; /* moves at a temperature */
} annealing;

/* Sums over all tasks on a device; a task that it does not support counts with its least time. */
static double sum_on(const weft_problem *p, int d)
{
    double sum_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        double s = weft_task_s(p, u, d);

        for (int e = 0; e < p->n_devices && !(s < INFINITY); e++)
            s = weft_task_s(p, u, e);
        sum_s += s < INFINITY ? s : 0;
    }
    return sum_s;
}

/* Returns the device that does all fastest. */
static int set_temperatures(annealing *s)
{
    const weft_problem *p = s->x.p;
    double longest_s = 0, shortest_s = INFINITY, fast_s = INFINITY, slow_s = 0;
    int fastest = 0;

    for (int i = 0; i < p->n_tasks * p->n_devices; i++)
        if (p->seconds[i] < INFINITY && p->seconds[i] > 0) {
            longest_s = fmax(longest_s, p->seconds[i]);
            shortest_s = fmin(shortest_s, p->seconds[i]);
        }
    for (int d = 0; d < p->n_devices; d++) {
        double sum_s = sum_on(p, d);

        fastest = sum_s < fast_s ? d : fastest;
        fast_s = fmin(fast_s, sum_s);
        slow_s = fmax(slow_s, sum_s);
    }
    s->hot = fast_s > 0 ? FACTOR * longest_s / fast_s : 1;
    s->cold = slow_s > 0 && shortest_s < INFINITY ? shortest_s / (FACTOR * slow_s) : s->hot;
    return fastest;
}

static void begin(annealing *s, int fastest)
{
    const weft_placer *x = &s->x;

    for (int g = 0; g < x->n_groups; g++) {
        s->device[g] = x->fastest[g];
        for (int i = 0; i < x->n_choices[g]; i++)
            if (x->choice[g * x->p->n_devices + i] == fastest)
                s->device[g] = fastest;
    }
    for (int u = 0; u < x->p->n_tasks; u++) /* a task precedes what reads it, on a tie too */
        s->key[u] = x->upward[0] - x->upward[u];
    s->cost = s->first_cost = weft_placer_cost(&s->x, s->device, s->key);
}

/* True if the move was accepted. */
static bool move(annealing *s, double temperature)
{
    weft_placer *x = &s->x;
    int g = weft_rng_below(&s->rng, x->n_groups), old = s->device[g];
    int d = x->choice[g * x->p->n_devices + weft_rng_below(&s->rng, x->n_choices[g])];
    double cost, rise;

    if (d == old)
        return false;
    s->device[g] = d;
    cost = weft_placer_cost(x, s->device, s->key);
    rise = cost - s->cost;
    if (cost < s->cost || !(s->cost < INFINITY) ||
        weft_rng_real(&s->rng) < 1 / (1 + exp(rise / (HALF * s->first_cost * temperature)))) {
        s->cost = cost;
        return true;
    }
    s->device[g] = old;
    return false;
}

static void anneal(annealing *s)
{
    int64_t n_rejected = 0;

    for (double t = s->hot;; t *= COOLING) {
        for (int64_t i = 0; i < s->n_level; i++) {
            if (weft_placer_is_over(&s->x))
                return;
            n_rejected = move(s, t) ? 0 : n_rejected + 1;
        }
        if (t <= s->cold && n_rejected >= s->n_level)
            return;
        if (t < s->cold * s->cold) /* a plain where nothing is worse is never left */
            return;
    }
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    annealing s = {.x = weft_placer_new(p, run)};
    bool is_limited = run->steps > 0 || run->limit_s < INFINITY;
    int fastest;

    (void)options;
    if (s.x.is_empty || p->n_tasks == 0)
        return WEFT_OK;
    s.rng = weft_rng_seed((uint64_t)run->seed);
    s.device = WEFT_NEW(s.x.a, int, s.x.n_groups);
    s.key = WEFT_NEW(s.x.a, double, p->n_tasks);
    for (int g = 0; g < s.x.n_groups; g++) /* groups that cannot move are none */
        s.n_level += s.x.n_choices[g] > 1 ? p->n_devices - 1 : 0;
    fastest = set_temperatures(&s);
    do {
        begin(&s, fastest);
        if (s.n_level > 0)
            anneal(&s);
    } while (is_limited && s.n_level > 0 && weft_placer_may_restart(&s.x));
    weft_placer_answer(&s.x, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_anneal = {
    .name = "anneal",
    .summary = "baseline: simulated annealing of mappings (Orsila et al.), simulated move by move",
    .solve = solve};
