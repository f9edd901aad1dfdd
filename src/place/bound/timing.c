/* SPDX-License-Identifier: MIT */
/* timing.c: schedules that are improved part by part.
 *
 * 1. Order, devices -> starts: each task as early as its data and the task before it on the device
 *    allow. The order is then sorted again by (start, end, number). It stays topological: an edge
 *    from u to v has start of v >= end of u >= start of u; if both starts and both ends are equal,
 *    u has the lower number. It keeps the orders on devices, where tasks do not overlap, but for
 *    tasks of no length at one instant, whose order does not matter.
 * 2. Backwards, the rest of each task: the longest way from its end to the end of all, along edges
 *    and to the next task on its device. The value is the largest end + rest.
 * 3. A window is an interval of the order. Tasks before it and after it keep device and order. A
 *    task of the window on d ends before the first later task on d starts, so its tail is at least
 *    time + rest of that; likewise transfer + time + rest of every reader behind the window.
 *    Every way through the whole schedule that enters the window leaves it from a last task of
 *    it, so its length is at most the value of the subproblem; ways that leap over it do not change.
 * 4. Tasks in the window that are not free keep their device, and an edge without transfer joins
 *    those that follow each other on a device.
 *
 * Time O(tasks + edges) for steps 1 and 2, after every accepted change; step 3 costs the window,
 * its edges, and a binary search a device. */
#include "timing.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double EQUAL = 1e-12; /* relative: ways this close to the longest decide as well */

static double length_s(const weft_timing *t, int u)
{
    return t->subproblem->time_s[weft_cell(t->subproblem, u, t->device[u])];
}

/* Transfer of edge e between the devices of its tasks. */
static double sent_s(const weft_timing *t, int e)
{
    const weft_subproblem *x = t->subproblem;

    return weft_sends(x, e)[t->device[x->from[e]] * x->n_devices + t->device[x->to[e]]];
}

/* --- times ----------------------------------------------------------------------------------- */

static bool is_before(const weft_timing *t, int u, int v)
{
    if (t->start_s[u] != t->start_s[v])
        return t->start_s[u] < t->start_s[v];
    if (t->end_s[u] != t->end_s[v])
        return t->end_s[u] < t->end_s[v];
    return u < v;
}

/* Merge sort of part of the order: it is nearly sorted, and then costs little. */
static void sort_order(weft_timing *t, int first, int last)
{
    int middle = first + (last - first) / 2, i = first, j = middle, n = 0;

    if (last - first < 2)
        return;
    sort_order(t, first, middle);
    sort_order(t, middle, last);
    if (is_before(t, t->order[middle - 1], t->order[middle]))
        return;
    while (i < middle && j < last)
        t->scratch[n++] = is_before(t, t->order[j], t->order[i]) ? t->order[j++] : t->order[i++];
    while (i < middle)
        t->scratch[n++] = t->order[i++];
    memcpy(t->order + first, t->scratch, sizeof *t->order * (size_t)n);
}

/* Starts along the order; lane_at serves as the last task of each device. */
static void set_starts(weft_timing *t)
{
    const weft_subproblem *x = t->subproblem;

    for (int d = 0; d < x->n_devices; d++)
        t->lane_at[d] = -1;
    for (int i = 0; i < x->n_tasks; i++) {
        int u = t->order[i], d = t->device[u];
        double at_s = fmax(x->free_s[d], x->release_s[weft_cell(x, u, d)]);

        if (t->lane_at[d] >= 0)
            at_s = fmax(at_s, t->end_s[t->lane_at[d]]);
        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++)
            at_s = fmax(at_s, t->end_s[x->from[x->in[j]]] + sent_s(t, x->in[j]));
        t->start_s[u] = at_s;
        t->end_s[u] = at_s + x->time_s[weft_cell(x, u, d)];
        t->lane_at[d] = u;
    }
}

static void set_lanes(weft_timing *t)
{
    int n = t->subproblem->n_tasks, n_devices = t->subproblem->n_devices;

    memset(t->lane_at, 0, sizeof *t->lane_at * (size_t)(n_devices + 2));
    for (int i = 0; i < n; i++) {
        t->place[t->order[i]] = i;
        t->lane_at[t->device[t->order[i]] + 2]++;
    }
    for (int d = 0; d < n_devices; d++)
        t->lane_at[d + 2] += t->lane_at[d + 1];
    for (int i = 0; i < n; i++) {
        int u = t->order[i];

        t->slot[u] = t->lane_at[t->device[u] + 1]++;
        t->lane[t->slot[u]] = u;
    }
}

