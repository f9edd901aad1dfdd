/* SPDX-License-Identifier: MIT */
/* bound_refute.c: no schedule is shorter than this, because its tasks would have no device left.
 *
 * To refute a limit, assume a schedule of value below it.
 * 1. Heads and tails of all tasks over the devices that are left (bound_ancestor.c). Device k is
 *    taken from task i if head + time + tail reaches the limit. Tasks that must share a device
 *    lose it together. A task without devices: refuted.
 * 2. For each device, the tasks that have no other: if the bound of one machine with their heads
 *    and tails (bound_machine.c) reaches the limit: refuted.
 * 3. 1 and 2 are repeated while they take something, with heads along single ways; then, if the
 *    subproblem is small, with ancestors together.
 * 4. Shaving: for each task and device, on a copy: the task is there; steps 1 to 3. If that is
 *    refuted, the device is taken. Again until a pass takes nothing.
 *
 * Proof. Every step follows from the assumption: a schedule with i on k has at least the value head
 * + time + tail, and a device that does the tasks that only it can do needs at least the bound of
 * one machine. So the assumption is wrong if a task has no device left. Taking devices raises heads
 * and tails, so a refuted limit stays refuted if it is lowered.
 *
 * Rounding: all sums are of numbers that are not negative, so a number that has passed through m
 * additions is too large by a factor of at most 1 + m * 1.2e-16. Along single ways m is at most
 * 5 n + 2 (head, tail, the jobs of a machine); with ancestors together each head adds up to n + 2
 * to that of an ancestor, so m is at most n (n + 3) + 2 with n <= 64. `slack` is larger than both,
 * and sums count as reaching the limit only if they pass it by that. So refutations hold in exact
 * arithmetic.
 *
 * The bound: the limit that is hardest to refute is tried first, just below `upper`. A limit that
 * is not refuted tells the largest sum that stayed below it: any limit above that sum leads through
 * the same steps, so this is the next to try. In turns with bisection, until the two meet.
 *
 * Cost: a round of step 1 takes edges * devices^2 steps, or weft_ancestor_work; rounds are at most
 * tasks * devices, usually few. Everything is counted, and past most_work nothing is refuted.
 * Destructive bounds with shaving: Carlier, Pinson 1989; Martin, Shmoys, IPCO 1996. */
#include "bound.h"

#include <math.h>
#include <string.h>

static const double MOST_DEEP_WORK = 4e6; /* of one round with ancestors together */
enum { MOST_TRIES = 60 };                 /* limits tried for a bound */
static const double SHARE_OF_WORK = 4;    /* a try takes no more than this part of what is left */

static double slack(const weft_subproblem *x)
{
    return 1e-12 + 1e-15 * x->n_tasks;
}

typedef struct state {
    const weft_subproblem *x;
    weft_subproblem fore, *back; /* with the devices that are left */
    double *fore_s, *back_s;     /* their times */
    int *n_left;                 /* [n_tasks] devices */
    int *next;                   /* [n_tasks] the next task of the same group, in a ring */
    double *head_s, *tail_s;     /* tails are by task of `back` */
    weft_job *job;
    double *scratch;
    double limit; /* what sums must reach */
    double below; /* the largest sum that did not */
    double work, most_work;
    bool is_deep;
    weft_arena *a;
} state;

/* --- devices that are left ------------------------------------------------------------------- */

static int *rings(const weft_subproblem *x, weft_arena *a)
{
    int *next = WEFT_NEW(a, int, x->n_tasks), *last;
    size_t mark = weft_arena_mark(a);

    for (int i = 0; i < x->n_tasks; i++)
        next[i] = i;
    if (x->group == NULL)
        return next;
    last = WEFT_NEW(a, int, x->n_groups); /* 1 + the last task so far */
    for (int i = 0; i < x->n_tasks; i++) {
        int g = x->group[i];

        if (last[g] > 0) {
            next[i] = next[last[g] - 1];
            next[last[g] - 1] = i;
        }
        last[g] = i + 1;
    }
    weft_arena_rewind(a, mark);
    return next;
}

static bool is_left(const state *s, int i, int k)
{
    return s->fore_s[i * s->x->n_devices + k] < INFINITY;
}

static bool take_one(state *s, int i, int k)
{
    int n = s->x->n_devices;

    if (!is_left(s, i, k))
        return s->n_left[i] == 0;
    s->fore_s[i * n + k] = s->back_s[(s->x->n_tasks - 1 - i) * n + k] = INFINITY;
    return --s->n_left[i] == 0;
}

