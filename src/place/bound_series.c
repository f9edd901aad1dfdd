/* SPDX-License-Identifier: MIT */
/* bound_series.c: parts that follow each other.
 *
 * If every task of part j precedes every task of part j + 1, the parts run one after the other, so
 * the value is at least the sum of bounds of the parts, each taken alone. Any bound may stand for a
 * part. Releases and the times at which devices become free count for the first part only, tails
 * for the last.
 *
 * 1. Modules: runs of tasks in topological order, at most most_tasks each, that end with a barrier
 *    (a task that precedes or follows every other) where there is one in reach.
 * 2. Cores, from the last module to the first: the tasks that precede every task of the next core
 *    that is not empty. If a module ends with a barrier, it is its own core.
 * 3. The bound of a core is the largest of bodies (bound_body.c), refutation (bound_refute.c) and,
 *    again, the sum of finer parts. Equal cores are computed once.
 *
 * Cores hold at most 64 tasks, so what a task reaches of the next core fits a word, and step 2 is
 * one pass over the edges. Edges that leave a core are forgotten, which can only lower the bound.
 * Time: that of the refutations, each granted an equal share of the work. */
#include "bound.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FINER = 4 };                           /* modules of a core are smaller by this factor */
static const double LEAST_SHAVING_WORK = 1e7; /* below this share, cores are not shaved */

typedef struct core {
    int n, task[WEFT_MOST_PART];
} core;

/* --- modules and cores ----------------------------------------------------------------------- */

/* Ends of the modules: end[j] is the first task of the next. Returns their number. */
static int cut_modules(const weft_piece *x, int most_tasks, int *end, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    bool *is_barrier = WEFT_NEW(a, bool, x->n_tasks);
    int n = 0, begin = 0;

    weft_piece_barriers(x, is_barrier, a);
    while (begin < x->n_tasks) {
        int most = x->n_tasks - begin > most_tasks ? begin + most_tasks : x->n_tasks;
        int last = most;

        while (last > begin && last < x->n_tasks && !is_barrier[last - 1])
            last--;
        begin = end[n++] = last > begin ? last : most;
    }
    weft_arena_rewind(a, mark);
    return n;
}

/* Tasks of [begin, end) that precede all of `next`. reach[] is what tasks reach of it. */
static void fill_core(const weft_piece *x, int begin, int end, const core *next, uint64_t *reach,
                      core *out)
{
    uint64_t all = next->n == WEFT_MOST_PART ? ~(uint64_t)0 : ((uint64_t)1 << next->n) - 1;
    int j = next->n - 1;

    out->n = 0;
    for (int u = next->task[next->n - 1]; u >= begin; u--) {
        reach[u] = 0;
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
            int v = x->to[x->out[i]];

            reach[u] |= v <= next->task[next->n - 1] ? reach[v] : 0;
        }
        if (u < end && reach[u] == all)
            out->task[out->n++] = u;
        if (j >= 0 && u == next->task[j])
            reach[u] |= (uint64_t)1 << j--;
    }
    for (int i = 0; i < out->n / 2; i++) {
        int swap = out->task[i];

        out->task[i] = out->task[out->n - 1 - i];
        out->task[out->n - 1 - i] = swap;
    }
}

/* Cores from the last to the first; returns how many are not empty. */
static int find_cores(const weft_piece *x, const int *end, int n_modules, core *list, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    uint64_t *reach = WEFT_NEW(a, uint64_t, x->n_tasks);
    int n = 1, first = n_modules > 1 ? end[n_modules - 2] : 0;

    for (int u = first; u < x->n_tasks; u++)
        list[0].task[list[0].n++] = u;
    for (int j = n_modules - 2; j >= 0; j--) {
        fill_core(x, j > 0 ? end[j - 1] : 0, end[j], &list[n - 1], reach, &list[n]);
        n += list[n].n > 0;
    }
    weft_arena_rewind(a, mark);
    return n;
}

/* --- pieces of cores ------------------------------------------------------------------------- */

static double *rows_of(const weft_piece *x, const double *row, const core *c, weft_arena *a)
{
    size_t n = (size_t)x->n_devices;
    double *out = WEFT_NEW(a, double, (size_t)c->n *n);

    for (int i = 0; row != NULL && i < c->n; i++)
        memcpy(out + (size_t)i * n, row + (size_t)c->task[i] * n, sizeof *out * n);
    return out;
}

/* Edges between tasks of the core; they are counted first (from NULL). */
static int edges_of(const weft_piece *x, const core *c, const int *place, int *from, int *to,
                    int *edge)
{
    int n = 0;

    for (int i = 0; i < c->n; i++) {
        for (int j = x->in_at[c->task[i]]; j < x->in_at[c->task[i] + 1]; j++) {
            int e = x->in[j], u = place[x->from[e]];

            if (u < 0)
                continue;
            if (from != NULL) {
                from[n] = u;
                to[n] = i;
                edge[n] = e;
            }
            n++;
        }
    }
    return n;
}

