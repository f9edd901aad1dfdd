/* SPDX-License-Identifier: MIT */
/* subproblem.c: problems as subproblems, parts of subproblems, and what can be said of a subproblem without search.
 *
 * A switch to another device is a part of the delay of the edge for which it is sure: of the first reader of
 * a task. The device is idle meanwhile instead of busy, so a subproblem is a relaxation if switches take time.
 *
 * Heads (earliest starts) and tails (least rests) follow the recursion of bound_path.c, step 1.
 *
 * An edge from u to w is dominated if the ways from u to w through other tasks take at least as
 * long for every pair of devices: it then never decides anything and is left out. The ways are
 * bounded from below by the same recursion, started at the end of u on each of its devices.
 * Leaving it out is lossless: the ways that dominate it have more edges, so by induction on their
 * number they are kept or dominated by kept ones.
 *
 * A barrier is a task that every other task precedes or follows. In topological numbering v is one
 * if every earlier task has a successor not after v, and every later task a predecessor not before
 * v: walking along successors from an earlier task ends in v, likewise backwards. */
#include "subproblem.h"

#include <math.h>
#include <string.h>

/* --- edges ----------------------------------------------------------------------------------- */

weft_outline weft_outline_copy(const weft_subproblem *x, int most_edges, weft_arena *a)
{
    size_t n = (size_t)x->n_devices;
    weft_outline r = {.subproblem = weft_arena_copy(a, x, sizeof *x)};

    r.subproblem->n_edges = 0;
    r.subproblem->from = r.from = WEFT_NEW(a, int, most_edges);
    r.subproblem->to = r.to = WEFT_NEW(a, int, most_edges);
    r.subproblem->send_s = r.send_s = WEFT_NEW(a, double, (size_t)most_edges *n *n);
    return r;
}

weft_outline weft_outline_new(int n_tasks, int n_devices, int most_edges, weft_arena *a)
{
    weft_subproblem x = {.n_tasks = n_tasks, .n_devices = n_devices};
    weft_outline r = weft_outline_copy(&x, most_edges, a);
    size_t n_cells = (size_t)n_tasks * (size_t)n_devices;

    r.subproblem->time_s = r.time_s = WEFT_NEW(a, double, n_cells);
    r.subproblem->release_s = r.release_s = WEFT_NEW(a, double, n_cells);
    r.subproblem->tail_s = r.tail_s = WEFT_NEW(a, double, n_cells);
    r.subproblem->free_s = r.free_s = WEFT_NEW(a, double, n_devices);
    return r;
}

double *weft_outline_edge(weft_outline *r, int from, int to, const double *send_s)
{
    size_t n = (size_t)r->subproblem->n_devices;
    int e = r->subproblem->n_edges++;
    double *own_s = r->send_s + (size_t)e * n * n;

    r->from[e] = from;
    r->to[e] = to;
    return send_s != NULL ? memcpy(own_s, send_s, sizeof *own_s * n * n) : own_s;
}

weft_subproblem *weft_outline_end(weft_outline *r, weft_arena *a)
{
    weft_subproblem *x = r->subproblem;
    weft_rows in = weft_rows_by(x->to, x->n_edges, x->n_tasks, a);
    weft_rows out = weft_rows_by(x->from, x->n_edges, x->n_tasks, a);

    x->in_at = in.at;
    x->in = in.item;
    x->out_at = out.at;
    x->out = out.item;
    return x;
}

/* --- from problems --------------------------------------------------------------------------- */

/* widest[u]: the largest tensor from u to v, whose transfers are the longest; -1: nothing is sent.
 * For the predecessors u of v. */
static void list_widest(const weft_problem *p, int v, int *widest)
{
    for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
        widest[p->pred[i]] = -1;
    for (int i = p->arg_at[v]; i < p->arg_at[v + 1]; i++) {
        int t = p->arg[i], u = p->producer[t];

        if (u >= 0 && !p->is_weight[t] && (widest[u] < 0 || p->amount[t] > p->amount[widest[u]]))
            widest[u] = t;
    }
}

