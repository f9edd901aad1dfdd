/* SPDX-License-Identifier: MIT */
/* place_genetic.c: a genetic mapper for task graphs on unlike machines.
 *
 * 1. A chromosome is a matching string, a device for each group, and a scheduling string, an order of
 *    all tasks that keeps the dependences. The first population is drawn; one of its members has
 *    every group on its fastest device.
 * 2. Selection is a roulette wheel by rank: a sector is 1 + 1/P times the next worse one. The best
 *    chromosome always stays.
 * 3. With the probability 0.4 two parents cross: matching strings change what lies behind a point;
 *    of scheduling strings, what lies behind a point takes the order of the other parent. With the
 *    probability 0.1 a chromosome mutates: a group gets another device, a task another place among
 *    those that its neighbours leave.
 * 4. It ends after 1000 generations, or 150 without a better plan, or if all are as good. If limits
 *    allow more, it begins again with other random numbers, until 20 runs in a row found nothing
 *    better.
 *
 * A re-implementation, with population 200 (50 for up to 10 tasks) and the probabilities of the
 * authors: Wang, Siegel, Roychowdhury, Maciejewski, J. of Parallel and Distributed Computing 47(1),
 * 1997. No guarantee. A step is a run of the simulator. */
#include "placer.h"

#include <stdlib.h>
#include <string.h>

enum {
    POPULATION = 200,
    FEW_TASKS = 10,
    FEW_POPULATION = 50,
    MOST_GENERATIONS = 1000,
    MOST_IDLE = 150,
};
static const double CROSSOVER = 0.4, MUTATION = 0.1;

typedef struct chromosome {
    int *device; /* [n_groups] the matching string */
    int *order;  /* [n_tasks] the scheduling string */
    double cost;
    bool is_new; /* cost is not known */
} chromosome;

typedef struct mapper {
    weft_placer x;
    weft_rng rng;
    int n;                  /* of the population */
    chromosome *now, *next; /* [n] */
    double *sector;         /* [n] sums of sectors, best first */
    double *key;            /* [n_tasks] */
    int *place;             /* [n_tasks] */
} mapper;

static chromosome *new_population(mapper *m)
{
    chromosome *list = WEFT_NEW(m->x.a, chromosome, m->n);

    for (int i = 0; i < m->n; i++) {
        list[i].device = WEFT_NEW(m->x.a, int, m->x.n_groups);
        list[i].order = WEFT_NEW(m->x.a, int, m->x.p->n_tasks);
    }
    return list;
}

static void copy(const mapper *m, chromosome *to, const chromosome *from)
{
    memcpy(to->device, from->device, sizeof *to->device * (size_t)m->x.n_groups);
    memcpy(to->order, from->order, sizeof *to->order * (size_t)m->x.p->n_tasks);
    to->cost = from->cost;
    to->is_new = from->is_new;
}

static int any_device(mapper *m, int g)
{
    return m->x.choice[g * m->x.p->n_devices + weft_rng_below(&m->rng, m->x.n_choices[g])];
}

/* Any order that keeps the dependences: of those that are ready, any comes next. */
static void draw_order(mapper *m, int *order)
{
    const weft_problem *p = m->x.p;
    int n_ready = 0, *waits = m->place;

    for (int u = 0; u < p->n_tasks; u++) {
        waits[u] = p->pred_at[u + 1] - p->pred_at[u];
        if (waits[u] == 0)
            order[n_ready++] = u;
    }
    for (int i = 0; i < p->n_tasks; i++) { /* order[i .. n_ready - 1] is ready */
        int j = i + weft_rng_below(&m->rng, n_ready - i), u = order[j];

        order[j] = order[i];
        order[i] = u;
        for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++)
            if (--waits[p->succ[k]] == 0)
                order[n_ready++] = p->succ[k];
    }
}

static void evaluate(mapper *m, chromosome *c)
{
    if (!c->is_new)
        return;
    for (int i = 0; i < m->x.p->n_tasks; i++)
        m->key[c->order[i]] = i;
    c->cost = weft_placer_cost(&m->x, c->device, m->key);
    c->is_new = false;
}

/* --- crossover and mutation ------------------------------------------------------------------ */

static void cross_matching(mapper *m, chromosome *a, chromosome *b)
{
    for (int g = weft_rng_below(&m->rng, m->x.n_groups); g < m->x.n_groups; g++) {
        int d = a->device[g];

        a->device[g] = b->device[g];
        b->device[g] = d;
    }
    a->is_new = b->is_new = true;
}

/* The tasks of a's order from `cut` on, in the order of b. */
static void follow(mapper *m, int *order, const int *other, int cut)
{
    int n = m->x.p->n_tasks, at = cut;

    for (int i = 0; i < n; i++)
        m->place[order[i]] = i;
    for (int i = 0; i < n; i++)
        if (m->place[other[i]] >= cut)
            order[at++] = other[i];
}

static void cross_scheduling(mapper *m, chromosome *a, chromosome *b, int *scratch)
{
    int n = m->x.p->n_tasks, cut = weft_rng_below(&m->rng, n);

    memcpy(scratch, a->order, sizeof *scratch * (size_t)n);
    follow(m, a->order, b->order, cut);
    follow(m, b->order, scratch, cut);
    a->is_new = b->is_new = true;
}

