/* SPDX-License-Identifier: MIT */
/* calls_free.c: placements of a stream under `calls` by annealing, without stages or with them.
 *
 * 1. Start: the best pipeline that a short search finds (calls_stream.c); if there is none, blocks
 *    one by one where the largest load stays least.
 * 2. ROUNDS rounds of annealing, with a limit of time as many as it allows, each from the best placement so far. A move takes a block, or a
 *    block and connected blocks of the same device, to another device, or swaps two blocks. What is
 *    made smaller is a norm of the loads that tends to the largest load; the temperature falls from
 *    START to END of the value. Loads are kept up to date move by move; a move costs the tensors of
 *    its blocks.
 * 3. The best placement ever met is kept, by its largest load.
 *
 * 4. Between rounds the bound is raised (calls_cut.c), and if the value meets it the search ends.
 *
 * Pipelines that calls_stream.c does not prove are annealed in the same way: what flows between the
 * stages of two devices is counted, and a move that closes a circle of devices is not taken. Every other
 * round is a fine one: cold from the start, with a norm that is nearly the largest load.
 *
 * No guarantee but the bound: the load bound, whose prices are its certificate (transfers can only
 * add to loads), or what a block costs its device at least, whichever is larger. The same seed and
 * steps give the same plan; a limit in seconds may end it earlier. */
#include "calls_stream.h"

#include "calls.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 8,
    PIPELINE_STEPS = 1 << 19, /* of the search for the start */
    STEPS = 1 << 20,          /* moves of a round, unless the run says how many in all */
    LOOK = 1 << 12,           /* moves between two looks at the clock */
    RENEW = 1 << 16,          /* moves between two renewals of the loads */
    MOST_CLUSTER = 12,
    MOST_STAGES = 64,
    FIRST_POWER = 3, /* of the norm: 2^3 at first, doubled as a round goes on, */
    LAST_POWER = 5,  /* 2^5 at last */
    FINE_FIRST_POWER = 6,
    FINE_LAST_POWER = 9
};
static const double PIPELINE_SHARE = 0.25;    /* of the time */
static const double START = 0.02, END = 1e-5; /* temperature, of the value */
static const double FINE_START = 1e-3;
static const double ROUNDING = 1e-11;

typedef struct tempering {
    const weft_calls *m;
    weft_run *run;
    weft_calls_loads l;
    weft_rng rng;
    int *best; /* [n_blocks] */
    double best_s;
    int *flow;    /* pipelines: [from * n_devices + to] edges between forward blocks; else NULL */
    bool is_fine; /* this round changes little, and looks at the largest loads only */
    int power;    /* the norm is that of 2^power */
    double heat_s, norm_s;
    /* the move being tried */
    int moved[MOST_CLUSTER], from[MOST_CLUSTER], n_moved;
    int64_t n_steps;
} tempering;

