/* SPDX-License-Identifier: MIT */
/* shard_auto.c: solver `auto`: the best configuration and splits, with proof.
 *
 * One step after the other: the search over configurations (search.c). Side by side: side.c. The
 * memory of accelerators is looked at only where it should bind: not if all weights, with three
 * times the largest live tensors, fit on every accelerator. If a plan turns out to need more room
 * for live tensors than was kept free, the search is done again with more kept free, a few times,
 * halving between too little and enough; the bound stays that of the first one, which allowed
 * more. */
#include "search.h"
#include "side.h"

#include <math.h>

enum { MOST_CONFIGS = 20000, MOST_TRIES = 7 };

static double least_memory(const weft_shard_problem *p)
{
    double least = INFINITY;

    for (int i = 0; i < p->n_accelerators; i++)
        least = fmin(least, p->platform->device[p->accelerator[i]].memory_bytes);
    return least;
}

static double all_memory(const weft_shard_problem *p)
{
    double sum = 0;

    for (int i = 0; i < p->n_accelerators; i++)
        sum += p->platform->device[p->accelerator[i]].memory_bytes;
    return sum;
}

/* Weights of all steps, those that several read as often as they are read. */
static double stored_bytes(const weft_shard_problem *p)
{
    const weft_steps *s = p->steps;
    double sum = 0;

    for (int v = 0; v < s->n; v++)
        for (int i = 0; i < s->step[v].n_weights; i++)
            sum += (double)s->graph->tensor[s->step[v].weight[i].tensor].bytes;
    return sum;
}

void weft_search_start(weft_search *s, const weft_shard_problem *p, weft_run *run)
{
    s->p = p;
    s->run = run;
    s->a = run->scratch;
    s->value = INFINITY;
}

void weft_search_begin(weft_search *s)
{
    const weft_shard_problem *p = s->p;
    double live = (double)weft_graph_peak_bytes(p->steps->graph);
    weft_pairwise_min_pair *pair;
    bool is_distinct;

    s->tables = weft_tables_new(p, s->a);
    s->is_memory_free = stored_bytes(p) + 3 * live <= least_memory(p);
    is_distinct =
        s->is_memory_free && !p->constraints.is_concurrent && !p->constraints.is_contiguous;
    s->configs = weft_configurations_new(p, MOST_CONFIGS, is_distinct, s->a);
    if (s->run->n_threads > 1) /* threads only look things up */
        weft_tables_fill(s->tables, s->configs);
    pair = WEFT_NEW(s->a, weft_pairwise_min_pair, s->tables->n_edges + 1);
    for (int e = 0; e < s->tables->n_edges; e++)
        pair[e] = (weft_pairwise_min_pair){s->tables->edge[e].from, s->tables->edge[e].to, NULL};
    s->order = weft_pairwise_min_order(p->steps->n, s->tables->n_edges, pair, s->a);
}

/* What the plan of a search needs besides weights. */
typedef struct need {
    double excess_bytes; /* by which the fullest device exceeds its memory; 0 if none does */
    double live_bytes;   /* all but weights on the devices that are too full, the most */
} need;

static double weights_on(const weft_shard_problem *p, const weft_shard_plan *s, int device)
{
    double bytes = 0;

    for (int v = 0; v < s->n_steps; v++) {
        const weft_device_set *t = &s->set[s->set_of[v]];

        for (int i = 0; i < t->n; i++)
            if (t->member[i] == device)
                bytes += weft_split_cost_of(p->steps, v, &s->split[v], weft_device_set_design(p, t))
                             .weight_bytes;
    }
    return bytes;
}

static need need_of(const weft_shard_problem *p, const weft_shard_plan *s,
                    const weft_shard_plan_measures *m)
{
    need most = {0, 0};

    for (int i = 0; i < p->n_accelerators; i++) {
        int d = p->accelerator[i];
        double excess = m->peak_bytes[d] - p->platform->device[d].memory_bytes;

        if (!(excess > 0))
            continue;
        most.excess_bytes = fmax(most.excess_bytes, excess);
        most.live_bytes = fmax(most.live_bytes, m->peak_bytes[d] - weights_on(p, s, d));
    }
    return most;
}

/* How much room to keep free: between what was too little and what was enough (or too much). */
typedef struct spare {
    double low, high;      /* bytes; high INFINITY: nothing was enough yet */
    double value;          /* of the best plan that fits */
    double too_full_value; /* of the last one that does not */
    weft_shard_plan plan;
} spare;

/* The bytes to keep free next. A plan that comes out again is excluded by what it needs. */
static double next_spare(const spare *x, const need *n, double value)
{
    if (x->high < INFINITY)
        return (x->low + x->high) / 2;
    return value <= x->too_full_value ? fmax(x->low, n->live_bytes)
                                      : x->low + 1.05 * n->excess_bytes;
}

