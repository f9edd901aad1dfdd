/* SPDX-License-Identifier: MIT */
/* piece.c: problems as pieces, parts of pieces, and what can be said of a piece without search.
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
#include "piece.h"

#include <math.h>
#include <string.h>

static size_t cell(const weft_piece *x, int u, int d)
{
    return (size_t)u * (size_t)x->n_devices + (size_t)d;
}

static const double *sends(const weft_piece *x, int e)
{
    return x->send_s + (size_t)e * (size_t)x->n_devices * (size_t)x->n_devices;
}

/* --- edges ----------------------------------------------------------------------------------- */

/* Lists of edges by task from from[], to[], which are sorted by `to`. */
static void index_edges(weft_piece *x, weft_arena *a)
{
    int *in_at = WEFT_NEW(a, int, x->n_tasks + 1), *in = WEFT_NEW(a, int, x->n_edges);
    int *out_at = WEFT_NEW(a, int, x->n_tasks + 1), *out = WEFT_NEW(a, int, x->n_edges);
    int *next = WEFT_NEW(a, int, x->n_tasks);

    for (int e = 0; e < x->n_edges; e++) {
        in_at[x->to[e] + 1]++;
        out_at[x->from[e] + 1]++;
    }
    for (int u = 0; u < x->n_tasks; u++) {
        in_at[u + 1] += in_at[u];
        out_at[u + 1] += out_at[u];
        next[u] = out_at[u];
    }
    for (int e = 0; e < x->n_edges; e++) {
        in[e] = e;
        out[next[x->from[e]]++] = e;
    }
    x->in_at = in_at;
    x->in = in;
    x->out_at = out_at;
    x->out = out;
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

static void use_edges(weft_piece *x, const weft_problem *p, weft_arena *a)
{
    int n = p->n_devices, n_edges = p->pred_at[p->n_tasks];
    int *from = WEFT_NEW(a, int, n_edges), *to = WEFT_NEW(a, int, n_edges);
    int *widest = WEFT_NEW(a, int, p->n_tasks);
    double *send_s = WEFT_NEW(a, double, (size_t)n_edges *(size_t)(n * n));

    for (int v = 0; v < p->n_tasks; v++) {
        list_widest(p, v, widest);
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++) {
            int t = widest[p->pred[i]];

            from[i] = p->pred[i];
            to[i] = v;
            for (int k = 0; t >= 0 && k < n * n; k++)
                send_s[(size_t)i * (size_t)(n * n) + (size_t)k] = weft_send_s(p, t, k / n, k % n);
        }
    }
    x->n_edges = n_edges;
    x->from = from;
    x->to = to;
    x->send_s = send_s;
    index_edges(x, a);
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

static void use_weights(weft_piece *x, const weft_domain *m, weft_arena *a)
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

weft_piece *weft_piece_of(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    size_t n_cells = (size_t)p->n_tasks * (size_t)p->n_devices;
    weft_piece *x = WEFT_NEW(a, weft_piece, 1);
    double *time_s = WEFT_NEW(a, double, n_cells), *release_s = WEFT_NEW(a, double, n_cells);

    x->n_tasks = p->n_tasks;
    x->n_devices = p->n_devices;
    for (int u = 0; u < p->n_tasks; u++) {
        for (int d = 0; d < p->n_devices; d++) {
            bool has = weft_domain_has(m, u, d);

            time_s[cell(x, u, d)] = has ? weft_task_s(p, u, d) : INFINITY;
            release_s[cell(x, u, d)] = has ? weft_input_s(p, u, d) : 0;
        }
    }
    x->time_s = time_s;
    x->release_s = release_s;
    x->tail_s = WEFT_NEW(a, double, n_cells);
    x->free_s = WEFT_NEW(a, double, p->n_devices);
    use_edges(x, p, a);
    use_weights(x, m, a);
    if (m->n_groups < p->n_tasks) {
        x->group = m->group;
        x->n_groups = m->n_groups;
    }
    return x;
}

/* --- heads, tails, times --------------------------------------------------------------------- */

double *weft_piece_heads(const weft_piece *x, weft_arena *a)
{
    int n = x->n_devices;
    double *head_s = WEFT_NEW(a, double, (size_t)x->n_tasks *(size_t)n);

    for (int u = 0; u < x->n_tasks; u++) {
        double *h = head_s + cell(x, u, 0);

        for (int d = 0; d < n; d++)
            h[d] = fmax(x->release_s[cell(x, u, d)], x->free_s[d]);
        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
            int e = x->in[i];
            const double *from = head_s + cell(x, x->from[e], 0), *send_s = sends(x, e);
            const double *time_s = x->time_s + cell(x, x->from[e], 0);

            for (int d = 0; d < n; d++) {
                double least_s = INFINITY;

                for (int k = 0; k < n; k++)
                    least_s = fmin(least_s, from[k] + time_s[k] + send_s[k * n + d]);
                h[d] = fmax(h[d], least_s);
            }
        }
    }
    return head_s;
}

