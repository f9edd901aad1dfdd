/* SPDX-License-Identifier: MIT */
/* brute_shards.c: the best sharded plan by trying every one.
 *
 *  1. Every accelerator joins a set of equal ones or opens its own: all partitions. Sets that run
 *     nothing cost nothing, so plans that leave accelerators unused are among them.
 *  2. Every set takes each of its designs.
 *  3. Steps in order take each split over each set. One after the other, seconds add up; side by
 *     side, a step starts when its operands are there and its set is free, for every order of steps
 *     that agrees with the network.
 * Seconds are >= 0: a beginning that is no better than the best plan is not continued. Members of a
 * set are equal and all their links count as the slowest, so their order does not matter. What
 * depends on a step, its splits and the number of members only is computed once. */
#include "brute_shards.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = BRUTE_MOST_ACCELERATORS, SIZES = BRUTE_MOST_ACCELERATORS + 1, MOST_DESIGNS = 4 };

/* A step over some number of members. */
typedef struct part {
    int n;
    const weft_split *split;
    double **need_bytes, **result_bytes; /* [operand][split], [result][split] */
    weft_split_cost *mode[MOST_SETS * MOST_DESIGNS];
} part;

typedef struct brute {
    const weft_shard_problem *p;
    bool has_memory;
    bool is_simulated; /* every plan is valued by the simulator, none is passed over */
    int64_t most_plans;
    weft_arena *a;
    part (*part)[SIZES];     /* [step][members] */
    double *(*moved)[SIZES]; /* [operand_at[step] + operand][members]: [from * n_to + to] bytes */
    double *(*meantime)[SIZES]; /* the same: share computed meanwhile */
    int operand_at[BRUTE_MOST_STEPS + 1];
    /* the configuration */
    int n_sets;
    weft_device_set set[MOST_SETS];
    int look[MOST_SETS]; /* devices and design, as modes are kept */
    weft_link_cost inside[MOST_SETS], host[MOST_SETS], between[MOST_SETS][MOST_SETS];
    /* the plan */
    int order[BRUTE_MOST_STEPS];
    int set_of[BRUTE_MOST_STEPS], split[BRUTE_MOST_STEPS];
    double end_s[BRUTE_MOST_STEPS], free_s[MOST_SETS];
    brute_shards_answer best;
} brute;

/* --- what is computed once ------------------------------------------------------------------- */

static part *part_of(brute *b, int v, int n)
{
    const weft_steps *s = b->p->steps;
    part *x = &b->part[v][n];

    if (x->n > 0)
        return x;
    x->n = weft_step_splits(s, v, n, !b->p->constraints.has_no_sharing, b->a, &x->split);
    x->need_bytes = WEFT_NEW(b->a, double *, s->step[v].n_operands + 1);
    x->result_bytes = WEFT_NEW(b->a, double *, s->step[v].n_results + 1);
    for (int k = 0; k < s->step[v].n_operands; k++) {
        x->need_bytes[k] = WEFT_NEW(b->a, double, x->n);
        for (int i = 0; i < x->n; i++)
            x->need_bytes[k][i] = weft_need_bytes(s, v, k, &x->split[i], NULL);
    }
    for (int r = 0; r < s->step[v].n_results; r++) {
        x->result_bytes[r] = WEFT_NEW(b->a, double, x->n);
        for (int i = 0; i < x->n; i++)
            x->result_bytes[r][i] = weft_result_bytes(s, v, r, &x->split[i], NULL);
    }
    return x;
}

static const weft_split_cost *mode_of(brute *b, int v)
{
    int set = b->set_of[v], look = b->look[set];
    part *x = part_of(b, v, b->set[set].n);

    if (x->mode[look] == NULL) {
        x->mode[look] = WEFT_NEW(b->a, weft_split_cost, x->n);
        for (int i = 0; i < x->n; i++)
            x->mode[look][i] = weft_split_cost_of(b->p->steps, v, &x->split[i],
                                                  weft_device_set_design(b->p, &b->set[set]));
    }
    return &x->mode[look][b->split[v]];
}

