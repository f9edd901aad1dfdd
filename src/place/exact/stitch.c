/* SPDX-License-Identifier: MIT */
/* stitch.c: modules solved one after the other, each with an eye on the rest.
 *
 * 1. Complete the empty schedule: tasks by decreasing rank (mean time + the largest mean transfer +
 *    rank of a reader), each on the device where it ends first, in the first gap that holds it.
 *    This is the best schedule so far.
 * 2. For each module in order: what is done gives releases and the times from which devices are
 *    free; tails are those of the whole subproblem. Solve for the least of the largest end + tail.
 * 3. Complete the schedule as in 1. If it is better than the best so far, or as good, its tasks of
 *    the module become done; otherwise those of the best schedule do.
 *
 * The value is never above that of 1. Every task that is done keeps device and start. Time: a
 * search and a completion for each module; a completion takes O(edges * devices) and the search for
 * gaps. */
#include "stitch.h"
#include "rows.h"
#include "sort.h"

#include <math.h>
#include <string.h>

enum { TASKS_A_LOOK = 64 }; /* at the clock */

/* A schedule, perhaps partial. */
typedef struct partial {
    int *device; /* -1: not placed */
    double *start_s, *end_s;
    int *last, *before; /* device -> its last task; task -> the one before it there; or -1 */
    int *n_held;        /* [weight * n_devices + device] */
    double *held_bytes; /* [n_devices] */
    int *home;          /* [n_groups] device or -1 */
    double value;
} partial;

typedef struct stitcher {
    const weft_subproblem *subproblem;
    const weft_run *run;
    weft_arena *arena;
    int *order;     /* tasks by rank */
    double *tail_s; /* of the whole subproblem */
    int *spot;      /* [n_tasks] place within the module in hand */
    partial done, trial, best;
} stitcher;

/* --- ranks ----------------------------------------------------------------------------------- */

static double mean_time(const weft_subproblem *x, int u)
{
    double sum_s = 0;
    int n = 0;

    for (int d = 0; d < x->n_devices; d++) {
        if (x->time_s[weft_cell(x, u, d)] < INFINITY) {
            sum_s += x->time_s[weft_cell(x, u, d)];
            n++;
        }
    }
    return n == 0 ? 0 : sum_s / n;
}

static double mean_send(const weft_subproblem *x, int e)
{
    double sum_s = 0;
    int n = 0;

    for (int k = 0; k < x->n_devices * x->n_devices; k++) {
        if (k % (x->n_devices + 1) != 0 && weft_sends(x, e)[k] < INFINITY) {
            sum_s += weft_sends(x, e)[k];
            n++;
        }
    }
    return n == 0 ? 0 : sum_s / n;
}

/* A rank is no less than those of the readers, so the order is topological. */
static int *rank_order(const weft_subproblem *x, weft_arena *a)
{
    double *rank = WEFT_NEW(a, double, x->n_tasks);

    for (int u = x->n_tasks - 1; u >= 0; u--) {
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++)
            rank[u] = fmax(rank[u], mean_send(x, x->out[i]) + rank[x->to[x->out[i]]]);
        rank[u] += mean_time(x, u);
    }
    return weft_sorted_falling(rank, x->n_tasks, a);
}

/* --- partial schedules ----------------------------------------------------------------------- */

static partial partial_new(const weft_subproblem *x, weft_arena *a)
{
    partial p = {0};

    p.device = WEFT_NEW(a, int, x->n_tasks);
    p.start_s = WEFT_NEW(a, double, x->n_tasks);
    p.end_s = WEFT_NEW(a, double, x->n_tasks);
    p.last = WEFT_NEW(a, int, x->n_devices);
    p.before = WEFT_NEW(a, int, x->n_tasks);
    p.n_held = WEFT_NEW(a, int, (size_t)x->n_weights *(size_t)x->n_devices);
    p.held_bytes = WEFT_NEW(a, double, x->n_devices);
    p.home = WEFT_NEW(a, int, x->n_groups);
    for (int u = 0; u < x->n_tasks; u++)
        p.device[u] = -1;
    for (int d = 0; d < x->n_devices; d++)
        p.last[d] = -1;
    for (int g = 0; g < x->n_groups; g++)
        p.home[g] = -1;
    return p;
}

static void copy_partial(const weft_subproblem *x, partial *to, const partial *from)
{
    size_t n = (size_t)x->n_tasks, k = (size_t)x->n_devices;

    memcpy(to->device, from->device, sizeof *to->device * n);
    memcpy(to->start_s, from->start_s, sizeof *to->start_s * n);
    memcpy(to->end_s, from->end_s, sizeof *to->end_s * n);
    memcpy(to->before, from->before, sizeof *to->before * n);
    memcpy(to->last, from->last, sizeof *to->last * k);
    memcpy(to->n_held, from->n_held, sizeof *to->n_held * k * (size_t)x->n_weights);
    memcpy(to->held_bytes, from->held_bytes, sizeof *to->held_bytes * k);
    memcpy(to->home, from->home, sizeof *to->home * (size_t)x->n_groups);
    to->value = from->value;
}