void weft_piece_tail_of(const weft_piece *x, int u, const double *tail_s, double *out)
{
    int n = x->n_devices;

    for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
        int e = x->out[i], v = x->to[e];
        const double *send_s = sends(x, e);

        for (int d = 0; d < n; d++) {
            double least_s = INFINITY;

            for (int k = 0; k < n; k++)
                least_s = fmin(least_s, send_s[d * n + k] + x->time_s[cell(x, v, k)] +
                                            tail_s[cell(x, v, k)]);
            out[d] = fmax(out[d], least_s);
        }
    }
}

double *weft_piece_tails(const weft_piece *x, weft_arena *a)
{
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    double *tail_s = weft_arena_copy(a, x->tail_s, sizeof *tail_s * n_cells);

    for (int u = x->n_tasks - 1; u >= 0; u--)
        weft_piece_tail_of(x, u, tail_s, tail_s + cell(x, u, 0));
    return tail_s;
}

double weft_piece_time(const weft_piece *x, const int *device, const int *order, double *start_s)
{
    int n = x->n_devices;
    double value = 0, free_s[WEFT_PIECE_DEVICES];

    if (n > WEFT_PIECE_DEVICES)
        return INFINITY;
    memcpy(free_s, x->free_s, sizeof *free_s * (size_t)n);
    for (int i = 0; i < x->n_tasks; i++) {
        int u = order[i], d = device[u];
        double at_s = fmax(free_s[d], x->release_s[cell(x, u, d)]);

        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
            int e = x->in[j], v = x->from[e], k = device[v];

            at_s = fmax(at_s,
                        weft_end_s(start_s[v], x->time_s[cell(x, v, k)]) + sends(x, e)[k * n + d]);
        }
        start_s[u] = at_s;
        free_s[d] = weft_end_s(at_s, x->time_s[cell(x, u, d)]);
        value = fmax(value, free_s[d] + x->tail_s[cell(x, u, d)]);
    }
    return value;
}

/* --- barriers -------------------------------------------------------------------------------- */

void weft_piece_barriers(const weft_piece *x, bool *is_barrier, weft_arena *a)
{
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
    weft_arena_rewind(a, mark);
}

/* --- dominated edges ------------------------------------------------------------------------- */

static const double MOST_WORK = 2e8; /* steps of the recursion for all edges */

/* Least time from the end of u on k to the start of later tasks on each device, for tasks up to
 * `last`. dist[(v * n + k) * n + d]; -1 where u does not reach v. */
static void spread(const weft_piece *x, int u, int last, double *dist, bool *is_below)
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
            const double *send_s = sends(x, e), *from = dist + (size_t)p * (size_t)(n * n);

            if (p < u || !is_below[p])
                continue;
            is_below[v] = true;
            for (int k = 0; k < n; k++) {
                for (int d = 0; d < n; d++) {
                    double least_s = p == u ? send_s[k * n + d] : INFINITY;

                    for (int m = 0; p != u && m < n; m++)
                        least_s = fmin(least_s, from[k * n + m] + x->time_s[cell(x, p, m)] +
                                                    send_s[m * n + d]);
                    to[k * n + d] = fmax(to[k * n + d], least_s);
                }
            }
        }
    }
}

/* Do ways through other tasks dominate edge e? dist as spread from its source. */
static bool is_dominated(const weft_piece *x, int e, const double *dist, const bool *is_below)
{
    int n = x->n_devices, u = x->from[e], v = x->to[e];

    for (int k = 0; k < n; k++) {
        for (int d = 0; d < n; d++) {
            double longest_s = -1;

            if (!(x->time_s[cell(x, u, k)] < INFINITY) || !(x->time_s[cell(x, v, d)] < INFINITY))
                continue;
            for (int i = x->in_at[v]; i < x->in_at[v + 1]; i++) {
                int f = x->in[i], p = x->from[f];
                double least_s = INFINITY;

                if (p <= u || !is_below[p])
                    continue;
                for (int m = 0; m < n; m++)
                    least_s = fmin(
                        least_s, dist[((size_t)p * (size_t)n + (size_t)k) * (size_t)n + (size_t)m] +
                                     x->time_s[cell(x, p, m)] + sends(x, f)[m * n + d]);
                longest_s = fmax(longest_s, least_s);
            }
            if (!(longest_s >= sends(x, e)[k * n + d]))
                return false;
        }
    }
    return true;
}

static int last_reader(const weft_piece *x, int u)
{
    int last = -1;

    for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++)
        last = x->to[x->out[i]] > last ? x->to[x->out[i]] : last;
    return last;
}

