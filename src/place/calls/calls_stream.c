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
 *    chain of step 3 is least without what they exchange among themselves, and if each stage counts them
 *    where they cost it least: a lower bound. They are placed by descent. If the value stays above the
 *    bound, branches follow: such a block shares the device of a neighbour, or it does not.
 *    Both are searched as in step 3, those of least bound first (calls_branch.c chooses). A block that is
 *    kept from all its neighbours is left; if such blocks are few, they become members of
 *    the sets, without predecessors, and the search is exact again.
 * 5. With a limit of time, a pipeline that is not proved is annealed (calls_free.c) until it ends.
 *
 * Guarantee: the least period of all pipelines, if the searches end within the run's limits and no
 * branch is left open in step 4; else the least bound of the open branches. Step 4 ends: each branch
 * decides about one more pair of blocks. */
#include "calls_stream.h"
#include "calls_branch.h"
#include "calls_chain.h"

#include <math.h>
#include <string.h>

enum {
    MOST_LOOSE = 12,    /* backward blocks that are tried as members */
    MOST_BRANCHES = 400 /* without a limit of time */
};
static const double LIMIT_GROWTH = 1.05;
static const double ROUNDING = 1e-11;   /* relative: sums of loads differ by less */
static const double BRANCH_SHARE = 0.7; /* of the time: then branching ends */

/* One assumption more than its parent has. */
typedef struct branch {
    double bound_s; /* INFINITY: closed */
    int parent;     /* -1: the root, which assumes nothing */
    bool is_stuck;  /* open for good: its bound stands */
    weft_calls_rule rule;
} branch;

/* A search and what is known so far. */
typedef struct pursuit {
    const weft_problem *p;
    weft_run *run;
    const double *price;
    weft_calls *m;
    weft_chain *chain;
    int64_t n_taken;    /* blocks that earlier chains took */
    int n;              /* members */
    int *device;        /* [n_tasks] the best so far */
    double value_s;     /* INFINITY: none yet */
    double bound_s;     /* of all pipelines */
    const char *method; /* where the bound comes from */
    WEFT_VEC(branch) branches;
} pursuit;

/* --- step 3 ---------------------------------------------------------------------------------- */

static void take_plan(pursuit *x, const weft_calls_loads *l)
{
    if (!(weft_calls_period(l) < x->value_s))
        return;
    x->value_s = weft_calls_period(l);
    for (int u = 0; u < x->p->n_tasks; u++)
        x->device[u] = l->device[x->m->block[u]];
}

/* The chain found with all other blocks where they do best; taken over if it is better than what is
 * known. */
