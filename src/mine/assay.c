/* SPDX-License-Identifier: MIT */
/* assay.c: designs are tried once, on all threads and processes, and remembered.
 *
 * 1. A batch of designs: known ones are looked up, then the ledger is asked; the rest is shared out
 *    to processes (item i to process i mod n) and, inside each, to threads, which ask their own
 *    mills. The ledger gets all results in one piece.
 * 2. Results are merged in the order of the batch; of equal values the cheaper design wins. Nothing
 *    depends on which thread or process did what: any number of them gives the same answer.
 * 3. A design from the ledger counts as an evaluation too, so that a search that is resumed ends
 *    where it would have ended.
 *
 * Decisions that depend on the clock are made by process 0 for all. */
#include "assay.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- loops over items ------------------------------------------------------------------------ */

typedef struct loop {
    const weft_assay *assay;
    bool is_box;
    weft_gauge gauge;
    const int64_t *index;
    const weft_space_box *box;
    int n, n_ranks, me;
    double *seconds; /* [n][n_workloads] */
    atomic_int next;
} loop;

static double ask(const loop *l, const weft_workload *w, int thread, int i)
{
    void *mill = w->mill[thread];
    weft_point p;

    if (l->is_box)
        return w->timer->box_s(mill, &l->box[i], &l->assay->quest.limits);
    p = weft_point_at(l->assay->quest.template_, l->index[i]);
    switch (l->gauge) {
    case WEFT_GAUGE_FLOOR:
        return w->timer->floor_s(mill, &p);
    case WEFT_GAUGE_SIMPLE:
        return w->timer->simple_s(mill, &p);
    case WEFT_GAUGE_HEADTAIL:
        return w->timer->headtail_s(mill, &p);
    case WEFT_GAUGE_SERIAL:
        return w->timer->serial_s(mill, &p);
    default:
        return w->timer->step_s(mill, &p);
    }
}

/* One thread: takes items of this process until there are none. */
static void work(void *context, int thread)
{
    loop *l = context;
    const weft_quest *q = &l->assay->quest;
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
    const weft_ranks *ranks = l->assay->quest.ranks;
    int n_threads = l->assay->run->n_threads > 1 ? l->assay->run->n_threads : 1;

    l->n_ranks = ranks ? ranks->n : 1;
    l->me = ranks ? ranks->me : 0;
    atomic_init(&l->next, 0);
    if (n_threads > l->n)
        n_threads = l->n;
    weft_parallel(n_threads, n_threads, work, l);
    if (ranks)
        ranks->gather(ranks->context, l->seconds, l->n, l->assay->quest.n_workloads);
}

static void tell(const weft_assay *s, double *value, int n)
{
    if (s->quest.ranks)
        s->quest.ranks->tell(s->quest.ranks->context, value, n);
}

static bool is_first(const weft_assay *s)
{
    return s->quest.ranks == NULL || s->quest.ranks->me == 0;
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* No member: an infinite time, no throughput. */
static void tops_of(const weft_assay *s, const double *seconds, int n, double *top)
{
    int width = s->quest.n_workloads;

    for (int i = 0; i < n; i++) {
        const double *step_s = seconds + (size_t)i * (size_t)width;
        bool is_empty = false;

        for (int w = 0; w < width; w++)
            is_empty |= !(step_s[w] < INFINITY);
        top[i] = is_empty ? 0 : weft_quest_throughput(&s->quest, step_s);
    }
}

void weft_assay_tops(weft_assay *s, weft_gauge gauge, const int64_t *index, int n, double *top)
{
    size_t mark = weft_arena_mark(s->arena);
    loop l = {.assay = s, .gauge = gauge, .index = index, .n = n};

    if (n == 0)
        return;
    l.seconds = WEFT_NEW(s->arena, double, (size_t)n *(size_t)s->quest.n_workloads);
    run_loop(&l);
    tops_of(s, l.seconds, n, top);
    s->n_bounds += gauge == WEFT_GAUGE_FLOOR || gauge == WEFT_GAUGE_SERIAL ? n : 0;
    s->n_strong += gauge == WEFT_GAUGE_HEADTAIL ? n : 0;
    weft_arena_rewind(s->arena, mark);
}

void weft_assay_box_tops(weft_assay *s, const weft_space_box *box, int n, double *top)
{
    size_t mark = weft_arena_mark(s->arena);
    loop l = {.assay = s, .is_box = true, .box = box, .n = n};

    if (n == 0)
        return;
    l.seconds = WEFT_NEW(s->arena, double, (size_t)n *(size_t)s->quest.n_workloads);
    run_loop(&l);
    tops_of(s, l.seconds, n, top);
    s->n_bounds += n;
    weft_arena_rewind(s->arena, mark);
}

double weft_assay_root_top(weft_assay *s)
{
    const weft_template *t = s->quest.template_;
    weft_space_box all = {{{0}}, {{0}}};
    double top = 0;

    for (int k = 0; k < WEFT_N_KNOBS; k++)
        all.hi.at[k] = (uint16_t)(t->n_sizes[k] - 1);
    weft_assay_box_tops(s, &all, 1, &top);
    return weft_assay_metric_top(s, top, weft_point_tdp_w(t, &all.lo));
}

/* --- what is known --------------------------------------------------------------------------- */

static int slot_of(const weft_assay *s, int64_t index)
{
    uint64_t h = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15);
    int i = (int)(h >> 32 & (uint64_t)(s->n_slots - 1));

    while (s->slot[i] >= 0 && s->tried.at[s->slot[i]].index != index)
        i = (i + 1) & (s->n_slots - 1);
    return i;
}