/* The next task on the device of u, or -1. */
static int next_on_device(const weft_timing *t, int u)
{
    return t->slot[u] + 1 < t->lane_at[t->device[u] + 1] ? t->lane[t->slot[u] + 1] : -1;
}

static void set_rests(weft_timing *t)
{
    const weft_subproblem *x = t->subproblem;

    t->value = t->sum_s = 0;
    for (int i = x->n_tasks - 1; i >= 0; i--) {
        int u = t->order[i], next = next_on_device(t, u);
        double rest_s = x->tail_s[weft_cell(x, u, t->device[u])];

        if (next >= 0)
            rest_s = fmax(rest_s, length_s(t, next) + t->rest_s[next]);
        for (int j = x->out_at[u]; j < x->out_at[u + 1]; j++) {
            int v = x->to[x->out[j]];

            rest_s = fmax(rest_s, sent_s(t, x->out[j]) + length_s(t, v) + t->rest_s[v]);
        }
        t->rest_s[u] = rest_s;
        t->value = fmax(t->value, t->end_s[u] + x->tail_s[weft_cell(x, u, t->device[u])]);
        t->sum_s += t->end_s[u];
    }
}

static void add_leap(weft_timing *t, int from, int to, double way_s)
{
    if (way_s >= t->value * (1 - EQUAL))
        t->leap[t->n_leaps++] = (weft_leap){from, to};
}

/* Way from the beginning to the end by u, then v. */
static double way_by(const weft_timing *t, int u, double sent, int v)
{
    return t->end_s[u] + sent + length_s(t, v) + t->rest_s[v];
}

static void set_leaps(weft_timing *t)
{
    const weft_subproblem *x = t->subproblem;

    t->n_leaps = 0;
    for (int i = 0; i < x->n_tasks; i++) {
        int u = t->order[i], d = t->device[u], next = next_on_device(t, u);
        double first_s = fmax(x->release_s[weft_cell(x, u, d)], x->free_s[d]);

        if (t->end_s[u] + t->rest_s[u] < t->value * (1 - EQUAL))
            continue; /* no longest way passes u */
        add_leap(t, -1, i, first_s + length_s(t, u) + t->rest_s[u]);
        add_leap(t, i, x->n_tasks, t->end_s[u] + x->tail_s[weft_cell(x, u, d)]);
        if (next >= 0)
            add_leap(t, i, t->place[next], way_by(t, u, 0, next));
        for (int j = x->out_at[u]; j < x->out_at[u + 1]; j++) {
            int v = x->to[x->out[j]];

            add_leap(t, i, t->place[v], way_by(t, u, sent_s(t, x->out[j]), v));
        }
    }
}

static void settle(weft_timing *t)
{
    set_starts(t);
    sort_order(t, 0, t->subproblem->n_tasks);
    set_lanes(t);
    set_rests(t);
    set_leaps(t);
}

/* --- memory and groups ----------------------------------------------------------------------- */

/* Counts the weights of u on d (step 1) or takes them away (step -1). */
static void hold(weft_timing *t, int u, int d, int step)
{
    const weft_subproblem *x = t->subproblem;

    for (int i = weft_first_weight(x, u); i < weft_last_weight(x, u); i++) {
        int w = x->weight[i], *n = &t->n_held[weft_cell(x, w, d)];

        if (*n == (step > 0 ? 0 : 1))
            t->held_bytes[d] += step * x->weight_bytes[w];
        *n += step;
    }
}

bool weft_timing_is_legal(const weft_timing *t)
{
    const weft_subproblem *x = t->subproblem;

    if (!(t->value < INFINITY))
        return false;
    for (int d = 0; x->n_weights > 0 && d < x->n_devices; d++) {
        if (!weft_fits(t->held_bytes[d], x->room_bytes[d]))
            return false;
    }
    for (int u = 0; u < x->n_tasks; u++) {
        if (!(length_s(t, u) < INFINITY))
            return false;
        if (x->group != NULL && t->device[u] != t->device[t->member[x->group[u]]])
            return false;
    }
    return true;
}

