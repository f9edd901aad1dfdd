/* SPDX-License-Identifier: MIT */
/* side.c: steps side by side on disjoint sets.
 *
 * Where no two accelerators are equal, placement is the whole problem (single_sets.c). Else:
 *
 *  1. For every configuration, those with the lowest floors first, steps are taken by falling
 *     length of the longest way behind them, and each gets the state (set, split) in which it ends
 *     first, given where its operands are and when the sets are free: list scheduling.
 *  2. So is the best plan of steps one after the other, let run side by side, and the plans of the
 *     quick baselines.
 *  3. The best of these by the simulator is the answer. The bound is the longest way through the
 *     network (bound_to_go.c), or the floor of the driver: mean work of an accelerator.
 *
 * A heuristic with a bound: general schedules are NP-hard, and the gap is what the two leave. */
#include "side.h"

#include "rows.h"
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct order_item {
    double key;
    int step;
} order_item;

static int by_key(const void *a, const void *b)
{
    const order_item *x = a, *y = b;

    return x->key > y->key ? -1 : x->key < y->key ? 1 : x->step - y->step;
}

typedef struct lister {
    const weft_inner *in;
    int *state;
    double *start_s, *end_s, *free_s, *used;
    weft_rows into; /* step -> pairs that end there */
    double spare_bytes;
} lister;

/* Steps by falling least length of what follows them: an order that respects edges. */
static order_item *priorities(const weft_inner *in, weft_arena *a)
{
    int n = in->model.n_vars;
    order_item *order = WEFT_NEW(a, order_item, n);
    double *behind = WEFT_NEW(a, double, n);

    for (int v = n - 1; v >= 0; v--) {
        double least = INFINITY;

        for (int x = 0; x < in->model.n_states[v]; x++)
            least = fmin(least, in->model.own[v][x]);
        behind[v] += least;
        order[v] = (order_item){behind[v], v};
        for (int i = 0; i < in->model.n_pairs; i++)
            if (in->model.pair[i].v == v)
                behind[in->model.pair[i].u] = fmax(behind[in->model.pair[i].u], behind[v]);
    }
    for (int v = 0; v < n; v++)
        order[v].key += 1e-15 * (n - v); /* steps of no time keep their order */
    qsort(order, (size_t)n, sizeof *order, by_key);
    return order;
}

static bool has_room(const lister *l, int set, double bytes)
{
    return l->used[set] + bytes <= l->in->kind[set]->memory_bytes - l->spare_bytes;
}

/* False if no state of the step is allowed. */
static bool list_step(lister *l, int v)
{
    const weft_inner *in = l->in;
    double best_end = INFINITY, best_start = 0;
    int best = -1, c = in->tables->class_of[v];

    for (int x = 0; x < in->model.n_states[v]; x++) {
        int set = weft_inner_set(in, v, x);
        double start_s = l->free_s[set];

        if (in->model.own[v][x] >= best_end || !has_room(l, set, in->weight[c][x]))
            continue;
        for (int i = l->into.at[v]; i < l->into.at[v + 1]; i++) {
            const weft_pairwise_min_pair *p = &in->model.pair[l->into.item[i]];

            start_s =
                fmax(start_s, l->end_s[p->u] + p->cost[l->state[p->u] * in->model.n_states[v] + x]);
        }
        if (start_s + in->model.own[v][x] < best_end) {
            best_end = start_s + in->model.own[v][x];
            best_start = start_s;
            best = x;
        }
    }
    if (best < 0)
        return false;
    l->state[v] = best;
    l->start_s[v] = best_start;
    l->end_s[v] = best_end;
    l->free_s[weft_inner_set(in, v, best)] = best_end;
    l->used[weft_inner_set(in, v, best)] += in->weight[c][best];
    return true;
}

/* The end of the last step, or INFINITY; *out is the plan. */
static double list_config(const weft_inner *in, double spare_bytes, weft_arena *a,
                          weft_shard_plan *out)
{
    int n = in->model.n_vars, *end = WEFT_NEW(a, int, in->model.n_pairs + 1);
    const order_item *order = priorities(in, a);
    lister l = {.in = in,
                .state = WEFT_NEW(a, int, n),
                .start_s = WEFT_NEW(a, double, n),
                .end_s = WEFT_NEW(a, double, n),
                .free_s = WEFT_NEW(a, double, in->n_sets),
                .used = WEFT_NEW(a, double, in->n_sets),
                .spare_bytes = spare_bytes};
    double end_s = 0;

    for (int i = 0; i < in->model.n_pairs; i++)
        end[i] = in->model.pair[i].v;
    l.into = weft_rows_by(end, in->model.n_pairs, n, a);
    for (int i = 0; i < n; i++) {
        if (!list_step(&l, order[i].step))
            return INFINITY;
        end_s = fmax(end_s, l.end_s[order[i].step]);
    }
    *out = weft_inner_plan(in, l.state, a);
    for (int i = 0; i < n; i++) /* the order decides, steps of no time included */
        out->start_s[order[i].step] = l.start_s[order[i].step];
    return end_s;
}

/* --- the search ------------------------------------------------------------------------------ */

static weft_status try_config(weft_search *s, int config)
{
    weft_arena *scratch = weft_arena_new();
    weft_inner *in = weft_inner_new(s->tables, s->configs, config, NULL, scratch);
    weft_shard_plan plan;
    double end_s = list_config(in, s->spare_bytes, scratch, &plan);
    weft_status status = WEFT_OK;

    if (end_s < s->value * 1.02 && end_s < INFINITY)
        status = weft_search_consider(s, &plan);
    weft_arena_free(scratch);
    s->n_solved++;
    return status;
}

static bool is_spent(const weft_search *s)
{
    return weft_run_is_over(s->run) || (s->run->steps > 0 && s->n_solved >= s->run->steps);
}

static weft_status try_configs(weft_search *s)
{
    int n = s->configs->n;
    order_item *order = WEFT_NEW(s->a, order_item, n);

    for (int i = 0; i < n; i++)
        order[i] = (order_item){-weft_configuration_bound(s, i), i};
    qsort(order, (size_t)n, sizeof *order, by_key);
    for (int i = 0; i < n && !is_spent(s); i++)
        WEFT_TRY(try_config(s, order[i].step));
    return WEFT_OK;
}

weft_status weft_side_solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                            weft_shard_plan *plan, weft_proof *proof)
{
    weft_search s = {0};
    weft_shard_problem one_by_one = *p;

    if (weft_single_applies(p) && o != NULL && o->placer != NULL)
        return weft_single_solve(p, o, run, plan, proof);
    weft_search_start(&s, p, run);
    WEFT_TRY(weft_search_quick(&s, o));
    weft_search_begin(&s);
    s.bound = weft_search_bound_to_go_side(&s, run->scratch);
    one_by_one.constraints.is_concurrent = false;
    if (s.configs->n > 0) { /* a first plan at once: the best splits of the lowest floor */
        weft_run short_run = *run;
        weft_search first = s;

        short_run.steps = 1;
        first.p = &one_by_one;
        first.run = &short_run;
        first.all_bound = INFINITY; /* it is asked for a plan, not for a bound */
        WEFT_TRY(weft_search_run(&first));
        if (first.value < INFINITY)
            WEFT_TRY(weft_search_consider(&s, &first.plan));
    }
    WEFT_TRY(try_configs(&s));
    proof->outcome = s.value < INFINITY ? WEFT_BOUNDED : WEFT_UNKNOWN;
    proof->bound = s.bound;
    proof->method = "sharding search";
    if (s.value < INFINITY)
        *plan = s.plan;
    return WEFT_OK;
}
