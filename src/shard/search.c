/* SPDX-License-Identifier: MIT */
/* search.c: the best configuration, by best-first search with bounds.
 *
 *  1. Every configuration gets a lower bound: the sum of least seconds of its steps.
 *  2. The one with the lowest bound is taken out again and again. If its bound is not below the
 *     best value found, no configuration is better: the value is proved. Else its bound is
 *     sharpened (handovers between sets), and when it comes out once more, its best splits are
 *     found (inner.c; room.c where memory binds) and it is done, or, if memory or a wide network
 *     leaves a gap, it goes back with the bound that was proved, to be tried once more with larger
 *     tables.
 *  3. When time is up, the lowest bound of those that are left is a bound for all. One
 * configuration is looked at however little time there is, so that there is a plan.
 *
 * Items are taken in groups of fixed size whose best splits are found side by side by threads; the
 * answer does not depend on their number. If not all configurations are in the list (many
 * accelerators), the bound is the one of reach.c, which holds for all there are; it also helps
 * where time was too short.
 *
 * Contiguous ranges: the best splits are asked for each order of the sets, or, with more than four
 * sets, for the orders by falling number of members and back; the bound is then the one without
 * that restriction. */
#include "search.h"

#include <math.h>
#include <string.h>

enum { GROUP = 8, FEW_ENTRIES = 1 << 17, MANY_ENTRIES = 1 << 22 }; /* of tables */

typedef enum stage { SUMMED, SHARPENED, ROUGH, SOLVED } stage;

/* A configuration in the queue. */
typedef struct item {
    double bound;
    int setup;
    stage stage;
} item;

typedef struct queue {
    item *at;
    int n;
} queue;

static bool is_before(const item *a, const item *b)
{
    return a->bound < b->bound || (a->bound == b->bound && a->setup < b->setup);
}

static void push(queue *q, item x)
{
    int i = q->n++;

    for (; i > 0 && is_before(&x, &q->at[(i - 1) / 2]); i = (i - 1) / 2)
        q->at[i] = q->at[(i - 1) / 2];
    q->at[i] = x;
}

static item pop(queue *q)
{
    item top = q->at[0], last = q->at[--q->n];
    int i = 0;

    for (int k = 1; k < q->n; k = 2 * i + 1) {
        if (k + 1 < q->n && is_before(&q->at[k + 1], &q->at[k]))
            k++;
        if (!is_before(&q->at[k], &last))
            break;
        q->at[i] = q->at[k];
        i = k;
    }
    q->at[i] = last;
    return top;
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
    weft_shards plan;
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
    weft_inner *in = weft_inner_new(s->tables, s->setups, x->setup, rank, scratch);
    const int *order = rank ? NULL : s->order;
    double bound;

    in->most_entries = x->stage == ROUGH ? MANY_ENTRIES : FEW_ENTRIES;
    if (s->is_roomy) {
        weft_minsum_answer m;

        weft_inner_solve(in, &(weft_inner_ask){.order = order}, scratch, &m);
        if (m.value < INFINITY)
            keep(out, in, m.state, m.value);
        bound = m.bound;
    } else {
        weft_room_answer r;

        weft_room_solve(in, order, s->spare_bytes, s->value, s->run, scratch, &r);
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
    int n = s->setups->setup[x->setup].n_sets, rank[WEFT_MAX_MEMBERS], n_orders = 1;
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

static void solve_setup(const weft_search *s, const item *x, answer *out)
{
    out->value = out->bound = INFINITY;
    if (s->p->ask.is_contiguous)
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
        solve_setup(g->s, &g->item[i], &g->answer[i]);
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
            s->plan = weft_shards_copy(&x->plan, s->a);
            if (s->run->progress)
                s->run->progress(s->run->context, s->value, s->bound);
        }
        if (x->bound < x->value * (1 - 1e-12))
            push(q, (item){fmax(x->bound, g->item[i].bound), g->item[i].setup,
                           g->item[i].stage == SHARPENED ? ROUGH : SOLVED});
        weft_arena_free(x->a);
    }
    g->n = 0;
}

/* Takes items out until a group is full or none is below the value. If time is up, only the first
 * plan is missing: one item as it is. */
static void fill_group(weft_search *s, queue *q, group *g, weft_arena *scratch)
{
    while (q->n > 0 && g->n < GROUP && q->at[0].bound < s->value * (1 - 1e-12) &&
           q->at[0].stage != SOLVED) {
        bool is_late = weft_run_is_over(s->run);
        item x = pop(q);

        if (x.stage == SUMMED && !is_late) {
            size_t mark = weft_arena_mark(scratch);

            x.bound = fmax(x.bound, weft_setup_floor_sets(s, x.setup, scratch));
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

static void search_queue(weft_search *s, queue *q)
{
    weft_arena *scratch = weft_arena_new();
    group g = {.s = s};
    double lowest = 0;

    while (q->n > 0 && !is_spent(s)) {
        lowest = q->at[0].bound;
        s->bound = fmax(s->bound, fmin(s->everywhere, fmin(lowest, s->value)));
        fill_group(s, q, &g, scratch);
        if (g.n == 0)
            break;
        finish_group(s, q, &g);
    }
    lowest = q->n > 0 ? q->at[0].bound : INFINITY;
    for (int i = 0; i < g.n; i++)
        lowest = fmin(lowest, g.item[i].bound);
    s->bound = fmax(s->bound, fmin(s->everywhere, fmin(lowest, s->value)));
    weft_arena_free(scratch);
}

/* The bound for all configurations, computed once. */
static double reach_of(weft_search *s)
{
    if (!(s->reach > 0)) {
        weft_arena *scratch = weft_arena_new();

        s->reach = weft_search_reach(s, scratch);
        weft_arena_free(scratch);
    }
    return s->reach;
}

weft_status weft_search_run(weft_search *s)
{
    queue q = {WEFT_NEW(s->a, item, s->setups->n + 1), 0};

    s->everywhere = s->setups->is_complete ? INFINITY : reach_of(s);
    for (int i = 0; i < s->setups->n; i++) {
        double bound = weft_setup_floor(s, i);

        if (bound < INFINITY)
            push(&q, (item){bound, i, SUMMED});
    }
    search_queue(s, &q);
    if (s->setups->is_complete && s->bound < s->value * (1 - 1e-12))
        s->bound = fmax(s->bound, fmin(s->value, reach_of(s)));
    return WEFT_OK;
}
