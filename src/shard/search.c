/* SPDX-License-Identifier: MIT */
/* search.c: the best configuration, by best-first search with bounds.
 *
 *  1. Every configuration gets a lower bound: the sum of least seconds of its steps.
 *  2. The one with the lowest bound is taken out again and again. If its bound is not below the
 *     best value found, no configuration is better: the value is proved. Else its bound is
 *     sharpened (handovers between sets), and when it comes out once more, its best splits are
 *     found (inner.c; memory_limit.c where memory binds) and it is done, or, if memory or a wide network
 *     leaves a gap, it goes back with the bound that was proved, to be tried once more with larger
 *     tables.
 *  3. When time is up, the lowest bound of those that are left is a bound for all. One
 * configuration is looked at however little time there is, so that there is a plan.
 *
 * Items are taken in groups of fixed size whose best splits are found side by side by threads; the
 * answer does not depend on their number. If not all configurations are in the list (many
 * accelerators), the bound is the one of bound_to_go.c, which holds for all there are; it also helps
 * where time was too short.
 *
 * Contiguous ranges: the best splits are asked for each order of the sets, or, with more than four
 * sets, for the orders by falling number of members and back; the bound is then the one without
 * that restriction. */
#include "search.h"

#include "queue.h"

#include <math.h>
#include <string.h>

enum { GROUP = 8, FEW_ENTRIES = 1 << 17, MANY_ENTRIES = 1 << 22 }; /* of tables */

typedef enum stage { SUMMED, SHARPENED, ROUGH, SOLVED } stage;

/* A configuration in the queue. */
typedef struct item {
    double bound;
    int config;
    stage stage;
} item;

typedef struct queue {
    weft_queue items; /* by bound, then number */
    double done;      /* lowest bound of items that cannot be sharpened further */
} queue;

static void push(queue *q, item x)
{
    weft_queue_push(&q->items, (weft_queued){x.bound, x.config, (int)x.stage});
}

static item pop(queue *q)
{
    weft_queued x = weft_queue_pop(&q->items);

    return (item){x.key, (int)x.rank, (stage)x.id};
}

static double lowest_of(const queue *q)
{
    return q->items.n > 0 ? q->items.entry[0].key : INFINITY;
}

/* Time or steps are used up; not before the first configuration. */
static bool is_spent(const weft_search *s)
{
    return s->n_solved > 0 &&
           (weft_run_is_over(s->run) || (s->run->steps > 0 && s->n_solved >= s->run->steps));
}

/* --- one configuration ----------------------------------------------------------------------- */

typedef struct answer {
    double value, bound;
    weft_shard_plan plan;
    bool is_late; /* time was up before it was begun */
    weft_arena *a;
} answer;

static void keep(answer *out, const weft_inner *in, const int *state, double value)
{
    if (value < out->value) {
        out->value = value;
        out->plan = weft_inner_plan(in, state, out->a);
    }
}

/* Best splits with the sets in a given order of stretches, or in any (rank NULL). */
static void solve_ranked(const weft_search *s, const item *x, const int *rank, answer *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_inner *in = weft_inner_new(s->tables, s->configs, x->config, rank, scratch);
    const int *order = rank ? NULL : s->order;
    double bound;

    in->most_entries = x->stage == ROUGH ? MANY_ENTRIES : FEW_ENTRIES;
    if (s->is_memory_free) {
        weft_pairwise_min_answer m;

        weft_inner_solve(in, &(weft_inner_request){.order = order}, scratch, &m);
        if (m.value < INFINITY)
            keep(out, in, m.state, m.value);
        bound = m.bound;
    } else {
        weft_memory_limit_answer r;

        weft_memory_limit_solve(in, order, s->spare_bytes, s->value, s->run, scratch, &r);
        if (r.value < INFINITY)
            keep(out, in, r.state, r.value);
        bound = r.bound;
    }
    out->bound = fmin(out->bound, bound);
    weft_arena_free(scratch);
}

/* All orders of n <= 4 sets; of more, two. */
static void solve_stretches(const weft_search *s, const item *x, answer *out)
{
    int n = s->configs->config[x->config].n_sets, rank[WEFT_MAX_MEMBERS], n_orders = 1;
    double lower;

    for (int i = 2; i <= n && n <= 4; i++)
        n_orders *= i;
    if (n > 4)
        n_orders = 2;
    for (int o = 0; o < n_orders && (o == 0 || !weft_run_is_over(s->run)); o++) {
        int code = o;

        for (int i = 0; i < n; i++)
            rank[i] = n > 4 && o == 1 ? n - 1 - i : i;
        for (int i = n; i > 1 && n <= 4; i--) { /* the permutation of this number */
            int k = code % i, keep_rank = rank[i - 1];

            code /= i;
            rank[i - 1] = rank[k];
            rank[k] = keep_rank;
        }
        solve_ranked(s, x, rank, out);
    }
    if (n > 4 || weft_run_is_over(s->run)) { /* not all orders: the bound is that of any */
        answer any = {.value = INFINITY, .bound = INFINITY, .a = out->a};

        solve_ranked(s, x, NULL, &any);
        lower = any.bound;
        out->bound = lower;
    }
}

