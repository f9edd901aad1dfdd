/* SPDX-License-Identifier: MIT */
/* refute.c: that no plan passes a target (bounds U2, U3 and U4), and the same proved again from a
 * certificate: prices and the name of the method. Sums of floating-point numbers are compared with a
 * margin on the safe side; whole numbers of configurations are bounded by our own search over
 * programs whose bounds are rounded outwards (opt/milp_tree.c), never by the word of an engine.
 *
 * Whole configurations (U3): with prices whose cheapest configuration costs 1 and that sum up to
 * L + surplus, every layer has a minimal configuration that costs 1 + surplus at most. As many whole
 * ones as the nodes have room for are fewer than L: refuted.
 *
 * Links (U4): if all of these are single nodes, and no node is so cheap that it fits beside one, then
 * a plan is a chain whose hops all carry the whole target: over links that do, within a component of
 * nodes that has layers enough, one of them after the source and one before the sink. */
#include "serve_search.h"

#include <math.h>

enum { MOST_CONFIGURATIONS = 4000, MOST_TREE = 3000 };

static const double MARGIN = 1e-10;     /* relative, of sums of prices */
static const double MOST_SURPLUS = 1.5; /* beyond that nobody lists configurations */

static double all_prices(const weft_serve_problem *p, const double *price)
{
    double sum = 0;

    for (int c = 0; c < p->n_classes; c++)
        sum += p->class_size[c] * price[c];
    return sum;
}

double weft_serve_cut_bound(const weft_serve_problem *p, weft_arena *a)
{
    return weft_dinic_most(weft_dinic_new(p, a)) * (1 + 1e-11);
}

/* --- whole configurations -------------------------------------------------------------------- */

/* Rows: a node with k layers is in k configurations at most; nodes of a class are as many as there
 * are. Columns: each configuration, then each item. */
static weft_milp *whole_program(const weft_serve_problem *p, const weft_serve_items *items,
                                const weft_serve_list *list)
{
    weft_milp *m = weft_milp_new("whole");

    for (int i = 0; i < list->n; i++)
        weft_milp_column(m, NULL, 0, p->n_layers, -1, true);
    for (int i = 0; i < items->n; i++)
        weft_milp_column(m, NULL, 0, p->class_size[items->item[i].class_id], 0, true);
    for (int c = 0; c < p->n_classes; c++)
        weft_milp_row(m, NULL, -INFINITY, p->class_size[c]);
    for (int i = 0; i < items->n; i++) {
        int row = weft_milp_row(m, NULL, -INFINITY, 0);

        weft_milp_term(m, items->item[i].class_id, list->n + i, 1);
        weft_milp_term(m, row, list->n + i, -items->item[i].layers);
        for (int k = 0; k < list->n; k++)
            if (list->count[k * items->n + i] > 0)
                weft_milp_term(m, row, k, list->count[k * items->n + i]);
    }
    return m;
}

static bool is_whole_refuted(const weft_serve_problem *p, const weft_serve_items *items,
                             const weft_serve_list *list, double limit_s, weft_arena *a)
{
    const weft_milp_options o = {
        .limit_s = limit_s, .most_nodes = MOST_TREE, .part = WEFT_MILP_PROVE};
    weft_milp *m = whole_program(p, items, list);
    weft_milp_result r = {.bound = -INFINITY};
    weft_status status = weft_milp_solve(m, &o, a, &r);

    weft_milp_free(m);
    /* fewer than n_layers, which is a whole number */
    return status == WEFT_OK &&
           (r.outcome == WEFT_MILP_INFEASIBLE || r.bound > -p->n_layers + 1e-6);
}

/* --- links ----------------------------------------------------------------------------------- */

static bool has_room_beside(const weft_serve_problem *p, const double *price, double surplus)
{
    for (int c = 0; c < p->n_classes; c++) {
        int most = p->most[p->class_node[c]];

        if (most > 0 && !(surplus < price[c] / most * (1 - 1e-9)))
            return true;
    }
    return false;
}

static bool carries(const weft_serve_problem *p, int from, int to, double target)
{
    return weft_serve_link(p, from, to) >= target * (1 - WEFT_SERVE_SLACK);
}