/* Bytes that move, and the share computed meanwhile, for all pairs of splits over n members. */
static void fill_edge(brute *b, int v, int k, int n)
{
    const weft_steps *s = b->p->steps;
    const part *from = part_of(b, s->step[v].operand[k].step, n), *to = part_of(b, v, n);
    double *moved = WEFT_NEW(b->a, double, from->n * to->n);
    double *meantime = WEFT_NEW(b->a, double, from->n * to->n);

    for (int i = 0; i < from->n; i++)
        for (int j = 0; j < to->n; j++) {
            moved[i * to->n + j] =
                weft_reshard_bytes(s, v, k, &from->split[i], &to->split[j], NULL);
            if (b->p->hides && k == 0)
                meantime[i * to->n + j] =
                    weft_interior_share(s, v, k, &from->split[i], &to->split[j]);
        }
    b->moved[b->operand_at[v] + k][n] = moved;
    b->meantime[b->operand_at[v] + k][n] = meantime;
}

/* --- seconds of the plan at hand ------------------------------------------------------------- */

static double inside_s(brute *b, int u, int v, int k)
{
    int set = b->set_of[v], n = b->set[set].n, e = b->operand_at[v] + k, at;
    double s;

    if (b->moved[e][n] == NULL)
        fill_edge(b, v, k, n);
    at = b->split[u] * b->part[v][n].n + b->split[v];
    s = weft_reshard_s(&b->inside[set], b->moved[e][n][at]);
    return b->meantime[e][n][at] > 0
               ? fmax(0, s - b->meantime[e][n][at] * weft_split_compute_s(mode_of(b, v)))
               : s;
}

/* Operand k of step v. */
static double operand_s(brute *b, int v, int k)
{
    const weft_step_operand *o = &b->p->steps->step[v].operand[k];
    int set = b->set_of[v];
    double need = part_of(b, v, b->set[set].n)->need_bytes[k][b->split[v]];

    if (o->step < 0)
        return weft_link_cost_s(&b->host[set], need);
    if (b->set_of[o->step] == set)
        return inside_s(b, o->step, v, k);
    return weft_handover_s(&b->between[b->set_of[o->step]][set], need,
                           (double)b->p->steps->graph->tensor[o->tensor].bytes,
                           b->set[b->set_of[o->step]].n);
}

/* Result r of step v to the host, if it is asked for. */
static double output_s(brute *b, int v, int r)
{
    const weft_graph *g = b->p->steps->graph;
    int set = b->set_of[v];

    for (int i = 0; i < g->n_outputs; i++)
        if (g->output[i] == b->p->steps->step[v].result[r])
            return weft_link_cost_s(&b->host[set],
                                    part_of(b, v, b->set[set].n)->result_bytes[r][b->split[v]]);
    return 0;
}

/* One after the other: everything that step v adds. */
static double added_s(brute *b, int v)
{
    const weft_step *s = &b->p->steps->step[v];
    double sum = weft_split_cost_s(mode_of(b, v), &b->inside[b->set_of[v]], b->p->hides);

    for (int k = 0; k < s->n_operands; k++)
        sum += operand_s(b, v, k);
    for (int r = 0; r < s->n_results; r++)
        sum += output_s(b, v, r);
    return sum;
}

/* Side by side: when step v and the way of its outputs end. */
static double finish_s(brute *b, int v)
{
    const weft_step *s = &b->p->steps->step[v];
    double at = b->free_s[b->set_of[v]], last;

    for (int k = 0; k < s->n_operands; k++) {
        int u = s->operand[k].step;

        at = fmax(at, (u < 0 ? 0 : b->end_s[u]) + operand_s(b, v, k));
    }
    at += weft_split_cost_s(mode_of(b, v), &b->inside[b->set_of[v]], false);
    b->end_s[v] = b->free_s[b->set_of[v]] = last = at;
    for (int r = 0; r < s->n_results; r++)
        last = fmax(last, at + output_s(b, v, r));
    return last;
}

/* --- what fits ------------------------------------------------------------------------------- */

static bool is_before(const weft_steps *s, int u, int v)
{
    for (int k = 0; k < s->step[v].n_operands; k++)
        if (s->step[v].operand[k].step == u)
            return true;
    return false;
}

static void swap(int *x, int *y)
{
    int old = *x;

    *x = *y;
    *y = old;
}