static double norm_of(const tempering *x)
{
    double most_s = weft_calls_period(&x->l), sum = 0;

    if (!(most_s > 0))
        return 0;
    for (int d = 0; d < x->m->n_devices; d++) {
        double part = x->l.load_s[d] / most_s;

        for (int i = 0; i < x->power; i++)
            part *= part;
        sum += part;
    }
    for (int i = 0; i < x->power; i++)
        sum = sqrt(sum);
    return most_s * sum;
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool may_go(const tempering *x, int b, int d)
{
    return d != x->l.device[b] && isfinite(x->m->time_s[b * x->m->n_devices + d]);
}

/* Counts the edges of forward block b, or takes them off. */
static void count_flow(tempering *x, int b, int sign)
{
    const weft_calls *m = x->m;
    const int *device = x->l.device;
    int home = device[b], k = m->n_devices;

    if (b >= m->n_forward || home < 0)
        return;
    for (int i = m->pred_at[b]; i < m->pred_at[b + 1]; i++)
        if (device[m->pred[i]] >= 0)
            x->flow[device[m->pred[i]] * k + home] += sign;
    for (int i = m->succ_at[b]; i < m->succ_at[b + 1]; i++)
        if (device[m->succ[i]] >= 0)
            x->flow[home * k + device[m->succ[i]]] += sign;
}

static void place(tempering *x, int b, int d)
{
    if (x->flow != NULL)
        count_flow(x, b, -1);
    weft_calls_move(&x->l, b, d);
    if (x->flow != NULL)
        count_flow(x, b, 1);
}

/* Do the stages of the devices follow each other? Those that nothing flows into are taken off. */
static bool is_staged(const tempering *x)
{
    int k = x->m->n_devices;
    uint64_t left, in[MOST_STAGES] = {0};

    if (x->flow == NULL)
        return true;
    for (int from = 0; from < k; from++)
        for (int to = 0; to < k; to++)
            in[to] |= (uint64_t)(from != to && x->flow[from * k + to] > 0) << from;
    left = k < MOST_STAGES ? ((uint64_t)1 << k) - 1 : UINT64_MAX;
    for (bool is_less = true; left != 0 && is_less;) {
        is_less = false;
        for (int d = 0; d < k; d++)
            if ((left >> d & 1) && (in[d] & left) == 0) {
                left &= ~((uint64_t)1 << d);
                is_less = true;
            }
    }
    return left == 0;
}

static void push(tempering *x, int b, int d)
{
    x->moved[x->n_moved] = b;
    x->from[x->n_moved++] = x->l.device[b];
    place(x, b, d);
}

static void undo(tempering *x)
{
    while (x->n_moved > 0) {
        x->n_moved--;
        place(x, x->moved[x->n_moved], x->from[x->n_moved]);
    }
}

/* A device for block b: that of a neighbour, or any. */
static int pick_device(tempering *x, int b)
{
    int n_near = x->m->near_at[b + 1] - x->m->near_at[b];

    if (n_near > 0 && weft_rng_below(&x->rng, 4) > 0)
        return x->l.device[x->m->near[x->m->near_at[b] + weft_rng_below(&x->rng, n_near)]];
    return weft_rng_below(&x->rng, x->m->n_devices);
}

/* Blocks connected to the first one on its device follow it, up to n in all. */
static void move_cluster(tempering *x, int b, int d, int n)
{
    int home = x->l.device[b];

    push(x, b, d);
    for (int tries = 4 * n; tries > 0 && x->n_moved < n; tries--) {
        int c = x->moved[weft_rng_below(&x->rng, x->n_moved)];
        int n_near = x->m->near_at[c + 1] - x->m->near_at[c];

        if (n_near == 0)
            continue;
        c = x->m->near[x->m->near_at[c] + weft_rng_below(&x->rng, n_near)];
        if (x->l.device[c] == home && may_go(x, c, d))
            push(x, c, d);
    }
}

static void try_move(tempering *x)
{
    int b = weft_rng_below(&x->rng, x->m->n_blocks), d = pick_device(x, b);
    int kind = weft_rng_below(&x->rng, 8), home = x->l.device[b];

    x->n_moved = 0;
    if (!may_go(x, b, d))
        return;
    if (kind < 4) {
        push(x, b, d);
    } else if (kind < 7) {
        move_cluster(x, b, d, 2 + weft_rng_below(&x->rng, MOST_CLUSTER - 1));
    } else {
        int c = weft_rng_below(&x->rng, x->m->n_blocks);

        if (x->l.device[c] != d || !may_go(x, c, home))
            return;
        push(x, b, d);
        push(x, c, home);
    }
}

/* --- annealing ------------------------------------------------------------------------------- */

/* Is every block where it may be, and is there room? */
static bool is_allowed(const tempering *x)
{
    for (int b = 0; b < x->m->n_blocks; b++) {
        if (!isfinite(x->m->time_s[b * x->m->n_devices + x->l.device[b]]))
            return false;
    }
    return weft_calls_fits(&x->l);
}

static void keep_best(tempering *x)
{
    double period_s = weft_calls_period(&x->l);

    if (!(period_s < x->best_s * (1 - ROUNDING)))
        return;
    x->best_s = period_s;
    memcpy(x->best, x->l.device, sizeof *x->best * (size_t)x->m->n_blocks);
}

static void step(tempering *x)
{
    double norm_s;

    try_move(x);
    if (x->n_moved == 0)
        return;
    norm_s = weft_calls_fits(&x->l) && is_staged(x) ? norm_of(x) : INFINITY;
    if (norm_s > x->norm_s && !(weft_rng_real(&x->rng) < exp((x->norm_s - norm_s) / x->heat_s))) {
        undo(x);
        return;
    }
    x->norm_s = norm_s;
    keep_best(x);
}

static void place_all(tempering *x, const int *device)
{
    for (int b = 0; b < x->m->n_blocks; b++)
        place(x, b, device[b]);
    weft_calls_renew(&x->l);
}

/* One round of n steps. */
static void anneal(tempering *x, int64_t n)
{
    double value_s = x->best_s, start = x->is_fine ? FINE_START : START;
    int first = x->is_fine ? FINE_FIRST_POWER : FIRST_POWER;
    int last = x->is_fine ? FINE_LAST_POWER : LAST_POWER;

    place_all(x, x->best);
    for (int64_t i = 0; i < n; i++) {
        if (i % LOOK == 0) {
            double part = (double)i / (double)n;

            if (weft_run_is_over(x->run))
                return;
            if (i % RENEW == 0)
                weft_calls_renew(&x->l);
            x->heat_s = value_s * start * pow(END / start, part);
            x->power = first + (int)((last - first + 1) * part);
            x->norm_s = norm_of(x);
        }
        step(x);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Blocks one after the other where the largest load stays least, the last resort for a start. False
 * if one of them finds no room. */
static bool place_greedily(tempering *x)
{
    const weft_calls *m = x->m;

    for (int b = 0; b < m->n_blocks; b++) {
        double least_s = INFINITY;
        int best = -1;

        for (int d = 0; d < m->n_devices; d++) {
            if (!isfinite(m->time_s[b * m->n_devices + d]))
                continue;
            weft_calls_move(&x->l, b, d);
            if (weft_calls_fits(&x->l) && weft_calls_period(&x->l) < least_s) {
                least_s = weft_calls_period(&x->l);
                best = d;
            }
        }
        weft_calls_move(&x->l, b, best);
        if (best < 0)
            return false;
    }
    return true;
}

/* The best pipeline of a short search, else a greedy placement; *has_start: there is one. A
 * pipeline may break a block apart, as some without work are joined here only: it goes where its
 * first task is. */
static weft_status start(tempering *x, weft_plan *plan, weft_proof *proof, bool *has_start)
{
    weft_run run = *x->run;

    run.steps =
        x->run->steps > 0 && x->run->steps < PIPELINE_STEPS ? x->run->steps : PIPELINE_STEPS;
    run.limit_s *= PIPELINE_SHARE;
    run.progress = NULL;
    WEFT_TRY(weft_calls_contiguous(x->m->problem, &run, plan, proof));
    *has_start = false;
    if (proof->outcome == WEFT_BOUNDED) {
        for (int u = x->m->problem->n_tasks - 1; u >= 0; u--)
            weft_calls_move(&x->l, x->m->block[u], plan->device[u]);
        *has_start = is_allowed(x);
    }
    if (!*has_start) {
        for (int b = 0; b < x->m->n_blocks; b++)
            weft_calls_move(&x->l, b, -1);
        *has_start = place_greedily(x);
    }
    return WEFT_OK;
}

/* What a block costs its device at least, if that is more than the bound so far. */
static void raise_bound(const tempering *x, weft_proof *proof)
{
    double bound_s = weft_calls_cut_of(x->m->problem, false, x->best_s) * (1 - ROUNDING);

    if (bound_s > proof->bound) {
        proof->bound = bound_s;
        proof->method = "cut";
    }
}

/* Rounds until the value meets the bound, which grows as the value falls: more tensors are too dear
 * for what is left to find. */
static void search(tempering *x, weft_proof *proof)
{
    int64_t n = x->run->steps > 0 ? (x->run->steps + ROUNDS - 1) / ROUNDS : STEPS;
    double bounded_s = INFINITY; /* value that the bound was raised for */
    bool is_timed = x->run->limit_s < INFINITY && x->run->steps == 0;

    for (int round = 0; round <= ROUNDS || is_timed; round++) {
        if (x->best_s < bounded_s && !weft_run_is_over(x->run)) {
            raise_bound(x, proof);
            bounded_s = x->best_s;
        }
        if (x->run->progress != NULL)
            x->run->progress(x->run->context, x->best_s, proof->bound);
        if ((round == ROUNDS && !is_timed) || x->best_s * (1 - 10 * ROUNDING) <= proof->bound ||
            weft_run_is_over(x->run))
            return;
        x->rng = weft_rng_seed((uint64_t)x->run->seed * ROUNDS + (uint64_t)round);
        anneal(x, n);
    }
}

double weft_calls_anneal_stages(const weft_problem *p, weft_run *run, double bound_s, int *device)
{
    tempering x = {.run = run, .best_s = INFINITY};

    x.m = weft_calls_new(p, true, INFINITY, NULL, run->scratch);
    if (x.m->is_empty || p->n_devices > MOST_STAGES)
        return INFINITY;
    x.l = weft_calls_loads_new(x.m, run->scratch);
    x.best = WEFT_NEW(run->scratch, int, x.m->n_blocks);
    x.flow = WEFT_NEW(run->scratch, int, p->n_devices * p->n_devices);
    for (int u = p->n_tasks - 1; u >= 0; u--)
        place(&x, x.m->block[u], device[u]);
    weft_calls_renew(&x.l);
    if (!is_allowed(&x) || !is_staged(&x))
        return INFINITY;
    keep_best(&x);
    for (int round = 0; !weft_run_is_over(run) && x.best_s * (1 - 10 * ROUNDING) > bound_s;
         round++) {
        x.rng = weft_rng_seed((uint64_t)run->seed * ROUNDS + (uint64_t)round);
        x.is_fine = round % 2 == 1;
        anneal(&x, STEPS);
        if (run->progress != NULL)
            run->progress(run->context, x.best_s, bound_s);
    }
    for (int u = 0; u < p->n_tasks; u++)
        device[u] = x.best[x.m->block[u]];
    return x.best_s;
}

weft_status weft_calls_free(const weft_problem *p, weft_run *run, weft_plan *plan,
                            weft_proof *proof)
{
    weft_domain domain = weft_domain_new(p, run->scratch);
    tempering x = {.run = run, .best_s = INFINITY};
    weft_proof pipeline = {0};
    bool has_start = false;

    proof->outcome = domain.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (domain.is_empty)
        return WEFT_OK;
    weft_load_bound(&domain, run->scratch, proof);
    proof->certified = proof->bound;
    x.m = weft_calls_new(p, false, INFINITY, NULL, run->scratch);
    if (x.m->is_empty)
        return WEFT_OK;
    x.l = weft_calls_loads_new(x.m, run->scratch);
    x.best = WEFT_NEW(run->scratch, int, x.m->n_blocks);
    WEFT_TRY(start(&x, plan, &pipeline, &has_start));
    if (!has_start)
        return WEFT_OK;
    weft_calls_renew(&x.l);
    keep_best(&x);
    search(&x, proof);
    run->is_exhausted = run->steps == 0 && !weft_run_is_over(run);
    weft_calls_plan(x.m, x.best, plan);
    proof->outcome = WEFT_BOUNDED; /* the driver compares value and bound */
    return WEFT_OK;
}