static void use_edges(weft_outline *r, const weft_problem *p, weft_arena *a)
{
    int n = p->n_devices, *widest = WEFT_NEW(a, int, p->n_tasks);

    for (int v = 0; v < p->n_tasks; v++) {
        list_widest(p, v, widest);
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++) {
            int t = widest[p->pred[i]];
            double *send_s = weft_outline_edge(r, p->pred[i], v, NULL);

            for (int k = 0; k < n * n; k++)
                send_s[k] = (t >= 0 ? weft_send_s(p, t, k / n, k % n) : 0) +
                            weft_sure_switch_s(p, p->pred[i], v, k / n, k % n);
        }
    }
}

/* Could the weights of all tasks that may be on d exceed its memory? */
static bool may_overflow(const weft_domain *m, int d, weft_arena *a)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(a);
    uint64_t *met = WEFT_NEW(a, uint64_t, weft_bits_words(p->n_tensors));
    double bytes = 0;

    for (int g = 0; g < m->n_groups; g++) {
        if (!m->has[g * p->n_devices + d])
            continue;
        for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++) {
            if (!weft_bit_get(met, m->weight[i]))
                bytes += p->memory[m->weight[i]];
            weft_bit_set(met, m->weight[i]);
        }
    }
    weft_arena_rewind(a, mark);
    return !weft_fits(bytes, p->capacity[d]);
}

static void use_weights(weft_subproblem *x, const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    int *at = WEFT_NEW(a, int, p->n_tasks + 1), *weight = WEFT_NEW(a, int, p->arg_at[p->n_tasks]);
    bool is_limited = false;
    int n = 0;

    for (int d = 0; d < p->n_devices; d++)
        is_limited |= may_overflow(m, d, a);
    if (!is_limited)
        return;
    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            if (p->is_weight[p->arg[i]])
                weight[n++] = p->arg[i];
        }
        at[u + 1] = n;
    }
    x->n_weights = p->n_tensors;
    x->weight_at = at;
    x->weight = weight;
    x->weight_bytes = p->memory;
    x->room_bytes = p->capacity;
}

weft_subproblem *weft_subproblem_of(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    weft_outline r = weft_outline_new(p->n_tasks, p->n_devices, p->pred_at[p->n_tasks], a);
    weft_subproblem *x = r.subproblem;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int d = 0; d < p->n_devices; d++) {
            bool has = weft_domain_has(m, u, d);

            r.time_s[weft_cell(x, u, d)] = has ? weft_task_s(p, u, d) : INFINITY;
            r.release_s[weft_cell(x, u, d)] = has ? weft_input_s(p, u, d) : 0;
        }
    }
    use_edges(&r, p, a);
    use_weights(x, m, a);
    if (m->n_groups < p->n_tasks) {
        x->group = m->group;
        x->n_groups = m->n_groups;
    }
    x->grain_s = weft_problem_grain_s(p);
    return weft_outline_end(&r, a);
}

/* --- heads, tails, times --------------------------------------------------------------------- */

void weft_subproblem_head_of(const weft_subproblem *x, int u, const double *head_s, double *out)
{
    int n = x->n_devices;

    for (int d = 0; d < n; d++)
        out[d] = fmax(x->release_s[weft_cell(x, u, d)], x->free_s[d]);
    for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
        int e = x->in[i];
        const double *from = head_s + weft_cell(x, x->from[e], 0), *send_s = weft_sends(x, e);
        const double *time_s = x->time_s + weft_cell(x, x->from[e], 0);

        for (int d = 0; d < n; d++) {
            double least_s = INFINITY;

            for (int k = 0; k < n; k++)
                least_s = fmin(least_s, from[k] + time_s[k] + send_s[k * n + d]);
            out[d] = fmax(out[d], least_s);
        }
    }
}

double *weft_subproblem_heads(const weft_subproblem *x, weft_arena *a)
{
    double *head_s = WEFT_NEW(a, double, (size_t)x->n_tasks *(size_t)x->n_devices);

    for (int u = 0; u < x->n_tasks; u++)
        weft_subproblem_head_of(x, u, head_s, head_s + weft_cell(x, u, 0));
    return head_s;
}

void weft_subproblem_tail_of(const weft_subproblem *x, int u, const double *tail_s, double *out)
{
    int n = x->n_devices;

    for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
        int e = x->out[i], v = x->to[e];
        const double *send_s = weft_sends(x, e);

        for (int d = 0; d < n; d++) {
            double least_s = INFINITY;

            for (int k = 0; k < n; k++)
                least_s = fmin(least_s, send_s[d * n + k] + x->time_s[weft_cell(x, v, k)] +
                                            tail_s[weft_cell(x, v, k)]);
            out[d] = fmax(out[d], least_s);
        }
    }
}

