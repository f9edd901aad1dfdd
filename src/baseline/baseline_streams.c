/* SPDX-License-Identifier: MIT */
/* baseline_streams.c: the solver `streams`: whole streams of layers on single accelerators. What a
 * person would do with a network of several streams, and hard to beat on such networks.
 *
 * 1. Layers and streams: baseline_layers.c. A stream is cut into stretches where a layer reads one of
 *    another stream, and where other accelerators can run it than the layer before.
 * 2. Stretches are put into an order in which each comes after those it reads; of those that may
 *    come next, stretches that end their stream are first, so that the others are followed by what
 *    goes on with them. An accelerator runs its stretches in that order.
 * 3. An accelerator is chosen for each stretch: if there are at most MOST_ASSIGNMENTS ways, all are
 *    compared; else all stretches start on the fastest accelerator that can run them, and one at a
 *    time is moved to where it is best, as long as that helps.
 *
 * No guarantee. Every assignment is one step of the search; those that promise to be the best so
 * far are simulated. */
#include "baseline_layers.h"

#include <math.h>

enum { MOST_ASSIGNMENTS = 5000 };

typedef struct streams {
    weft_layers layers;
    int n;                /* stretches */
    int *stretch_of;      /* [layers] by rank */
    int *first;           /* [n + 1] ranks */
    uint64_t *able;       /* [n] accelerators that can run it, as bits */
    double *start_s;      /* [layers] place in the order */
    int *at, *best;       /* [n] accelerators */
    int *device;          /* [layers] */
    double *step_start_s; /* [n_steps] the same for all assignments */
    int *order;           /* [n_steps] by these; NULL: not known yet */
    double best_s;        /* of the drafts that are plans */
    weft_draft draft;
    int64_t n_tried;
} streams;

static uint64_t able_of(const weft_layers *x, int u)
{
    uint64_t bits = 0;

    for (int d = 0; d < x->sets.n; d++) {
        if (weft_baseline_split(x->base, u, &x->sets.device_set[d], 0)->phase_s < INFINITY)
            bits |= (uint64_t)1 << d;
    }
    return bits;
}

/* Is there an edge along the stream into layer l, and no other? */
static bool goes_on(const weft_layers *x, int l, const int *step)
{
    int u = step[l];

    return x->place[u] > 1 && x->pred_at[l + 1] - x->pred_at[l] == 1;
}

static void find_stretches(streams *s)
{
    const weft_layers *x = &s->layers;
    weft_arena *a = x->base->arena;
    int *step = WEFT_NEW(a, int, x->n);

    s->stretch_of = WEFT_NEW(a, int, x->n);
    s->first = WEFT_NEW(a, int, x->n + 1);
    s->able = WEFT_NEW(a, uint64_t, x->n);
    for (int i = 0; i < x->n; i++)
        step[x->rank[x->step_of[i]]] = x->step_of[i];
    for (int l = 0; l < x->n; l++) {
        uint64_t able = able_of(x, step[l]);

        if (l == 0 || !goes_on(x, l, step) || able != s->able[s->n - 1]) {
            s->first[s->n] = l;
            s->able[s->n++] = able;
        }
        s->stretch_of[l] = s->n - 1;
    }
    s->first[s->n] = x->n;
}

/* Does the next stretch go on with this one? */
static bool is_continued(const streams *s, int k)
{
    const weft_layers *x = &s->layers;
    int next = s->first[k + 1];

    return next < x->n && x->pred_at[next] < x->pred_at[next + 1] &&
           x->pred[x->pred_at[next]] == next - 1;
}

static bool is_ready(const streams *s, int k, const bool *is_done)
{
    const weft_layers *x = &s->layers;
    int l = s->first[k];

    for (int i = x->pred_at[l]; i < x->pred_at[l + 1]; i++) {
        if (!is_done[s->stretch_of[x->pred[i]]])
            return false;
    }
    return true;
}

static void order_stretches(streams *s)
{
    weft_arena *a = s->layers.base->arena;
    bool *is_done = WEFT_NEW(a, bool, s->n);
    int place = 0;

    s->start_s = WEFT_NEW(a, double, s->layers.n);
    for (int i = 0; i < s->n; i++) {
        int next = -1;

        for (int k = 0; k < s->n; k++) {
            if (!is_done[k] && is_ready(s, k, is_done) &&
                (next < 0 || (is_continued(s, next) && !is_continued(s, k))))
                next = k;
        }
        is_done[next] = true;
        for (int l = s->first[next]; l < s->first[next + 1]; l++)
            s->start_s[l] = place++;
    }
}