static void solve_config(const weft_search *s, const item *x, answer *out)
{
    out->value = out->bound = INFINITY;
    if (s->p->constraints.is_contiguous)
        solve_stretches(s, x, out);
    else
        solve_ranked(s, x, NULL, out);
}

/* --- groups ---------------------------------------------------------------------------------- */

typedef struct group {
    const weft_search *s;
    int n;
    item item[GROUP];
    answer answer[GROUP];
} group;

static void solve_item(void *context, int i)
{
    group *g = context;

    g->answer[i].is_late = weft_run_is_over(g->s->run) && (i > 0 || g->s->n_solved > 0);
    if (!g->answer[i].is_late)
        solve_config(g->s, &g->item[i], &g->answer[i]);
}

static void finish_group(weft_search *s, queue *q, group *g)
{
    for (int i = 0; i < g->n; i++) {
        g->answer[i].a = weft_arena_new();
    }
    weft_parallel(s->run->n_threads, g->n, solve_item, g);
    for (int i = 0; i < g->n; i++) {
        answer *x = &g->answer[i];

        if (x->is_late) {
            push(q, g->item[i]);
            weft_arena_free(x->a);
            continue;
        }
        s->n_solved++;
        if (x->value < s->value) {
            s->value = x->value;
            s->plan = weft_shard_plan_copy(&x->plan, s->a);
            if (s->run->progress)
                s->run->progress(s->run->context, s->value, s->bound);
        }
        if (x->bound < x->value * (1 - 1e-12))
            push(q, (item){fmax(x->bound, g->item[i].bound), g->item[i].config,
                           g->item[i].stage == SHARPENED ? ROUGH : SOLVED});
        weft_arena_free(x->a);
    }
    g->n = 0;
}

/* Takes items out until a group is full or none is below the value. If time is up, only the first
 * plan is missing: one item as it is. */
static void fill_group(weft_search *s, queue *q, group *g, weft_arena *scratch)
{
    while (g->n < GROUP && lowest_of(q) < s->value * (1 - 1e-12)) {
        bool is_late = weft_run_is_over(s->run);
        item x = pop(q);

        if (x.stage == SOLVED) { /* others may still have better plans */
            q->done = fmin(q->done, x.bound);
        } else if (x.stage == SUMMED && !is_late) {
            size_t mark = weft_arena_mark(scratch);

            x.bound = fmax(x.bound, weft_configuration_bound_sets(s, x.config, scratch));
            x.stage = SHARPENED;
            weft_arena_rewind(scratch, mark);
            push(q, x);
        } else {
            g->item[g->n++] = x;
        }
        if (is_late)
            return;
    }
}

/* What is known when `lowest` bounds all configurations of the list. Those that are not in it have
 * the bound for all there are, which holds for those in it as well. */
static double known(const weft_search *s, double lowest)
{
    return fmin(s->value, s->configs->is_complete ? lowest : s->everywhere);
}

static void search_queue(weft_search *s, queue *q)
{
    weft_arena *scratch = weft_arena_new();
    group g = {.s = s};
    double lowest = 0;

    while (q->items.n > 0 && !is_spent(s) && s->value > s->bound * (1 + 1e-12)) {
        lowest = fmin(q->done, lowest_of(q));
        s->bound = fmax(s->bound, known(s, lowest));
        fill_group(s, q, &g, scratch);
        if (g.n == 0)
            break;
        finish_group(s, q, &g);
    }
    lowest = fmin(q->done, lowest_of(q));
    for (int i = 0; i < g.n; i++)
        lowest = fmin(lowest, g.item[i].bound);
    s->bound = fmax(s->bound, known(s, lowest));
    weft_arena_free(scratch);
}

/* The bound for all configurations, computed once. */
static double bound_of_all(weft_search *s)
{
    if (!(s->all_bound > 0)) {
        weft_arena *scratch = weft_arena_new();

        s->all_bound = weft_search_bound_to_go(s, scratch);
        weft_arena_free(scratch);
    }
    return s->all_bound;
}

weft_status weft_search_run(weft_search *s)
{
    queue q = {
        {WEFT_NEW(s->a, weft_queued, s->configs->n + 1), 0},
        INFINITY
    };

    s->everywhere = s->configs->is_complete ? INFINITY : bound_of_all(s);
    for (int i = 0; i < s->configs->n; i++) {
        double bound = weft_configuration_bound(s, i);

        if (bound < INFINITY)
            push(&q, (item){bound, i, SUMMED});
    }
    search_queue(s, &q);
    if (s->configs->is_complete && s->bound < s->value * (1 - 1e-12))
        s->bound = fmax(s->bound, fmin(s->value, bound_of_all(s)));
    return WEFT_OK;
}