static bool allows(const weft_subproblem *x, const partial *p, int u, int d)
{
    double bytes = p->held_bytes[d];

    if (!(x->time_s[weft_cell(x, u, d)] < INFINITY))
        return false;
    if (x->group != NULL && p->home[x->group[u]] >= 0 && p->home[x->group[u]] != d)
        return false;
    for (int i = weft_first_weight(x, u); i < weft_last_weight(x, u); i++) {
        if (p->n_held[weft_cell(x, x->weight[i], d)] == 0)
            bytes += x->weight_bytes[x->weight[i]];
    }
    return x->n_weights == 0 || bytes <= x->room_bytes[d];
}

/* When the data of u is on d: its sources are placed. */
static double ready_s(const weft_subproblem *x, const partial *p, int u, int d)
{
    double at_s = fmax(x->release_s[weft_cell(x, u, d)], x->free_s[d]);

    for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
        int v = x->from[x->in[i]];

        at_s = fmax(at_s, p->end_s[v] + weft_sends(x, x->in[i])[p->device[v] * x->n_devices + d]);
    }
    return at_s;
}

/* Start in the first gap on d that holds the task. */
static double first_gap(const partial *p, int d, double at_s, double length_s)
{
    double best_s = INFINITY, limit_s = INFINITY;

    for (int v = p->last[d];; v = p->before[v]) { /* the gap between v and limit_s */
        double from_s = v < 0 ? at_s : fmax(at_s, p->end_s[v]);

        if (limit_s - from_s >= length_s)
            best_s = from_s;
        if (v < 0 || p->end_s[v] <= at_s)
            return best_s;
        limit_s = p->start_s[v];
    }
}

static void put(const weft_subproblem *x, partial *p, int u, int d, double start_s)
{
    int *link = &p->last[d];

    p->device[u] = d;
    p->start_s[u] = start_s;
    p->end_s[u] = start_s + x->time_s[weft_cell(x, u, d)];
    while (*link >= 0 && (p->start_s[*link] > start_s ||
                          (p->start_s[*link] == start_s && p->end_s[*link] > p->end_s[u])))
        link = &p->before[*link];
    p->before[u] = *link;
    *link = u;
    if (x->group != NULL)
        p->home[x->group[u]] = d;
    for (int i = weft_first_weight(x, u); i < weft_last_weight(x, u); i++) {
        if (p->n_held[weft_cell(x, x->weight[i], d)]++ == 0)
            p->held_bytes[d] += x->weight_bytes[x->weight[i]];
    }
    p->value = fmax(p->value, p->end_s[u] + x->tail_s[weft_cell(x, u, d)]);
}

/* Places what is not placed yet; the value is INFINITY if a task finds no device or the run is over:
 * gaps take time O(tasks) each. */
static void complete(const stitcher *s, partial *p)
{
    const weft_subproblem *x = s->subproblem;

    for (int i = 0; i < x->n_tasks; i++) {
        int u = s->order[i], best = -1;
        double best_s = 0, least_s = INFINITY;

        if (p->device[u] >= 0)
            continue;
        for (int d = 0; d < x->n_devices; d++) {
            double length_s = x->time_s[weft_cell(x, u, d)], start_s;

            if (!allows(x, p, u, d))
                continue;
            start_s = first_gap(p, d, ready_s(x, p, u, d), length_s);
            if (start_s + length_s < least_s) {
                least_s = start_s + length_s;
                best_s = start_s;
                best = d;
            }
        }
        if (best < 0 || (i % TASKS_A_LOOK == 0 && weft_run_is_over(s->run))) {
            p->value = INFINITY;
            return;
        }
        put(x, p, u, best, best_s);
    }
}

/* --- modules as subproblems ------------------------------------------------------------------ */

/* Times and tails of task u at place i, with releases by what is done. */
static void set_task(const stitcher *s, weft_outline *r, int u, int i)
{
    const weft_subproblem *x = s->subproblem;
    const partial *p = &s->done;

    for (int d = 0; d < x->n_devices; d++) {
        double at_s = x->release_s[weft_cell(x, u, d)];

        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
            int v = x->from[x->in[j]];

            if (s->spot[v] < 0)
                at_s = fmax(at_s,
                            p->end_s[v] + weft_sends(x, x->in[j])[p->device[v] * x->n_devices + d]);
        }
        r->time_s[weft_cell(x, i, d)] =
            allows(x, p, u, d) ? x->time_s[weft_cell(x, u, d)] : INFINITY;
        r->release_s[weft_cell(x, i, d)] = at_s;
        r->tail_s[weft_cell(x, i, d)] = s->tail_s[weft_cell(x, u, d)];
    }
}

static void set_edges(const stitcher *s, weft_outline *r, int u, int i)
{
    const weft_subproblem *x = s->subproblem;

    for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
        int at = s->spot[x->from[x->in[j]]];

        if (at >= 0)
            weft_outline_edge(r, at, i, weft_sends(x, x->in[j]));
    }
}

