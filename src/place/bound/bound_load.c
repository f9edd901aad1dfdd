/* SPDX-License-Identifier: MIT */
/* bound_load.c: work that must be done somewhere.
 *
 * For prices pi >= 0 with sum 1 the largest load of a device is at least
 *     sum over tasks of min over devices d of pi[d] * time of the task on d,
 * because an average is no larger than the maximum, and each task pays at least its cheapest
 * device. A makespan or a period is no less than the largest load, whatever the transfers (but for
 * a makespan under calls, where the host runs tasks side by side). The best prices are the dual
 * solution of the linear program that splits tasks over devices at will.
 *
 * 1. Start: equal prices; also all of the price on one device (work that only it can do).
 * 2. Ascent: prices of devices with more than their share of the load grow, by a factor whose
 *    effect fades with the steps. Tasks that are indifferent are shared among their devices.
 * 3. Polish: one price at a time is scaled up and down, by finer and finer factors.
 *
 * Any prices give a valid bound; how close it comes to the best is not guaranteed. Deterministic.
 * Time O(tasks * devices) a step of the ascent, O(tasks) for a scaled price unless it is kept; the
 * number of steps is limited by a constant amount of work. */
#include "bound.h"

#include <math.h>
#include <string.h>

enum { ASCENT_STEPS = 400, POLISH_ROUNDS = 400 };
static const double MOST_WORK = 5e7;         /* tasks * devices * steps */
static const double MOST_WORK_OF_PART = 5e5; /* the same for a part of the tasks */
static const double FINEST = 1e-10;          /* last factor of the polish, less 1 */
static const double INDIFFERENT = 1e-9;      /* relative difference of costs that counts as none */

/* Times of some tasks, INFINITY where they cannot run. */
typedef struct times {
    const double *time_s; /* [task * n_devices + device] */
    const int *task;      /* [n] */
    int n, n_devices;
} times;

/* Of a task under the best prices. */
typedef struct choice {
    double least, second; /* costs on the cheapest device, and on the cheapest of the others */
    int device;           /* the cheapest; -1: there is none */
} choice;

typedef struct pricing {
    times tasks;
    double *time_of;              /* [device * tasks.n + i] the same times */
    choice *choice;               /* [tasks.n] */
    double *price, *best, *trial; /* [n_devices] */
    double *load_s;               /* [n_devices] of the cheapest choices */
    double value;                 /* of `best` */
    double work, most_work;
} pricing;

static const double *row(const times *t, int i)
{
    return t->time_s + (size_t)t->task[i] * (size_t)t->n_devices;
}

static double least_price(const times *t, const double *price, int i)
{
    const double *time_s = row(t, i);
    double least = INFINITY;

    for (int d = 0; d < t->n_devices; d++) {
        double cost = price[d] * time_s[d];

        least = cost < least ? cost : least; /* false where it cannot run: 0 * INFINITY is NAN */
    }
    return least;
}

static const double smallest_sum = 1e-100;

/* 0 if these are no prices, or so small that products with them lose digits. */
static double sum_of(const double *price, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++) {
        if (!(price[d] >= 0))
            return 0;
        sum += price[d];
    }
    return sum >= smallest_sum && sum < INFINITY ? sum : 0;
}

/* What all tasks pay, each on its cheapest device. */
static double cost_of(const times *t, const double *price)
{
    double cost = 0;

    for (int i = 0; i < t->n; i++)
        cost += least_price(t, price, i);
    return cost;
}

/* The bound of any prices: they are divided by their sum. Not prices at all: 0. */
static double value_of(const times *t, const double *price)
{
    double sum = sum_of(price, t->n_devices);

    return sum > 0 ? cost_of(t, price) / sum : 0;
}

/* Certificates have prices of sum 1. */
static bool is_normal(const double *price, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += price[d];
    return fabs(sum - 1) <= 1e-9;
}