static void index_edges(weft_piece *y, weft_arena *a)
{
    int *in_at = WEFT_NEW(a, int, y->n_tasks + 1), *in = WEFT_NEW(a, int, y->n_edges);
    int *out_at = WEFT_NEW(a, int, y->n_tasks + 1), *out = WEFT_NEW(a, int, y->n_edges), n = 0;

    for (int e = 0; e < y->n_edges; e++) { /* edges are by reader */
        in_at[y->to[e] + 1] = e + 1;
        in[e] = e;
    }
    for (int u = 0; u < y->n_tasks; u++) {
        in_at[u + 1] = in_at[u + 1] > in_at[u] ? in_at[u + 1] : in_at[u];
        for (int e = 0; e < y->n_edges; e++) {
            if (y->from[e] == u)
                out[n++] = e;
        }
        out_at[u + 1] = n;
    }
    y->in_at = in_at;
    y->in = in;
    y->out_at = out_at;
    y->out = out;
}

/* place[] is -1 everywhere, and is so again afterwards. */
static weft_piece *piece_of(const weft_piece *x, const core *c, int *place, weft_arena *a)
{
    weft_piece *y = WEFT_NEW(a, weft_piece, 1);
    size_t square = (size_t)x->n_devices * (size_t)x->n_devices;
    int *from, *to, *edge;
    double *send_s;

    for (int i = 0; i < c->n; i++)
        place[c->task[i]] = i;
    y->n_tasks = c->n;
    y->n_devices = x->n_devices;
    y->n_edges = edges_of(x, c, place, NULL, NULL, NULL);
    y->from = from = WEFT_NEW(a, int, y->n_edges);
    y->to = to = WEFT_NEW(a, int, y->n_edges);
    edge = WEFT_NEW(a, int, y->n_edges);
    edges_of(x, c, place, from, to, edge);
    y->send_s = send_s = WEFT_NEW(a, double, (size_t)y->n_edges *square);
    for (size_t e = 0; e < (size_t)y->n_edges; e++)
        memcpy(send_s + e * square, x->send_s + (size_t)edge[e] * square, sizeof *send_s * square);
    index_edges(y, a);
    y->time_s = rows_of(x, x->time_s, c, a);
    for (int i = 0; i < c->n; i++)
        place[c->task[i]] = -1;
    return y;
}

static bool is_same(const weft_piece *x, const weft_piece *y)
{
    size_t cells = (size_t)x->n_tasks * (size_t)x->n_devices * sizeof(double);
    size_t edges = (size_t)x->n_edges;
    size_t sends = edges * (size_t)x->n_devices * (size_t)x->n_devices * sizeof(double);

    return x->n_tasks == y->n_tasks && x->n_edges == y->n_edges &&
           memcmp(x->time_s, y->time_s, cells) == 0 &&
           memcmp(x->release_s, y->release_s, cells) == 0 &&
           memcmp(x->tail_s, y->tail_s, cells) == 0 &&
           memcmp(x->free_s, y->free_s, (size_t)x->n_devices * sizeof(double)) == 0 &&
           memcmp(x->from, y->from, edges * sizeof(int)) == 0 &&
           memcmp(x->to, y->to, edges * sizeof(int)) == 0 &&
           memcmp(x->send_s, y->send_s, sends) == 0;
}

/* --- the sum --------------------------------------------------------------------------------- */

/* What the cores of a series are granted. */
typedef struct grant {
    int most_tasks; /* of a module */
    double work;    /* for each */
} grant;

static double bound_of(const weft_piece *y, const grant *g, weft_arena *a)
{
    bool is_shaving = g->work >= LEAST_SHAVING_WORK;
    double bound = weft_body_bound(y, g->work, a);

    bound = fmax(bound, weft_refute_bound(y, INFINITY, is_shaving, g->work / 2, a, NULL));
    if (g->most_tasks < FINER || y->n_tasks <= g->most_tasks / FINER)
        return bound;
    return fmax(bound, weft_series_bound(y, g->most_tasks / FINER, g->work / 2, a));
}

static double sum_of(const weft_piece *x, const core *list, int n, const grant *g, weft_arena *a)
{
    weft_piece **y = WEFT_NEW(a, weft_piece *, n);
    double *bound = WEFT_NEW(a, double, n), sum = 0;
    int *place = WEFT_NEW(a, int, x->n_tasks);

    for (int u = 0; u < x->n_tasks; u++)
        place[u] = -1;
    for (int j = 0; j < n; j++) {
        int same = 0;

        y[j] = piece_of(x, &list[j], place, a);
        y[j]->release_s = rows_of(x, j == n - 1 ? x->release_s : NULL, &list[j], a);
        y[j]->tail_s = rows_of(x, j == 0 ? x->tail_s : NULL, &list[j], a);
        y[j]->free_s = j == n - 1 ? x->free_s : WEFT_NEW(a, double, x->n_devices);
        while (!is_same(y[same], y[j]))
            same++;
        bound[j] = same < j ? bound[same] : bound_of(y[j], g, a);
        sum += bound[j];
    }
    return sum;
}

double weft_series_bound(const weft_piece *x, int most_tasks, double most_work, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int *end = WEFT_NEW(a, int, x->n_tasks + 1), n;
    core *list;
    double sum;

    assert(most_tasks > 0 && most_tasks <= WEFT_MOST_PART);
    if (x->n_tasks == 0)
        return 0;
    n = cut_modules(x, most_tasks, end, a);
    list = WEFT_NEW(a, core, n);
    n = find_cores(x, end, n, list, a);
    sum = sum_of(x, list, n, &(grant){most_tasks, most_work / n}, a);
    weft_arena_rewind(a, mark);
    return sum;
}
