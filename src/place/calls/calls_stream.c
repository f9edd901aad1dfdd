/* SPDX-License-Identifier: MIT */
/* calls_stream.c: the best pipeline under `calls`.
 *
 * The forward tasks of the devices form a chain of stages. calls_model.c joins tasks that cannot be
 * or need not be apart, calls_chain.c finds the best chain below a limit.
 *
 * 1. A first pipeline: the best of one topological order.
 * 2. Only better ones matter from here on: tensors too dear to be sent join their blocks.
 * 3. The limit starts at the load bound and grows, faster and faster, until a chain is found or the
 *    limit is the value at hand. A search that finds nothing proves that no pipeline is below its
 *    limit; one that finds something has found the least.
 * 4. Blocks of backward tasks alone (they share a device with no forward task) may be anywhere: the
 *    pipeline of step 3 is least without what they exchange among themselves, a lower bound. They
 *    are placed by descent. If the value stays above the bound and they are few, step 3 is repeated
 *    with them as members of the sets, without predecessors; then it is exact.
 *
 * 5. With a limit of time, a pipeline that is not proved is annealed (calls_free.c) until it ends.
 *
 * Guarantee: the least period of all pipelines, if the searches end within the run's limits and
 * value and bound meet in step 4; else the last limit that was refuted is the bound. */
#include "calls_stream.h"

#include "calls_chain.h"

#include <math.h>
#include <string.h>

enum {
    MOST_LOOSE = 12,   /* backward blocks that are tried as members */
    MOST_ROUNDS = 100, /* of step 4; it ends by itself, as loads fall */
};
static const double LIMIT_GROWTH = 1.05;
static const double ROUNDING = 1e-11; /* relative: sums of loads differ by less */

/* A search and what is known so far. */
typedef struct pursuit {
    const weft_problem *p;
    weft_run *run;
    const double *price;
    weft_calls *m;
    weft_chain *chain;
    int n;              /* members */
    int *device;        /* [n_tasks] the best so far */
    double value_s;     /* INFINITY: none yet */
    double bound_s;     /* of all pipelines */
    const char *method; /* where the bound comes from */
} pursuit;

/* --- step 4: backward blocks ----------------------------------------------------------------- */

/* The device where block b leaves the least period, on a tie the least sum of loads, then where it
 * is, then the least number; -1 if there is room nowhere. The block is left wherever it was tried
 * last. */
static int best_device(weft_calls_loads *l, int b)
{
    const weft_calls *m = l->calls;
    int home = l->device[b], best = -1;
    double least_s = INFINITY, least_sum_s = INFINITY;

    for (int i = -1; i < m->n_devices; i++) {
        int d = i < 0 ? home : i;
        double sum_s = 0, period_s;

        if (d < 0 || !isfinite(m->time_s[b * m->n_devices + d]))
            continue;
        weft_calls_move(l, b, d);
        if (!weft_calls_fits(l))
            continue;
        period_s = weft_calls_period(l);
        for (int e = 0; e < m->n_devices; e++)
            sum_s += l->load_s[e];
        if (best < 0 || period_s < least_s * (1 - ROUNDING) ||
            (period_s <= least_s && sum_s < least_sum_s * (1 - ROUNDING))) {
            least_s = period_s;
            least_sum_s = sum_s;
            best = d;
        }
    }
    return best;
}

/* Places the blocks that are no members: each in turn where it does best, again and again while
 * that helps. */
static void place_rest(weft_calls_loads *l, int n_members)
{
    bool is_better = true;

    for (int round = 0; is_better && round < MOST_ROUNDS; round++) {
        is_better = false;
        for (int b = n_members; b < l->calls->n_blocks; b++) {
            int home = l->device[b], best = best_device(l, b);

            is_better |= best != home;
            weft_calls_move(l, b, best);
        }
    }
}

static bool is_whole(const weft_calls_loads *l)
{
    for (int b = 0; b < l->calls->n_blocks; b++) {
        if (l->device[b] < 0)
            return false;
    }
    return weft_calls_fits(l);
}

/* --- step 3 ---------------------------------------------------------------------------------- */

/* Takes over the chain found if it is better than what is known. */
static void take_chain(pursuit *x)
{
    weft_arena *a = x->run->scratch;
    size_t mark = weft_arena_mark(a);
    weft_calls_loads l = weft_calls_loads_new(x->m, a);
    int *device = WEFT_NEW(a, int, x->m->n_blocks);

    weft_chain_read(x->chain, device);
    for (int b = 0; b < x->n; b++)
        weft_calls_move(&l, b, device[b]);
    place_rest(&l, x->n);
    weft_calls_renew(&l);
    if (is_whole(&l) && weft_calls_period(&l) < x->value_s) {
        x->value_s = weft_calls_period(&l);
        for (int u = 0; u < x->p->n_tasks; u++)
            x->device[u] = l.device[x->m->block[u]];
    }
    weft_arena_rewind(a, mark);
}