/* The next order of steps that agrees with the network, from the identity on; false: none. */
static bool next_order(const weft_steps *s, int *order)
{
    int n = s->n;
    bool is_topological;

    do {
        int i = n - 2, k = n - 1;

        while (i >= 0 && order[i] > order[i + 1])
            i--;
        if (i < 0)
            return false;
        while (order[k] < order[i])
            k--;
        swap(&order[i], &order[k]);
        for (int lo = i + 1, hi = n - 1; lo < hi; lo++, hi--)
            swap(&order[lo], &order[hi]);
        is_topological = true;
        for (int hi = 1; hi < n; hi++)
            for (int lo = 0; lo < hi; lo++)
                is_topological &= !is_before(s, order[hi], order[lo]);
    } while (!is_topological);
    return true;
}

static weft_shard_plan plan_of(brute *b, const int *order, weft_arena *a)
{
    weft_shard_plan s = weft_shard_plan_new(b->n_sets, b->p->steps->n, a);

    memcpy(s.set, b->set, sizeof *s.set * (size_t)b->n_sets);
    for (int i = 0; i < s.n_steps; i++) {
        int v = order[i];

        s.set_of[v] = b->set_of[v];
        s.split[v] = part_of(b, v, b->set[b->set_of[v]].n)->split[b->split[v]];
        s.start_s[v] = i;
    }
    return s;
}

static bool fits_in_order(brute *b, const int *order)
{
    weft_arena *a = weft_arena_new();
    weft_shard_plan s = plan_of(b, order, a);
    weft_shard_plan_measures m;
    weft_violation violation;
    bool fits = weft_shard_plan_check(b->p, &s, &violation, 1, a) == 0 &&
                weft_shard_plan_evaluate(b->p, &s, a, &m) == WEFT_OK && m.over_device < 0;

    weft_arena_free(a);
    return fits;
}

/* Does the plan at hand fit in some order? *order becomes it. */
static bool does_fit(brute *b, int *order)
{
    double used[MOST_SETS] = {0};
    bool fits;

    for (int v = 0; v < b->p->steps->n; v++)
        used[b->set_of[v]] += mode_of(b, v)->weight_bytes;
    for (int i = 0; i < b->n_sets; i++)
        if (used[i] > weft_device_set_memory(b->p, &b->set[i]))
            return false;
    do
        fits = fits_in_order(b, order);
    while (!fits && !b->p->constraints.is_concurrent && next_order(b->p->steps, order));
    return fits;
}

/* --- plans ----------------------------------------------------------------------------------- */

/* Takes the plan at hand in this order, if it is legal, better, and fits; false: it does not fit.
 */
static bool simulate(brute *b, const int *order)
{
    weft_arena *a = weft_arena_new();
    weft_shard_plan s = plan_of(b, order, a);
    weft_shard_plan_measures m = {.over_device = -1};
    weft_violation violation;
    bool fits = true;

    if (weft_shard_plan_check(b->p, &s, &violation, 1, a) == 0) {
        if (weft_shard_plan_evaluate(b->p, &s, a, &m) != WEFT_OK)
            abort();
        fits = !b->has_memory || m.over_device < 0;
        if (fits && m.latency_s < b->best.value) {
            b->best.value = m.latency_s;
            b->best.plan = plan_of(b, order, b->a);
        }
    }
    weft_arena_free(a);
    return fits;
}

static void keep_simulated(brute *b)
{
    int order[BRUTE_MOST_STEPS];

    memcpy(order, b->order, sizeof order);
    if (b->best.n_plans++ >= b->most_plans)
        return;
    while (!simulate(b, order) && !b->p->constraints.is_concurrent &&
           next_order(b->p->steps, order))
        ;
}

static void keep(brute *b, double value)
{
    int order[BRUTE_MOST_STEPS];

    memcpy(order, b->order, sizeof order);
    b->best.n_plans++;
    if (b->has_memory && !does_fit(b, order))
        return;
    b->best.value = value;
    b->best.plan = plan_of(b, order, b->a);
}

/* May the i-th step run on the set? One stretch: on that of the step before, or on a fresh one. */
static bool is_allowed(const brute *b, int i, int set)
{
    if (!b->p->constraints.is_contiguous || i == 0 || b->set_of[i - 1] == set)
        return true;
    for (int v = 0; v < i; v++)
        if (b->set_of[v] == set)
            return false;
    return true;
}