double *weft_subproblem_tails(const weft_subproblem *x, weft_arena *a)
{
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    double *tail_s = weft_arena_copy(a, x->tail_s, sizeof *tail_s * n_cells);

    for (int u = x->n_tasks - 1; u >= 0; u--)
        weft_subproblem_tail_of(x, u, tail_s, tail_s + weft_cell(x, u, 0));
    return tail_s;
}

double weft_subproblem_time(const weft_subproblem *x, const int *device, const int *order,
                            double *start_s)
{
    int n = x->n_devices;
    double value = 0, free_s[WEFT_SUBPROBLEM_DEVICES];

    if (n > WEFT_SUBPROBLEM_DEVICES)
        return INFINITY;
    memcpy(free_s, x->free_s, sizeof *free_s * (size_t)n);
    for (int i = 0; i < x->n_tasks; i++) {
        int u = order[i], d = device[u];
        double at_s = fmax(free_s[d], x->release_s[weft_cell(x, u, d)]);

        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
            int e = x->in[j], v = x->from[e], k = device[v];

            at_s = fmax(at_s, weft_end_s(start_s[v], x->time_s[weft_cell(x, v, k)]) +
                                  weft_sends(x, e)[k * n + d]);
        }
        start_s[u] = at_s;
        free_s[d] = weft_end_s(at_s, x->time_s[weft_cell(x, u, d)]);
        value = fmax(value, free_s[d] + x->tail_s[weft_cell(x, u, d)]);
    }
    return value;
}

double weft_subproblem_horizon(const weft_subproblem *x)
{
    double sum_s = 0, last_s = 0, tail_s = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        double most_s = 0;

        for (int d = 0; d < x->n_devices; d++) {
            if (!(x->time_s[weft_cell(x, u, d)] < INFINITY))
                continue;
            most_s = fmax(most_s, x->time_s[weft_cell(x, u, d)]);
            last_s = fmax(last_s, fmax(x->release_s[weft_cell(x, u, d)], x->free_s[d]));
            tail_s = fmax(tail_s, x->tail_s[weft_cell(x, u, d)]);
        }
        sum_s += most_s;
    }
    for (int e = 0; e < x->n_edges; e++) {
        double most_s = 0;

        for (int k = 0; k < x->n_devices * x->n_devices; k++) {
            double at_s = weft_sends(x, e)[k];

            most_s = isfinite(at_s) ? fmax(most_s, at_s) : most_s;
        }
        sum_s += most_s;
    }
    return sum_s + last_s + tail_s;
}

uint64_t *weft_subproblem_ancestors(const weft_subproblem *x, weft_arena *a)
{
    size_t words = (size_t)weft_bits_words(x->n_tasks);
    uint64_t *before = WEFT_NEW(a, uint64_t, (size_t)x->n_tasks * words);

    for (int e = 0; e < x->n_edges; e++)
        weft_bit_set(before + (size_t)x->to[e] * words, x->from[e]);
    for (int u = 0; u < x->n_tasks; u++) {
        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++)
            weft_bits_join(before + (size_t)u * words, before + (size_t)x->from[x->in[i]] * words,
                           (int)words);
    }
    return before;
}

/* --- barriers -------------------------------------------------------------------------------- */

bool *weft_subproblem_barriers(const weft_subproblem *x, weft_arena *a)
{
    bool *is_barrier = WEFT_NEW(a, bool, x->n_tasks + 1);
    size_t mark = weft_arena_mark(a);
    int n = x->n_tasks, reach = -1;
    int *back = WEFT_NEW(a, int, n + 1); /* least over w >= v of the last predecessor of w */

    back[n] = n;
    for (int w = n - 1; w >= 0; w--) {
        int last = -1;

        for (int i = x->in_at[w]; i < x->in_at[w + 1]; i++)
            last = x->from[x->in[i]] > last ? x->from[x->in[i]] : last;
        back[w] = last < back[w + 1] ? last : back[w + 1];
    }
    for (int v = 0; v < n; v++) {
        int first = n;

        is_barrier[v] = reach <= v && back[v + 1] >= v;
        for (int i = x->out_at[v]; i < x->out_at[v + 1]; i++)
            first = x->to[x->out[i]] < first ? x->to[x->out[i]] : first;
        reach = first > reach ? first : reach;
    }
    is_barrier[n] = true;
    weft_arena_rewind(a, mark);
    return is_barrier;
}

