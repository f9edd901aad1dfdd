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
 * 3. The bound of a core is the largest of heads and tails (bound_head_tail.c), refutation (bound_refute.c) and,
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
static int cut_modules(const weft_subproblem *x, int most_tasks, int *end, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    const bool *is_barrier = weft_subproblem_barriers(x, a);
    int n = 0, begin = 0;

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
static void fill_core(const weft_subproblem *x, int begin, int end, const core *next,
                      uint64_t *reach, core *out)
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
static int find_cores(const weft_subproblem *x, const int *end, int n_modules, core *list,
                      weft_arena *a)
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

/* --- subproblems of cores -------------------------------------------------------------------- */

static double *rows_of(const weft_subproblem *x, const double *row, const core *c, weft_arena *a)
{
    size_t n = (size_t)x->n_devices;
    double *out = WEFT_NEW(a, double, (size_t)c->n *n);

    for (int i = 0; row != NULL && i < c->n; i++)
        memcpy(out + (size_t)i * n, row + (size_t)c->task[i] * n, sizeof *out * n);
    return out;
}

/* place[] is -1 everywhere, and is so again afterwards. */
static weft_subproblem *subproblem_of(const weft_subproblem *x, const core *c, int *place,
                                      weft_arena *a)
{
    int n_edges = 0;
    weft_outline r;

    for (int i = 0; i < c->n; i++) {
        place[c->task[i]] = i;
        n_edges += x->in_at[c->task[i] + 1] - x->in_at[c->task[i]];
    }
    r = weft_outline_new(c->n, x->n_devices, n_edges, a);
    for (int i = 0; i < c->n; i++) {
        for (int j = x->in_at[c->task[i]]; j < x->in_at[c->task[i] + 1]; j++) {
            int e = x->in[j], u = place[x->from[e]];

            if (u >= 0)
                weft_outline_edge(&r, u, i, weft_sends(x, e));
        }
    }
    r.subproblem->time_s = rows_of(x, x->time_s, c, a);
    for (int i = 0; i < c->n; i++)
        place[c->task[i]] = -1;
    return weft_outline_end(&r, a);
}

/* --- the sum --------------------------------------------------------------------------------- */

/* What the cores of a series are granted. */
typedef struct grant {
    int most_tasks; /* of a module */
    double work;    /* for each */
} grant;

static double bound_of(const weft_subproblem *y, const grant *g, weft_arena *a)
{
    bool is_shaving = g->work >= LEAST_SHAVING_WORK;
    double bound = weft_head_tail_bound(y, g->work, a);

    bound = fmax(bound, weft_refute_bound(y, INFINITY, is_shaving, g->work / 2, a));
    if (g->most_tasks < FINER || y->n_tasks <= g->most_tasks / FINER)
        return bound;
    return fmax(bound, weft_series_bound(y, g->most_tasks / FINER, g->work / 2, a));
}

static double sum_of(const weft_subproblem *x, const core *list, int n, const grant *g,
                     weft_arena *a)
{
    double *bound = WEFT_NEW(a, double, n), sum = 0;
    int *place = WEFT_NEW(a, int, x->n_tasks);
    weft_map *index = weft_map_new(a); /* content of a core -> the first that has it */

    for (int u = 0; u < x->n_tasks; u++)
        place[u] = -1;
    for (int j = 0; j < n; j++) {
        weft_subproblem *y = subproblem_of(x, &list[j], place, a);
        const char *key;
        size_t n_bytes;

        y->release_s = rows_of(x, j == n - 1 ? x->release_s : NULL, &list[j], a);
        y->tail_s = rows_of(x, j == 0 ? x->tail_s : NULL, &list[j], a);
        y->free_s = j == n - 1 ? x->free_s : WEFT_NEW(a, double, x->n_devices);
        key = weft_subproblem_key(y, a, &n_bytes);
        bound[j] = weft_map_put(index, key, n_bytes, j) ? bound_of(y, g, a)
                                                        : bound[weft_map_get(index, key, n_bytes)];
        sum += bound[j];
    }
    return sum;
}

double weft_series_bound(const weft_subproblem *x, int most_tasks, double most_work, weft_arena *a)
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
