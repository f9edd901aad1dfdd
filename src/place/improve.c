/* SPDX-License-Identifier: MIT */
/* improve.c: annealing of a plan, every move a run of the simulator.
 *
 * 1. A plan is a device for each group of tasks that share one, and a key for each task: tasks of a
 *    device run by rising keys, which rise along every edge. It begins as the best plan known.
 * 2. A move takes a group to another device, mostly to one of a neighbour; or a group and some of its
 *    neighbours along edges; or gives a task another key between those of what it waits for and of
 *    what waits for it.
 * 3. How much worse the value may become is drawn: heat * -log(random), with the heat falling from
 *    HOT to COLD of the value over a round. A round that is over begins the next one at the best plan.
 *
 * Exact windows (window.c) know the transfer model `overlap` and room for weights; this search knows
 * all that the simulator knows, and is what finds plans where links and memory decide. Never worse
 * than the plan it begins with; no other guarantee. The same steps and seed, the same plan. */
#include "improve.h"

#include "placer.h"

#include <string.h>

enum { MOST_MOVED = 8, ROUND_MOVES = 40 /* of each task */, LEAST_ROUND = 2000 };

static const double HOT = 0.01, COLD = 1e-5; /* of the value */

typedef struct climber {
    weft_placer x;
    weft_rng rng;
    int *device; /* [n_groups] */
    double *key; /* [n_tasks] */
    double cost;
    /* the move in hand */
    int n_moved, moved[MOST_MOVED], from[MOST_MOVED];
    int task; /* whose key changed, or -1 */
    double old_key;
} climber;

static void begin(climber *c, const weft_plan *plan)
{
    for (int u = 0; u < c->x.p->n_tasks; u++) {
        c->device[c->x.group[u]] = plan->device[u];
        c->key[u] = plan->start_s[u];
    }
    c->cost = weft_placer_cost(&c->x, c->device, c->key);
}

/* A task that gives to u or takes from it; u itself if there is none. */
static int near(climber *c, int u)
{
    const weft_problem *p = c->x.p;
    int n_preds = p->pred_at[u + 1] - p->pred_at[u], n_succs = p->succ_at[u + 1] - p->succ_at[u];
    int i;

    if (n_preds + n_succs == 0)
        return u;
    i = weft_rng_below(&c->rng, n_preds + n_succs);
    return i < n_preds ? p->pred[p->pred_at[u] + i] : p->succ[p->succ_at[u] + i - n_preds];
}

static bool may_go(const climber *c, int g, int d)
{
    const int *choice = c->x.choice + (size_t)g * (size_t)c->x.p->n_devices;

    for (int i = 0; i < c->x.n_choices[g]; i++)
        if (choice[i] == d)
            return c->device[g] != d;
    return false;
}

static void move_group(climber *c, int g, int d)
{
    c->moved[c->n_moved] = g;
    c->from[c->n_moved++] = c->device[g];
    c->device[g] = d;
}

static void move_device(climber *c)
{
    int u = weft_rng_below(&c->rng, c->x.p->n_tasks), g = c->x.group[u], home = c->device[g], d;
    int most = weft_rng_below(&c->rng, 2) == 0 ? 1 : 2 + weft_rng_below(&c->rng, MOST_MOVED - 1);

    d = weft_rng_below(&c->rng, 3) == 0 ? weft_rng_below(&c->rng, c->x.p->n_devices)
                                        : c->device[c->x.group[near(c, u)]];
    if (!may_go(c, g, d))
        return;
    move_group(c, g, d);
    for (int tries = 2 * most; tries > 0 && c->n_moved < most; tries--) {
        u = near(c, u);
        g = c->x.group[u];
        if (c->device[g] == home && may_go(c, g, d))
            move_group(c, g, d);
    }
}

static void move_key(climber *c)
{
    const weft_problem *p = c->x.p;
    int u = weft_rng_below(&c->rng, p->n_tasks);
    double low = -INFINITY, high = INFINITY;

    for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++)
        low = fmax(low, c->key[p->pred[i]]);
    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
        high = fmin(high, c->key[p->succ[i]]);
    low = low > -INFINITY ? low : 0;
    high = high < INFINITY ? high : fmax(low, c->cost);
    if (!(high > low) || !(high < INFINITY))
        return;
    c->task = u;
    c->old_key = c->key[u];
    c->key[u] = low + (high - low) * weft_rng_real(&c->rng);
}

static void undo(climber *c)
{
    while (c->n_moved > 0) {
        c->n_moved--;
        c->device[c->moved[c->n_moved]] = c->from[c->n_moved];
    }
    if (c->task >= 0)
        c->key[c->task] = c->old_key;
}

static void step(climber *c, double heat)
{
    double cost;

    c->n_moved = 0;
    c->task = -1;
    if (weft_rng_below(&c->rng, 3) == 0)
        move_key(c);
    else
        move_device(c);
    if (c->n_moved == 0 && c->task < 0)
        return;
    cost = weft_placer_cost(&c->x, c->device, c->key);
    if (cost <= c->cost - heat * log(1 - weft_rng_real(&c->rng)))
        c->cost = cost;
    else
        undo(c);
}

/* One round; its moves count even where nothing can move, so that it ends. */
static void climb(climber *c, int64_t n_moves)
{
    double heat = HOT * c->cost, cooling = pow(COLD / HOT, 1.0 / (double)n_moves);

    for (int64_t i = 0; i < n_moves && !weft_placer_is_over(&c->x); i++, heat *= cooling)
        step(c, heat);
}

void weft_improve(weft_best *best, const weft_problem *p, weft_run *run)
{
    climber c = {.x = weft_placer_new(p, run), .rng = weft_rng_seed((uint64_t)run->seed)};
    int64_t n_moves = (int64_t)ROUND_MOVES * p->n_tasks;

    if (!(best->value < INFINITY) || c.x.is_empty || p->n_tasks == 0)
        return;
    c.device = WEFT_NEW(run->scratch, int, c.x.n_groups);
    c.key = WEFT_NEW(run->scratch, double, p->n_tasks);
    n_moves = n_moves < LEAST_ROUND ? LEAST_ROUND : n_moves;
    do {
        begin(&c, c.x.best_cost < best->value ? &c.x.best : &best->plan);
        climb(&c, n_moves);
    } while (!weft_placer_is_over(&c.x));
    if (c.x.best_cost < best->value)
        weft_best_try(best, p, &c.x.best, run->scratch);
}