/* Pipelines below the value at hand are not below bound_s. */
static void raise_bound(pursuit *x, double bound_s, const char *method)
{
    bound_s = fmin(bound_s, x->value_s);
    if (!(bound_s > x->bound_s))
        return;
    x->bound_s = bound_s;
    x->method = method;
}

static bool is_closed(const pursuit *x)
{
    return x->bound_s >= x->value_s * (1 - ROUNDING);
}

static void set_members(pursuit *x, int n)
{
    x->n = n;
    weft_chain_members(x->chain, n);
}

static void climb(pursuit *x)
{
    double limit_s = x->bound_s * (1 + ROUNDING), growth = LIMIT_GROWTH;
    bool is_last = false;

    while (!is_last && !is_closed(x) && !weft_chain_is_over(x->chain)) {
        double most_s = x->value_s < INFINITY ? x->value_s * (1 - ROUNDING) : WEFT_CHAIN_MOST_S;
        bool is_found;

        limit_s = limit_s > 0 && limit_s * growth < most_s ? limit_s * growth : most_s;
        growth *= growth;
        is_found = weft_chain_search(x->chain, limit_s, false);
        is_last = is_found || limit_s == most_s;
        if (weft_chain_is_proof(x->chain))
            raise_bound(x,
                        is_found  ? weft_chain_value(x->chain)
                        : is_last ? x->value_s
                                  : limit_s,
                        "ideals");
        if (is_found)
            take_chain(x);
        if (x->run->progress != NULL)
            x->run->progress(x->run->context, x->value_s, x->bound_s);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* The blocks for plans below the value at hand. False if there is nothing to search. */
static bool set_blocks(pursuit *x)
{
    x->m = weft_calls_new(x->p, true, x->value_s, x->run->scratch);
    if (x->m->is_empty) { /* what must share a device cannot */
        if (!x->m->is_restricted)
            raise_bound(x, x->value_s, "cut");
        return false;
    }
    if (!x->m->is_restricted && !weft_run_is_over(x->run))
        raise_bound(x, weft_calls_cut_bound(x->m, x->run->scratch), "cut");
    x->chain = weft_chain_new(x->m, x->price, x->run);
    set_members(x, x->m->n_forward);
    return true;
}

static void pursue(pursuit *x)
{
    if (!set_blocks(x))
        return;
    if (weft_chain_search(x->chain, WEFT_CHAIN_MOST_S, true))
        take_chain(x);
    if ((x->value_s < INFINITY && weft_run_is_over(x->run)) || !set_blocks(x))
        return;
    climb(x);
    if (is_closed(x) || weft_chain_is_over(x->chain) || x->n == x->m->n_blocks ||
        x->m->n_blocks - x->n > MOST_LOOSE)
        return;
    set_members(x, x->m->n_blocks);
    climb(x);
}

/* Is there time, and nothing asked for that annealing does not know? */
static bool may_anneal(const weft_problem *p, const weft_run *run)
{
    return run->steps == 0 && run->limit_s < INFINITY && !(p->constraints.most_latency_s > 0) &&
           !weft_segments_matter(&p->constraints);
}

/* Step 5. */
static void anneal_on(pursuit *x)
{
    size_t bytes = (size_t)x->p->n_tasks * sizeof *x->device;
    int *device = weft_arena_copy(x->run->scratch, x->device, bytes);
    double value_s = weft_calls_anneal_stages(x->p, x->run, x->bound_s, device);

    if (!(value_s < x->value_s))
        return;
    x->value_s = value_s;
    memcpy(x->device, device, bytes);
}

weft_status weft_calls_contiguous(const weft_problem *p, weft_run *run, weft_plan *plan,
                                  weft_proof *proof)
{
    weft_domain domain = weft_domain_new(p, run->scratch);
    pursuit x = {.p = p, .run = run, .value_s = INFINITY};

    proof->outcome = domain.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (domain.is_empty)
        return WEFT_OK;
    weft_load_bound(&domain, run->scratch, proof);
    proof->certified = x.bound_s = proof->bound;
    x.price = proof->price;
    x.device = WEFT_NEW(run->scratch, int, p->n_tasks);
    pursue(&x);
    if (x.value_s < INFINITY && !is_closed(&x) && may_anneal(p, run))
        anneal_on(&x);
    run->is_exhausted = !weft_run_is_over(run) && (x.chain == NULL || !weft_chain_is_over(x.chain));
    if (x.value_s < INFINITY)
        proof->outcome = WEFT_BOUNDED; /* the driver compares value and bound */
    else if (!(x.bound_s < INFINITY))
        proof->outcome = WEFT_INFEASIBLE;
    for (int u = 0; u < p->n_tasks && x.value_s < INFINITY; u++) {
        plan->device[u] = x.device[u];
        plan->start_s[u] = u;
    }
    if (x.bound_s > proof->bound) {
        proof->bound = x.bound_s * (1 - ROUNDING);
        proof->method = x.method;
    }
    return WEFT_OK;
}
