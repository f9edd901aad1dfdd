/* SPDX-License-Identifier: MIT */
/* anneal.c: annealing of a schedule.
 *
 * The state is a topological order of the tasks and a device for each. Every task starts as early
 * as the tasks before it in the order, its data and its device allow.
 *
 * 1. A move takes a task to another place of the order between its predecessors and successors, to
 *    another device, or both; or it takes a task and some of its neighbours along edges to one
 *    device. Devices of the neighbours are drawn more often than others.
 * 2. How much worse the result may be is drawn before it is timed: t * -log(random), with t falling
 *    from hot to cold. Timing begins at the first changed place of the order and ends as soon as
 *    the end of a task and its tail pass that limit, which most moves do early.
 * 3. What is annealed is the value and, a little, the mean lateness of the tasks: progress beside
 *    the longest way counts. The schedule of the least value is kept.
 * 4. A whole schedule is annealed span by span, a span being what lies between two barriers: tasks
 *    before and after it keep devices and orders (timing.c). Rounds differ in temperature.
 *
 * Never worse than the start; no other guarantee. A step costs at most tasks + edges. Kirkpatrick,
 * Gelatt, Vecchi, Science 220, 1983. */
#include "anneal.h"
#include "sort.h"

#include "timing.h"

#include <math.h>
#include <string.h>

enum {
    MOST_BLOCK = 8,     /* tasks that change device together */
    REACH = 24,         /* places of the order that a task may move, at most */
    STEPS_A_LOOK = 256, /* steps between two looks at the clock */
};

static const double LATE_SHARE = 0.1;                /* of the mean lateness in what is annealed */
static const double HOT[] = {0.4, 1.2}, COLD = 0.04; /* in mean lengths of tasks */

typedef struct search {
    const weft_subproblem *x;
    int n, k;
    weft_rng rng;
    const double *tail_s; /* [task * k + device] of paths */
    int *pred;            /* [in_at[task] ..] tasks that send to it */
    double *send_s;       /* [in_at[task] .. * k * k] what that takes, by devices */
    int *order, *place;   /* inverse to each other */
    int *device;          /* [task] */
    double *end_s;        /* [task] */
    double *free_s;       /* [place * k + device] before the task there; one row more than tasks */
    double *most_s;       /* [place] the value of what comes before; one more than tasks */
    double *late_s;       /* [place] how late the tasks before are, times their share */
    double *base_s;       /* [task] the least that its end and tail can be */
    double merit;         /* what is annealed: the value and late_s */
    double *new_free_s, *new_most_s, *new_late_s, *old_end_s; /* of the move in hand */
    double value;
    double share;        /* of each task in late_s */
    int first, from, to; /* of the move: first place that changes; place it left and took */
    int n_block, block[MOST_BLOCK], old_device[MOST_BLOCK];
    double best_value;
    int *best_order, *best_device;
} search;

/* --- timing ---------------------------------------------------------------------------------- */

/* Times the tasks from place `first` on; false if the value passes the limit. *stop: the first
 * place that was not timed. k is the number of devices: where the compiler knows it, it unrolls
 * the loops. */
static inline bool time_from_k(search *s, int first, double limit_s, int *stop, const int k)
{
    const weft_subproblem *x = s->x;
    double most_s = s->most_s[first], late_s = s->late_s[first];

    memcpy(s->new_free_s + first * k, s->free_s + first * k, sizeof(double) * (size_t)k);
    for (int i = first; i < s->n; i++) {
        int u = s->order[i], d = s->device[u];
        const double *before = s->new_free_s + i * k, *send_s = s->send_s + x->in_at[u] * k * k + d;
        double *after = s->new_free_s + (i + 1) * k;
        double at_s = before[d], release_s = x->release_s[u * k + d];

        at_s = release_s > at_s ? release_s : at_s;
        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++, send_s += k * k) {
            int v = s->pred[j];
            double come_s = s->end_s[v] + send_s[s->device[v] * k];

            at_s = come_s > at_s ? come_s : at_s;
        }
        at_s += x->time_s[u * k + d];
        s->old_end_s[i] = s->end_s[u];
        s->end_s[u] = at_s;
        for (int q = 0; q < k; q++)
            after[q] = before[q];
        after[d] = at_s;
        at_s += s->tail_s[u * k + d];
        most_s = at_s > most_s ? at_s : most_s;
        late_s += s->share * (at_s - s->base_s[u]);
        s->new_most_s[i + 1] = most_s;
        s->new_late_s[i + 1] = late_s;
        if (most_s + late_s > limit_s) {
            *stop = i + 1;
            return false;
        }
    }
    *stop = s->n;
    return true;
}