/* --- dominated edges ------------------------------------------------------------------------- */

static const double MOST_WORK = 2e8; /* steps of the recursion for all edges */

/* Least time from the end of u on k to the start of later tasks on each device, for tasks up to
 * `last`. dist[(v * n + k) * n + d]; -1 where u does not reach v. */
static void spread(const weft_subproblem *x, int u, int last, double *dist, bool *is_below)
{
    int n = x->n_devices;

    is_below[u] = true;
    for (int v = u + 1; v <= last; v++) {
        double *to = dist + (size_t)v * (size_t)(n * n);

        is_below[v] = false;
        for (int k = 0; k < n * n; k++)
            to[k] = 0;
        for (int i = x->in_at[v]; i < x->in_at[v + 1]; i++) {
            int e = x->in[i], p = x->from[e];
            const double *send_s = weft_sends(x, e), *from = dist + (size_t)p * (size_t)(n * n);

            if (p < u || !is_below[p])
                continue;
            is_below[v] = true;
            for (int k = 0; k < n; k++) {
                for (int d = 0; d < n; d++) {
                    double least_s = p == u ? send_s[k * n + d] : INFINITY;

                    for (int m = 0; p != u && m < n; m++)
                        least_s = fmin(least_s, from[k * n + m] + x->time_s[weft_cell(x, p, m)] +
                                                    send_s[m * n + d]);
                    to[k * n + d] = fmax(to[k * n + d], least_s);
                }
            }
        }
    }
}

/* Do ways through other tasks dominate edge e? dist as spread from its source. */
static bool is_dominated(const weft_subproblem *x, int e, const double *dist, const bool *is_below)
{
    int n = x->n_devices, u = x->from[e], v = x->to[e];

    for (int k = 0; k < n; k++) {
        for (int d = 0; d < n; d++) {
            double longest_s = -1;

            if (!(x->time_s[weft_cell(x, u, k)] < INFINITY) ||
                !(x->time_s[weft_cell(x, v, d)] < INFINITY))
                continue;
            for (int i = x->in_at[v]; i < x->in_at[v + 1]; i++) {
                int f = x->in[i], p = x->from[f];
                double least_s = INFINITY;

                if (p <= u || !is_below[p])
                    continue;
                for (int m = 0; m < n; m++)
                    least_s = fmin(
                        least_s, dist[((size_t)p * (size_t)n + (size_t)k) * (size_t)n + (size_t)m] +
                                     x->time_s[weft_cell(x, p, m)] + weft_sends(x, f)[m * n + d]);
                longest_s = fmax(longest_s, least_s);
            }
            if (!(longest_s >= weft_sends(x, e)[k * n + d]))
                return false;
        }
    }
    return true;
}

int weft_subproblem_last_reader(const weft_subproblem *x, int u)
{
    int last = u;

    for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++)
        last = x->to[x->out[i]] > last ? x->to[x->out[i]] : last;
    return last;
}

static weft_subproblem *with_edges(const weft_subproblem *x, const bool *is_kept, weft_arena *a)
{
    weft_outline r = weft_outline_copy(x, x->n_edges, a);

    for (int e = 0; e < x->n_edges; e++) {
        if (is_kept[e])
            weft_outline_edge(&r, x->from[e], x->to[e], weft_sends(x, e));
    }
    return weft_outline_end(&r, a);
}

weft_subproblem *weft_subproblem_thin(const weft_subproblem *x, weft_arena *a)
{
    bool *is_kept = WEFT_NEW(a, bool, x->n_edges), *is_below = WEFT_NEW(a, bool, x->n_tasks);
    size_t size = (size_t)x->n_devices * (size_t)x->n_devices;
    double *dist = WEFT_NEW(a, double, (size_t)x->n_tasks *size), work = 0;
    int n_kept = x->n_edges;

    for (int e = 0; e < x->n_edges; e++)
        is_kept[e] = true;
    for (int u = 0; u < x->n_tasks && work < MOST_WORK; u++) {
        int last = weft_subproblem_last_reader(x, u);

        if (x->out_at[u + 1] - x->out_at[u] < 2)
            continue;
        spread(x, u, last, dist, is_below);
        work += (double)(last - u) * 2 * (double)size * x->n_devices;
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
            is_kept[x->out[i]] = !is_dominated(x, x->out[i], dist, is_below);
            n_kept -= !is_kept[x->out[i]];
        }
    }
    return n_kept < x->n_edges ? with_edges(x, is_kept, a) : weft_arena_copy(a, x, sizeof *x);
}