weft_timing *weft_timing_new(const weft_subproblem *x, const int *device, const double *start_s,
                             weft_arena *a)
{
    weft_timing *t = WEFT_NEW(a, weft_timing, 1);
    int n = x->n_tasks;

    t->subproblem = x;
    t->device = weft_arena_copy(a, device, sizeof *device * (size_t)n);
    t->start_s = weft_arena_copy(a, start_s, sizeof *start_s * (size_t)n);
    t->end_s = WEFT_NEW(a, double, n);
    t->rest_s = WEFT_NEW(a, double, n);
    t->order = WEFT_NEW(a, int, n);
    t->place = WEFT_NEW(a, int, n);
    t->slot = WEFT_NEW(a, int, n);
    t->lane = WEFT_NEW(a, int, n);
    t->scratch = WEFT_NEW(a, int, n);
    t->lane_at = WEFT_NEW(a, int, x->n_devices + 2);
    t->leap = WEFT_NEW(a, weft_leap, 3 * n + x->n_edges);
    t->n_held = WEFT_NEW(a, int, (size_t)x->n_weights *(size_t)x->n_devices);
    t->held_bytes = WEFT_NEW(a, double, x->n_devices);
    t->number = WEFT_NEW(a, int, x->n_weights);
    t->arena = a;
    t->group_size = WEFT_NEW(a, int, x->n_groups);
    t->n_free = WEFT_NEW(a, int, x->n_groups);
    t->group_number = WEFT_NEW(a, int, x->n_groups);
    t->member = WEFT_NEW(a, int, x->n_groups);
    for (int u = 0; u < n; u++) {
        t->order[u] = u;
        t->end_s[u] = start_s[u] + length_s(t, u);
        hold(t, u, device[u], 1);
        if (x->group != NULL) {
            t->group_size[x->group[u]]++;
            t->member[x->group[u]] = u;
        }
    }
    sort_order(t, 0, n);
    settle(t);
    return t;
}

/* --- windows as subproblems ------------------------------------------------------------------ */

bool weft_window_matters(const weft_timing *t, const weft_window *w)
{
    for (int i = 0; i < t->n_leaps; i++) {
        if (t->leap[i].from < w->first && t->leap[i].to >= w->last)
            return false;
    }
    return true;
}

/* The subproblem being made. */
typedef struct draft {
    weft_timing *timing;
    const weft_window *window;
    weft_outline to;
    double *after_s; /* [n_devices] time and rest of the first task behind the window */
    weft_arena *arena;
} draft;

static bool is_free(const weft_window *w, int u)
{
    return w->is_free == NULL || w->is_free[u];
}