/* Takes device k from i and its group; true if that leaves a task without device. */
static bool take(state *s, int i, int k)
{
    bool is_empty = take_one(s, i, k);

    for (int j = s->next[i]; j != i; j = s->next[j])
        is_empty |= take_one(s, j, k);
    return is_empty;
}

/* Leaves i and its group device k only. */
static bool fix(state *s, int i, int k)
{
    bool is_empty = false;

    for (int l = 0; l < s->x->n_devices; l++)
        is_empty |= l != k && take(s, i, l);
    return is_empty;
}

/* --- propagation ----------------------------------------------------------------------------- */

typedef enum outcome { SAME, CHANGED, REFUTED } outcome;

static bool reaches(state *s, double sum_s)
{
    if (sum_s >= s->limit)
        return true;
    s->below = fmax(s->below, sum_s);
    return false;
}

static outcome take_devices(state *s)
{
    int n = s->x->n_devices, n_tasks = s->x->n_tasks;
    outcome o = SAME;

    for (int i = 0; i < n_tasks; i++) {
        for (int k = 0; k < n; k++) {
            double sum_s;

            if (!is_left(s, i, k))
                continue;
            sum_s = s->head_s[i * n + k] + s->x->time_s[i * n + k] +
                    s->tail_s[(n_tasks - 1 - i) * n + k];
            if (!reaches(s, sum_s))
                continue;
            o = CHANGED;
            if (take(s, i, k))
                return REFUTED;
        }
    }
    return o;
}

static bool is_overfull(state *s, int k)
{
    int n = s->x->n_devices, n_tasks = s->x->n_tasks, n_jobs = 0;

    for (int i = 0; i < n_tasks; i++) {
        if (s->n_left[i] == 1 && is_left(s, i, k))
            s->job[n_jobs++] = (weft_job){s->head_s[i * n + k], s->x->time_s[i * n + k],
                                          s->tail_s[(n_tasks - 1 - i) * n + k]};
    }
    s->work += (double)n_jobs * n_jobs;
    return n_jobs > 0 && reaches(s, weft_machine_bound(s->job, n_jobs, s->scratch));
}

static outcome run_round(state *s, bool is_deep)
{
    const weft_subproblem *x = s->x;
    outcome o;

    s->work += 2 * (double)x->n_devices * x->n_devices * (x->n_edges + x->n_tasks);
    if (is_deep)
        s->work += 2 * weft_ancestor_work(x);
    weft_ancestor_heads(&s->fore, is_deep, s->head_s, s->a);
    weft_ancestor_heads(s->back, is_deep, s->tail_s, s->a);
    o = take_devices(s);
    for (int k = 0; o != REFUTED && k < x->n_devices; k++) {
        if (is_overfull(s, k))
            return REFUTED;
    }
    return o;
}

static bool is_spent(const state *s)
{
    return s->work >= s->most_work;
}

/* True: refuted. */
static bool propagate(state *s)
{
    outcome o = CHANGED;

    while (o == CHANGED && !is_spent(s)) {
        o = run_round(s, false);
        if (o == SAME && s->is_deep && !is_spent(s))
            o = run_round(s, true);
    }
    return o == REFUTED;
}

/* --- shaving --------------------------------------------------------------------------------- */

typedef struct copy {
    double *fore_s, *back_s;
    int *n_left;
} copy;

static copy keep(const state *s)
{
    size_t cells = (size_t)s->x->n_tasks * (size_t)s->x->n_devices * sizeof(double);

    return (copy){weft_arena_copy(s->a, s->fore_s, cells), weft_arena_copy(s->a, s->back_s, cells),
                  weft_arena_copy(s->a, s->n_left, (size_t)s->x->n_tasks * sizeof(int))};
}

static void restore(state *s, const copy *c)
{
    size_t cells = (size_t)s->x->n_tasks * (size_t)s->x->n_devices * sizeof(double);

    memcpy(s->fore_s, c->fore_s, cells);
    memcpy(s->back_s, c->back_s, cells);
    memcpy(s->n_left, c->n_left, (size_t)s->x->n_tasks * sizeof(int));
}

/* Task i cannot be on k. */
static bool is_shaved(state *s, int i, int k)
{
    size_t mark = weft_arena_mark(s->a);
    copy c = keep(s);
    bool is_out = fix(s, i, k) || propagate(s);

    restore(s, &c);
    weft_arena_rewind(s->a, mark);
    return is_out;
}

/* True: refuted. */
static bool shave(state *s)
{
    bool has_changed = true;

    while (has_changed && !is_spent(s)) {
        has_changed = false;
        for (int i = 0; i < s->x->n_tasks; i++) {
            for (int k = 0; k < s->x->n_devices && !is_spent(s); k++) {
                if (s->n_left[i] < 2 || !is_left(s, i, k) || !is_shaved(s, i, k))
                    continue;
                has_changed = true;
                if (take(s, i, k) || propagate(s))
                    return true;
            }
        }
    }
    return false;
}