/* All tasks of a problem. */
static times times_of(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    double *time_s = WEFT_NEW(a, double, (size_t)p->n_tasks *(size_t)p->n_devices);
    int *task = WEFT_NEW(a, int, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        task[u] = u;
        for (int d = 0; d < p->n_devices; d++)
            time_s[u * p->n_devices + d] =
                weft_domain_has(m, u, d) ? weft_task_s(p, u, d) : INFINITY;
    }
    return (times){time_s, task, p->n_tasks, p->n_devices};
}

double weft_load_bound_of(const weft_problem *p, const double *price)
{
    weft_arena *a = weft_arena_new();
    weft_domain m = weft_domain_new(p, a);
    times t = times_of(&m, a);
    double value = is_normal(price, p->n_devices) ? value_of(&t, price) : 0;

    if (p->transfer == WEFT_CALLS && p->constraints.goal == WEFT_LATENCY)
        value = 0; /* the host runs any number of tasks at once */
    weft_arena_free(a);
    return value;
}

/* Keeps prices, scaled to sum 1, if they are better than the best so far; `cost` is what all tasks
 * pay. */
static bool keep(pricing *s, const double *price, double cost)
{
    int n = s->tasks.n_devices;
    double sum = sum_of(price, n);

    s->work += (double)s->tasks.n * n;
    if (!(sum > 0) || !(cost / sum > s->value))
        return false;
    s->value = cost / sum;
    for (int d = 0; d < n; d++)
        s->best[d] = price[d] / sum;
    return true;
}

/* Adds the time of a task to its cheapest devices; returns its cost there. */
static double spread_load(pricing *s, int i)
{
    const double *time_s = row(&s->tasks, i);
    double least = least_price(&s->tasks, s->price, i), limit = least * (1 + INDIFFERENT);
    int n = 0, last = 0;

    for (int d = 0; d < s->tasks.n_devices; d++) {
        bool is_cheapest = s->price[d] * time_s[d] <= limit && time_s[d] < INFINITY;

        n += is_cheapest;
        last = is_cheapest ? d : last;
    }
    for (int d = n > 1 ? 0 : last; d <= last && n > 0; d++) {
        if (s->price[d] * time_s[d] <= limit && time_s[d] < INFINITY)
            s->load_s[d] += time_s[d] / n;
    }
    return least;
}

/* A factor near e^x for x in [-1, 1], by operations that all machines round alike. */
static double growth(double x)
{
    return (1 + x / 2 + x * x / 12) / (1 - x / 2 + x * x / 12);
}

/* One step of the ascent; its size is relative to the mean load. */
static void raise_prices(pricing *s, double size)
{
    int n = s->tasks.n_devices;
    double mean_s = 0, sum = 0, cost = 0;

    for (int d = 0; d < n; d++)
        s->load_s[d] = 0;
    for (int i = 0; i < s->tasks.n; i++)
        cost += spread_load(s, i);
    keep(s, s->price, cost);
    for (int d = 0; d < n; d++)
        mean_s += s->price[d] * s->load_s[d];
    if (!(mean_s > 0))
        return;
    for (int d = 0; d < n; d++) {
        s->price[d] *= growth(size * fmin(1.0, s->load_s[d] / mean_s - 1));
        sum += s->price[d];
    }
    for (int d = 0; d < n; d++)
        s->price[d] /= sum;
}

static void ascend(pricing *s)
{
    for (int step = 0; step < ASCENT_STEPS && s->work < s->most_work / 2; step++)
        raise_prices(s, 1.0 / (1.0 + 0.1 * step));
    keep(s, s->price, cost_of(&s->tasks, s->price));
}

