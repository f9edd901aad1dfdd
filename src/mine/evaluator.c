/* SPDX-License-Identifier: MIT */
/* evaluator.c: designs are tried once, on all threads and processes, and remembered.
 *
 * 1. A batch of designs: known ones are looked up, then the cache of evaluations is asked; the rest is shared out
 *    to processes (item i to process i mod n) and, inside each, to threads, which ask their own
 *    evaluations. The cache of evaluations gets all results in one piece.
 * 2. Results are merged in the order of the batch; of equal values the cheaper design wins. Nothing
 *    depends on which thread or process did what: any number of them gives the same answer.
 * 3. A design from the cache of evaluations counts as an evaluation too, so that a search that is resumed ends
 *    where it would have ended.
 *
 * Decisions that depend on the clock are made by process 0 for all. */
#include "evaluator.h"
#include "order.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- loops over items ------------------------------------------------------------------------ */

typedef struct loop {
    const weft_evaluator *evaluator;
    weft_gauge gauge;
    const int64_t *index;
    const weft_space_box *box; /* NULL: designs */
    int n, n_ranks, me;
    double *seconds; /* [n][n_workloads] */
    atomic_int next;
} loop;

static double ask(const loop *l, const weft_workload *w, int thread, int i)
{
    void *eval = w->eval[thread];
    weft_design_point p;

    if (l->box != NULL)
        return w->timer->box_s(eval, &l->box[i], &l->evaluator->objective.limits);
    p = weft_point_at(l->evaluator->objective.template_, l->index[i]);
    return w->timer->seconds[l->gauge](eval, &p);
}

/* One thread: takes items of this process until there are none. */
static void work(void *context, int thread)
{
    loop *l = context;
    const weft_objective *q = &l->evaluator->objective;
    int n_own = (l->n - l->me + l->n_ranks - 1) / l->n_ranks, grain = l->n > 1024 ? 32 : 1;

    for (;;) {
        int first = atomic_fetch_add(&l->next, grain);

        if (first >= n_own)
            return;
        for (int k = first; k < first + grain && k < n_own; k++) {
            int i = l->me + k * l->n_ranks;

            for (int w = 0; w < q->n_workloads; w++)
                l->seconds[(size_t)i * (size_t)q->n_workloads + (size_t)w] =
                    ask(l, &q->workload[w], thread, i);
        }
    }
}

static void run_loop(loop *l)
{
    const weft_ranks *ranks = l->evaluator->objective.ranks;
    int n_threads = l->evaluator->run->n_threads > 1 ? l->evaluator->run->n_threads : 1;

    l->n_ranks = ranks ? ranks->n : 1;
    l->me = ranks ? ranks->me : 0;
    atomic_init(&l->next, 0);
    if (n_threads > l->n)
        n_threads = l->n;
    weft_parallel(n_threads, n_threads, work, l);
    if (ranks)
        ranks->gather(ranks->context, l->seconds, l->n, l->evaluator->objective.n_workloads);
}

static void tell(const weft_evaluator *s, double *value, int n)
{
    if (s->objective.ranks)
        s->objective.ranks->tell(s->objective.ranks->context, value, n);
}

