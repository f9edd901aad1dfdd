/* SPDX-License-Identifier: MIT */
/* series.c: decomposition at barriers.
 *
 * A barrier v precedes or follows every other task, so when it ends all devices are idle: the rest
 * depends on its device, and on tensors made before it that are read after it. If these are taken
 * to be everywhere, the rest alone has a least time; it is a lower bound of what follows v, exact
 * where no such tensor exists (a cut). From the last barrier to the first,
 *
 *     rest(v on k) = least value of the part up to the next barrier w, which begins at time 0 with
 * v finished on k and whose end w on l has the tail rest(w on l).
 *
 * 1. Each part is searched by exact.c; a part that is not closed gives its bound.
 * 2. Parts are looked up by content, with tails relative to the least of them: blocks that repeat
 *    are solved once. Relative tails are rounded down to a grid, so that sums in different orders
 *    are the same part; it stays a bound.
 * 3. The tails of all tasks follow by the recursion of subproblem.c, begun at the barriers.
 *
 * Where all times are multiples of a grain, so is what is left at the end of a barrier: rest() is
 * rounded up to one.
 *
 * With these tails the search of the whole subproblem (exact.c) knows what every barrier costs, and
 * where all barriers are cuts its first pass finds an optimal schedule. Proof of 1: tasks after v
 * start after its end, and dropping constraints only lowers a least value; by induction along the
 * barriers. */
#include "series.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { GRID_BITS = 46 };                 /* a grid is that much finer than the value */
static const double MOST_CELLS = 0x1p53; /* of a grid: beyond, numbers have no finer bits */

typedef struct solver {
    const weft_subproblem *subproblem;
    const weft_series_effort *effort;
    weft_arena *arena;
    double *tail_s;
    double grid_s; /* a power of two, normal; 0: none */
    weft_series *out;
    weft_map *index;        /* content of a part -> place in parts */
    WEFT_VEC(double) parts; /* values above the base of the tails */
} solver;

static size_t cell(const solver *s, int u, int d)
{
    return (size_t)u * (size_t)s->subproblem->n_devices + (size_t)d;
}

/* The grid for values of at least lower_s: so fine that rounding stays below the slack of exact.c.
 */
static double grid_of(double lower_s)
{
    int exponent;

    frexp(lower_s, &exponent);
    return lower_s > 0 && exponent - 1 - GRID_BITS > DBL_MIN_EXP
               ? ldexp(1, exponent - 1 - GRID_BITS)
               : 0;
}

/* Rounded down to the grid, to the last bit; as it is where the grid is finer than its own bits. */
static double on_grid(const solver *s, double time_s)
{
    double n = s->grid_s > 0 ? time_s / s->grid_s : INFINITY;
    double rounded_s = n < MOST_CELLS ? floor(n) * s->grid_s : time_s;

    assert(rounded_s <= time_s);
    return rounded_s;
}

/* No schedule is below: the longest way through the subproblem. */
static double path_s(const weft_subproblem *x, weft_arena *a)
{
    const double *tail_s = weft_subproblem_tails(x, a);
    double longest_s = 0;

    for (int u = 0; u < x->n_tasks; u++) {
        double least_s = INFINITY;

        for (int d = 0; d < x->n_devices; d++) {
            size_t i = (size_t)u * (size_t)x->n_devices + (size_t)d;

            least_s = fmin(least_s, x->release_s[i] + x->time_s[i] + tail_s[i]);
        }
        longest_s = fmax(longest_s, least_s);
    }
    return longest_s;
}

/* Tails relative to the least tail of the last task, on the grid. Every task precedes the last one,
 * so a smaller tail of another task decides nothing. Returns that least tail. */
static double lower_tails(const solver *s, weft_subproblem *part)
{
    size_t n = (size_t)part->n_devices, last = (size_t)(part->n_tasks - 1) * n;
    double base_s = INFINITY,
           *tail_s = weft_arena_copy(s->arena, part->tail_s, sizeof *tail_s * (last + n));

    for (size_t d = 0; d < n; d++) {
        if (part->time_s[last + d] < INFINITY)
            base_s = fmin(base_s, tail_s[last + d]);
    }
    if (!(base_s < INFINITY)) /* nothing can follow the last task: left to the caller */
        return base_s;
    for (size_t i = 0; i < last + n; i++)
        tail_s[i] = on_grid(s, fmax(0, tail_s[i] - base_s));
    part->tail_s = tail_s;
    return base_s;
}

