/* SPDX-License-Identifier: MIT */
/* Shared by the searches and bounds of serving. */
#ifndef WEFT_SERVE_SEARCH_H
#define WEFT_SERVE_SEARCH_H

#include "opt.h"
#include "serve.h"

/* What rounding may hide: sums of rates are compared with a target that is lower by this part of
 * it, sums of prices with limits that are higher. */
#define WEFT_SERVE_SLACK 1e-12

/* --- flows (dinic.c) ------------------------------------------------------------------------- */

/* Values plans again and again. */
typedef struct weft_dinic weft_dinic;
weft_dinic *weft_dinic_new(const weft_serve_problem *p, weft_arena *a);
double weft_dinic_flow(weft_dinic *d, const weft_serve_plan *plan);
/* Of the network of all nodes and links, each node with its best number of layers. */
double weft_dinic_most(weft_dinic *d);

/* --- configurations (configuration.c) -------------------------------------------------------- */

/* A node of a class with so many layers. Of two with one class the one with fewer layers and no
 * more tokens is left out: nothing is lost by holding more. */
typedef struct weft_serve_item {
    int class_id, layers;
    double rate;
} weft_serve_item;

typedef struct weft_serve_items {
    int n;
    const weft_serve_item *item;
} weft_serve_items;

weft_serve_items weft_serve_items_of(const weft_serve_problem *p, weft_arena *a);
/* The most layers with which a node of the class passes `rate`; 0: none. */
int weft_serve_layers_at(const weft_serve_problem *p, int class_id, double rate);

typedef struct weft_serve_cover {
    double cost; /* no configuration costs less; INFINITY: there is none */
    bool is_found;
    int *count; /* [n_items] of one that costs that, or nearly, if is_found */
} weft_serve_cover;

/* The cheapest configuration: nodes that pass `target` together, a node with k layers costing
 * price / k. */
void weft_serve_cheapest(const weft_serve_problem *p, const weft_serve_items *items,
                         const double *price, double target, weft_arena *a, weft_serve_cover *out);

typedef struct weft_serve_list {
    int n;
    int *count;               /* [n][n_items] */
    bool is_whole, has_pairs; /* all are listed; some have more than one node */
} weft_serve_list;

/* The configurations that cost `most` or less and lose the target without any one of their nodes;
 * at most `room` of them. */
void weft_serve_minimal(const weft_serve_problem *p, const weft_serve_items *items,
                        const double *price, double target, double most, int room, weft_arena *a,
                        weft_serve_list *out);

/* --- prices (prices.c) ----------------------------------------------------------------------- */

/* Configurations that were found so far, for all targets. */
typedef struct weft_serve_pool {
    const weft_serve_problem *p;
    const weft_run *run; /* that may end a search for prices */
    weft_serve_items items;
    weft_arena *a;
    WEFT_VEC(int *) count; /* [n_items] each */
    WEFT_VEC(double) rate;
} weft_serve_pool;

weft_serve_pool weft_serve_pool_new(const weft_serve_problem *p, const weft_run *run,
                                    weft_arena *a);
/* Prices by the work of nodes, which take no search. */
double weft_serve_work_prices(const weft_serve_pool *pool, double target, double *price);
/* Prices that prove most for the target: the layers that can be filled at most. price: [n_classes],
 * scaled so that the cheapest configuration costs 1 (0: none does). Ends early if fewer than all
 * layers can be filled. */
double weft_serve_best_prices(weft_serve_pool *pool, double target, double *price);
/* Configurations of the pool for the target that cost 1, or nearly. */
int weft_serve_tight(const weft_serve_pool *pool, double target, const double *price, int room,
                     const int **out);

/* --- refutations (refute.c) ------------------------------------------------------------------ */

/* Tries to prove that no plan passes `target`: with prices, then whole configurations and links; or
 * with the prices of work alone. price: [n_classes], filled. */
bool weft_serve_refute_by_work(weft_serve_pool *pool, double target, double *price,
                               weft_serve_certificate *out);
bool weft_serve_refute(weft_serve_pool *pool, double target, double *price,
                       weft_serve_certificate *out);

/* --- plans for a target (lanes.c, serve_stages.c, swaps.c) ----------------------------------------- */

/* A plan of lanes for the target, links ignored; false: none is found. */
bool weft_serve_lanes(weft_serve_pool *pool, double target, const double *price,
                      weft_serve_plan *out);
/* The same with chains only, without any program. */
bool weft_serve_chain(const weft_serve_problem *p, double target, weft_serve_plan *out);
/* Stages of nodes with one range each, annealed for the links; steps > 0. */
bool weft_serve_stages(const weft_serve_problem *p, double target, weft_rng *rng, int64_t steps,
                       const weft_run *run, weft_arena *a, weft_serve_plan *out);
/* Lets nodes of one class change places while the flow grows, up to the target. */
double weft_serve_swaps(const weft_serve_problem *p, weft_dinic *d, double target, weft_rng *rng,
                        int64_t steps, const weft_run *run, weft_serve_plan *plan);
/* All placements, if they are few; true: the plan (of `value`, if there is one) is the best. */
bool weft_serve_enumerate(const weft_serve_problem *p, weft_dinic *d, int64_t most_steps,
                          const weft_run *run, weft_serve_plan *best, double *value,
                          int64_t *n_placements);

#endif