static bool is_over(const streams *s)
{
    const weft_run *run = s->layers.base->run;

    return (run->steps > 0 && s->n_tried >= run->steps) || weft_run_is_over(run);
}

/* Steps by start, then by number. */
static int *order_steps(const streams *s)
{
    int n = s->layers.base->problem->steps->n;
    int *order = WEFT_NEW(s->layers.base->arena, int, n);

    for (int u = 0; u < n; u++) {
        int at = u;

        for (; at > 0 && s->step_start_s[order[at - 1]] > s->step_start_s[u]; at--)
            order[at] = order[at - 1];
        order[at] = u;
    }
    return order;
}

/* Simulates the assignment `at` if it promises to be the best so far; true if it is. */
static bool try_assignment(streams *s)
{
    weft_baseline *b = s->layers.base;
    double latency_s;

    s->n_tried++;
    for (int l = 0; l < s->layers.n; l++)
        s->device[l] = s->at[s->stretch_of[l]];
    weft_layers_ride(&s->layers, s->device, s->start_s, &s->draft, s->step_start_s);
    if (s->order == NULL)
        s->order = order_steps(s);
    latency_s = weft_baseline_latency(b, &s->draft, s->order);
    if (latency_s >= s->best_s || !weft_baseline_offer(b, &s->draft, s->step_start_s))
        return false;
    s->best_s = latency_s;
    return true;
}

static void try_all(streams *s, int k)
{
    if (k == s->n) {
        try_assignment(s);
        return;
    }
    for (int d = 0; d < s->layers.sets.n && (s->n_tried == 0 || !is_over(s)); d++) {
        if (!(s->able[k] >> d & 1))
            continue;
        s->at[k] = d;
        try_all(s, k + 1);
    }
}

/* Every stretch where its layers take least time. */
static void start_fast(streams *s)
{
    const weft_layers *x = &s->layers;
    double *sum_s = WEFT_NEW(x->base->arena, double, s->n * x->sets.n);

    for (int i = 0; i < x->n; i++) {
        int u = x->step_of[i], k = s->stretch_of[x->rank[u]];

        for (int d = 0; d < x->sets.n; d++)
            sum_s[k * x->sets.n + d] +=
                weft_split_compute_s(weft_baseline_split(x->base, u, &x->sets.device_set[d], 0));
    }
    for (int k = 0; k < s->n; k++) {
        for (int d = 1; d < x->sets.n; d++) {
            if (sum_s[k * x->sets.n + d] < sum_s[k * x->sets.n + s->best[k]])
                s->best[k] = d;
        }
        s->at[k] = s->best[k];
    }
}

/* Moves one stretch at a time as long as that helps. */
static void descend(streams *s)
{
    int n_idle = 0;

    start_fast(s);
    try_assignment(s);
    for (int k = 0; n_idle < s->n && !is_over(s); k = k + 1 < s->n ? k + 1 : 0) {
        bool is_better = false;

        for (int d = 0; d < s->layers.sets.n && !is_over(s); d++) {
            if (d == s->best[k] || !(s->able[k] >> d & 1))
                continue;
            s->at[k] = d;
            if (try_assignment(s)) {
                s->best[k] = d;
                is_better = true;
            }
        }
        s->at[k] = s->best[k];
        n_idle = is_better ? 0 : n_idle + 1;
    }
}

static double count_assignments(const streams *s)
{
    double product = 1;

    for (int k = 0; k < s->n; k++) {
        int n = 0;

        for (uint64_t bits = s->able[k]; bits > 0; bits &= bits - 1)
            n++;
        product *= n;
    }
    return product;
}

static weft_status solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    streams s = {.layers = weft_layers_new(b), .best_s = INFINITY};

    (void)o;
    find_stretches(&s);
    order_stretches(&s);
    s.at = WEFT_NEW(b->arena, int, s.n);
    s.best = WEFT_NEW(b->arena, int, s.n);
    s.device = WEFT_NEW(b->arena, int, s.layers.n);
    s.step_start_s = WEFT_NEW(b->arena, double, p->steps->n);
    s.draft = weft_draft_new(b, &s.layers.sets);
    if (count_assignments(&s) <= MOST_ASSIGNMENTS)
        try_all(&s, 0);
    else
        descend(&s);
    return weft_baseline_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_streams = {
    .name = "streams",
    .summary = "baseline: whole streams of layers on single accelerators",
    .solve = solve,
    .applies = weft_baseline_is_free};