static weft_calls_loads take_chain(pursuit *x)
{
    weft_calls_loads l = weft_calls_loads_new(x->m, x->run->scratch);
    int *device = WEFT_NEW(x->run->scratch, int, x->m->n_blocks);

    weft_chain_read(x->chain, device);
    for (int b = 0; b < x->n; b++)
        weft_calls_move(&l, b, device[b]);
    if (weft_calls_place_rest(&l, x->n))
        take_plan(x, &l);
    return l;
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

static void tell(const pursuit *x)
{
    if (x->run->progress != NULL)
        x->run->progress(x->run->context, x->value_s, x->bound_s);
}

static double most_of(const pursuit *x)
{
    return x->value_s < INFINITY ? x->value_s * (1 - ROUNDING) : WEFT_CHAIN_MOST_S;
}

static void climb(pursuit *x)
{
    double limit_s = x->bound_s * (1 + ROUNDING), growth = LIMIT_GROWTH;
    bool is_last = false;

    while (!is_last && !is_closed(x) && !weft_chain_is_over(x->chain)) {
        double most_s = most_of(x);
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
            (void)take_chain(x);
        tell(x);
    }
}

/* --- step 4 ---------------------------------------------------------------------------------- */

static weft_calls_rules rules_of(const pursuit *x, int i)
{
    WEFT_VEC(weft_calls_rule) list = {0};

    for (; x->branches.at[i].parent >= 0; i = x->branches.at[i].parent)
        WEFT_PUSH(x->run->scratch, list, x->branches.at[i].rule);
    return (weft_calls_rules){list.at, list.n};
}

/* The chain that is now at hand under the assumptions of b; true: `next` says on what to branch. */
static bool pursue_branch(pursuit *x, branch *b, weft_calls_rule *next)
{
    bool is_found = weft_chain_search(x->chain, most_of(x), false);
    weft_calls_loads l;

    if (weft_chain_is_proof(x->chain))
        b->bound_s = is_found ? fmax(b->bound_s, weft_chain_value(x->chain)) : INFINITY;
    b->is_stuck = weft_chain_is_over(x->chain);
    if (!is_found)
        return false;
    l = take_chain(x);
    return !b->is_stuck && b->bound_s < most_of(x) && x->n < x->m->n_blocks &&
           weft_calls_next_rule(&l, x->n, next);
}

/* Searches branch i; true: it goes on with both answers to *next. */
static bool visit(pursuit *x, int i, weft_calls_rule *next)
{
    branch b = x->branches.at[i];
    weft_calls_rules rules = rules_of(x, i);
    bool has_next = false;

    x->m = weft_calls_new(x->p, true, x->value_s, &rules, x->run->scratch);
    if (x->m->is_empty) {
        b.bound_s = x->m->is_restricted ? b.bound_s : INFINITY;
        b.is_stuck = true;
    } else {
        x->chain = weft_chain_new(x->m, x->price, x->n_taken, x->run);
        set_members(x, x->m->n_forward);
        has_next = pursue_branch(x, &b, next);
        if (!has_next && !b.is_stuck && b.bound_s < most_of(x) && x->n < x->m->n_blocks &&
            x->m->n_blocks - x->n <= MOST_LOOSE) {
            set_members(x, x->m->n_blocks);
            (void)pursue_branch(x, &b, next);
        }
        b.is_stuck |= !has_next;
        x->n_taken = weft_chain_taken(x->chain);
    }
    x->branches.at[i] = b;
    return has_next;
}

/* The open branch of least bound, or -1; raises the bound. */
static int least_branch(pursuit *x)
{
    double least_s = INFINITY;
    int best = -1;

    for (int i = 0; i < x->branches.n; i++)
        least_s = fmin(least_s, x->branches.at[i].bound_s);
    for (int i = 0; i < x->branches.n && best < 0; i++) {
        if (x->branches.at[i].bound_s == least_s && !x->branches.at[i].is_stuck)
            best = i;
    }
    raise_bound(x, fmin(least_s, x->value_s), "ideals");
    return least_s < most_of(x) ? best : -1;
}

static bool may_branch(const pursuit *x)
{
    const weft_run *run = x->run;

    if (is_closed(x) || weft_run_is_over(run) || (run->steps > 0 && x->n_taken >= run->steps))
        return false;
    return run->limit_s < INFINITY ? weft_run_left_s(run) > (1 - BRANCH_SHARE) * run->limit_s
                                   : x->branches.n < MOST_BRANCHES;
}

static void branch_out(pursuit *x)
{
    int i = 0;

    WEFT_PUSH(x->run->scratch, x->branches, ((branch){.bound_s = x->bound_s, .parent = -1}));
    while (may_branch(x) && (i = least_branch(x)) >= 0) {
        size_t mark = weft_arena_mark(x->run->scratch);
        weft_calls_rule next;
        bool has_next = visit(x, i, &next);

        weft_arena_rewind(x->run->scratch, mark);
        for (int side = 0; side < 2 && has_next; side++) {
            next.is_together = side == 0;
            WEFT_PUSH(x->run->scratch, x->branches,
                      ((branch){x->branches.at[i].bound_s, i, false, next}));
        }
        if (has_next)
            x->branches.at[i].bound_s = INFINITY; /* its branches stand for it */
        tell(x);
    }
    (void)least_branch(x);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* The blocks for plans below the value at hand. False if there is nothing to search. */
static bool set_blocks(pursuit *x)
{
    x->m = weft_calls_new(x->p, true, x->value_s, NULL, x->run->scratch);
    if (x->m->is_empty) { /* what must share a device cannot */
        if (!x->m->is_restricted)
            raise_bound(x, x->value_s, "cut");
        return false;
    }
    if (!x->m->is_restricted && !weft_run_is_over(x->run))
        raise_bound(x, weft_calls_cut_bound(x->m, x->run->scratch), "cut");
    x->chain = weft_chain_new(x->m, x->price, 0, x->run);
    set_members(x, x->m->n_forward);
    return true;
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

static void pursue(pursuit *x)
{
    if (!set_blocks(x))
        return;
    if (weft_chain_search(x->chain, WEFT_CHAIN_MOST_S, true))
        (void)take_chain(x);
    if ((x->value_s < INFINITY && weft_run_is_over(x->run)) || !set_blocks(x))
        return;
    climb(x);
    if (is_closed(x) || weft_chain_is_over(x->chain) || x->n == x->m->n_blocks)
        return;
    x->n_taken = weft_chain_taken(x->chain);
    branch_out(x);
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
    run->is_exhausted = !weft_run_is_over(run) && (run->steps == 0 || x.n_taken < run->steps);
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
