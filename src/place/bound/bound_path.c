/* SPDX-License-Identifier: MIT */
/* bound_path.c: the longest way through the tasks, each on the device that suits it best.
 *
 * 1. head[u][d] = when u could start on d: inputs of the network are there, and every tensor it
 *    reads has come from the device that suits its producer best.
 *    tail[u][d] = what must follow u on d: the largest over readers of the least over their
 *    devices of transfer + time + tail.
 *    Then no plan ends before  max over u of min over d of  head + time + tail.
 * 2. This bound may lean on a different way for each device, so it is no certificate. Ways are
 *    drawn from the tasks of largest bound: from (u, d) back to the argument that comes last, its
 *    producer on the device of its least, and so on; likewise forwards.
 * 3. A way alone gives the least of head + time over devices at its last task, by the recursion of
 *    heads along it. The best one is the certificate, and its value the bound.
 *
 * Valid for every transfer model: transfers take no less than without contention, and the first
 * reader of a task that is elsewhere pays for the switch, in front of its own seconds. Proof of 1 and 3
 * by induction in topological order: a producer ran on some device, ended no earlier than head +
 * time there, and its tensor came a transfer later. Time O(tensors read * devices^2), and a
 * constant amount of work for step 2. */
#include "list.h"
#include "sort.h"

#include <math.h>

static const double ROUNDING = 1e-9;
static const double MOST_WORK = 5e7; /* length * devices * (devices + STEP_WORK) of all ways */
enum { MOST_STARTS = 64, STEP_WORK = 16 }; /* tasks that ways are drawn from; look-ups a step */

typedef struct table {
    const weft_domain *domain;
    const weft_problem *problem;
    double *head_s, *tail_s; /* [task][device] */
    double *come_s;          /* [tensor][device] when a tensor can be there */
} table;

static size_t cell(const table *b, int row, int d)
{
    return (size_t)row * (size_t)b->problem->n_devices + (size_t)d;
}

/* --- heads and tails ------------------------------------------------------------------------- */

/* Seconds from the end of the maker of t to the start of reader v, or of any if v is -1. */
static double come_s(const weft_problem *p, int t, int v, int from, int to)
{
    return weft_data_s(p, t, from, to) +
           (v < 0 ? 0 : weft_sure_switch_s(p, p->producer[t], v, from, to));
}

/* The device from which tensor t, made by u, comes to d first, for its reader v, and when. */
static int best_source(const table *b, int t, int v, int d, double *when_s)
{
    int u = b->problem->producer[t], best = -1;

    *when_s = INFINITY;
    for (int e = 0; e < b->problem->n_devices; e++) {
        double at_s;

        if (!weft_domain_has(b->domain, u, e))
            continue;
        at_s = b->head_s[cell(b, u, e)] + weft_task_s(b->problem, u, e) +
               come_s(b->problem, t, v, e, d);
        if (at_s < *when_s) {
            *when_s = at_s;
            best = e;
        }
    }
    return best;
}

/* The device on which reader v of tensor t ends the rest first if t was made on d, and the rest. */
static int best_reader(const table *b, int t, int v, int d, double *rest_s)
{
    int best = -1;

    *rest_s = INFINITY;
    for (int e = 0; e < b->problem->n_devices; e++) {
        double sum_s;

        if (!weft_domain_has(b->domain, v, e))
            continue;
        sum_s = come_s(b->problem, t, v, d, e) + weft_task_s(b->problem, v, e) +
                b->tail_s[cell(b, v, e)];
        if (sum_s < *rest_s) {
            *rest_s = sum_s;
            best = e;
        }
    }
    return best;
}

/* When tensor t can be on d for its reader v. Without switches all readers are alike. */
static double arrival_s(const table *b, int t, int v, int d)
{
    double when_s = b->come_s[cell(b, t, d)];

    if (b->problem->switch_s != NULL)
        best_source(b, t, v, d, &when_s);
    return when_s;
}

static void fill_heads(const table *b)
{
    const weft_problem *p = b->problem;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int d = 0; d < p->n_devices; d++) {
            double head_s = weft_input_s(p, u, d);

            for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
                if (p->producer[p->arg[i]] >= 0)
                    head_s = fmax(head_s, arrival_s(b, p->arg[i], u, d));
            }
            b->head_s[cell(b, u, d)] = head_s;
        }
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
            for (int d = 0; d < p->n_devices; d++)
                best_source(b, p->res[i], -1, d, &b->come_s[cell(b, p->res[i], d)]);
        }
    }
}