/* The i-th step of the order and all behind it; `value`: of those before. */
static void extend(brute *b, int i, double value)
{
    int v = i < b->p->steps->n ? b->order[i] : -1;

    if (v < 0) {
        if (b->is_simulated)
            keep_simulated(b);
        else
            keep(b, value);
        return;
    }
    for (int set = 0; set < b->n_sets; set++) {
        int n = is_allowed(b, i, set) ? part_of(b, v, b->set[set].n)->n : 0;
        double free_s = b->free_s[set];

        for (int k = 0; k < n; k++) {
            double now;

            b->set_of[v] = set;
            b->split[v] = k;
            now = b->is_simulated                   ? 0
                  : b->p->constraints.is_concurrent ? fmax(value, finish_s(b, v))
                                                    : value + added_s(b, v);
            if (b->is_simulated ? b->best.n_plans <= b->most_plans : now < b->best.value)
                extend(b, i + 1, now);
            b->free_s[set] = free_s;
        }
    }
}

static void try_setup(brute *b)
{
    for (int i = 0; i < b->n_sets; i++) {
        b->inside[i] = weft_device_set_link(b->p, &b->set[i]);
        b->host[i] = weft_host_link_cost(b->p, &b->set[i]);
        b->free_s[i] = 0;
        for (int k = 0; k < b->n_sets; k++)
            if (i != k)
                b->between[i][k] = weft_pair_link_cost(b->p, &b->set[i], &b->set[k]);
    }
    b->best.n_setups++;
    for (int v = 0; v < b->p->steps->n; v++)
        b->order[v] = v;
    do
        extend(b, 0, 0);
    while (b->p->constraints.is_concurrent && next_order(b->p->steps, b->order));
}

static bool are_equal(const weft_device *x, const weft_device *y)
{
    return strcmp(x->kind, y->kind) == 0 && x->memory_bytes == y->memory_bytes;
}

static void try_designs(brute *b, int i)
{
    const weft_device *device = b->p->platform->device;
    int first = 0;

    if (i == b->n_sets) {
        try_setup(b);
        return;
    }
    while (!are_equal(&device[b->p->accelerator[first]], &device[b->set[i].member[0]]))
        first++;
    for (int d = 0; d < device[b->set[i].member[0]].n_designs; d++) {
        b->set[i].design = d;
        b->look[i] = first * MOST_DESIGNS + d;
        try_designs(b, i + 1);
    }
}

/* Accelerator i and all behind it join sets. */
static void try_sets(brute *b, int i)
{
    const weft_device *device = b->p->platform->device;

    if (i == b->p->n_accelerators) {
        try_designs(b, 0);
        return;
    }
    for (int k = 0; k < b->n_sets; k++)
        if (are_equal(&device[b->set[k].member[0]], &device[b->p->accelerator[i]])) {
            b->set[k].member[b->set[k].n++] = b->p->accelerator[i];
            try_sets(b, i + 1);
            b->set[k].n--;
        }
    b->set[b->n_sets++] = (weft_device_set){.n = 1, .member = {b->p->accelerator[i]}};
    try_sets(b, i + 1);
    b->n_sets--;
}

static brute_shards_answer try_all(brute *b)
{
    const weft_steps *s = b->p->steps;

    assert(b->p->n_accelerators <= BRUTE_MOST_ACCELERATORS && s->n <= BRUTE_MOST_STEPS);
    for (int v = 0; v < s->n; v++)
        b->operand_at[v + 1] = b->operand_at[v] + s->step[v].n_operands;
    b->part = weft_arena_alloc(b->a, sizeof *b->part * (size_t)s->n);
    b->moved = weft_arena_alloc(b->a, sizeof *b->moved * (size_t)(b->operand_at[s->n] + 1));
    b->meantime = weft_arena_alloc(b->a, sizeof *b->meantime * (size_t)(b->operand_at[s->n] + 1));
    b->best.value = INFINITY;
    try_sets(b, 0);
    return b->best;
}

brute_shards_answer brute_shards(const weft_shard_problem *p, bool has_memory, weft_arena *a)
{
    brute b = {.p = p, .has_memory = has_memory, .a = a};

    assert(!p->constraints.is_concurrent || (!p->hides && !p->constraints.is_contiguous));
    return try_all(&b);
}

brute_shards_answer brute_shards_simulated(const weft_shard_problem *p, bool has_memory,
                                           int64_t most_plans, weft_arena *a)
{
    brute b = {
        .p = p, .has_memory = has_memory, .is_simulated = true, .most_plans = most_plans, .a = a};

    return try_all(&b);
}
