/* SPDX-License-Identifier: MIT */
/* stitch.c: modules solved one after the other, each with an eye on the rest.
 *
 * 1. Complete the empty schedule: tasks by decreasing rank (mean time + the largest mean transfer +
 *    rank of a reader), each on the device where it ends first, in the first gap that holds it.
 *    This is the best schedule so far.
 * 2. For each module in order: what is done gives releases and the times from which devices are
 *    free; tails are those of the whole piece. Solve for the least of the largest end + tail.
 * 3. Complete the schedule as in 1. If it is better than the best so far, or as good, its tasks of
 *    the module become done; otherwise those of the best schedule do.
 *
 * The value is never above that of 1. Every task that is done keeps device and start. Time: a
 * search and a completion for each module; a completion takes O(edges * devices) and the search for
 * gaps. */
#include "stitch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    double rank;
    int task;
} ranked;

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
    const weft_piece *piece;
    weft_arena *arena;
    int *order;     /* tasks by rank */
    double *tail_s; /* of the whole piece */
    int *spot;      /* [n_tasks] place within the module in hand */
    partial done, trial, best;
} stitcher;

static size_t cell(const weft_piece *x, int u, int d)
{
    return (size_t)u * (size_t)x->n_devices + (size_t)d;
}

static const double *sends(const weft_piece *x, int e)
{
    return x->send_s + (size_t)e * (size_t)x->n_devices * (size_t)x->n_devices;
}

/* --- ranks ----------------------------------------------------------------------------------- */

static double mean_time(const weft_piece *x, int u)
{
    double sum_s = 0;
    int n = 0;

    for (int d = 0; d < x->n_devices; d++) {
        if (x->time_s[cell(x, u, d)] < INFINITY) {
            sum_s += x->time_s[cell(x, u, d)];
            n++;
        }
    }
    return n == 0 ? 0 : sum_s / n;
}

static double mean_send(const weft_piece *x, int e)
{
    double sum_s = 0;
    int n = 0;

    for (int k = 0; k < x->n_devices * x->n_devices; k++) {
        if (k % (x->n_devices + 1) != 0 && sends(x, e)[k] < INFINITY) {
            sum_s += sends(x, e)[k];
            n++;
        }
    }
    return n == 0 ? 0 : sum_s / n;
}

static int by_rank(const void *left, const void *right)
{
    const ranked *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

/* A rank is no less than those of the readers, so the order is topological. */
static int *rank_order(const weft_piece *x, weft_arena *a)
{
    int *order = WEFT_NEW(a, int, x->n_tasks);
    ranked *r = WEFT_NEW(a, ranked, x->n_tasks);

    for (int u = x->n_tasks - 1; u >= 0; u--) {
        double rest_s = 0;

        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++)
            rest_s = fmax(rest_s, mean_send(x, x->out[i]) + r[x->to[x->out[i]]].rank);
        r[u] = (ranked){mean_time(x, u) + rest_s, u};
    }
    qsort(r, (size_t)x->n_tasks, sizeof *r, by_rank);
    for (int i = 0; i < x->n_tasks; i++)
        order[i] = r[i].task;
    return order;
}

/* --- partial schedules ----------------------------------------------------------------------- */

static partial partial_new(const weft_piece *x, weft_arena *a)
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

static void copy_partial(const weft_piece *x, partial *to, const partial *from)
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

/* Weights of u in the piece's list: none if memory cannot matter. */
static int first_weight(const weft_piece *x, int u)
{
    return x->n_weights > 0 ? x->weight_at[u] : 0;
}

static int last_weight(const weft_piece *x, int u)
{
    return x->n_weights > 0 ? x->weight_at[u + 1] : 0;
}

static bool allows(const weft_piece *x, const partial *p, int u, int d)
{
    double bytes = p->held_bytes[d];

    if (!(x->time_s[cell(x, u, d)] < INFINITY))
        return false;
    if (x->group != NULL && p->home[x->group[u]] >= 0 && p->home[x->group[u]] != d)
        return false;
    for (int i = first_weight(x, u); i < last_weight(x, u); i++) {
        if (p->n_held[cell(x, x->weight[i], d)] == 0)
            bytes += x->weight_bytes[x->weight[i]];
    }
    return x->n_weights == 0 || bytes <= x->room_bytes[d];
}