static bool time_from(search *s, int first, double limit_s, int *stop)
{
    switch (s->k) {
    case 2:
        return time_from_k(s, first, limit_s, stop, 2);
    case 3:
        return time_from_k(s, first, limit_s, stop, 3);
    case 4:
        return time_from_k(s, first, limit_s, stop, 4);
    default:
        return time_from_k(s, first, limit_s, stop, s->k);
    }
}

static void keep(search *s, int first)
{
    size_t rows = (size_t)(s->n - first);

    memcpy(s->free_s + (first + 1) * s->k, s->new_free_s + (first + 1) * s->k,
           sizeof(double) * rows * (size_t)s->k);
    memcpy(s->most_s + first + 1, s->new_most_s + first + 1, sizeof(double) * rows);
    memcpy(s->late_s + first + 1, s->new_late_s + first + 1, sizeof(double) * rows);
    s->value = s->most_s[s->n];
    s->merit = s->value + s->late_s[s->n];
}

/* --- moves ----------------------------------------------------------------------------------- */

/* Takes the task at place `from` to place `to`; those between move by one. */
static void shift(search *s, int from, int to)
{
    int u = s->order[from], way = from < to ? 1 : -1;

    for (int i = from; i != to; i += way) {
        s->order[i] = s->order[i + way];
        s->place[s->order[i]] = i;
    }
    s->order[to] = u;
    s->place[u] = to;
}

/* A place between the last predecessor and the first successor. */
static int draw_place(search *s, int u)
{
    const weft_subproblem *x = s->x;
    int low = s->place[u] - REACH, high = s->place[u] + REACH;

    low = low < 0 ? 0 : low;
    high = high >= s->n ? s->n - 1 : high;
    for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
        int at = s->place[x->from[x->in[j]]] + 1;

        low = at > low ? at : low;
    }
    for (int j = x->out_at[u]; j < x->out_at[u + 1]; j++) {
        int at = s->place[x->to[x->out[j]]] - 1;

        high = at < high ? at : high;
    }
    return low + weft_rng_below(&s->rng, high - low + 1);
}

/* A task that an edge joins with u, or u itself. */
static int beside(search *s, int u)
{
    const weft_subproblem *x = s->x;
    int n_in = x->in_at[u + 1] - x->in_at[u], n_out = x->out_at[u + 1] - x->out_at[u], i;

    if (n_in + n_out == 0)
        return u;
    i = weft_rng_below(&s->rng, n_in + n_out);
    return i < n_in ? x->from[x->in[x->in_at[u] + i]] : x->to[x->out[x->out_at[u] + i - n_in]];
}

static int draw_device(search *s, int u)
{
    int d = s->device[beside(s, u)];

    return d != s->device[u] && weft_rng_below(&s->rng, 4) > 0 ? d : weft_rng_below(&s->rng, s->k);
}

static void put(search *s, int u, int d)
{
    if (s->device[u] == d || !(s->x->time_s[u * s->k + d] < INFINITY))
        return;
    s->block[s->n_block] = u;
    s->old_device[s->n_block++] = s->device[u];
    s->device[u] = d;
    s->first = s->place[u] < s->first ? s->place[u] : s->first;
}

static void move_block(search *s, int u)
{
    int n = 2 + weft_rng_below(&s->rng, MOST_BLOCK - 1), d = draw_device(s, u);

    for (int i = 0; i < n; i++) {
        put(s, u, d);
        u = beside(s, u);
    }
}

static void move(search *s)
{
    int u = weft_rng_below(&s->rng, s->n), kind = weft_rng_below(&s->rng, 4);

    s->first = s->n;
    s->n_block = 0;
    s->from = s->to = s->place[u];
    if (kind == 0) {
        move_block(s, u);
        return;
    }
    if (kind < 3)
        put(s, u, draw_device(s, u));
    if (kind > 1) {
        s->to = draw_place(s, u);
        shift(s, s->from, s->to);
        if (s->from != s->to) {
            int least = s->from < s->to ? s->from : s->to;

            s->first = least < s->first ? least : s->first;
        }
    }
}