/* Components of nodes under links that carry the target; true: none of them can hold a chain. */
static bool has_no_chain(const weft_serve_problem *p, double target, weft_arena *a)
{
    int n = p->n_nodes, *root = WEFT_NEW(a, int, n), *layers = WEFT_NEW(a, int, n);
    bool *starts = WEFT_NEW(a, bool, n), *ends = WEFT_NEW(a, bool, n);

    for (int i = 0; i < n; i++)
        root[i] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j && carries(p, i, j, target))
                root[weft_root(root, i)] = weft_root(root, j);
    for (int i = 0; i < n; i++) {
        int r = weft_root(root, i);
        int most = weft_serve_layers_at(p, p->class_of[i], target * (1 - WEFT_SERVE_SLACK));

        layers[r] += most;
        starts[r] |= most > 0 && carries(p, n, i, target);
        ends[r] |= most > 0 && carries(p, i, n + 1, target);
    }
    for (int i = 0; i < n; i++)
        if (layers[i] >= p->n_layers && starts[i] && ends[i])
            return false;
    return true;
}

/* --- all ------------------------------------------------------------------------------------- */

/* Prices are scaled: the cheapest configuration costs 1 or more. */
static bool is_refuted_beyond(const weft_serve_problem *p, const weft_serve_items *items,
                              const double *price, const weft_serve_certificate *c, double limit_s)
{
    weft_arena *a = weft_arena_new();
    double surplus = fmax(0, all_prices(p, price) - p->n_layers) + MARGIN * p->n_layers;
    weft_serve_list list;
    bool is_refuted = false;

    weft_serve_minimal(p, items, price, c->target, 1 + surplus, MOST_CONFIGURATIONS, a, &list);
    if (list.is_whole && c->method == WEFT_SERVE_LINKS)
        is_refuted =
            !list.has_pairs && !has_room_beside(p, price, surplus) && has_no_chain(p, c->target, a);
    else if (list.is_whole)
        is_refuted = is_whole_refuted(p, items, &list, limit_s, a);
    weft_arena_free(a);
    return is_refuted;
}

/* The certificate gets prices of its own. */
static bool certify(weft_serve_pool *pool, const weft_serve_certificate *c,
                    weft_serve_certificate *out)
{
    *out = *c;
    out->price = weft_arena_copy(pool->a, c->price, sizeof *c->price * (size_t)c->n_prices);
    return true;
}

bool weft_serve_refute_by_work(weft_serve_pool *pool, double target, double *price,
                               weft_serve_certificate *out)
{
    const weft_serve_problem *p = pool->p;
    weft_serve_certificate c = {WEFT_SERVE_CONFIGURATIONS, target, p->n_classes, price};

    return weft_serve_work_prices(pool, target, price) < p->n_layers * (1 - MARGIN) &&
           certify(pool, &c, out);
}

bool weft_serve_refute(weft_serve_pool *pool, double target, double *price,
                       weft_serve_certificate *out)
{
    static const weft_serve_method later[] = {WEFT_SERVE_LINKS, WEFT_SERVE_WHOLE};
    const weft_serve_problem *p = pool->p;
    double layers = weft_serve_best_prices(pool, target, price);
    weft_serve_certificate c = {WEFT_SERVE_CONFIGURATIONS, target, p->n_classes, price};
    bool is_refuted = layers < p->n_layers * (1 - MARGIN);

    for (int i = 0; i < 2 && !is_refuted && layers < MOST_SURPLUS * p->n_layers; i++) {
        c.method = later[i];
        is_refuted = is_refuted_beyond(p, &pool->items, price, &c, weft_run_left_s(pool->run));
    }
    return is_refuted && certify(pool, &c, out);
}

bool weft_serve_refuted(const weft_serve_problem *p, const weft_serve_certificate *c)
{
    weft_arena *a = weft_arena_new();
    weft_serve_items items = weft_serve_items_of(p, a);
    double *price = WEFT_NEW(a, double, p->n_classes);
    weft_serve_cover cover;
    bool is_refuted = false;

    if (c->method == WEFT_SERVE_CUT) {
        is_refuted = c->target >= weft_serve_cut_bound(p, a) * (1 - 1e-12);
    } else if (c->method != WEFT_SERVE_ENUMERATION && c->n_prices == p->n_classes &&
               c->target > 0) {
        weft_serve_cheapest(p, &items, c->price, c->target, a, &cover);
        for (int i = 0; i < p->n_classes && cover.cost > 0; i++)
            price[i] = cover.cost < INFINITY ? c->price[i] / cover.cost : 0;
        if (c->method == WEFT_SERVE_CONFIGURATIONS)
            is_refuted = cover.cost > 0 && all_prices(p, price) < p->n_layers * (1 - MARGIN);
        else
            is_refuted = cover.cost > 0 && cover.cost < INFINITY &&
                         is_refuted_beyond(p, &items, price, c, INFINITY);
    }
    weft_arena_free(a);
    return is_refuted;
}