static bool is_first(const weft_evaluator *s)
{
    return s->objective.ranks == NULL || s->objective.ranks->me == 0;
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* No member: an infinite time, no throughput. */
static void tops_of(const weft_evaluator *s, const double *seconds, int n, double *top)
{
    int width = s->objective.n_workloads;

    for (int i = 0; i < n; i++) {
        const double *step_s = seconds + (size_t)i * (size_t)width;
        bool is_empty = false;

        for (int w = 0; w < width; w++)
            is_empty |= !(step_s[w] < INFINITY);
        top[i] = is_empty ? 0 : weft_objective_throughput(&s->objective, step_s);
    }
}

static void run_tops(weft_evaluator *s, loop *l, double *top)
{
    size_t mark = weft_arena_mark(s->arena);

    if (l->n == 0)
        return;
    l->seconds = WEFT_NEW(s->arena, double, (size_t)l->n *(size_t)s->objective.n_workloads);
    run_loop(l);
    tops_of(s, l->seconds, l->n, top);
    weft_arena_rewind(s->arena, mark);
}

void weft_evaluator_tops(weft_evaluator *s, weft_gauge gauge, const int64_t *index, int n,
                         double *top)
{
    run_tops(s, &(loop){.evaluator = s, .gauge = gauge, .index = index, .n = n}, top);
    s->n_bounds += gauge == WEFT_GAUGE_BOUND || gauge == WEFT_GAUGE_SERIAL ? n : 0;
    s->n_strong += gauge == WEFT_GAUGE_HEADTAIL ? n : 0;
}

void weft_evaluator_box_tops(weft_evaluator *s, const weft_space_box *box, int n, double *top)
{
    run_tops(s, &(loop){.evaluator = s, .box = box, .n = n}, top);
    s->n_bounds += n;
}

double weft_evaluator_root_top(weft_evaluator *s)
{
    const weft_template *t = s->objective.template_;
    weft_space_box all = weft_template_box(t);
    double top = 0;

    weft_evaluator_box_tops(s, &all, 1, &top);
    return weft_evaluator_metric_top(s, top, weft_design_point_tdp_w(t, &all.lo));
}

/* --- what is known --------------------------------------------------------------------------- */

const weft_tried *weft_evaluator_look(const weft_evaluator *s, int64_t index)
{
    int place = weft_map_get(s->known, (const char *)&index, sizeof index);

    return place < 0 ? NULL : &s->tried.at[place];
}

/* Of two designs with the same value: the one with less power, then less area, then first. */
static bool is_cheaper(const weft_evaluator *s, int64_t a, int64_t b)
{
    const weft_template *t = s->objective.template_;
    weft_design_point p = weft_point_at(t, a), q = weft_point_at(t, b);
    double watts = weft_design_point_tdp_w(t, &p) - weft_design_point_tdp_w(t, &q);
    double mm2 = weft_design_point_area_mm2(t, &p) - weft_design_point_area_mm2(t, &q);

    if (watts != 0)
        return watts < 0;
    return mm2 != 0 ? mm2 < 0 : a < b;
}

static void remember(weft_evaluator *s, const weft_tried *t)
{
    double best = weft_evaluator_best(s);

    (void)weft_map_put(s->known, weft_arena_copy(s->arena, &t->index, sizeof t->index),
                       sizeof t->index, s->tried.n);
    WEFT_PUSH(s->arena, s->tried, *t);
    if (t->value > best ||
        (t->value > 0 && t->value == best && is_cheaper(s, t->index, s->tried.at[s->best].index)))
        s->best = s->tried.n - 1;
}

double weft_evaluator_best(const weft_evaluator *s)
{
    return s->best < 0 ? 0 : s->tried.at[s->best].value;
}

bool weft_evaluator_is_beaten(const weft_evaluator *s, double top)
{
    return top <= weft_evaluator_best(s) * (1 + WEFT_EVALUATOR_EXACT);
}

bool weft_evaluator_is_over(weft_evaluator *s)
{
    double over = weft_run_is_over(s->run);

    if (s->run->limit_s < INFINITY || s->run->stop != NULL)
        tell(s, &over, 1);
    return over > 0 || s->n_evaluated >= s->most;
}

void weft_evaluator_progress(const weft_evaluator *s, double bound)
{
    if (s->run->progress && is_first(s))
        s->run->progress(s->run->context, weft_evaluator_best(s), bound);
}

/* --- trying ---------------------------------------------------------------------------------- */

/* Fills the seconds that the cache of evaluations knows, NAN elsewhere. */
static void ask_eval_cache(weft_evaluator *s, const int64_t *index, int n, double *seconds)
{
    size_t width = (size_t)s->objective.n_workloads;
    double has_eval_cache = s->eval_cache != NULL;

    for (size_t i = 0; i < (size_t)n * width; i++)
        seconds[i] = NAN;
    tell(s, &has_eval_cache, 1);
    if (!(has_eval_cache > 0))
        return;
    for (int i = 0; i < n && is_first(s); i++)
        if (!s->eval_cache->find(s->eval_cache->context, index[i], seconds + (size_t)i * width))
            seconds[(size_t)i * width] = NAN;
    tell(s, seconds, n * (int)width);
}

static weft_status tell_eval_cache(weft_evaluator *s, const int64_t *index, int n,
                                   const double *seconds)
{
    weft_status status = WEFT_OK;
    double code;

    if (s->eval_cache != NULL && is_first(s) && n > 0)
        status = s->eval_cache->put(s->eval_cache->context, n, index, seconds);
    code = (double)status;
    tell(s, &code, 1);
    if (status == WEFT_OK && code > 0)
        return weft_fail((weft_status)(int)code, "the study cannot be written by another process");
    return status;
}

/* Seconds of n designs that were not tried yet: [n][n_workloads]. */
static weft_status measure(weft_evaluator *s, const int64_t *index, int n, double *seconds)
{
    size_t mark = weft_arena_mark(s->arena), width = (size_t)s->objective.n_workloads;
    int64_t *fresh = WEFT_NEW(s->arena, int64_t, n);
    int *at = WEFT_NEW(s->arena, int, n);
    loop l = {.evaluator = s, .gauge = WEFT_GAUGE_STEP, .index = fresh};
    weft_status status;

    ask_eval_cache(s, index, n, seconds);
    for (int i = 0; i < n; i++)
        if (isnan(seconds[(size_t)i * width])) {
            at[l.n] = i;
            fresh[l.n++] = index[i];
        }
    s->n_evaluated += n;
    s->n_recalled += n - l.n;
    l.seconds = WEFT_NEW(s->arena, double, (size_t)l.n *width);
    if (l.n > 0)
        run_loop(&l);
    status = tell_eval_cache(s, fresh, l.n, l.seconds);
    for (int i = 0; i < l.n; i++)
        memcpy(seconds + (size_t)at[i] * width, l.seconds + (size_t)i * width,
               width * sizeof *seconds);
    weft_arena_rewind(s->arena, mark);
    return status;
}

/* The designs of a batch that are new and within limits and budget, each once. */
static int pick_new(const weft_evaluator *s, const int64_t *index, int n, int64_t *fresh)
{
    int n_fresh = 0;

    for (int i = 0; i < n && s->n_evaluated + n_fresh < s->most; i++) {
        weft_design_point p = weft_point_at(s->objective.template_, index[i]);
        bool is_new = weft_evaluator_look(s, index[i]) == NULL && weft_evaluator_fits(s, &p);

        for (int j = 0; j < n_fresh && is_new; j++)
            is_new = fresh[j] != index[i];
        if (is_new)
            fresh[n_fresh++] = index[i];
    }
    return n_fresh;
}

static weft_status try_batch(weft_evaluator *s, const int64_t *index, int n)
{
    int64_t fresh[WEFT_EVALUATOR_BATCH];
    int n_fresh = pick_new(s, index, n, fresh);
    size_t width = (size_t)s->objective.n_workloads;
    weft_arena *a = n_fresh > 0 ? weft_arena_new() : NULL; /* remember() grows the other one */
    double *seconds = n_fresh > 0 ? WEFT_NEW(a, double, (size_t)n_fresh *width) : NULL;
    weft_status status = n_fresh > 0 ? measure(s, fresh, n_fresh, seconds) : WEFT_OK;

    for (int i = 0; i < n_fresh && status == WEFT_OK; i++) {
        weft_design_point p = weft_point_at(s->objective.template_, fresh[i]);
        weft_tried t = {fresh[i],
                        weft_objective_throughput(&s->objective, seconds + (size_t)i * width), 0};

        t.value = weft_evaluator_metric(s, t.throughput,
                                        weft_design_point_tdp_w(s->objective.template_, &p));
        remember(s, &t);
    }
    weft_arena_free(a);
    return status;
}

weft_status weft_evaluator_try(weft_evaluator *s, const int64_t *index, int n, double *value)
{
    for (int at = 0; at < n; at += WEFT_EVALUATOR_BATCH)
        WEFT_TRY(try_batch(s, index + at,
                           n - at < WEFT_EVALUATOR_BATCH ? n - at : WEFT_EVALUATOR_BATCH));
    for (int i = 0; i < n; i++) {
        const weft_tried *t = weft_evaluator_look(s, index[i]);
        weft_design_point p = weft_point_at(s->objective.template_, index[i]);

        value[i] = t ? t->value : weft_evaluator_fits(s, &p) ? NAN : 0;
    }
    return WEFT_OK;
}

/* --- lists and draws ------------------------------------------------------------------------- */

weft_status weft_evaluator_list(weft_evaluator *s, int *n, int64_t **index)
{
    const weft_template *t = s->objective.template_;
    int64_t n_points = weft_template_points(t);
    WEFT_VEC(int64_t) list = {0};

    if (n_points > WEFT_EVALUATOR_LISTED)
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' has %.3g designs, too many for a search that lists "
                         "them; take 'boxes'",
                         t->name, (double)n_points);
    for (int64_t i = 0; i < n_points; i++) {
        weft_design_point p = weft_point_at(t, i);

        if (weft_evaluator_fits(s, &p))
            WEFT_PUSH(s->arena, list, i);
    }
    s->n_feasible = list.n;
    *n = list.n;
    *index = list.at;
    return WEFT_OK;
}

