/* SPDX-License-Identifier: MIT */
/* baseline_walks.c: random search, simulated annealing and a genetic algorithm, to compare with.
 *
 * All have the same budget of evaluations and count only designs that were not tried before; a
 * search that proposes known designs again and again ends after 100 proposals an evaluation.
 *   random    designs within the limits, uniformly.
 *   anneal    one chain; a move changes one parameter by a place or two in opposite directions, which
 *             slides along a limit. Worse by a factor q is accepted with probability q^(1/T); T
 *             falls geometrically from 0.5 to 0.01 over the budget.
 *   genetic   32 designs, the best 2 survive; tournaments of two, uniform crossover, each parameter
 *             moves by a place with probability 1/6.
 * They know no bound but that of the lattice as one box.
 * Annealing: Kirkpatrick et al., Science 220, 1983. */
#include <math.h>

#include "baselines.h"

enum { PATIENCE = 100 };

static void bound_by_root(weft_evaluator *s)
{
    s->bound = weft_evaluator_root_top(s);
}

/* Evaluations to spend; without a budget as many as the fast path would never need. */
static double budget_of(const weft_evaluator *s)
{
    return s->most < INT64_MAX ? (double)s->most : 10000;
}

static bool is_finished(weft_evaluator *s, int64_t n_proposed)
{
    return weft_evaluator_is_over(s) || (double)s->n_evaluated >= budget_of(s) ||
           (double)n_proposed >= PATIENCE * budget_of(s);
}

static int64_t index_of(const weft_evaluator *s, const weft_design_point *p)
{
    return weft_point_index(s->objective.template_, p);
}

/* --- random ---------------------------------------------------------------------------------- */

weft_status weft_search_random(weft_evaluator *s)
{
    weft_rng r = weft_rng_seed((uint64_t)s->run->seed);
    int64_t n_proposed = 0, index[WEFT_EVALUATOR_BATCH];
    double value[WEFT_EVALUATOR_BATCH];

    bound_by_root(s);
    while (!is_finished(s, n_proposed)) {
        double left = budget_of(s) - (double)s->n_evaluated;
        int n = 0;

        while (n < WEFT_EVALUATOR_BATCH && n < left) {
            weft_design_point p;

            if (!weft_evaluator_draw(s, &r, &p))
                return WEFT_OK;
            index[n++] = index_of(s, &p);
        }
        n_proposed += n;
        WEFT_TRY(weft_evaluator_try(s, index, n, value));
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}

/* --- annealing ------------------------------------------------------------------------------- */

static bool shift(const weft_evaluator *s, weft_design_point *p, int k, bool is_up)
{
    int at = p->at[k] + (is_up ? 1 : -1);

    if (at < 0 || at >= s->objective.template_->n_sizes[k])
        return false;
    p->at[k] = (uint16_t)at;
    return true;
}

bool weft_evaluator_move(const weft_evaluator *s, weft_rng *r, weft_design_point *p)
{
    int k = weft_rng_below(r, WEFT_N_PARAMETERS);
    int other = (k + 1 + weft_rng_below(r, WEFT_N_PARAMETERS - 1)) % WEFT_N_PARAMETERS;
    bool is_up = weft_rng_below(r, 2) == 0, is_double = weft_rng_below(r, 2) == 0;
    bool is_inside = shift(s, p, k, is_up);

    if (is_inside && is_double)
        is_inside = shift(s, p, other, !is_up);
    return is_inside && weft_evaluator_fits(s, p);
}

static weft_status first_design(weft_evaluator *s, weft_rng *r, weft_design_point *p, double *value,
                                bool *is_found)
{
    int64_t index;

    *is_found = weft_evaluator_draw(s, r, p);
    if (!*is_found)
        return WEFT_OK;
    index = index_of(s, p);
    return weft_evaluator_try(s, &index, 1, value);
}

weft_status weft_search_anneal(weft_evaluator *s)
{
    const double hot = 0.5, cold = 0.01;
    weft_rng r = weft_rng_seed((uint64_t)s->run->seed);
    weft_design_point at;
    double value = 0;
    bool is_found = false;

    bound_by_root(s);
    WEFT_TRY(first_design(s, &r, &at, &value, &is_found));
    for (int64_t n = 0; is_found && !is_finished(s, n); n++) {
        double heat = hot * pow(cold / hot, (double)s->n_evaluated / budget_of(s)), next = 0;
        weft_design_point p = at;
        double luck = weft_rng_real(&r);
        int64_t index;

        if (!weft_evaluator_move(s, &r, &p))
            continue;
        index = index_of(s, &p);
        WEFT_TRY(weft_evaluator_try(s, &index, 1, &next));
        if (!isnan(next) && (next >= value || pow(next / value, 1 / heat) > luck)) {
            at = p;
            value = next;
        }
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}

/* --- genetic --------------------------------------------------------------------------------- */

enum { POPULATION = 32, ELITE = 2 };

typedef struct population {
    weft_design_point point[POPULATION];
    double value[POPULATION];
    int n;
} population;

static int winner_of_two(const population *h, weft_rng *r)
{
    int a = weft_rng_below(r, h->n), b = weft_rng_below(r, h->n);

    return h->value[a] >= h->value[b] ? a : b;
}

/* May be outside the limits: its value is then 0. */
static weft_design_point breed(const weft_evaluator *s, const population *h, weft_rng *r)
{
    int mother = winner_of_two(h, r), father = winner_of_two(h, r);
    weft_design_point p;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        p.at[k] = h->point[weft_rng_below(r, 2) == 0 ? mother : father].at[k];
        if (weft_rng_below(r, WEFT_N_PARAMETERS) == 0)
            (void)shift(s, &p, k, weft_rng_below(r, 2) == 0); /* at the end of a list: stays */
    }
    return p;
}

/* The best first; the older of equals stays before. */
static void sort_population(population *h)
{
    for (int i = 1; i < h->n; i++) {
        weft_design_point p = h->point[i];
        double value = h->value[i];
        int at = i;

        for (; at > 0 && value > h->value[at - 1]; at--) {
            h->point[at] = h->point[at - 1];
            h->value[at] = h->value[at - 1];
        }
        h->point[at] = p;
        h->value[at] = value;
    }
}

static weft_status value_population(weft_evaluator *s, population *h)
{
    int64_t index[POPULATION];

    for (int i = 0; i < h->n; i++)
        index[i] = index_of(s, &h->point[i]);
    WEFT_TRY(weft_evaluator_try(s, index, h->n, h->value));
    for (int i = 0; i < h->n; i++)
        h->value[i] = isnan(h->value[i]) ? 0 : h->value[i];
    sort_population(h);
    return WEFT_OK;
}

weft_status weft_search_genetic(weft_evaluator *s)
{
    weft_rng r = weft_rng_seed((uint64_t)s->run->seed);
    population h = {.n = 0};

    bound_by_root(s);
    while (h.n < POPULATION && weft_evaluator_draw(s, &r, &h.point[h.n]))
        h.n++;
    if (h.n == 0)
        return WEFT_OK;
    WEFT_TRY(value_population(s, &h));
    for (int64_t n = 0; !is_finished(s, n); n += POPULATION) {
        population next = h;

        for (int i = ELITE; i < h.n; i++)
            next.point[i] = breed(s, &h, &r);
        h = next;
        WEFT_TRY(value_population(s, &h));
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}