static double search_part(solver *s, const weft_subproblem *x)
{
    int64_t left = s->effort->most_states - s->out->n_states, most = s->effort->part_states;
    weft_effort e = {.upper = INFINITY,
                     .most_states = left < most ? (left > 1 ? left : 1) : most,
                     .run = s->effort->run};
    weft_answer r = weft_subproblem_solve(x, &e, s->arena);

    s->out->n_states += r.n_states;
    s->out->n_parts++;
    if (x->n_tasks > s->out->n_largest)
        s->out->n_largest = x->n_tasks;
    s->out->n_open += !r.is_closed;
    return r.is_closed ? r.value : r.bound;
}

/* The least value of a part, or a bound of it. */
static double solve_part(solver *s, const weft_part *part)
{
    weft_subproblem *x = weft_subproblem_part(s->subproblem, part, s->arena);
    double base_s = part->has_exit ? lower_tails(s, x) : 0;
    const char *key;
    size_t size;
    int at;

    if (!(base_s < INFINITY))
        return base_s;
    key = weft_subproblem_key(x, s->arena, &size);
    at = weft_map_get(s->index, key, size);
    if (at < 0) {
        at = s->parts.n;
        WEFT_PUSH(s->arena, s->parts, search_part(s, x));
        weft_map_set(s->index, key, size, at);
    }
    return base_s + s->parts.at[at];
}

/* Tails of tasks begin .. end - 1 but for the last, whose tails are known if it is a barrier. */
static void fill_tails(solver *s, int begin, int end, bool has_exit)
{
    for (int u = end - 1 - has_exit; u >= begin; u--)
        weft_subproblem_tail_of(s->subproblem, u, s->tail_s, s->tail_s + cell(s, u, 0));
}

static bool is_over(const weft_series_effort *e)
{
    return e->run != NULL && weft_run_is_over(e->run);
}

/* What follows barrier v, on each device: without parts once the run is over. */
static void fill_rest(solver *s, int v, int end, bool has_exit)
{
    const weft_subproblem *x = s->subproblem;
    double *rest_s = s->tail_s + cell(s, v, 0);

    weft_subproblem_tail_of(x, v, s->tail_s, rest_s);
    for (int k = 0; k < x->n_devices && end - v - 1 > 1; k++) {
        weft_part part = {v + 1, end, v, k, has_exit, s->tail_s};

        if (is_over(s->effort))
            return;
        if (x->time_s[cell(s, v, k)] < INFINITY)
            rest_s[k] = fmax(rest_s[k], weft_grain_up(x->grain_s, solve_part(s, &part)));
    }
}

/* The first part, whose tasks begin when the subproblem says. */
static double first_part(solver *s, int end, bool has_exit)
{
    weft_part part = {0, end, -1, -1, has_exit, s->tail_s};
    weft_subproblem *x = weft_subproblem_part(s->subproblem, &part, s->arena);

    memcpy((void *)x->free_s, s->subproblem->free_s, sizeof *x->free_s * (size_t)x->n_devices);
    return search_part(s, x);
}

weft_series weft_series_tails(const weft_subproblem *x, const weft_series_effort *e, weft_arena *a)
{
    weft_series out = {0};
    solver s = {.subproblem = x, .effort = e, .arena = weft_arena_new(), .out = &out};
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    const bool *is_barrier = weft_subproblem_barriers(x, s.arena);
    bool has_exit = false;
    int end = x->n_tasks;

    s.tail_s = weft_arena_copy(a, x->tail_s, sizeof *s.tail_s * n_cells);
    s.grid_s = grid_of(fmax(e->lower, path_s(x, s.arena)));
    s.index = weft_map_new(s.arena);
    for (int v = x->n_tasks - 1; v >= 0; v--) {
        if (!is_barrier[v])
            continue;
        fill_tails(&s, v + 1, end, has_exit);
        fill_rest(&s, v, end, has_exit);
        end = v + 1;
        has_exit = true;
        out.n_barriers++;
    }
    fill_tails(&s, 0, end, has_exit);
    out.bound = is_over(e) ? 0 : first_part(&s, end, has_exit);
    out.tail_s = s.tail_s;
    weft_arena_free(s.arena);
    return out;
}