/* Finds what each task pays under the best prices, and what it would without its device. */
static void rank_devices(pricing *s)
{
    const times *t = &s->tasks;

    for (int i = 0; i < t->n; i++) {
        const double *time_s = row(t, i);
        choice c = {INFINITY, INFINITY, -1};

        for (int d = 0; d < t->n_devices; d++) {
            double cost = s->best[d] * time_s[d];

            if (cost < c.least) {
                c.second = c.least;
                c.least = cost;
                c.device = d;
            } else if (cost < c.second) {
                c.second = cost;
            }
        }
        s->choice[i] = c;
    }
}

/* The same as cost_of, if only the price of device d differs from the best ones. */
static double cost_with(const pricing *s, double price, int d)
{
    const double *time_s = s->time_of + (size_t)d * (size_t)s->tasks.n;
    double cost = 0;

    for (int i = 0; i < s->tasks.n; i++) {
        const choice *c = &s->choice[i];
        double other = c->device == d ? c->second : c->least, here = price * time_s[i];

        cost += here < other ? here : other;
    }
    return cost;
}

static bool try_factor(pricing *s, int d, double factor)
{
    for (int e = 0; e < s->tasks.n_devices; e++)
        s->trial[e] = s->best[e];
    s->trial[d] *= factor;
    if (!keep(s, s->trial, cost_with(s, s->trial[d], d)))
        return false;
    rank_devices(s);
    return true;
}

static void polish(pricing *s)
{
    double size = 0.1;

    rank_devices(s);
    for (int round = 0; round < POLISH_ROUNDS && size > FINEST && s->work < s->most_work; round++) {
        bool is_better = false;

        for (int d = 0; d < s->tasks.n_devices; d++) {
            if (try_factor(s, d, 1 + size) || try_factor(s, d, 1 / (1 + size)))
                is_better = true;
        }
        if (!is_better)
            size /= 2;
    }
}

static void turn_times(pricing *s)
{
    for (int i = 0; i < s->tasks.n; i++) {
        for (int d = 0; d < s->tasks.n_devices; d++)
            s->time_of[(size_t)d * (size_t)s->tasks.n + (size_t)i] = row(&s->tasks, i)[d];
    }
}

/* The prices found, of sum 1. */
static double *find_prices(const times *t, double most_work, weft_arena *a)
{
    int n = t->n_devices;
    pricing s = {.tasks = *t, .best = WEFT_NEW(a, double, n), .value = -1, .most_work = most_work};
    size_t mark = weft_arena_mark(a);

    s.price = WEFT_NEW(a, double, n);
    s.trial = WEFT_NEW(a, double, n);
    s.load_s = WEFT_NEW(a, double, n);
    s.time_of = WEFT_NEW(a, double, (size_t)n *(size_t)t->n);
    s.choice = WEFT_NEW(a, choice, t->n);
    turn_times(&s);
    for (int d = 0; d < n; d++)
        s.price[d] = 1.0 / n;
    for (int d = 0; d < n; d++) {
        s.trial[d] = 1;
        keep(&s, s.trial, cost_of(t, s.trial));
        s.trial[d] = 0;
    }
    ascend(&s);
    polish(&s);
    weft_arena_rewind(a, mark);
    return s.best;
}

double weft_priced_mapping_bound(const weft_subproblem *x, const int *task, int n, double *price,
                                 weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    times t = {x->time_s, task, n, x->n_devices};
    double *best = find_prices(&t, MOST_WORK_OF_PART, a), value = value_of(&t, best);

    if (price != NULL)
        memcpy(price, best, sizeof *price * (size_t)x->n_devices);
    weft_arena_rewind(a, mark);
    return value;
}

void weft_load_bound(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    double *price = WEFT_NEW(a, double, m->problem->n_devices), *best;
    size_t mark = weft_arena_mark(a);
    times t = times_of(m, a);

    best = find_prices(&t, MOST_WORK, a);
    out->bound = value_of(&t, best); /* what the certificate gives, to the last bit */
    out->method = out->certified_by = "load";
    memcpy(price, best, sizeof *price * (size_t)t.n_devices);
    out->price = price;
    weft_arena_rewind(a, mark);
}
