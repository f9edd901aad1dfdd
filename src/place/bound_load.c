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
 * Time O(tasks * devices) a step, the number of steps limited by a constant amount of work. */
#include "list.h"

#include <math.h>

enum { ASCENT_STEPS = 400, POLISH_ROUNDS = 400 };
static const double MOST_WORK = 5e7;    /* tasks * devices * steps */
static const double FINEST = 1e-10;     /* last factor of the polish, less 1 */
static const double INDIFFERENT = 1e-9; /* relative difference of costs that counts as none */

typedef struct pricing {
    const weft_domain *domain;
    double *price, *best, *trial; /* [n_devices] */
    double *load_s;               /* [n_devices] of the cheapest choices */
    double value;                 /* of `best` */
    double work;
} pricing;

static double least_price(const weft_domain *m, const double *price, int u)
{
    double least = INFINITY;

    for (int d = 0; d < m->problem->n_devices; d++) {
        double cost = price[d] * weft_task_s(m->problem, u, d);

        if (cost < least && weft_domain_has(m, u, d)) /* 0 * INFINITY is not less */
            least = cost;
    }
    return least;
}

static const double smallest_sum = 1e-100;

/* The bound of any prices: they are divided by their sum. Not prices at all: 0; so are prices so
 * small that products with them lose digits. */
static double value_of(const weft_domain *m, const double *price)
{
    double sum = 0, value = 0;

    for (int d = 0; d < m->problem->n_devices; d++) {
        if (!(price[d] >= 0))
            return 0;
        sum += price[d];
    }
    if (!(sum >= smallest_sum) || !(sum < INFINITY))
        return 0;
    for (int u = 0; u < m->problem->n_tasks; u++)
        value += least_price(m, price, u);
    return value / sum;
}

/* Certificates have prices of sum 1. */
static bool is_normal(const double *price, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += price[d];
    return fabs(sum - 1) <= 1e-9;
}

double weft_load_bound_of(const weft_problem *p, const double *price)
{
    weft_arena *a = weft_arena_new();
    weft_domain m = weft_domain_new(p, a);
    double value = is_normal(price, p->n_devices) ? value_of(&m, price) : 0;

    if (p->transfer == WEFT_CALLS && p->ask.goal == WEFT_LATENCY)
        value = 0; /* the host runs any number of tasks at once */
    weft_arena_free(a);
    return value;
}

/* Keeps the prices, scaled to sum 1, if they are better than the best so far. */
static bool keep(pricing *s, const double *price)
{
    int n = s->domain->problem->n_devices;
    double value = value_of(s->domain, price), sum = 0;

    s->work += (double)s->domain->problem->n_tasks * n;
    if (!(value > s->value))
        return false;
    s->value = value;
    for (int d = 0; d < n; d++)
        sum += price[d];
    for (int d = 0; d < n; d++)
        s->best[d] = price[d] / sum;
    return true;
}

static void spread_load(pricing *s, int u)
{
    const weft_problem *p = s->domain->problem;
    double limit = least_price(s->domain, s->price, u) * (1 + INDIFFERENT);
    int n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int d = 0; d < p->n_devices; d++) {
            double length_s = weft_task_s(p, u, d);

            if (!weft_domain_has(s->domain, u, d) || s->price[d] * length_s > limit)
                continue;
            if (pass == 0)
                n++;
            else
                s->load_s[d] += length_s / n;
        }
    }
}

/* One step of the ascent; its size is relative to the mean load. */
static void raise_prices(pricing *s, double size)
{
    const weft_problem *p = s->domain->problem;
    double mean_s = 0, sum = 0;

    for (int d = 0; d < p->n_devices; d++)
        s->load_s[d] = 0;
    for (int u = 0; u < p->n_tasks; u++)
        spread_load(s, u);
    for (int d = 0; d < p->n_devices; d++)
        mean_s += s->price[d] * s->load_s[d];
    if (!(mean_s > 0))
        return;
    for (int d = 0; d < p->n_devices; d++) {
        s->price[d] *= exp(size * fmin(1.0, s->load_s[d] / mean_s - 1));
        sum += s->price[d];
    }
    for (int d = 0; d < p->n_devices; d++)
        s->price[d] /= sum;
}

static void ascend(pricing *s)
{
    for (int step = 0; step < ASCENT_STEPS && s->work < MOST_WORK / 2; step++) {
        raise_prices(s, 1.0 / (1.0 + 0.1 * step));
        keep(s, s->price);
    }
}

static bool try_factor(pricing *s, int d, double factor)
{
    for (int e = 0; e < s->domain->problem->n_devices; e++)
        s->trial[e] = s->best[e];
    s->trial[d] *= factor;
    return keep(s, s->trial);
}

static void polish(pricing *s)
{
    double size = 0.1;

    for (int round = 0; round < POLISH_ROUNDS && size > FINEST && s->work < MOST_WORK; round++) {
        bool is_better = false;

        for (int d = 0; d < s->domain->problem->n_devices; d++) {
            if (try_factor(s, d, 1 + size) || try_factor(s, d, 1 / (1 + size)))
                is_better = true;
        }
        if (!is_better)
            size /= 2;
    }
}

void weft_load_bound(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    int n = m->problem->n_devices;
    pricing s = {.domain = m, .best = WEFT_NEW(a, double, n), .value = -1};
    size_t mark = weft_arena_mark(a);

    s.price = WEFT_NEW(a, double, n);
    s.trial = WEFT_NEW(a, double, n);
    s.load_s = WEFT_NEW(a, double, n);
    for (int d = 0; d < n; d++)
        s.price[d] = 1.0 / n;
    keep(&s, s.price);
    for (int d = 0; d < n; d++) {
        s.trial[d] = 1;
        keep(&s, s.trial);
        s.trial[d] = 0;
    }
    ascend(&s);
    polish(&s);
    weft_arena_rewind(a, mark);
    out->bound = value_of(m, s.best); /* what the certificate gives, to the last bit */
    out->method = "load";
    out->price = s.best;
}