static void fill_tails(const table *b)
{
    const weft_problem *p = b->problem;

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
            int t = p->res[i];

            for (int j = p->reader_at[t]; j < p->reader_at[t + 1]; j++) {
                for (int d = 0; d < p->n_devices; d++) {
                    double rest_s, *tail_s = &b->tail_s[cell(b, u, d)];

                    best_reader(b, t, p->reader[j], d, &rest_s);
                    *tail_s = fmax(*tail_s, rest_s);
                }
            }
        }
    }
}

/* --- a way alone ----------------------------------------------------------------------------- */

/* The largest tensor from u to v: its transfers are the longest on every pair of devices. -1 if v
 * does not read u. */
static int widest_tensor(const weft_problem *p, int u, int v)
{
    int widest = -1;

    for (int i = p->arg_at[v]; i < p->arg_at[v + 1]; i++) {
        int t = p->arg[i];

        if (p->producer[t] != u)
            continue;
        if (widest < 0 || (p->is_weight[widest] && !p->is_weight[t]) ||
            (p->is_weight[widest] == p->is_weight[t] && p->amount[t] > p->amount[widest]))
            widest = t;
    }
    return widest;
}

/* Ends on each device of the next task of a way, from those of the task before (NULL: none), by
 * tensor t. */
static void step(const weft_domain *m, int t, int v, const double *before_s, double *end_s)
{
    const weft_problem *p = m->problem;

    for (int d = 0; d < p->n_devices; d++) {
        double least_s = before_s == NULL ? 0 : INFINITY;

        for (int e = 0; before_s != NULL && e < p->n_devices; e++) {
            double at_s = before_s[e] + come_s(p, t, v, e, d);

            if (at_s < least_s)
                least_s = at_s;
        }
        end_s[d] = INFINITY;
        if (weft_domain_has(m, v, d))
            end_s[d] = fmax(least_s, weft_input_s(p, v, d)) + weft_task_s(p, v, d);
    }
}

/* What a way proves; 0 if it is none. */
static double value_of(const weft_domain *m, const int *path, int n, weft_arena *a)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(a);
    double *before_s = WEFT_NEW(a, double, p->n_devices);
    double *end_s = WEFT_NEW(a, double, p->n_devices), least_s = n > 0 ? INFINITY : 0;

    for (int i = 0; i < n; i++) {
        int t = -1;
        double *swap = before_s;

        if (path[i] >= 0 && path[i] < p->n_tasks && i > 0)
            t = widest_tensor(p, path[i - 1], path[i]);
        if (path[i] < 0 || path[i] >= p->n_tasks || (i > 0 && t < 0)) {
            weft_arena_rewind(a, mark);
            return 0;
        }
        before_s = end_s;
        end_s = swap;
        step(m, t, path[i], i > 0 ? before_s : NULL, end_s);
    }
    for (int d = 0; d < p->n_devices && n > 0; d++)
        least_s = fmin(least_s, end_s[d]);
    weft_arena_rewind(a, mark);
    return least_s;
}

double weft_path_bound_of(const weft_problem *p, const int *path, int n)
{
    weft_arena *a;
    weft_domain m;
    double value;

    /* items overlap: a way bounds no period; calls pay other transfers */
    if (p->constraints.goal != WEFT_LATENCY || p->transfer == WEFT_CALLS)
        return 0;
    a = weft_arena_new();
    m = weft_domain_new(p, a);
    value = value_of(&m, path, n, a);
    weft_arena_free(a);
    return value;
}

/* --- drawing ways ---------------------------------------------------------------------------- */

/* The argument of u that comes last to d, if it comes after the inputs; -1 else. */
static int last_argument(const table *b, int u, int d)
{
    const weft_problem *p = b->problem;
    double last_s = weft_input_s(p, u, d);
    int last = -1;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        int t = p->arg[i];

        double when_s = p->producer[t] >= 0 ? arrival_s(b, t, u, d) : 0;

        if (p->producer[t] >= 0 && when_s > last_s) {
            last_s = when_s;
            last = t;
        }
    }
    return last;
}