/* When the data of u is on d: its sources are placed. */
static double ready_s(const weft_piece *x, const partial *p, int u, int d)
{
    double at_s = fmax(x->release_s[cell(x, u, d)], x->free_s[d]);

    for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
        int v = x->from[x->in[i]];

        at_s = fmax(at_s, p->end_s[v] + sends(x, x->in[i])[p->device[v] * x->n_devices + d]);
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

static void put(const weft_piece *x, partial *p, int u, int d, double start_s)
{
    int *link = &p->last[d];

    p->device[u] = d;
    p->start_s[u] = start_s;
    p->end_s[u] = start_s + x->time_s[cell(x, u, d)];
    while (*link >= 0 && (p->start_s[*link] > start_s ||
                          (p->start_s[*link] == start_s && p->end_s[*link] > p->end_s[u])))
        link = &p->before[*link];
    p->before[u] = *link;
    *link = u;
    if (x->group != NULL)
        p->home[x->group[u]] = d;
    for (int i = first_weight(x, u); i < last_weight(x, u); i++) {
        if (p->n_held[cell(x, x->weight[i], d)]++ == 0)
            p->held_bytes[d] += x->weight_bytes[x->weight[i]];
    }
    p->value = fmax(p->value, p->end_s[u] + x->tail_s[cell(x, u, d)]);
}

/* Places what is not placed yet; the value is INFINITY if a task finds no device. */
static void complete(const stitcher *s, partial *p)
{
    const weft_piece *x = s->piece;

    for (int i = 0; i < x->n_tasks; i++) {
        int u = s->order[i], best = -1;
        double best_s = 0, least_s = INFINITY;

        if (p->device[u] >= 0)
            continue;
        for (int d = 0; d < x->n_devices; d++) {
            double length_s = x->time_s[cell(x, u, d)], start_s;

            if (!allows(x, p, u, d))
                continue;
            start_s = first_gap(p, d, ready_s(x, p, u, d), length_s);
            if (start_s + length_s < least_s) {
                least_s = start_s + length_s;
                best_s = start_s;
                best = d;
            }
        }
        if (best < 0) {
            p->value = INFINITY;
            return;
        }
        put(x, p, u, best, best_s);
    }
}

/* --- modules as pieces ----------------------------------------------------------------------- */

/* The piece of a module, with pointers that may write. */
typedef struct draft {
    weft_piece *piece;
    double *time_s, *release_s, *tail_s, *free_s, *room_bytes, *send_s;
    int *from, *to, *in, *in_at, *out, *out_at, *weight, *weight_at, *group;
} draft;

/* Times and tails of task u at place i, with releases by what is done. */
static void set_task(const stitcher *s, draft *r, int u, int i)
{
    const weft_piece *x = s->piece;
    const partial *p = &s->done;

    for (int d = 0; d < x->n_devices; d++) {
        double at_s = x->release_s[cell(x, u, d)];

        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
            int v = x->from[x->in[j]];

            if (s->spot[v] < 0)
                at_s =
                    fmax(at_s, p->end_s[v] + sends(x, x->in[j])[p->device[v] * x->n_devices + d]);
        }
        r->time_s[cell(x, i, d)] = allows(x, p, u, d) ? x->time_s[cell(x, u, d)] : INFINITY;
        r->release_s[cell(x, i, d)] = at_s;
        r->tail_s[cell(x, i, d)] = s->tail_s[cell(x, u, d)];
    }
}

static void set_edges(const stitcher *s, draft *r, int u, int i)
{
    const weft_piece *x = s->piece;
    size_t size = (size_t)x->n_devices * (size_t)x->n_devices;

    for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
        int at = s->spot[x->from[x->in[j]]], e = r->piece->n_edges;

        if (at < 0)
            continue;
        r->from[e] = at;
        r->to[e] = i;
        r->in[e] = e;
        r->out_at[at + 2]++;
        memcpy(r->send_s + (size_t)e * size, sends(x, x->in[j]), sizeof *r->send_s * size);
        r->piece->n_edges++;
    }
    r->in_at[i + 1] = r->piece->n_edges;
}

static void set_weights(const stitcher *s, draft *r, const int *task, weft_arena *a)
{
    const weft_piece *x = s->piece;
    weft_piece *y = r->piece;
    int n = 0;

    for (int i = 0; i < y->n_tasks; i++)
        n += x->weight_at[task[i] + 1] - x->weight_at[task[i]];
    y->n_weights = x->n_weights;
    y->weight_bytes = x->weight_bytes;
    y->weight = r->weight = WEFT_NEW(a, int, n);
    y->weight_at = r->weight_at = WEFT_NEW(a, int, y->n_tasks + 1);
    y->room_bytes = r->room_bytes = WEFT_NEW(a, double, x->n_devices);
    for (int i = n = 0; i < y->n_tasks; i++) {
        for (int j = x->weight_at[task[i]]; j < x->weight_at[task[i] + 1]; j++)
            r->weight[n++] = x->weight[j];
        r->weight_at[i + 1] = n;
    }
    for (int d = 0; d < x->n_devices; d++)
        r->room_bytes[d] = x->room_bytes[d] - s->done.held_bytes[d];
}

