/* SPDX-License-Identifier: MIT */
/* prices.c: prices of nodes that prove most (bound U2).
 *
 * The nodes that carry a flow of `target` or more through a layer form a configuration: a node with k
 * layers pays price / k at each of them, its price in all. If no configuration costs less than 1, the
 * prices of all nodes are a bound on the layers. The best prices are those of a linear program with a
 * row for each configuration; rows are added as they are violated, which weft_serve_cheapest finds
 * out. Any prices prove something: what the engine says is used as it is. */
#include "serve_search.h"

#include <math.h>

enum { MOST_ROUNDS = 400 };

weft_serve_pool weft_serve_pool_new(const weft_serve_problem *p, const weft_run *run, weft_arena *a)
{
    return (weft_serve_pool){.p = p, .run = run, .items = weft_serve_items_of(p, a), .a = a};
}

static double rate_of(const weft_serve_pool *pool, const int *count)
{
    double sum = 0;

    for (int i = 0; i < pool->items.n; i++)
        sum += count[i] * pool->items.item[i].rate;
    return sum;
}

static double cost_of(const weft_serve_pool *pool, const int *count, const double *price)
{
    double sum = 0;

    for (int i = 0; i < pool->items.n; i++)
        if (count[i] > 0)
            sum += count[i] * price[pool->items.item[i].class_id] / pool->items.item[i].layers;
    return sum;
}

static void add_row(const weft_serve_pool *pool, const int *count, weft_milp *m)
{
    int row = weft_milp_row(m, NULL, 1, INFINITY);

    for (int i = 0; i < pool->items.n; i++)
        if (count[i] > 0)
            weft_milp_term(m, row, pool->items.item[i].class_id,
                           (double)count[i] / pool->items.item[i].layers);
}

/* Prices that no configuration of the pool is too cheap for; false: the engine has none. */
static bool solve_rows(const weft_serve_pool *pool, double target, weft_arena *a, double *price)
{
    const weft_serve_problem *p = pool->p;
    const weft_milp_options o = {.limit_s = INFINITY, .is_relaxed = true};
    weft_milp *m = weft_milp_new("prices");
    weft_milp_result r = {0};
    weft_status status;

    for (int c = 0; c < p->n_classes; c++)
        weft_milp_column(m, NULL, 0, 1e6 * p->n_layers, p->class_size[c], false);
    for (int i = 0; i < pool->count.n; i++)
        if (pool->rate.at[i] >= target * (1 - WEFT_SERVE_SLACK))
            add_row(pool, pool->count.at[i], m);
    status = weft_milp_solve(m, &o, a, &r);
    weft_milp_free(m);
    if (status != WEFT_OK || r.x == NULL)
        return false;
    for (int c = 0; c < p->n_classes; c++)
        price[c] = fmax(0, r.x[c]);
    return true;
}

static double all_prices(const weft_serve_problem *p, const double *price)
{
    double sum = 0;

    for (int c = 0; c < p->n_classes; c++)
        sum += p->class_size[c] * price[c];
    return sum;
}

/* Scales the prices so that the cheapest configuration costs 1; the layers they prove. */
static double scale(const weft_serve_problem *p, double cost, double *price)
{
    for (int c = 0; c < p->n_classes; c++)
        price[c] = cost < INFINITY ? price[c] / cost : 0;
    return all_prices(p, price);
}

/* Work: a node with k layers is worth k times its part of the target. Never too cheap, so these
 * prices are where the search starts. */
static void price_work(const weft_serve_pool *pool, double target, double *price)
{
    for (int c = 0; c < pool->p->n_classes; c++)
        price[c] = 0;
    for (int i = 0; i < pool->items.n; i++) {
        const weft_serve_item *x = &pool->items.item[i];

        price[x->class_id] =
            fmax(price[x->class_id], x->layers * fmin(1, x->rate / target) * (1 + 1e-12));
    }
}

static void add_configuration(weft_serve_pool *pool, const int *count)
{
    int *copy = weft_arena_copy(pool->a, count, sizeof *count * (size_t)(pool->items.n + 1));

    WEFT_PUSH(pool->a, pool->count, copy);
    WEFT_PUSH(pool->a, pool->rate, rate_of(pool, copy));
}

/* One round: better prices, or a configuration more. *layers: that `price` proves so far. */
static bool improve(weft_serve_pool *pool, double target, weft_arena *a, double *price,
                    double *layers)
{
    const weft_serve_problem *p = pool->p;
    double *found = WEFT_NEW(a, double, p->n_classes), proved;
    weft_serve_cover cover;

    if (!solve_rows(pool, target, a, found))
        return false;
    weft_serve_cheapest(p, &pool->items, found, target, a, &cover);
    if (cover.is_found && cover.cost < 1 - 1e-9)
        add_configuration(pool, cover.count);
    proved = cover.cost > 0 ? all_prices(p, found) / cover.cost : INFINITY;
    if (proved < *layers) {
        *layers = scale(p, cover.cost, found);
        for (int c = 0; c < p->n_classes; c++)
            price[c] = found[c];
    }
    return cover.is_found && cover.cost < 1 - 1e-9 && *layers >= p->n_layers * (1 - 1e-9);
}

double weft_serve_work_prices(const weft_serve_pool *pool, double target, double *price)
{
    weft_arena *a = weft_arena_new();
    weft_serve_cover cover;

    price_work(pool, target, price);
    weft_serve_cheapest(pool->p, &pool->items, price, target, a, &cover);
    weft_arena_free(a);
    return scale(pool->p, cover.cost, price);
}

double weft_serve_best_prices(weft_serve_pool *pool, double target, double *price)
{
    double layers = weft_serve_work_prices(pool, target, price);

    for (int i = 0; i < MOST_ROUNDS && layers >= pool->p->n_layers * (1 - 1e-9); i++) {
        weft_arena *a = weft_arena_new();
        bool goes_on = improve(pool, target, a, price, &layers);

        weft_arena_free(a);
        if (!goes_on || weft_run_is_over(pool->run))
            break;
    }
    return layers;
}

int weft_serve_tight(const weft_serve_pool *pool, double target, const double *price, int room,
                     const int **out)
{
    int n = 0;

    for (int i = 0; i < pool->count.n && n < room; i++)
        if (pool->rate.at[i] >= target * (1 - WEFT_SERVE_SLACK) &&
            cost_of(pool, pool->count.at[i], price) < 1 + 1e-6)
            out[n++] = pool->count.at[i];
    return n;
}