static void set_weights(const stitcher *s, weft_subproblem *y, const int *task, weft_arena *a)
{
    const weft_subproblem *x = s->subproblem;
    WEFT_VEC(int) weight = {0};
    int *weight_at = WEFT_NEW(a, int, y->n_tasks + 1);
    double *room_bytes = WEFT_NEW(a, double, x->n_devices);

    for (int i = 0; i < y->n_tasks; i++) {
        for (int j = x->weight_at[task[i]]; j < x->weight_at[task[i] + 1]; j++)
            WEFT_PUSH(a, weight, x->weight[j]);
        weight_at[i + 1] = weight.n;
    }
    for (int d = 0; d < x->n_devices; d++)
        room_bytes[d] = x->room_bytes[d] - s->done.held_bytes[d];
    y->n_weights = x->n_weights;
    y->weight_bytes = x->weight_bytes;
    y->weight = weight.at;
    y->weight_at = weight_at;
    y->room_bytes = room_bytes;
}

/* The module's tasks, ascending, behind what is done. */
static weft_subproblem *module_subproblem(const stitcher *s, const int *task, int n, weft_arena *a)
{
    const weft_subproblem *x = s->subproblem;
    int n_edges = 0, *group;
    weft_outline r;
    weft_subproblem *y;

    for (int i = 0; i < n; i++) {
        s->spot[task[i]] = i;
        n_edges += x->in_at[task[i] + 1] - x->in_at[task[i]];
    }
    r = weft_outline_new(n, x->n_devices, n_edges, a);
    for (int d = 0; d < x->n_devices; d++) {
        int last = s->done.last[d];

        r.free_s[d] = last < 0 ? x->free_s[d] : fmax(x->free_s[d], s->done.end_s[last]);
    }
    for (int i = 0; i < n; i++) {
        set_task(s, &r, task[i], i);
        set_edges(s, &r, task[i], i);
    }
    y = weft_outline_end(&r, a);
    if (x->n_weights > 0)
        set_weights(s, y, task, a);
    if (x->group != NULL) {
        y->group = group = WEFT_NEW(a, int, n);
        y->n_groups = x->n_groups;
        for (int i = 0; i < n; i++)
            group[i] = x->group[task[i]];
    }
    for (int i = 0; i < n; i++)
        s->spot[task[i]] = -1;
    return y;
}

/* --- one module after the other -------------------------------------------------------------- */

/* Solves a module, and makes its tasks done as the better of its schedule and the best says. */
static void add_module(stitcher *s, const int *task, int n, const weft_effort *effort,
                       int64_t *steps)
{
    const weft_subproblem *x = s->subproblem;
    size_t mark = weft_arena_mark(s->arena);
    weft_subproblem *y = module_subproblem(s, task, n, s->arena);
    weft_answer answer = weft_subproblem_solve(y, effort, s->arena);

    *steps += answer.n_states + 1;
    if (answer.device != NULL) {
        copy_partial(x, &s->trial, &s->done);
        for (int i = 0; i < n; i++)
            put(x, &s->trial, task[i], answer.device[i], answer.start_s[i]);
        complete(s, &s->trial);
        if (s->trial.value <= s->best.value)
            copy_partial(x, &s->best, &s->trial);
    }
    if (s->best.value < INFINITY) {
        for (int i = 0; i < n; i++)
            put(x, &s->done, task[i], s->best.device[task[i]], s->best.start_s[task[i]]);
    }
    weft_arena_rewind(s->arena, mark);
}

static stitcher stitcher_new(const weft_subproblem *x, const weft_run *run, weft_arena *a)
{
    stitcher s = {.subproblem = x, .run = run, .arena = a};

    s.order = rank_order(x, a);
    s.tail_s = weft_subproblem_tails(x, a);
    s.spot = WEFT_NEW(a, int, x->n_tasks);
    s.done = partial_new(x, a);
    s.trial = partial_new(x, a);
    s.best = partial_new(x, a);
    for (int u = 0; u < x->n_tasks; u++)
        s.spot[u] = -1;
    complete(&s, &s.best);
    return s;
}

double weft_stitch(const weft_subproblem *x, const weft_stitch_options *o, const weft_run *run,
                   int *device, double *start_s, int64_t *steps)
{
    weft_arena *a = weft_arena_new();
    stitcher s = stitcher_new(x, run, a);
    weft_rows member = weft_rows_by(o->module, x->n_tasks, o->n_modules, a);
    int64_t most = *steps;
    double value;

    *steps = 0;
    for (int c = 0; c < o->n_modules && s.best.value < INFINITY; c++) {
        weft_effort effort = {.upper = INFINITY,
                              .most_states = o->most_states,
                              .most_beam = o->most_beam,
                              .run = run};

        if ((most > 0 && *steps >= most) || weft_run_is_over(run))
            break;
        if (most > 0 && most - *steps < effort.most_states)
            effort.most_states = most - *steps;
        add_module(&s, member.item + member.at[c], member.at[c + 1] - member.at[c], &effort, steps);
    }
    value = s.best.value;
    if (value < INFINITY) {
        memcpy(device, s.best.device, sizeof *device * (size_t)x->n_tasks);
        memcpy(start_s, s.best.start_s, sizeof *start_s * (size_t)x->n_tasks);
    }
    weft_arena_free(a);
    return value;
}