const weft_tried *weft_assay_look(const weft_assay *s, int64_t index)
{
    int place = s->slot[slot_of(s, index)];

    return place < 0 ? NULL : &s->tried.at[place];
}

static void make_slots(weft_assay *s, int n)
{
    s->n_slots = n;
    s->slot = WEFT_NEW(s->arena, int, n);
    for (int i = 0; i < n; i++)
        s->slot[i] = -1;
    for (int i = 0; i < s->tried.n; i++)
        s->slot[slot_of(s, s->tried.at[i].index)] = i;
}

/* Of two designs with the same value: the one with less power, then less area, then first. */
static bool is_cheaper(const weft_assay *s, int64_t a, int64_t b)
{
    const weft_template *t = s->quest.template_;
    weft_point p = weft_point_at(t, a), q = weft_point_at(t, b);
    double watts = weft_point_tdp_w(t, &p) - weft_point_tdp_w(t, &q);
    double mm2 = weft_point_area_mm2(t, &p) - weft_point_area_mm2(t, &q);

    if (watts != 0)
        return watts < 0;
    return mm2 != 0 ? mm2 < 0 : a < b;
}

static void remember(weft_assay *s, const weft_tried *t)
{
    double best = weft_assay_best(s);

    if (s->tried.n >= s->n_slots / 2)
        make_slots(s, 2 * s->n_slots);
    s->slot[slot_of(s, t->index)] = s->tried.n;
    WEFT_PUSH(s->arena, s->tried, *t);
    if (t->value > best ||
        (t->value > 0 && t->value == best && is_cheaper(s, t->index, s->tried.at[s->best].index)))
        s->best = s->tried.n - 1;
}

double weft_assay_best(const weft_assay *s)
{
    return s->best < 0 ? 0 : s->tried.at[s->best].value;
}

bool weft_assay_is_beaten(const weft_assay *s, double top)
{
    return top <= weft_assay_best(s) * (1 + WEFT_ASSAY_EXACT);
}

bool weft_assay_fits(const weft_assay *s, const weft_point *p)
{
    const weft_template *t = s->quest.template_;

    return weft_point_area_mm2(t, p) <= s->quest.limits.area_mm2 &&
           weft_point_tdp_w(t, p) <= s->quest.limits.tdp_w;
}

bool weft_assay_is_spent(const weft_assay *s)
{
    return s->n_evaluated >= s->most;
}

bool weft_assay_is_over(weft_assay *s)
{
    double over = weft_run_is_over(s->run);

    if (s->run->limit_s < INFINITY || s->run->stop != NULL)
        tell(s, &over, 1);
    return over > 0 || weft_assay_is_spent(s);
}

void weft_assay_progress(const weft_assay *s, double bound)
{
    if (s->run->progress && is_first(s))
        s->run->progress(s->run->context, weft_assay_best(s), bound);
}

/* --- trying ---------------------------------------------------------------------------------- */

/* Fills the seconds that the ledger knows, NAN elsewhere. */
static void ask_ledger(weft_assay *s, const int64_t *index, int n, double *seconds)
{
    size_t width = (size_t)s->quest.n_workloads;
    double has_ledger = s->ledger != NULL;

    for (size_t i = 0; i < (size_t)n * width; i++)
        seconds[i] = NAN;
    tell(s, &has_ledger, 1);
    if (!(has_ledger > 0))
        return;
    for (int i = 0; i < n && is_first(s); i++)
        if (!s->ledger->find(s->ledger->context, index[i], seconds + (size_t)i * width))
            seconds[(size_t)i * width] = NAN;
    tell(s, seconds, n * (int)width);
}