static void keep_edges(weft_piece *x, const bool *is_kept, weft_arena *a)
{
    size_t size = (size_t)x->n_devices * (size_t)x->n_devices;
    int *from = WEFT_NEW(a, int, x->n_edges), *to = WEFT_NEW(a, int, x->n_edges), n = 0;
    double *send_s = WEFT_NEW(a, double, (size_t)x->n_edges *size);

    for (int e = 0; e < x->n_edges; e++) {
        if (!is_kept[e])
            continue;
        from[n] = x->from[e];
        to[n] = x->to[e];
        memcpy(send_s + (size_t)n * size, sends(x, e), sizeof *send_s * size);
        n++;
    }
    x->n_edges = n;
    x->from = from;
    x->to = to;
    x->send_s = send_s;
    index_edges(x, a);
}

weft_piece *weft_piece_thin(const weft_piece *x, weft_arena *a)
{
    weft_piece *thin = weft_arena_copy(a, x, sizeof *x);
    bool *is_kept = WEFT_NEW(a, bool, x->n_edges), *is_below = WEFT_NEW(a, bool, x->n_tasks);
    size_t size = (size_t)x->n_devices * (size_t)x->n_devices;
    double *dist = WEFT_NEW(a, double, (size_t)x->n_tasks *size), work = 0;
    int n_kept = x->n_edges;

    for (int e = 0; e < x->n_edges; e++)
        is_kept[e] = true;
    for (int u = 0; u < x->n_tasks && work < MOST_WORK; u++) {
        int last = last_reader(x, u);

        if (x->out_at[u + 1] - x->out_at[u] < 2)
            continue;
        spread(x, u, last, dist, is_below);
        work += (double)(last - u) * 2 * (double)size * x->n_devices;
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
            is_kept[x->out[i]] = !is_dominated(x, x->out[i], dist, is_below);
            n_kept -= !is_kept[x->out[i]];
        }
    }
    if (n_kept < x->n_edges)
        keep_edges(thin, is_kept, a);
    return thin;
}

/* --- parts ----------------------------------------------------------------------------------- */

weft_piece *weft_piece_part(const weft_piece *x, const weft_part *part, weft_arena *a)
{
    int n = x->n_devices, n_tasks = part->end - part->begin, n_edges = 0;
    size_t n_cells = (size_t)n_tasks * (size_t)n, size = (size_t)n * (size_t)n;
    int first = x->in_at[part->begin], last = x->in_at[part->end];
    weft_piece *y = WEFT_NEW(a, weft_piece, 1);
    double *release_s = WEFT_NEW(a, double, n_cells), *tail_s = WEFT_NEW(a, double, n_cells);
    double *send_s = WEFT_NEW(a, double, (size_t)(last - first) * size);
    int *from = WEFT_NEW(a, int, last - first), *to = WEFT_NEW(a, int, last - first);

    y->n_tasks = n_tasks;
    y->n_devices = n;
    y->time_s = x->time_s + cell(x, part->begin, 0);
    y->free_s = WEFT_NEW(a, double, n);
    for (int i = first; i < last; i++) { /* in[] is sorted by task, and edges by their reader */
        int e = x->in[i], u = x->from[e] - part->begin, v = x->to[e] - part->begin;

        if (u >= 0) {
            from[n_edges] = u;
            to[n_edges] = v;
            memcpy(send_s + (size_t)n_edges++ * size, sends(x, e), sizeof *send_s * size);
        } else if (x->from[e] == part->entry) {
            for (int d = 0; d < n; d++)
                release_s[cell(x, v, d)] = sends(x, e)[part->entry_device * n + d];
        }
    }
    for (int u = 0; u < n_tasks; u++) {
        for (int i = x->out_at[u + part->begin]; i < x->out_at[u + part->begin + 1]; i++) {
            int e = x->out[i], v = x->to[e];

            for (int d = 0; v >= part->end && d < n; d++) {
                double least_s = INFINITY;

                for (int k = 0; k < n; k++)
                    least_s = fmin(least_s, sends(x, e)[d * n + k] + x->time_s[cell(x, v, k)] +
                                                part->tail_s[cell(x, v, k)]);
                tail_s[cell(x, u, d)] = fmax(tail_s[cell(x, u, d)], least_s);
            }
        }
        for (int d = 0; d < n; d++) {
            size_t at = cell(x, u + part->begin, d);

            tail_s[cell(x, u, d)] = fmax(tail_s[cell(x, u, d)], x->tail_s[at]);
            if (u == n_tasks - 1 && part->has_exit)
                tail_s[cell(x, u, d)] = part->tail_s[at];
            if (part->entry < 0)
                release_s[cell(x, u, d)] = x->release_s[at];
        }
    }
    y->release_s = release_s;
    y->tail_s = tail_s;
    y->n_edges = n_edges;
    y->from = from;
    y->to = to;
    y->send_s = send_s;
    index_edges(y, a);
    return y;
}
