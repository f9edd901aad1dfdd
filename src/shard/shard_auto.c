/* SPDX-License-Identifier: MIT */
/* shard_auto.c: solver `auto`: the best configuration and splits, with proof.
 *
 * One step after the other: the search over configurations (search.c). Side by side: side.c. The
 * memory of accelerators is looked at only where it should bind: not if all weights, with three
 * times the largest live tensors, fit on every accelerator. If a plan turns out to need more room
 * for live tensors than was kept free, the search is done again with what the plan needed kept
 * free; the bound stays that of the first one, which allowed more. */
#include "search.h"
#include "side.h"

#include <math.h>

enum { MOST_SETUPS = 20000, MOST_TRIES = 4 };

static double least_memory(const weft_sharding *p)
{
    double least = INFINITY;

    for (int i = 0; i < p->n_accelerators; i++)
        least = fmin(least, p->platform->device[p->accelerator[i]].memory_bytes);
    return least;
}

static double all_memory(const weft_sharding *p)
{
    double sum = 0;

    for (int i = 0; i < p->n_accelerators; i++)
        sum += p->platform->device[p->accelerator[i]].memory_bytes;
    return sum;
}

/* Weights of all steps, those that several read as often as they are read. */
static double stored_bytes(const weft_sharding *p)
{
    const weft_steps *s = p->steps;
    double sum = 0;

    for (int v = 0; v < s->n; v++)
        for (int i = 0; i < s->step[v].n_weights; i++)
            sum += (double)s->graph->tensor[s->step[v].weight[i].tensor].bytes;
    return sum;
}

void weft_search_start(weft_search *s, const weft_sharding *p, weft_run *run)
{
    s->p = p;
    s->run = run;
    s->a = run->scratch;
    s->value = INFINITY;
}

void weft_search_begin(weft_search *s)
{
    const weft_sharding *p = s->p;
    double live = (double)weft_graph_peak_bytes(p->steps->graph);
    weft_minsum_pair *pair;
    bool is_distinct;

    s->tables = weft_tables_new(p, s->a);
    s->is_roomy = stored_bytes(p) + 3 * live <= least_memory(p);
    is_distinct = s->is_roomy && !p->ask.is_concurrent && !p->ask.is_contiguous;
    s->setups = weft_setups_new(p, MOST_SETUPS, is_distinct, s->a);
    if (s->run->n_threads > 1) /* threads only look things up */
        weft_tables_fill(s->tables, s->setups);
    pair = WEFT_NEW(s->a, weft_minsum_pair, s->tables->n_edges + 1);
    for (int e = 0; e < s->tables->n_edges; e++)
        pair[e] = (weft_minsum_pair){s->tables->edge[e].from, s->tables->edge[e].to, NULL};
    s->order = weft_minsum_order(p->steps->n, s->tables->n_edges, pair, s->a);
}

/* Bytes by which the fullest device exceeds its memory; 0 if none does. */
static double excess_bytes(const weft_sharding *p, const weft_shards_measures *m)
{
    double most = 0;

    for (int i = 0; i < p->n_accelerators; i++) {
        int d = p->accelerator[i];

        most = fmax(most, m->peak_bytes[d] - p->platform->device[d].memory_bytes);
    }
    return most;
}

/* Searches with more and more room kept free for live tensors, until the plan fits. */
static weft_status search_with_room(weft_search *s)
{
    double bound = 0;

    for (int i = 0; i < MOST_TRIES; i++) {
        weft_shards legal = s->plan;
        double value = s->value, excess;
        weft_shards_measures m;

        s->bound = 0;
        WEFT_TRY(weft_search_run(s));
        bound = i == 0 ? s->bound : bound;
        if (s->value == value) /* nothing better than the legal plan that was there */
            break;
        WEFT_TRY(weft_shards_evaluate(s->p, &s->plan, s->a, &m));
        excess = excess_bytes(s->p, &m);
        if (!(excess > 0) || (weft_run_is_over(s->run) && value == INFINITY))
            break; /* the driver says by how much a plan is too large */
        s->plan = legal;
        s->value = value;
        s->is_roomy = false;
        s->n_solved = 0;
        s->spare_bytes += 1.05 * excess;
    }
    s->bound = bound;
    return WEFT_OK;
}

static weft_status solve_one_by_one(const weft_sharding *p, const weft_shard_options *o,
                                    weft_run *run, weft_shards *plan, weft_proof *proof)
{
    weft_search s = {0};

    weft_search_start(&s, p, run);
    WEFT_TRY(weft_search_quick(&s, o));
    weft_search_begin(&s);
    WEFT_TRY(search_with_room(&s));
    proof->bound = s.bound;
    proof->method = "sharding search";
    if (s.value < INFINITY) {
        *plan = s.plan;
        proof->outcome = WEFT_BOUNDED;
    } else if (s.bound == INFINITY) {
        proof->outcome = WEFT_INFEASIBLE;
    } else {
        proof->outcome = WEFT_UNKNOWN;
    }
    return WEFT_OK;
}

static weft_status solve_auto(const weft_sharding *p, const weft_shard_options *o, weft_run *run,
                              weft_shards *plan, weft_proof *proof)
{
    double weights = stored_bytes(p), room = all_memory(p);

    if (p->ask.is_concurrent)
        WEFT_TRY(weft_side_solve(p, o, run, plan, proof));
    else
        WEFT_TRY(solve_one_by_one(p, o, run, plan, proof));
    if (proof->outcome == WEFT_INFEASIBLE || proof->outcome == WEFT_UNKNOWN) {
        char a[48], b[48];

        proof->reason = weft_arena_print(
            run->scratch,
            proof->outcome == WEFT_INFEASIBLE
                ? "the weights take %s, all accelerators together have %s, and no split fits"
                : "no plan that fits was found: the weights take %s, all accelerators together "
                  "have %s",
            weft_unit_print(weights, WEFT_UNIT_BYTES, a),
            weft_unit_print(room, WEFT_UNIT_BYTES, b));
    }
    return WEFT_OK;
}

const weft_shard_solver weft_shard_auto = {
    .name = "auto",
    .summary = "the best sets, designs and splits by search with bounds; proves its answer",
    .solve = solve_auto,
};