bool weft_evaluator_draw(const weft_evaluator *s, weft_rng *r, weft_design_point *out)
{
    const weft_template *t = s->objective.template_;

    for (int i = 0; i < 10000; i++) {
        for (int k = 0; k < WEFT_N_PARAMETERS; k++)
            out->at[k] = (uint16_t)weft_rng_below(r, t->n_sizes[k]);
        if (weft_evaluator_fits(s, out))
            return true;
    }
    return false;
}

/* --- begin and end --------------------------------------------------------------------------- */

/* The reference gives the scale; it is a first design if it is within the limits. */
static weft_status begin(weft_evaluator *s)
{
    const weft_template *t = s->objective.template_;
    int64_t index = weft_point_index(t, &s->objective.reference);
    double *seconds = WEFT_NEW(s->arena, double, s->objective.n_workloads);
    weft_tried first = {.index = index};

    WEFT_TRY(measure(s, &index, 1, seconds));
    s->objective.reference_s = seconds;
    first.throughput = weft_objective_throughput(&s->objective, seconds);
    s->least = s->objective.least_throughput * first.throughput;
    first.value = weft_evaluator_metric(s, first.throughput,
                                        weft_design_point_tdp_w(t, &s->objective.reference));
    if (weft_evaluator_fits(s, &s->objective.reference))
        remember(s, &first);
    return WEFT_OK;
}