static draft draft_new(const weft_piece *x, const int *task, int n, weft_arena *a)
{
    draft r = {.piece = WEFT_NEW(a, weft_piece, 1)};
    weft_piece *y = r.piece;
    size_t n_cells = (size_t)n * (size_t)x->n_devices;
    int n_edges = 0;

    for (int i = 0; i < n; i++)
        n_edges += x->in_at[task[i] + 1] - x->in_at[task[i]];
    y->n_tasks = n;
    y->n_devices = x->n_devices;
    y->time_s = r.time_s = WEFT_NEW(a, double, n_cells);
    y->release_s = r.release_s = WEFT_NEW(a, double, n_cells);
    y->tail_s = r.tail_s = WEFT_NEW(a, double, n_cells);
    y->free_s = r.free_s = WEFT_NEW(a, double, x->n_devices);
    y->from = r.from = WEFT_NEW(a, int, n_edges);
    y->to = r.to = WEFT_NEW(a, int, n_edges);
    y->in = r.in = WEFT_NEW(a, int, n_edges);
    y->out = r.out = WEFT_NEW(a, int, n_edges);
    y->in_at = r.in_at = WEFT_NEW(a, int, n + 1);
    y->out_at = r.out_at = WEFT_NEW(a, int, n + 2);
    y->send_s = r.send_s =
        WEFT_NEW(a, double, (size_t)n_edges *(size_t)x->n_devices *(size_t)x->n_devices);
    return r;
}

/* The module's tasks, ascending, behind what is done. */
static weft_piece *module_piece(const stitcher *s, const int *task, int n, weft_arena *a)
{
    const weft_piece *x = s->piece;
    draft r = draft_new(x, task, n, a);
    weft_piece *y = r.piece;

    for (int i = 0; i < n; i++)
        s->spot[task[i]] = i;
    for (int d = 0; d < x->n_devices; d++) {
        int last = s->done.last[d];

        r.free_s[d] = last < 0 ? x->free_s[d] : fmax(x->free_s[d], s->done.end_s[last]);
    }
    for (int i = 0; i < n; i++) {
        set_task(s, &r, task[i], i);
        set_edges(s, &r, task[i], i);
    }
    for (int i = 0; i < n; i++)
        r.out_at[i + 2] += r.out_at[i + 1];
    for (int e = 0; e < y->n_edges; e++)
        r.out[r.out_at[r.from[e] + 1]++] = e;
    if (x->n_weights > 0)
        set_weights(s, &r, task, a);
    if (x->group != NULL) {
        y->group = r.group = WEFT_NEW(a, int, n);
        y->n_groups = x->n_groups;
        for (int i = 0; i < n; i++)
            r.group[i] = x->group[task[i]];
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
    const weft_piece *x = s->piece;
    size_t mark = weft_arena_mark(s->arena);
    weft_piece *y = module_piece(s, task, n, s->arena);
    weft_answer answer = weft_piece_solve(y, effort, s->arena);

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

static void list_members(const weft_stitch_options *o, int n_tasks, int *at, int *member)
{
    for (int u = 0; u < n_tasks; u++)
        at[o->module[u] + 2]++;
    for (int c = 0; c < o->n_modules; c++)
        at[c + 2] += at[c + 1];
    for (int u = 0; u < n_tasks; u++)
        member[at[o->module[u] + 1]++] = u;
}

static stitcher stitcher_new(const weft_piece *x, weft_arena *a)
{
    stitcher s = {.piece = x, .arena = a};

    s.order = rank_order(x, a);
    s.tail_s = weft_piece_tails(x, a);
    s.spot = WEFT_NEW(a, int, x->n_tasks);
    s.done = partial_new(x, a);
    s.trial = partial_new(x, a);
    s.best = partial_new(x, a);
    for (int u = 0; u < x->n_tasks; u++)
        s.spot[u] = -1;
    complete(&s, &s.best);
    return s;
}

double weft_stitch(const weft_piece *x, const weft_stitch_options *o, const weft_run *run,
                   int *device, double *start_s, int64_t *steps)
{
    weft_arena *a = weft_arena_new();
    stitcher s = stitcher_new(x, a);
    int *at = WEFT_NEW(a, int, o->n_modules + 2), *member = WEFT_NEW(a, int, x->n_tasks);
    int64_t most = *steps;
    double value;

    *steps = 0;
    list_members(o, x->n_tasks, at, member);
    for (int c = 0; c < o->n_modules && s.best.value < INFINITY; c++) {
        weft_effort effort = {.upper = INFINITY,
                              .most_states = o->most_states,
                              .most_beam = o->most_beam,
                              .run = run};

        if ((most > 0 && *steps >= most) || weft_run_is_over(run))
            break;
        if (most > 0 && most - *steps < effort.most_states)
            effort.most_states = most - *steps;
        add_module(&s, member + at[c], at[c + 1] - at[c], &effort, steps);
    }
    value = s.best.value;
    if (value < INFINITY) {
        memcpy(device, s.best.device, sizeof *device * (size_t)x->n_tasks);
        memcpy(start_s, s.best.start_s, sizeof *start_s * (size_t)x->n_tasks);
    }
    weft_arena_free(a);
    return value;
}