/* The successor of u on d with the longest rest, and its device; -1 if there is none. */
static int longest_reader(const table *b, int u, int d, int *device)
{
    const weft_problem *p = b->problem;
    double longest_s = -1;
    int longest = -1;

    for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
        int t = p->res[i];

        for (int j = p->reader_at[t]; j < p->reader_at[t + 1]; j++) {
            double rest_s;
            int e = best_reader(b, t, p->reader[j], d, &rest_s);

            if (rest_s > longest_s && e >= 0) {
                longest_s = rest_s;
                longest = p->reader[j];
                *device = e;
            }
        }
    }
    return longest;
}

/* Writes the tasks before u on d, last to first; returns how many. */
static int draw_back(const table *b, int u, int d, int *path)
{
    int n = 0, t = last_argument(b, u, d);

    while (t >= 0) {
        double when_s;

        d = best_source(b, t, u, d, &when_s);
        u = b->problem->producer[t];
        path[n++] = u;
        t = d < 0 ? -1 : last_argument(b, u, d);
    }
    return n;
}

/* Writes the way through u on d, first to last; returns its length. */
static int draw_path(const table *b, int u, int d, int *path)
{
    int n = draw_back(b, u, d, path);

    for (int i = 0; i < n / 2; i++) {
        int swap = path[i];

        path[i] = path[n - 1 - i];
        path[n - 1 - i] = swap;
    }
    for (; u >= 0; u = longest_reader(b, u, d, &d))
        path[n++] = u;
    return n;
}

/* The bound of step 1 of each task. */
static double *task_bounds(const table *b, weft_arena *a)
{
    const weft_problem *p = b->problem;
    double *bound_s = WEFT_NEW(a, double, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        bound_s[u] = INFINITY;
        for (int d = 0; d < p->n_devices; d++) {
            size_t at = cell(b, u, d);

            if (weft_domain_has(b->domain, u, d))
                bound_s[u] = fmin(bound_s[u], b->head_s[at] + weft_task_s(p, u, d) + b->tail_s[at]);
        }
    }
    return bound_s;
}

/* Tries ways and keeps the best in `path`; returns its length. No way is better than the bound of
 * step 1, so that there is nothing to draw if that is below `least_s`. */
static int best_path(const table *b, double least_s, weft_arena *a, int *path, double *value)
{
    const weft_problem *p = b->problem;
    const double *bound_s = task_bounds(b, a);
    const int *starts = weft_sorted_falling(bound_s, p->n_tasks, a);
    int *trial = WEFT_NEW(a, int, p->n_tasks), n_path = 0;
    double work = 0, of_use_s = least_s * (1 - ROUNDING);

    *value = p->n_tasks > 0 && bound_s[starts[0]] >= of_use_s ? -1 : 0;
    for (int i = 0; i < p->n_tasks && i < MOST_STARTS; i++) {
        int u = starts[i];

        if (!(bound_s[u] >= of_use_s && bound_s[u] > *value))
            break;
        for (int d = 0; d < p->n_devices && work < MOST_WORK; d++) {
            int n;
            double trial_value;

            if (!weft_domain_has(b->domain, u, d))
                continue;
            n = draw_path(b, u, d, trial);
            trial_value = value_of(b->domain, trial, n, a);
            work += (double)n * p->n_devices * (p->n_devices + STEP_WORK);
            if (trial_value > *value) {
                *value = trial_value;
                n_path = n;
                for (int j = 0; j < n; j++)
                    path[j] = trial[j];
            }
        }
    }
    return n_path;
}

void weft_path_bound(const weft_domain *m, double least_s, weft_arena *a, weft_proof *out)
{
    const weft_problem *p = m->problem;
    size_t n_devices = (size_t)p->n_devices;
    int *path = WEFT_NEW(a, int, p->n_tasks);
    size_t mark = weft_arena_mark(a);
    table b = {.domain = m, .problem = p};

    b.head_s = WEFT_NEW(a, double, (size_t)p->n_tasks *n_devices);
    b.tail_s = WEFT_NEW(a, double, (size_t)p->n_tasks *n_devices);
    b.come_s = WEFT_NEW(a, double, (size_t)p->n_tensors *n_devices);
    fill_heads(&b);
    fill_tails(&b);
    out->n_path = best_path(&b, least_s, a, path, &out->bound);
    out->path = path;
    out->method = out->certified_by = "path";
    weft_arena_rewind(a, mark);
}