weft_mined weft_evaluator_mined(const weft_evaluator *s, int64_t index, double throughput)
{
    const weft_template *t = s->objective.template_;
    weft_design_point p = weft_point_at(t, index);

    return (weft_mined){p, throughput, weft_design_point_tdp_w(t, &p),
                        weft_design_point_area_mm2(t, &p)};
}

static int by_merit(const void *x, const void *y)
{
    const weft_mined *a = x, *b = y;
    int order = weft_order((double[]){-a->throughput, a->tdp_w, a->area_mm2},
                           (double[]){-b->throughput, b->tdp_w, b->area_mm2}, 3);

    return order != 0 ? order : memcmp(&a->point, &b->point, sizeof a->point);
}

/* Sorted by merit, a design is beaten by an earlier one or by none. */
static void fill_front(const weft_evaluator *s, weft_arena *a, weft_found *out)
{
    weft_mined *list = WEFT_NEW(a, weft_mined, s->tried.n);
    int n = 0;

    for (int i = 0; i < s->tried.n; i++)
        list[i] = weft_evaluator_mined(s, s->tried.at[i].index, s->tried.at[i].throughput);
    if (s->tried.n > 1)
        qsort(list, (size_t)s->tried.n, sizeof *list, by_merit);
    for (int i = 0; i < s->tried.n; i++) {
        bool is_beaten = false;

        for (int j = 0; j < n && !is_beaten; j++)
            is_beaten = list[j].tdp_w <= list[i].tdp_w && list[j].area_mm2 <= list[i].area_mm2;
        if (!is_beaten)
            list[n++] = list[i];
    }
    out->n_front = n;
    out->front = list;
}

static void fill_outcome(const weft_evaluator *s, weft_found *out)
{
    out->bound = fmax(s->bound, out->value);
    out->schedule_bound = fmax(s->schedule_bound, out->bound);
    if (out->value > 0) {
        out->outcome = weft_evaluator_is_beaten(s, s->bound) ? WEFT_OPTIMAL : WEFT_BOUNDED;
        return;
    }
    out->outcome = s->bound > 0 ? WEFT_UNKNOWN : WEFT_INFEASIBLE;
    out->reason = s->bound > 0 ? "the search ended before it found a design within the limits"
                  : s->least > 0
                      ? "no design of the template within the limits has the least throughput"
                      : "no design of the template is within the limits of area and power";
}

static void report(const weft_evaluator *s, weft_arena *a, weft_found *out)
{
    *out = (weft_found){.n_feasible = s->n_feasible,
                        .n_bounds = s->n_bounds,
                        .n_strong = s->n_strong,
                        .n_evaluated = s->n_evaluated,
                        .n_recalled = s->n_recalled,
                        .is_front_proved = s->is_front_proved};
    if (s->best >= 0) {
        out->value = weft_evaluator_best(s);
        out->throughput = s->tried.at[s->best].throughput;
        out->point = weft_point_at(s->objective.template_, s->tried.at[s->best].index);
    }
    fill_outcome(s, out);
    fill_front(s, a, out);
}

weft_status weft_evaluator_run(weft_search *search, void *context, const weft_objective *q,
                               const weft_eval_cache *eval_cache, int64_t most, weft_run *run,
                               weft_arena *a, weft_found *out)
{
    weft_evaluator s = {
        .objective = *q, .eval_cache = eval_cache, .run = run, .best = -1, .context = context};
    weft_status status = weft_objective_check(q);

    *out = (weft_found){.outcome = WEFT_UNKNOWN};
    WEFT_TRY(status);
    run->begin_s = weft_wall_s();
    s.most = most > 0 ? most : INT64_MAX;
    s.bound = s.schedule_bound = INFINITY;
    s.arena = weft_arena_new();
    s.known = weft_map_new(s.arena);
    status = begin(&s);
    if (status == WEFT_OK)
        status = search(&s);
    if (status == WEFT_OK)
        report(&s, a, out);
    weft_arena_free(s.arena);
    return status;
}