/* Searches once with s->spare_bytes kept free, for a plan better than the best that fits, and sets
 * them for the next time. */
static weft_status try_spare(weft_search *s, spare *x)
{
    weft_shard_plan_measures m;
    need n = {0, 0};
    bool is_new;

    s->value = x->value;
    s->bound = 0;
    s->n_solved = 0;
    WEFT_TRY(weft_search_run(s));
    is_new = s->value < x->value;
    if (is_new) {
        WEFT_TRY(weft_shard_plan_evaluate(s->p, &s->plan, s->a, &m));
        n = need_of(s->p, &s->plan, &m);
    }
    if (n.excess_bytes > 0) {
        s->is_memory_free = false;
        x->low = s->spare_bytes;
        if (x->value == INFINITY)
            x->plan = s->plan; /* for want of a better one: says how much is missing */
    } else {
        x->high = s->spare_bytes;
        if (is_new) {
            x->value = s->value;
            x->plan = s->plan;
        }
    }
    s->spare_bytes = next_spare(x, &n, s->value);
    x->too_full_value = n.excess_bytes > 0 ? s->value : x->too_full_value;
    return WEFT_OK;
}

static weft_status solve_one_by_one(const weft_shard_problem *p, const weft_shard_options *o,
                                    weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    weft_search s = {0};
    spare x = {.low = 0, .high = INFINITY, .value = INFINITY, .too_full_value = 0};
    double bound = 0;

    weft_search_start(&s, p, run);
    WEFT_TRY(weft_search_quick(&s, o));
    x.value = s.value;
    x.plan = s.plan;
    weft_search_begin(&s);
    for (int i = 0; i < MOST_TRIES && x.high > x.low && (i == 0 || !weft_run_is_over(run)); i++) {
        WEFT_TRY(try_spare(&s, &x));
        if (i == 0)
            bound = s.bound;
    }
    proof->bound = bound;
    proof->method = "sharding search";
    if (x.plan.n_steps > 0) {
        *plan = x.plan;
        proof->outcome = WEFT_BOUNDED;
    } else if (bound == INFINITY) {
        proof->outcome = WEFT_INFEASIBLE;
    } else {
        proof->outcome = WEFT_UNKNOWN;
    }
    return WEFT_OK;
}

/* Bytes that all members of a set store of a class of steps, in the split and number of equal
 * accelerators where that is least. */
static double least_stored(weft_tables *t, int step_class, const weft_repeats *equals)
{
    const weft_platform *m = t->problem->platform;
    double least = INFINITY;

    for (int b = 0; b < equals->n_classes; b++)
        for (int n = 1; n <= weft_repeats_most(equals, b); n++) {
            const weft_split_cost *mode =
                weft_tables_costs(t, step_class, n, &m->device[equals->device[b][0]].design[0]);

            for (int i = 0; i < weft_tables_choices(t, step_class, n)->n; i++)
                least = fmin(least, n * mode[i].weight_bytes);
        }
    return least;
}

/* Is it certain that the weights fit nowhere? A member stores the sum over the steps of its set, so
 * all members of all sets together store at least the sum of these minima. */
static bool is_too_large(const weft_shard_problem *p)
{
    weft_arena *scratch = weft_arena_new();
    weft_tables *t = weft_tables_new(p, scratch);
    weft_repeats equals = weft_repeats_find(p, scratch);
    double sum = 0;

    for (int c = 0; c < t->n_classes; c++)
        sum += t->n_like[c] * least_stored(t, c, &equals);
    weft_arena_free(scratch);
    return sum > all_memory(p) * (1 + 1e-9);
}

static weft_status solve_auto(const weft_shard_problem *p, const weft_shard_options *o,
                              weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    double weights = stored_bytes(p), room = all_memory(p);

    if (p->constraints.is_concurrent)
        WEFT_TRY(weft_side_solve(p, o, run, plan, proof));
    else
        WEFT_TRY(solve_one_by_one(p, o, run, plan, proof));
    if (proof->outcome == WEFT_UNKNOWN && is_too_large(p)) { /* time was too short to see it */
        proof->outcome = WEFT_INFEASIBLE;
        proof->bound = INFINITY;
        proof->method = "sharding search";
    }
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

static const char *search_of(const weft_shard_problem *p)
{
    return p->constraints.is_concurrent && weft_single_applies(p) ? "placement search"
                                                                  : "sharding search";
}

const weft_shard_solver weft_shard_auto = {
    .name = "auto",
    .summary = "exact search over sets, designs and splits with bounds; proves its answer",
    .solve = solve_auto,
    .search = search_of,
};