/* The number in lane d of the first task at or behind position `place` of the order. */
static int lane_from(const weft_timing *t, int d, int place)
{
    int low = t->lane_at[d], high = t->lane_at[d + 1];

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (t->place[t->lane[middle]] >= place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void join_devices(draft *w)
{
    const weft_timing *t = w->timing;

    for (int d = 0; d < t->subproblem->n_devices; d++) {
        int at = lane_from(t, d, w->window->first), after = lane_from(t, d, w->window->last);

        w->to.free_s[d] = t->subproblem->free_s[d];
        if (at > t->lane_at[d])
            w->to.free_s[d] = fmax(w->to.free_s[d], t->end_s[t->lane[at - 1]]);
        if (after < t->lane_at[d + 1])
            w->after_s[d] = length_s(t, t->lane[after]) + t->rest_s[t->lane[after]];
    }
}

/* Times, releases and tails of a task as if it was alone. */
static void set_task(draft *w, int i, bool may_move)
{
    const weft_timing *t = w->timing;
    const weft_subproblem *x = t->subproblem;
    int u = t->order[w->window->first + i], n = x->n_devices;

    for (int d = 0; d < n; d++) {
        size_t to = weft_cell(x, i, d);

        w->to.time_s[to] = may_move || d == t->device[u] ? x->time_s[weft_cell(x, u, d)] : INFINITY;
        w->to.release_s[to] = x->release_s[weft_cell(x, u, d)];
        w->to.tail_s[to] = fmax(x->tail_s[weft_cell(x, u, d)], w->after_s[d]);
    }
    for (int j = x->out_at[u]; j < x->out_at[u + 1]; j++) {
        int v = x->to[x->out[j]];

        if (t->place[v] < w->window->last)
            continue;
        for (int d = 0; d < n; d++)
            w->to.tail_s[weft_cell(x, i, d)] = fmax(w->to.tail_s[weft_cell(x, i, d)],
                                                    weft_sends(x, x->out[j])[d * n + t->device[v]] +
                                                        length_s(t, v) + t->rest_s[v]);
    }
}

/* Edges into task i: from before the window as releases, else as edges. `before` is the task of the
 * window before it on its device if both are fixed, or -1. */
static void set_edges(draft *w, int i, int before)
{
    const weft_timing *t = w->timing;
    const weft_subproblem *x = t->subproblem;
    int u = t->order[w->window->first + i], n = x->n_devices;

    for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
        int v = x->from[x->in[j]], at = t->place[v] - w->window->first;
        const double *send_s = weft_sends(x, x->in[j]);

        if (at < 0) {
            for (int d = 0; d < n; d++)
                w->to.release_s[weft_cell(x, i, d)] =
                    fmax(w->to.release_s[weft_cell(x, i, d)],
                         t->end_s[v] + send_s[t->device[v] * n + d]);
            continue;
        }
        before = at == before ? -1 : before;
        weft_outline_edge(&w->to, at, i, send_s);
    }
    if (before >= 0)
        weft_outline_edge(&w->to, before, i, NULL);
}

/* A number for w that counts from 0 within the window; `number` is all 0 between windows. */
static int number_of(int *number, int w, int *n)
{
    if (number[w] == 0)
        number[w] = ++*n;
    return number[w] - 1;
}

static bool has_choice(const draft *w, int i)
{
    int n = 0;

    for (int d = 0; d < w->to.subproblem->n_devices; d++)
        n += w->to.time_s[weft_cell(w->to.subproblem, i, d)] < INFINITY;
    return n > 1;
}

/* Weights of the tasks by numbers of the window. The counts of held weights are those of the tasks
 * outside here. */
static void set_weights(draft *w)
{
    weft_timing *t = w->timing;
    const weft_subproblem *x = t->subproblem;
    weft_subproblem *y = w->to.subproblem;
    WEFT_VEC(int) weight = {0};
    WEFT_VEC(double) bytes = {0};
    int *at = WEFT_NEW(w->arena, int, y->n_tasks + 1);

    for (int i = 0; i < y->n_tasks; i++) {
        int u = t->order[w->window->first + i];
        bool is_open = has_choice(w, i);

        for (int j = x->weight_at[u]; j < x->weight_at[u + 1]; j++) {
            int k = x->weight[j];

            if (!is_open && t->n_held[weft_cell(x, k, t->device[u])] > 0)
                continue;
            WEFT_PUSH(w->arena, weight, number_of(t->number, k, &y->n_weights));
            if (y->n_weights > bytes.n)
                WEFT_PUSH(w->arena, bytes, x->weight_bytes[k]);
        }
        at[i + 1] = weight.n;
    }
    for (int i = 0; i < y->n_tasks; i++) {
        int u = t->order[w->window->first + i];

        for (int j = x->weight_at[u]; j < x->weight_at[u + 1]; j++)
            t->number[x->weight[j]] = 0;
    }
    y->weight_at = at;
    y->weight = weight.at;
    y->weight_bytes = bytes.at;
}

static void set_memory(draft *w)
{
    weft_timing *t = w->timing;
    const weft_subproblem *x = t->subproblem;
    double *room_bytes = WEFT_NEW(w->arena, double, x->n_devices);

    for (int i = w->window->first; i < w->window->last; i++)
        hold(t, t->order[i], t->device[t->order[i]], -1);
    set_weights(w);
    for (int d = 0; d < x->n_devices; d++)
        room_bytes[d] = x->room_bytes[d] - t->held_bytes[d];
    for (int i = w->window->first; i < w->window->last; i++)
        hold(t, t->order[i], t->device[t->order[i]], 1);
    w->to.subproblem->room_bytes = room_bytes;
}

/* Groups by numbers of the window. Members that are free are counted in `number` first: a group may
 * move only if all of them are. */
static void count_groups(weft_timing *t, const weft_window *w)
{
    for (int i = w->first; t->subproblem->group != NULL && i < w->last; i++) {
        if (is_free(w, t->order[i]))
            t->n_free[t->subproblem->group[t->order[i]]]++;
    }
}

static bool may_move(const weft_timing *t, const weft_window *w, int u)
{
    const int *group = t->subproblem->group;

    return is_free(w, u) && (group == NULL || t->n_free[group[u]] == t->group_size[group[u]]);
}

static void set_groups(draft *w)
{
    weft_timing *t = w->timing;
    int *group = WEFT_NEW(w->arena, int, w->to.subproblem->n_tasks), n = 0;

    for (int i = 0; i < w->to.subproblem->n_tasks; i++) {
        int g = t->subproblem->group[t->order[w->window->first + i]];

        group[i] = number_of(t->group_number, g, &n);
    }
    for (int i = 0; i < w->to.subproblem->n_tasks; i++) {
        int g = t->subproblem->group[t->order[w->window->first + i]];

        t->group_number[g] = t->n_free[g] = 0;
    }
    if (n == w->to.subproblem->n_tasks) /* all apart */
        return;
    w->to.subproblem->n_groups = n;
    w->to.subproblem->group = group;
}

static draft draft_new(weft_timing *t, const weft_window *w, weft_arena *a)
{
    const weft_subproblem *x = t->subproblem;
    int n = w->last - w->first, n_edges = n; /* n: edges of order */

    for (int i = w->first; i < w->last; i++)
        n_edges += x->in_at[t->order[i] + 1] - x->in_at[t->order[i]];
    return (draft){t, w, weft_outline_new(n, x->n_devices, n_edges, a),
                   WEFT_NEW(a, double, x->n_devices), a};
}

weft_subproblem *weft_window_subproblem(weft_timing *t, const weft_window *w, weft_arena *a)
{
    draft r = draft_new(t, w, a);
    int *before =
        WEFT_NEW(a, int, t->subproblem->n_devices); /* 1 + last fixed task of the device */

    join_devices(&r);
    count_groups(t, w);
    for (int i = 0; i < r.to.subproblem->n_tasks; i++) {
        int u = t->order[w->first + i], d = t->device[u];

        set_task(&r, i, may_move(t, w, u));
        set_edges(&r, i, is_free(w, u) ? -1 : before[d] - 1);
        if (!is_free(w, u))
            before[d] = i + 1;
    }
    weft_outline_end(&r.to, a);
    if (t->subproblem->n_weights > 0)
        set_memory(&r);
    if (t->subproblem->group != NULL)
        set_groups(&r);
    return r.to.subproblem;
}

/* --- changes --------------------------------------------------------------------------------- */

/* Writes devices and starts of the window's tasks; `order` are these tasks as the subproblem knows them.
 */
static void write_window(weft_timing *t, const weft_window *w, const int *order, const int *device,
                         const double *start_s)
{
    for (int i = 0; i < w->last - w->first; i++) {
        int u = order[i];

        hold(t, u, t->device[u], -1);
        hold(t, u, device[i], 1);
        t->device[u] = device[i];
        t->start_s[u] = start_s[i];
        t->end_s[u] = start_s[i] + length_s(t, u);
        t->order[w->first + i] = u;
    }
    sort_order(t, w->first, w->last);
}

bool weft_window_put(weft_timing *t, const weft_window *w, const int *device, const double *start_s)
{
    int n = t->subproblem->n_tasks;
    size_t mark = weft_arena_mark(t->arena);
    int *old_order = weft_arena_copy(t->arena, t->order, sizeof *t->order * (size_t)n);
    int *old_device = weft_arena_copy(t->arena, t->device, sizeof *t->device * (size_t)n);
    double value = t->value, sum_s = t->sum_s;
    bool is_kept;

    write_window(t, w, old_order + w->first, device, start_s);
    settle(t);
    is_kept =
        t->value < value * (1 - EQUAL) || (t->value <= value && t->sum_s < sum_s * (1 - EQUAL));
    is_kept = is_kept && weft_timing_is_legal(t); /* searches round bytes down */
    if (!is_kept) {
        for (int i = w->first; i < w->last; i++) {
            int u = old_order[i];

            hold(t, u, t->device[u], -1);
            hold(t, u, old_device[u], 1);
        }
        memcpy(t->order, old_order, sizeof *t->order * (size_t)n);
        memcpy(t->device, old_device, sizeof *t->device * (size_t)n);
        settle(t);
    }
    weft_arena_rewind(t->arena, mark);
    return is_kept;
}