static weft_status tell_ledger(weft_assay *s, const int64_t *index, int n, const double *seconds)
{
    weft_status status = WEFT_OK;
    double code;

    if (s->ledger != NULL && is_first(s) && n > 0)
        status = s->ledger->put(s->ledger->context, n, index, seconds);
    code = (double)status;
    tell(s, &code, 1);
    if (status == WEFT_OK && code > 0)
        return weft_fail((weft_status)(int)code, "the study cannot be written by another process");
    return status;
}

/* Seconds of n designs that were not tried yet: [n][n_workloads]. */
static weft_status measure(weft_assay *s, const int64_t *index, int n, double *seconds)
{
    size_t mark = weft_arena_mark(s->arena), width = (size_t)s->quest.n_workloads;
    int64_t *fresh = WEFT_NEW(s->arena, int64_t, n);
    int *at = WEFT_NEW(s->arena, int, n);
    loop l = {.assay = s, .gauge = WEFT_GAUGE_STEP, .index = fresh};
    weft_status status;

    ask_ledger(s, index, n, seconds);
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
    status = tell_ledger(s, fresh, l.n, l.seconds);
    for (int i = 0; i < l.n; i++)
        memcpy(seconds + (size_t)at[i] * width, l.seconds + (size_t)i * width,
               width * sizeof *seconds);
    weft_arena_rewind(s->arena, mark);
    return status;
}

/* The designs of a batch that are new and within limits and budget, each once. */
static int pick_new(const weft_assay *s, const int64_t *index, int n, int64_t *fresh)
{
    int n_fresh = 0;

    for (int i = 0; i < n && s->n_evaluated + n_fresh < s->most; i++) {
        weft_point p = weft_point_at(s->quest.template_, index[i]);
        bool is_new = weft_assay_look(s, index[i]) == NULL && weft_assay_fits(s, &p);

        for (int j = 0; j < n_fresh && is_new; j++)
            is_new = fresh[j] != index[i];
        if (is_new)
            fresh[n_fresh++] = index[i];
    }
    return n_fresh;
}

static weft_status try_batch(weft_assay *s, const int64_t *index, int n)
{
    int64_t fresh[WEFT_ASSAY_BATCH];
    int n_fresh = pick_new(s, index, n, fresh);
    size_t width = (size_t)s->quest.n_workloads;
    weft_arena *a = n_fresh > 0 ? weft_arena_new() : NULL; /* remember() grows the other one */
    double *seconds = n_fresh > 0 ? WEFT_NEW(a, double, (size_t)n_fresh *width) : NULL;
    weft_status status = n_fresh > 0 ? measure(s, fresh, n_fresh, seconds) : WEFT_OK;

    for (int i = 0; i < n_fresh && status == WEFT_OK; i++) {
        weft_point p = weft_point_at(s->quest.template_, fresh[i]);
        weft_tried t = {fresh[i], weft_quest_throughput(&s->quest, seconds + (size_t)i * width), 0};

        t.value = weft_assay_metric(s, t.throughput, weft_point_tdp_w(s->quest.template_, &p));
        remember(s, &t);
    }
    weft_arena_free(a);
    return status;
}

weft_status weft_assay_try(weft_assay *s, const int64_t *index, int n, double *value)
{
    for (int at = 0; at < n; at += WEFT_ASSAY_BATCH)
        WEFT_TRY(try_batch(s, index + at, n - at < WEFT_ASSAY_BATCH ? n - at : WEFT_ASSAY_BATCH));
    for (int i = 0; i < n; i++) {
        const weft_tried *t = weft_assay_look(s, index[i]);
        weft_point p = weft_point_at(s->quest.template_, index[i]);

        value[i] = t ? t->value : weft_assay_fits(s, &p) ? NAN : 0;
    }
    return WEFT_OK;
}

/* --- lists and draws ------------------------------------------------------------------------- */

weft_status weft_assay_list(weft_assay *s, int *n, int64_t **index)
{
    const weft_template *t = s->quest.template_;
    int64_t n_points = weft_template_points(t);
    WEFT_VEC(int64_t) list = {0};

    if (n_points > WEFT_ASSAY_LISTED)
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' has %.3g designs, too many for a search that lists "
                         "them; take 'boxes'",
                         t->name, (double)n_points);
    for (int64_t i = 0; i < n_points; i++) {
        weft_point p = weft_point_at(t, i);

        if (weft_assay_fits(s, &p))
            WEFT_PUSH(s->arena, list, i);
    }
    s->n_feasible = list.n;
    *n = list.n;
    *index = list.at;
    return WEFT_OK;
}