const char *weft_subproblem_key(const weft_subproblem *x, weft_arena *a, size_t *n_bytes)
{
    size_t n = (size_t)x->n_tasks * (size_t)x->n_devices, n_edges = (size_t)x->n_edges;
    size_t n_sends = n_edges * (size_t)x->n_devices * (size_t)x->n_devices;
    size_t n_reals = 3 * n + (size_t)x->n_devices + n_sends, n_ints = 2 * n_edges + 2;
    char *key = weft_arena_alloc(a, n_reals * sizeof(double) + n_ints * sizeof(int)), *at = key;
    const struct {
        const void *from;
        size_t bytes;
    } field[] = {
        {x->time_s,    n * sizeof(double)                   },
        {x->release_s, n * sizeof(double)                   },
        {x->tail_s,    n * sizeof(double)                   },
        {x->send_s,    n_sends * sizeof(double)             },
        {x->free_s,    (size_t)x->n_devices * sizeof(double)},
        {x->from,      n_edges * sizeof(int)                },
        {x->to,        n_edges * sizeof(int)                },
        {&x->n_tasks,  sizeof(int)                          },
        {&x->n_edges,  sizeof(int)                          },
    };

    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        if (field[i].bytes > 0)
            memcpy(at, field[i].from, field[i].bytes);
        at += field[i].bytes;
    }
    *n_bytes = (size_t)(at - key);
    return key;
}

/* --- parts ----------------------------------------------------------------------------------- */

weft_subproblem *weft_subproblem_part(const weft_subproblem *x, const weft_part *part,
                                      weft_arena *a)
{
    int n = x->n_devices, n_tasks = part->end - part->begin;
    int first = x->in_at[part->begin], last = x->in_at[part->end];
    weft_outline r = weft_outline_new(n_tasks, n, last - first, a);
    double *release_s = r.release_s, *tail_s = r.tail_s;

    r.subproblem->grain_s = x->grain_s;
    r.subproblem->time_s = x->time_s + weft_cell(x, part->begin, 0);
    for (int i = first; i < last; i++) { /* in[] is sorted by task, and edges by their reader */
        int e = x->in[i], u = x->from[e] - part->begin, v = x->to[e] - part->begin;

        if (u >= 0)
            weft_outline_edge(&r, u, v, weft_sends(x, e));
        for (int d = 0; u < 0 && x->from[e] == part->entry && d < n; d++)
            release_s[weft_cell(x, v, d)] = weft_edge_s(x, e, part->entry_device, d);
    }
    for (int u = 0; u < n_tasks; u++) {
        for (int i = x->out_at[u + part->begin]; i < x->out_at[u + part->begin + 1]; i++) {
            int e = x->out[i], v = x->to[e];

            for (int d = 0; v >= part->end && d < n; d++) {
                double least_s = INFINITY;

                for (int k = 0; k < n; k++)
                    least_s =
                        fmin(least_s, weft_sends(x, e)[d * n + k] + x->time_s[weft_cell(x, v, k)] +
                                          part->tail_s[weft_cell(x, v, k)]);
                tail_s[weft_cell(x, u, d)] = fmax(tail_s[weft_cell(x, u, d)], least_s);
            }
        }
        for (int d = 0; d < n; d++) {
            size_t at = weft_cell(x, u + part->begin, d);

            tail_s[weft_cell(x, u, d)] = fmax(tail_s[weft_cell(x, u, d)], x->tail_s[at]);
            if (u == n_tasks - 1 && part->has_exit)
                tail_s[weft_cell(x, u, d)] = part->tail_s[at];
            if (part->entry < 0)
                release_s[weft_cell(x, u, d)] = x->release_s[at];
        }
    }
    return weft_outline_end(&r, a);
}
