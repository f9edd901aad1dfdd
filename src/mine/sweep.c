/* SPDX-License-Identifier: MIT */
/* sweep.c: the best design of a lattice with a proof; the front; all designs.
 *
 * Certified sweep: value <= U for every design: U by the floor of its step.
 * 1. Every design within the limits gets U. They are taken by falling U, ties by number.
 * 2. It ends at the first U that is not above the best value: no design behind it is better, the
 *    winner is optimal under the policy list-alap.
 * 3. Batches of 64 designs see the best value at their begin; the answer is the same for any number
 *    of threads, and at most one batch is scheduled more than one by one.
 * 4. When time or budget ends first, nothing is above max(best, U of the next design).
 * A second statement is about all schedules: the designs by falling simple bound, with the
 * head-tail bound of each, until the simple bound is not above the largest head-tail bound B so
 * far. No schedule whatever on any design has more than B: the rest has no more by its simple
 * bound.
 *
 * Front. The same order by the bound of throughput alone; a design is left out if a scheduled one
 * has at least its bound at no more power and area. What remains is the front of the whole lattice:
 * whatever was left out is beaten, or equalled within 1e-9, by a scheduled design.
 *
 * Cost: a floor and a simple bound a design, two sorts, few schedules and head-tail bounds. */
#include <math.h>
#include <stdlib.h>

#include "evaluator.h"
#include "order.h"

/* A bound of all schedules that is nearer than this to the best known one is not worth more work.
 */
static const double NEAR = 1e-3;

typedef struct candidate {
    double top; /* upper bound of metric or throughput */
    int64_t index;
} candidate;

static int by_top(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return weft_order((double[]){-x->top, (double)x->index}, (double[]){-y->top, (double)y->index},
                      2);
}

static double top_of(const weft_evaluator *s, int64_t index, double throughput)
{
    weft_design_point p = weft_point_at(s->objective.template_, index);

    return weft_evaluator_metric_top(s, throughput,
                                     weft_design_point_tdp_w(s->objective.template_, &p));
}

/* Bounds of all candidates, and their order by them; false if the time ended before. */
static bool rank_all(weft_evaluator *s, weft_gauge gauge, bool is_metric, int n, candidate *c)
{
    enum { SUBPROBLEM = 4096 };
    int64_t *index = WEFT_NEW(s->arena, int64_t, SUBPROBLEM);
    double *top = WEFT_NEW(s->arena, double, SUBPROBLEM);

    for (int at = 0; at < n; at += SUBPROBLEM) {
        int piece = n - at < SUBPROBLEM ? n - at : SUBPROBLEM;

        if (weft_evaluator_is_over(s))
            return false;
        for (int i = 0; i < piece; i++)
            index[i] = c[at + i].index;
        weft_evaluator_tops(s, gauge, index, piece, top);
        for (int i = 0; i < piece; i++)
            c[at + i].top = is_metric ? top_of(s, index[i], top[i]) : top[i];
    }
    if (n > 1)
        qsort(c, (size_t)n, sizeof *c, by_top);
    return true;
}

static weft_status list_all(weft_evaluator *s, int *n, candidate **out)
{
    int64_t *index = NULL;

    WEFT_TRY(weft_evaluator_list(s, n, &index));
    *out = WEFT_NEW(s->arena, candidate, *n);
    for (int i = 0; i < *n; i++)
        (*out)[i].index = index[i];
    return WEFT_OK;
}

/* The end of a batch that starts here: designs whose bounds are above the best value. */
static int batch_end(const weft_evaluator *s, const candidate *c, int n, int at)
{
    int end = at;

    while (end < n && end - at < WEFT_EVALUATOR_BATCH && !weft_evaluator_is_beaten(s, c[end].top))
        end++;
    return end;
}

/* The bound of all schedules, after which c is in another order. INFINITY if the time ended. */
static double bound_schedules(weft_evaluator *s, candidate *c, int n)
{
    double most = weft_evaluator_best(s);

    if (!rank_all(s, WEFT_GAUGE_SIMPLE, true, n, c))
        return INFINITY;
    for (int at = 0; at < n && c[at].top > most; at += WEFT_EVALUATOR_BATCH) {
        int64_t index[WEFT_EVALUATOR_BATCH];
        double top[WEFT_EVALUATOR_BATCH];
        int piece = n - at < WEFT_EVALUATOR_BATCH ? n - at : WEFT_EVALUATOR_BATCH;

        if (c[at].top <= most * (1 + NEAR) || weft_evaluator_is_over(s))
            return c[at].top;
        for (int i = 0; i < piece; i++)
            index[i] = c[at + i].index;
        weft_evaluator_tops(s, WEFT_GAUGE_HEADTAIL, index, piece, top);
        for (int i = 0; i < piece; i++)
            most = fmax(most, top_of(s, index[i], top[i]));
    }
    return most;
}