static void undo(search *s, int stop)
{
    for (int i = s->first; i < stop; i++)
        s->end_s[s->order[i]] = s->old_end_s[i];
    shift(s, s->to, s->from);
    for (int i = s->n_block - 1; i >= 0; i--)
        s->device[s->block[i]] = s->old_device[i];
}

/* --- the whole ------------------------------------------------------------------------------- */

static void keep_best(search *s)
{
    if (!(s->value < s->best_value))
        return;
    s->best_value = s->value;
    memcpy(s->best_order, s->order, sizeof *s->order * (size_t)s->n);
    memcpy(s->best_device, s->device, sizeof *s->device * (size_t)s->n);
}

static void anneal(search *s, const weft_anneal_effort *e)
{
    double heat_s = e->hot_s;
    double cooling = pow(e->cold_s / e->hot_s, (double)STEPS_A_LOOK / (double)e->steps);

    for (int64_t i = 0; i < e->steps; i++) {
        double limit_s = s->merit - heat_s * log(1 - weft_rng_real(&s->rng));
        int stop;

        if (i % STEPS_A_LOOK == STEPS_A_LOOK - 1) {
            heat_s *= cooling;
            if (e->run != NULL && weft_run_is_over(e->run))
                return;
        }
        move(s);
        if (s->first >= s->n)
            continue;
        if (time_from(s, s->first, limit_s, &stop)) {
            keep(s, s->first);
            keep_best(s);
        } else {
            undo(s, stop);
        }
    }
}

static void set_order(search *s, const double *start_s, weft_arena *a)
{
    for (int u = 0; u < s->n; u++)
        s->end_s[u] = start_s[u] + s->x->time_s[u * s->k + s->device[u]];
    s->order = weft_sorted_twice(start_s, s->end_s, s->n, a);
    for (int i = 0; i < s->n; i++)
        s->place[s->order[i]] = i;
}

/* How early a task and what follows it could end at best. */
static void set_base(search *s, weft_arena *a)
{
    const double *head_s = weft_subproblem_heads(s->x, a), *time_s = s->x->time_s;

    s->base_s = WEFT_NEW(a, double, s->n);
    for (int u = 0; u < s->n; u++) {
        s->base_s[u] = INFINITY;
        for (int i = u * s->k; i < (u + 1) * s->k; i++) {
            if (time_s[i] < INFINITY)
                s->base_s[u] = fmin(s->base_s[u], head_s[i] + time_s[i] + s->tail_s[i]);
        }
    }
    s->share = LATE_SHARE / s->n;
}

/* Edges in the order in which tasks are timed. */
static void set_sends(search *s, weft_arena *a)
{
    const weft_subproblem *x = s->x;
    size_t size = (size_t)s->k * (size_t)s->k;

    s->pred = WEFT_NEW(a, int, x->n_edges);
    s->send_s = WEFT_NEW(a, double, (size_t)x->n_edges *size);
    for (int j = 0; j < x->n_edges; j++) {
        s->pred[j] = x->from[x->in[j]];
        memcpy(s->send_s + (size_t)j * size, x->send_s + (size_t)x->in[j] * size,
               sizeof *s->send_s * size);
    }
}

static search *search_new(const weft_subproblem *x, int *device, const double *start_s,
                          uint64_t seed, weft_arena *a)
{
    search *s = WEFT_NEW(a, search, 1);
    size_t n = (size_t)x->n_tasks, rows = (n + 1) * (size_t)x->n_devices;

    s->x = x;
    s->n = x->n_tasks;
    s->k = x->n_devices;
    s->rng = weft_rng_seed(seed);
    s->tail_s = weft_subproblem_tails(x, a);
    s->place = WEFT_NEW(a, int, n);
    s->device = weft_arena_copy(a, device, sizeof *device * n);
    s->best_order = WEFT_NEW(a, int, n);
    s->best_device = WEFT_NEW(a, int, n);
    s->end_s = WEFT_NEW(a, double, n);
    s->old_end_s = WEFT_NEW(a, double, n);
    s->most_s = WEFT_NEW(a, double, n + 1);
    s->new_most_s = WEFT_NEW(a, double, n + 1);
    s->late_s = WEFT_NEW(a, double, n + 1);
    s->new_late_s = WEFT_NEW(a, double, n + 1);
    s->free_s = WEFT_NEW(a, double, rows);
    s->new_free_s = WEFT_NEW(a, double, rows);
    memcpy(s->free_s, x->free_s, sizeof(double) * (size_t)s->k);
    set_base(s, a);
    set_sends(s, a);
    set_order(s, start_s, a);
    return s;
}