/* A task goes to any place behind the last it waits for and before the first that waits for it. */
static void mutate_order(mapper *m, chromosome *c)
{
    const weft_problem *p = m->x.p;
    int n = p->n_tasks, from = weft_rng_below(&m->rng, n), u = c->order[from], first = 0,
        last = n - 1;
    int to;

    for (int i = 0; i < n; i++)
        m->place[c->order[i]] = i;
    for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
        first = m->place[p->pred[i]] + 1 > first ? m->place[p->pred[i]] + 1 : first;
    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
        last = m->place[p->succ[i]] - 1 < last ? m->place[p->succ[i]] - 1 : last;
    to = first + weft_rng_below(&m->rng, last - first + 1);
    for (; from < to; from++)
        c->order[from] = c->order[from + 1];
    for (; from > to; from--)
        c->order[from] = c->order[from - 1];
    c->order[to] = u;
}

static void mutate(mapper *m, chromosome *c)
{
    if (weft_rng_real(&m->rng) < MUTATION) {
        int g = weft_rng_below(&m->rng, m->x.n_groups);

        c->device[g] = any_device(m, g);
        c->is_new = true;
    }
    if (weft_rng_real(&m->rng) < MUTATION) {
        mutate_order(m, c);
        c->is_new = true;
    }
}

/* --- generations ----------------------------------------------------------------------------- */

static int by_cost(const void *left, const void *right)
{
    const chromosome *a = left, *b = right;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return 0;
}

/* Evaluates what is new and sorts, the best first; equal ones keep their order. False: over. */
static bool rank(mapper *m)
{
    for (int i = 0; i < m->n; i++) {
        if (weft_placer_is_over(&m->x))
            return false;
        evaluate(m, &m->now[i]);
    }
    for (int i = 1; i < m->n; i++) { /* nearly sorted, and stable */
        chromosome c = m->now[i];
        int at = i;

        for (; at > 0 && by_cost(&c, &m->now[at - 1]) < 0; at--)
            m->now[at] = m->now[at - 1];
        m->now[at] = c;
    }
    return true;
}

static const chromosome *select_one(mapper *m)
{
    double at = weft_rng_real(&m->rng) * m->sector[m->n - 1];
    int low = 0, high = m->n - 1;

    while (low < high) {
        int middle = (low + high) / 2;

        if (m->sector[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return &m->now[low];
}

static void breed(mapper *m, int *scratch)
{
    chromosome *old = m->now;

    copy(m, &m->next[0], &m->now[0]);
    for (int i = 1; i < m->n; i++)
        copy(m, &m->next[i], select_one(m));
    for (int i = 1; i + 1 < m->n; i += 2) {
        if (weft_rng_real(&m->rng) < CROSSOVER)
            cross_matching(m, &m->next[i], &m->next[i + 1]);
        if (weft_rng_real(&m->rng) < CROSSOVER)
            cross_scheduling(m, &m->next[i], &m->next[i + 1], scratch);
    }
    for (int i = 1; i < m->n; i++)
        mutate(m, &m->next[i]);
    m->now = m->next;
    m->next = old;
}

static void draw_population(mapper *m)
{
    for (int i = 0; i < m->n; i++) {
        for (int g = 0; g < m->x.n_groups; g++)
            m->now[i].device[g] = i == 0 ? m->x.fastest[g] : any_device(m, g);
        draw_order(m, m->now[i].order);
        m->now[i].is_new = true;
    }
}

static void evolve(mapper *m, int *scratch)
{
    int n_idle = 0;
    double best = INFINITY;

    draw_population(m);
    for (int i = 0; i < MOST_GENERATIONS && n_idle < MOST_IDLE && rank(m); i++) {
        n_idle = m->now[0].cost < best ? 0 : n_idle + 1;
        best = m->now[0].cost;
        if (!(m->now[m->n - 1].cost > best) && best < INFINITY)
            return;
        breed(m, scratch);
    }
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    mapper m = {.x = weft_placer_new(p, run)};
    bool is_limited = run->steps > 0 || run->limit_s < INFINITY;
    double sector = 1;
    int *scratch;

    (void)options;
    if (m.x.is_empty || p->n_tasks == 0)
        return WEFT_OK;
    m.rng = weft_rng_seed((uint64_t)run->seed);
    m.n = p->n_tasks <= FEW_TASKS ? FEW_POPULATION : POPULATION;
    m.now = new_population(&m);
    m.next = new_population(&m);
    m.sector = WEFT_NEW(m.x.a, double, m.n);
    m.key = WEFT_NEW(m.x.a, double, p->n_tasks);
    m.place = WEFT_NEW(m.x.a, int, p->n_tasks);
    scratch = WEFT_NEW(m.x.a, int, p->n_tasks);
    for (int i = 0; i < m.n; i++, sector /= 1 + 1.0 / m.n)
        m.sector[i] = (i > 0 ? m.sector[i - 1] : 0) + sector;
    do
        evolve(&m, scratch);
    while (is_limited && weft_placer_may_restart(&m.x));
    weft_placer_answer(&m.x, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_genetic = {
    .name = "genetic",
    .summary = "baseline: a genetic mapper (Wang et al.) of devices and order, simulated",
    .solve = solve};