weft_status weft_search_certified(weft_evaluator *s)
{
    candidate *c = NULL;
    int n = 0, at = 0;

    WEFT_TRY(list_all(s, &n, &c));
    if (!rank_all(s, WEFT_GAUGE_BOUND, true, n, c)) {
        s->bound = weft_evaluator_root_top(s);
        return WEFT_OK;
    }
    while (at < n && !weft_evaluator_is_beaten(s, c[at].top) && !weft_evaluator_is_over(s)) {
        int end = batch_end(s, c, n, at), n_tried = 0;
        int64_t index[WEFT_EVALUATOR_BATCH];
        double value[WEFT_EVALUATOR_BATCH];

        for (int i = at; i < end; i++)
            index[i - at] = c[i].index;
        WEFT_TRY(weft_evaluator_try(s, index, end - at, value));
        while (n_tried < end - at && !isnan(value[n_tried])) /* NAN: the budget was spent */
            n_tried++;
        at += n_tried;
        weft_evaluator_progress(s, at < n ? fmax(weft_evaluator_best(s), c[at].top)
                                          : weft_evaluator_best(s));
    }
    s->bound = weft_evaluator_best(s);
    if (at < n && !weft_evaluator_is_beaten(s, c[at].top))
        s->bound = c[at].top;
    s->schedule_bound = bound_schedules(s, c, n);
    return WEFT_OK;
}

/* --- all of them ----------------------------------------------------------------------------- */

/* False: the budget was spent before one of these designs. */
static bool are_known(const double *value, int n)
{
    for (int i = 0; i < n; i++)
        if (isnan(value[i]))
            return false;
    return true;
}

weft_status weft_search_exhaustive(weft_evaluator *s)
{
    int64_t *index = NULL;
    double value[WEFT_EVALUATOR_BATCH];
    int n = 0, at = 0;
    bool is_done = true;

    WEFT_TRY(weft_evaluator_list(s, &n, &index));
    while (is_done && at < n && !weft_evaluator_is_over(s)) {
        int piece = n - at < WEFT_EVALUATOR_BATCH ? n - at : WEFT_EVALUATOR_BATCH;

        WEFT_TRY(weft_evaluator_try(s, index + at, piece, value));
        is_done = are_known(value, piece);
        at += piece;
        weft_evaluator_progress(s, INFINITY);
    }
    s->is_front_proved = is_done && at >= n;
    s->bound = s->is_front_proved ? weft_evaluator_best(s) : weft_evaluator_root_top(s);
    return WEFT_OK;
}

/* --- the front ------------------------------------------------------------------------------- */

/* Scheduled designs that no other scheduled one beats; `throughput` of all of them counts, also
 * below the least one. */
typedef struct front {
    WEFT_VEC(weft_mined) member;
    int n_seen; /* of s->tried */
} front;

static bool stage_times(const weft_mined *a, const weft_mined *b)
{
    return a->throughput * (1 + WEFT_EVALUATOR_EXACT) >= b->throughput && a->tdp_w <= b->tdp_w &&
           a->area_mm2 <= b->area_mm2;
}

/* What may have the least throughput is not beaten by what has not, equal to rounding or not. */
static bool is_beaten_by(const weft_evaluator *s, const front *f, const weft_mined *m)
{
    bool may_reach = m->throughput * (1 + WEFT_EVALUATOR_EXACT) >= s->least;

    for (int i = 0; i < f->member.n; i++)
        if (stage_times(&f->member.at[i], m) &&
            (!may_reach || f->member.at[i].throughput >= s->least))
            return true;
    return false;
}

static void take_tried(weft_evaluator *s, front *f)
{
    for (; f->n_seen < s->tried.n; f->n_seen++) {
        const weft_tried *x = &s->tried.at[f->n_seen];
        weft_mined m = weft_evaluator_mined(s, x->index, x->throughput);
        int n = 0;

        if (is_beaten_by(s, f, &m))
            continue;
        for (int i = 0; i < f->member.n; i++)
            if (!stage_times(&m, &f->member.at[i]) || m.throughput < s->least)
                f->member.at[n++] = f->member.at[i];
        f->member.n = n;
        WEFT_PUSH(s->arena, f->member, m);
    }
}

/* The next candidates from *at on that no member beats by their bounds. */
static int pick_open(const weft_evaluator *s, const front *f, const candidate *c, int n, int *at,
                     int64_t *open)
{
    int n_open = 0;

    for (; *at < n && n_open < WEFT_EVALUATOR_BATCH; ++*at) {
        weft_mined m = weft_evaluator_mined(s, c[*at].index, c[*at].top);

        if (weft_evaluator_look(s, c[*at].index) == NULL && !is_beaten_by(s, f, &m))
            open[n_open++] = c[*at].index;
    }
    return n_open;
}

weft_status weft_search_front(weft_evaluator *s)
{
    int64_t open[WEFT_EVALUATOR_BATCH];
    double value[WEFT_EVALUATOR_BATCH];
    front f = {.n_seen = 0};
    candidate *c = NULL;
    int n = 0, at = 0;
    bool is_done;

    WEFT_TRY(list_all(s, &n, &c));
    is_done = rank_all(s, WEFT_GAUGE_BOUND, false, n, c);
    take_tried(s, &f);
    while (is_done && at < n && !weft_evaluator_is_over(s)) {
        int n_open = pick_open(s, &f, c, n, &at, open);

        WEFT_TRY(weft_evaluator_try(s, open, n_open, value));
        is_done = are_known(value, n_open);
        take_tried(s, &f);
        weft_evaluator_progress(s, INFINITY);
    }
    s->is_front_proved = is_done && at >= n;
    /* The best of the metric is on the front: more throughput, or less power, is never worse. */
    s->bound = s->is_front_proved ? weft_evaluator_best(s) : weft_evaluator_root_top(s);
    return WEFT_OK;
}