double weft_subproblem_anneal(const weft_subproblem *x, int *device, double *start_s,
                              const weft_anneal_effort *e)
{
    weft_arena *a = weft_arena_new();
    search *s = search_new(x, device, start_s, e->seed, a);
    double value;
    int stop;

    s->best_value = INFINITY;
    time_from(s, 0, INFINITY, &stop);
    keep(s, 0);
    keep_best(s);
    if (x->n_weights == 0 && x->group == NULL && x->n_devices > 1)
        anneal(s, e);
    memcpy(device, s->best_device, sizeof *device * (size_t)s->n);
    value = weft_subproblem_time(x, device, s->best_order, start_s);
    weft_arena_free(a);
    return value;
}

/* --- spans ----------------------------------------------------------------------------------- */

enum { LEAST_SPAN = 4, MOVES_A_TASK = 4000, LEAST_MOVES = 20000, IDLE_ROUNDS = 4 };

/* Mean over the tasks of their least time. */
static double mean_time_s(const weft_subproblem *x)
{
    double sum_s = 0;

    for (int u = 0; u < x->n_tasks; u++)
        sum_s += weft_least(x->time_s + weft_cell(x, u, 0), x->n_devices);
    return sum_s / x->n_tasks;
}

/* Anneals a window of the schedule; true if the whole is better. */
static bool anneal_window(weft_timing *t, const weft_window *w, weft_anneal_effort *e)
{
    weft_arena *a = weft_arena_new();
    weft_subproblem *y = weft_window_subproblem(t, w, a);
    int *device = WEFT_NEW(a, int, y->n_tasks);
    double *start_s = WEFT_NEW(a, double, y->n_tasks), mean_s = mean_time_s(y);
    bool is_better = false;

    for (int i = 0; i < y->n_tasks; i++) {
        device[i] = t->device[t->order[w->first + i]];
        start_s[i] = t->start_s[t->order[w->first + i]];
    }
    e->hot_s *= mean_s;
    e->cold_s *= mean_s;
    if (mean_s > 0 && weft_subproblem_anneal(y, device, start_s, e) < t->value)
        is_better = weft_window_put(t, w, device, start_s);
    weft_arena_free(a);
    return is_better;
}

/* One round over the spans. A barrier has the same place in every order. */
static bool anneal_round(weft_timing *t, const bool *is_barrier, int round, weft_run *run,
                         int64_t most, int64_t *steps)
{
    int n = t->subproblem->n_tasks;
    bool is_better = false;
    weft_rng all = weft_rng_seed((uint64_t)run->seed), rng = weft_rng_split(&all, (uint64_t)round);

    for (int first = 0, last; first < n && !weft_run_is_over(run); first = last) {
        int64_t moves;
        int end;

        for (last = first + 1; last < n && !is_barrier[t->order[last]]; last++)
            ;
        end = last < n ? last + 1 : n;
        if (last - first < LEAST_SPAN)
            continue;
        moves = (int64_t)MOVES_A_TASK * (last - first);
        moves = moves < LEAST_MOVES ? LEAST_MOVES : moves;
        moves = most > 0 && most - *steps < moves ? most - *steps : moves;
        if (moves <= 0)
            break;
        is_better |= anneal_window(
            t, &(weft_window){first, end, NULL},
            &(weft_anneal_effort){moves, HOT[round % 2], COLD, weft_rng_next(&rng), run});
        *steps += moves;
    }
    return is_better;
}

double weft_anneal_spans(const weft_subproblem *x, int *device, double *start_s, weft_run *run,
                         int64_t *steps)
{
    weft_arena *a = weft_arena_new();
    weft_timing *t = weft_timing_new(x, device, start_s, a);
    const bool *is_barrier = weft_subproblem_barriers(x, a);
    int64_t most = *steps;
    int n_idle = 0;
    double value;

    *steps = 0;
    for (int round = 0; n_idle < IDLE_ROUNDS; round++) {
        int64_t before = *steps;

        n_idle = anneal_round(t, is_barrier, round, run, most, steps) ? 0 : n_idle + 1;
        if (*steps == before) /* nothing to anneal, or nothing left to spend */
            break;
    }
    memcpy(device, t->device, sizeof *device * (size_t)x->n_tasks);
    memcpy(start_s, t->start_s, sizeof *start_s * (size_t)x->n_tasks);
    value = t->value;
    weft_arena_free(a);
    return value;
}