/* --- limits ---------------------------------------------------------------------------------- */

static state *state_new(const weft_subproblem *x, weft_arena *a)
{
    size_t cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    state *s = WEFT_NEW(a, state, 1);

    s->x = x;
    s->a = a;
    s->fore = *x;
    s->back = weft_subproblem_reverse(x, a);
    s->fore.time_s = s->fore_s = WEFT_NEW(a, double, cells);
    s->back->time_s = s->back_s = WEFT_NEW(a, double, cells);
    s->n_left = WEFT_NEW(a, int, x->n_tasks);
    s->next = rings(x, a);
    s->head_s = WEFT_NEW(a, double, cells);
    s->tail_s = WEFT_NEW(a, double, cells);
    s->job = WEFT_NEW(a, weft_job, x->n_tasks);
    s->scratch = WEFT_NEW(a, double, x->n_tasks);
    s->is_deep = weft_ancestor_work(x) <= MOST_DEEP_WORK;
    return s;
}

static bool fill_devices(state *s)
{
    int n = s->x->n_devices, n_tasks = s->x->n_tasks;
    bool is_empty = false;

    for (int i = 0; i < n_tasks; i++) {
        s->n_left[i] = 0;
        for (int k = 0; k < n; k++) {
            double time_s = s->x->time_s[i * n + k];

            s->fore_s[i * n + k] = s->back_s[(n_tasks - 1 - i) * n + k] = time_s;
            s->n_left[i] += time_s < INFINITY;
        }
        is_empty |= s->n_left[i] == 0;
    }
    for (int i = 0; i < n_tasks; i++) { /* groups have the devices that all of them have */
        for (int k = 0; k < n; k++)
            is_empty |= !is_left(s, i, k) && take(s, i, k);
    }
    return is_empty;
}

/* What is left stays in the state. */
static bool refute(state *s, double limit_s, bool is_shaving, double most_work)
{
    double work = s->work;

    s->most_work = work + fmin(most_work, WEFT_MOST_REFUTE_WORK);
    s->limit = limit_s * (1 + slack(s->x));
    s->below = 0;
    return fill_devices(s) || propagate(s) || (is_shaving && shave(s));
}

bool weft_refute(const weft_subproblem *x, double limit_s, bool is_shaving, double most_work,
                 weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    bool is_refuted = limit_s <= 0 || refute(state_new(x, a), limit_s, is_shaving, most_work);

    weft_arena_rewind(a, mark);
    return is_refuted;
}

/* No less than the value of some schedule, if every device is connected to every other. */
static double some_value(const weft_subproblem *x)
{
    int n = x->n_devices;
    double sum_s = 0;

    for (int i = 0; i < x->n_tasks; i++) {
        for (int k = 0; k < n; k++) {
            double row_s = x->release_s[i * n + k] + x->time_s[i * n + k] + x->tail_s[i * n + k];

            sum_s += row_s < INFINITY ? row_s : 0;
        }
    }
    for (size_t c = 0; c < (size_t)x->n_edges * (size_t)n * (size_t)n; c++)
        sum_s += x->send_s[c] < INFINITY ? x->send_s[c] : 0;
    for (int k = 0; k < n; k++)
        sum_s += x->free_s[k];
    return sum_s;
}

/* The largest limit found below `high`: in turns just below the least sum that is known to stand
 * (first of all `high` itself) and by bisection. */
static double search_limit(state *s, double high, bool is_shaving, double most_work)
{
    double low = 0, last = s->work + most_work, nudge = 1 - 4 * slack(s->x);
    bool is_step = true;

    for (int i = 0; i < MOST_TRIES && high * nudge > low && s->work < last; i++) {
        double limit = is_step ? high * nudge : low + (high - low) / 2;

        if (refute(s, limit, is_shaving, (last - s->work) / SHARE_OF_WORK)) {
            low = limit;
            if (is_step)
                break;
        } else {
            high = is_spent(s) ? limit : fmin(limit, s->below);
        }
        is_step = !is_step && !is_spent(s);
    }
    return low;
}

double weft_refute_bound(const weft_subproblem *x, double upper, bool is_shaving, double most_work,
                         weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    state *s = state_new(x, a);
    bool is_whole = upper == INFINITY && refute(s, upper, is_shaving, most_work / SHARE_OF_WORK);
    double bound = upper;

    if (!is_whole)
        bound = search_limit(s, fmin(upper, some_value(x) * 2), is_shaving, most_work - s->work);
    weft_arena_rewind(a, mark);
    return bound;
}