bool weft_assay_draw(const weft_assay *s, weft_rng *r, weft_point *out)
{
    const weft_template *t = s->quest.template_;

    for (int i = 0; i < 10000; i++) {
        for (int k = 0; k < WEFT_N_KNOBS; k++)
            out->at[k] = (uint16_t)weft_rng_below(r, t->n_sizes[k]);
        if (weft_assay_fits(s, out))
            return true;
    }
    return false;
}

/* --- begin and end --------------------------------------------------------------------------- */

/* The reference gives the scale; it is a first design if it is within the limits. */
static weft_status begin(weft_assay *s)
{
    const weft_template *t = s->quest.template_;
    int64_t index = weft_point_index(t, &s->quest.reference);
    double *seconds = WEFT_NEW(s->arena, double, s->quest.n_workloads);
    weft_tried first = {.index = index};

    make_slots(s, 256);
    WEFT_TRY(measure(s, &index, 1, seconds));
    s->quest.reference_s = seconds;
    first.throughput = weft_quest_throughput(&s->quest, seconds);
    s->least = s->quest.least_throughput * first.throughput;
    first.value = weft_assay_metric(s, first.throughput, weft_point_tdp_w(t, &s->quest.reference));
    if (weft_assay_fits(s, &s->quest.reference))
        remember(s, &first);
    return WEFT_OK;
}

static int by_merit(const void *x, const void *y)
{
    const weft_mined *a = x, *b = y;

    if (a->throughput != b->throughput)
        return a->throughput > b->throughput ? -1 : 1;
    if (a->tdp_w != b->tdp_w)
        return a->tdp_w < b->tdp_w ? -1 : 1;
    if (a->area_mm2 != b->area_mm2)
        return a->area_mm2 < b->area_mm2 ? -1 : 1;
    return memcmp(&a->point, &b->point, sizeof a->point);
}

/* Sorted by merit, a design is beaten by an earlier one or by none. */
static void fill_front(const weft_assay *s, weft_arena *a, weft_found *out)
{
    const weft_template *t = s->quest.template_;
    weft_mined *list = WEFT_NEW(a, weft_mined, s->tried.n);
    int n = 0;

    for (int i = 0; i < s->tried.n; i++) {
        weft_point p = weft_point_at(t, s->tried.at[i].index);

        list[i] = (weft_mined){p, s->tried.at[i].throughput, weft_point_tdp_w(t, &p),
                               weft_point_area_mm2(t, &p)};
    }
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

static void fill_outcome(const weft_assay *s, weft_found *out)
{
    out->bound = fmax(s->bound, out->value);
    out->schedule_bound = fmax(s->schedule_bound, out->bound);
    if (out->value > 0) {
        out->outcome = weft_assay_is_beaten(s, s->bound) ? WEFT_OPTIMAL : WEFT_BOUNDED;
        return;
    }
    out->outcome = s->bound > 0 ? WEFT_UNKNOWN : WEFT_INFEASIBLE;
    out->reason = s->bound > 0 ? "the search ended before it found a design within the limits"
                  : s->least > 0
                      ? "no design of the template within the limits has the least throughput"
                      : "no design of the template is within the limits of area and power";
}

static void report(const weft_assay *s, weft_arena *a, weft_found *out)
{
    *out = (weft_found){.n_feasible = s->n_feasible,
                        .n_bounds = s->n_bounds,
                        .n_strong = s->n_strong,
                        .n_evaluated = s->n_evaluated,
                        .n_recalled = s->n_recalled,
                        .is_front_proved = s->is_front_proved};
    if (s->best >= 0) {
        out->value = weft_assay_best(s);
        out->throughput = s->tried.at[s->best].throughput;
        out->point = weft_point_at(s->quest.template_, s->tried.at[s->best].index);
    }
    fill_outcome(s, out);
    fill_front(s, a, out);
}

weft_status weft_assay_run(weft_search *search, void *context, const weft_quest *q,
                           const weft_ledger *ledger, int64_t most, weft_run *run, weft_arena *a,
                           weft_found *out)
{
    weft_assay s = {.quest = *q, .ledger = ledger, .run = run, .best = -1, .context = context};
    weft_status status = weft_quest_check(q);

    *out = (weft_found){.outcome = WEFT_UNKNOWN};
    WEFT_TRY(status);
    run->begin_s = weft_wall_s();
    s.most = most > 0 ? most : INT64_MAX;
    s.bound = s.schedule_bound = INFINITY;
    s.arena = weft_arena_new();
    status = begin(&s);
    if (status == WEFT_OK)
        status = search(&s);
    if (status == WEFT_OK)
        report(&s, a, out);
    weft_arena_free(s.arena);
    return status;
}
