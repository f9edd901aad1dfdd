/* SPDX-License-Identifier: MIT */
/* choices.c: how many samples go through a network at once, and in which shares a batch is cut.
 *
 * Each choice is a problem like others, so a proof over all of them is one for each: no plan of
 * any choice is better than the least of the bounds. Streams are compared by the time of a sample,
 * a latency is that of the whole batch. Shares are whole multiples of the smallest part of the batch
 * of which there are at most eight: the grid. Of equal devices and copies the order says nothing, so
 * shares descend. */
#include "choices.h"
#include "check.h"

#include <math.h>

enum { MOST_PARTS = 8 }; /* of the grid */

typedef struct choices {
    weft_batching *at;
    int n, room;
    weft_arena *a;
} choices;

static void add(choices *c, const weft_batching *x)
{
    if (c->n == c->room) {
        weft_batching *more = WEFT_NEW(c->a, weft_batching, 2 * c->room + 16);

        for (int i = 0; i < c->n; i++)
            more[i] = c->at[i];
        c->at = more;
        c->room = 2 * c->room + 16;
    }
    c->at[c->n++] = *x;
}

/* The smallest part of a batch that divides it into at most MOST_PARTS. */
static int64_t grid_of(int64_t batch)
{
    for (int64_t n = MOST_PARTS; n > 1; n--)
        if (batch % n == 0)
            return batch / n;
    return batch;
}

/* Ways to cut what is left in shares of at most `most`, added to those of x. */
static void add_cuts(choices *c, weft_batching *x, int64_t left, int64_t most, int64_t grid,
                     int most_shares)
{
    if (left == 0) {
        weft_batching whole = {.batch = x->batch};

        add(c, x->n_shares == 1 ? &whole : x);
        return;
    }
    for (int64_t share = left < most ? left : most; share > 0 && x->n_shares < most_shares;
         share -= grid) {
        x->share[x->n_shares++] = share;
        add_cuts(c, x, left - share, share, grid, most_shares);
        x->n_shares--;
    }
}

const weft_batching *weft_choices_of(const weft_request *r, int n_devices, weft_arena *a, int *n)
{
    const weft_counts *batches = &r->constraints.batches;
    weft_batching x = {.batch = r->options.batch};
    choices c = {.a = a};
    int most = n_devices < WEFT_MOST_SHARES ? n_devices : WEFT_MOST_SHARES;

    for (int i = 0; i < batches->n; i++)
        add(&c, &(weft_batching){.batch = batches->at[i]});
    if (r->constraints.splits_batch)
        add_cuts(&c, &x, x.batch, x.batch, grid_of(x.batch), most);
    *n = c.n;
    return c.at;
}

static bool is_said(const weft_model_options *o, const weft_batching *c)
{
    bool is_same = o->batch == c->batch && o->n_shares == c->n_shares;

    for (int i = 0; is_same && i < c->n_shares; i++)
        is_same = o->share[i] == c->share[i];
    return is_same;
}

bool weft_choices_have(const weft_request *r, const weft_platform *on, weft_arena *a)
{
    bool has = false;
    int n;
    const weft_batching *choice = weft_choices_of(r, on ? on->n_devices : 0, a, &n);

    for (int i = 0; i < n; i++)
        has |= is_said(&r->options, &choice[i]);
    return has;
}

weft_request weft_batching_request(const weft_request *r, const weft_batching *c)
{
    weft_request out = *r;

    out.options.batch = c->batch;
    out.options.n_shares = c->n_shares;
    for (int i = 0; i < c->n_shares; i++)
        out.options.share[i] = c->share[i];
    return out;
}

double weft_batching_scale(const weft_request *r, const weft_batching *from,
                           const weft_batching *to)
{
    return r->constraints.goal == WEFT_THROUGHPUT ? (double)to->batch / (double)from->batch : 1;
}

/* The bound of one choice, without search. */
static weft_status bound_of(const weft_request *r, weft_arena *a, double *out)
{
    weft_case c;
    weft_proof bound;

    WEFT_TRY(weft_case_open(r, &c));
    weft_place_bound(c.problem, a, &bound);
    weft_case_close(&c);
    *out = bound.outcome == WEFT_INFEASIBLE ? INFINITY : bound.bound;
    return WEFT_OK;
}

weft_status weft_choices_bound(const weft_request *r, const weft_platform *on, weft_arena *a,
                               double *out)
{
    const weft_batching own = {.batch = r->options.batch};
    int n;
    const weft_batching *choice = weft_choices_of(r, on ? on->n_devices : 0, a, &n);

    *out = INFINITY;
    for (int i = 0; i < n; i++) {
        weft_request one = weft_batching_request(r, &choice[i]);
        double bound;

        WEFT_TRY(bound_of(&one, a, &bound));
        *out = fmin(*out, bound * weft_batching_scale(r, &choice[i], &own));
    }
    return WEFT_OK;
}

/* Does each task have a device that can run it and holds what it reads and makes? */
static bool all_fit(const weft_problem *p)
{
    for (int u = 0; u < p->n_tasks; u++) {
        double bytes = 0;
        bool is_held = false;

        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
            bytes += p->memory[p->arg[i]];
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++)
            bytes += p->memory[p->res[i]];
        for (int d = 0; d < p->n_devices; d++)
            is_held |= isfinite(weft_task_s(p, u, d)) && weft_fits(bytes, p->capacity[d]);
        if (!is_held)
            return false;
    }
    return true;
}

weft_status weft_choices_any_batch(weft_request *r)
{
    weft_counts all = {0};
    bool fits = true;

    for (int64_t batch = 1; batch <= WEFT_MOST_BATCH && fits; batch *= 2) {
        weft_request one = weft_batching_request(r, &(weft_batching){.batch = batch});
        weft_case c;

        WEFT_TRY(weft_case_open(&one, &c));
        fits = all_fit(c.problem);
        weft_case_close(&c);
        if (fits || batch == 1)
            all.at[all.n++] = batch;
    }
    r->constraints.batches = all;
    return WEFT_OK;
}

bool weft_batching_is_same(const weft_batching *a, const weft_batching *b)
{
    if (a->batch != b->batch || a->n_shares != b->n_shares)
        return false;
    for (int i = 0; i < a->n_shares; i++)
        if (a->share[i] != b->share[i])
            return false;
    return true;
}

const char *weft_batching_name(const weft_batching *c, weft_arena *a)
{
    const char *text = "";

    if (c->n_shares == 0)
        return weft_arena_print(a, "%lld", (long long)c->batch);
    for (int i = 0; i < c->n_shares; i++)
        text = weft_arena_print(a, "%s%s%lld", text, i > 0 ? " + " : "", (long long)c->share[i]);
    return text;
}
