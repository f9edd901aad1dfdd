/* SPDX-License-Identifier: MIT */
/* pairwise_min_fold.c: the least sum of some tables over the states of one variable.
 *
 * The factors of variable w with neighbours u.. and l are folded into
 *
 *     T[u..][l] = min_w  a_u..[w] + M_u..[w][l]
 *
 * 1. The last axis l is the neighbour that shares factors with the fewest states of other
 *    neighbours; M is the sum of the factors that have l, a the sum of those that do not.
 * 2. The other axes come in two groups: first the neighbours that M depends on, then the rest, so
 *    that a matrix M is made once for all rows u.. of the second group. Chains have one row (a
 *    product of a matrix and a vector in the algebra of minimum and sum), residual blocks one M and
 *    as many rows as u has states (a product of two matrices).
 * 3. A row is made side by side for all l (pairwise_min_row.c). States of w that cannot matter are left
 * out of it: those with a[w] + min_l M[w][l] > min_y (a[y] + max_l M[y][l]), because then a[w] +
 * M[w][l] > a[y] + M[y][l] for every l, or equal after rounding, which keeps the order of numbers.
 * States that are not allowed are left out, too.
 *
 * Costs are >= 0 or INFINITY, so no sum is NaN. Time O(product of the states of w and its
 * neighbours), nearly all of it in pairwise_min_row.c. */
#include "pairwise_min.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LEAST_ROWS = 8 }; /* of a matrix, to look for states of w that do not matter */

/* --- factors --------------------------------------------------------------------------------- */

/* A factor while the axes are walked through: its entry for state 0 of w and l. */
typedef struct walk {
    const double *cost;
    size_t at, w_step, l_step;
    size_t *step; /* [n] of each axis */
} walk;

typedef struct fold {
    const weft_bucket *b;
    weft_arena *arena;
    int n_w, n_l;
    int last;          /* place of l; -1: no neighbours */
    int n_first;       /* axes that M depends on */
    const int *axis;   /* [n] places */
    int *digit;        /* [n] states of the axes */
    walk *in_m, *in_a; /* factors of M and of a; factors of w alone are in `own` */
    int n_in_m, n_in_a;
    double *own, *a;    /* [n_w] */
    double *low, *high; /* [n_w] of the rows of M; zeros if limits are not worth their time */
    bool has_limits;
    double *sum; /* [n_w * n_l] M if it is not a table itself */
    const double *m;
    weft_term *term; /* [n_w + 1] */
} fold;

static bool has_place(const weft_factor *f, int place)
{
    for (int i = 0; i < f->n; i++)
        if (f->place[i] == place)
            return true;
    return false;
}

/* The step between two states of the variable at `place`; 0: not in the scope. */
static size_t step_of(const weft_bucket *b, const weft_factor *f, int place)
{
    size_t step = 1;

    for (int i = f->n - 1; i >= 0; i--) {
        if (f->place[i] == place)
            return step;
        step *= (size_t)b->size[f->place[i]];
    }
    return 0;
}

/* Marks the neighbours, but l itself, that share a factor with l. Returns the product of their
 * states; half more if a matrix must be turned for it. */
static double mark_shared(const weft_bucket *b, int l, bool *is_shared)
{
    double product = 1;
    bool is_turned = false;

    memset(is_shared, 0, sizeof *is_shared * (size_t)(b->n + 1));
    for (int i = 0; i < b->n_factors; i++) {
        const weft_factor *f = b->factor[i];

        if (!has_place(f, l))
            continue;
        is_turned = is_turned || f->place[f->n - 1] != l;
        for (int k = 0; k < f->n; k++)
            is_shared[f->place[k]] = true;
    }
    is_shared[l] = is_shared[b->n] = false;
    for (int i = 0; i < b->n; i++)
        product *= is_shared[i] ? b->size[i] : 1;
    return is_turned ? product * 1.5 : product;
}

/* Step 1 and 2: the axes in order. */
static void choose_axes(fold *s, int *axis)
{
    const weft_bucket *b = s->b;
    bool *is_shared = WEFT_NEW(s->arena, bool, b->n + 1);
    double least = INFINITY;
    int n = 0;

    s->last = -1;
    for (int l = 0; l < b->n; l++) {
        double product = mark_shared(b, l, is_shared);

        if (product <= least) {
            least = product;
            s->last = l;
        }
    }
    if (s->last < 0)
        return;
    mark_shared(b, s->last, is_shared);
    for (int i = 0; i < b->n; i++)
        if (is_shared[i])
            axis[n++] = i;
    s->n_first = n;
    for (int i = 0; i < b->n; i++)
        if (!is_shared[i] && i != s->last)
            axis[n++] = i;
    axis[n] = s->last;
}

static walk walk_of(const fold *s, const weft_factor *f)
{
    walk w = {.cost = f->cost, .w_step = step_of(s->b, f, s->b->n)};

    w.l_step = s->last < 0 ? 0 : step_of(s->b, f, s->last);
    w.step = WEFT_NEW(s->arena, size_t, s->b->n);
    for (int i = 0; i + 1 < s->b->n; i++)
        w.step[i] = step_of(s->b, f, s->axis[i]);
    return w;
}

static void begin_walks(fold *s)
{
    s->in_m = WEFT_NEW(s->arena, walk, s->b->n_factors);
    s->in_a = WEFT_NEW(s->arena, walk, s->b->n_factors);
    for (int i = 0; i < s->b->n_factors; i++) {
        const weft_factor *f = s->b->factor[i];

        if (f->n == 1)
            for (int x = 0; x < s->n_w; x++)
                s->own[x] += f->cost[x];
        else if (has_place(f, s->last))
            s->in_m[s->n_in_m++] = walk_of(s, f);
        else
            s->in_a[s->n_in_a++] = walk_of(s, f);
    }
}

/* --- matrices and rows ----------------------------------------------------------------------- */

static bool is_matrix(const fold *s, const walk *w)
{
    return w->l_step == 1 && w->w_step == (size_t)s->n_l;
}

static void add_matrix(const fold *s, const walk *w, bool is_first)
{
    double *to = s->sum;

    for (int x = 0; x < s->n_w; x++) {
        const double *from = w->cost + w->at + (size_t)x * w->w_step;

        for (int i = 0; i < s->n_l; i++)
            to[i] = (is_first ? 0 : to[i]) + from[(size_t)i * w->l_step];
        to += s->n_l;
    }
}

/* M at the present states of the axes, and the limits of its rows if they are of use. */
static void make_matrix(fold *s)
{
    s->m = s->sum;
    if (s->n_in_m == 1 && is_matrix(s, &s->in_m[0]))
        s->m = s->in_m[0].cost + s->in_m[0].at;
    else
        for (int i = 0; i < s->n_in_m; i++)
            add_matrix(s, &s->in_m[i], i == 0);
    for (int x = 0; x < s->n_w && s->has_limits; x++)
        weft_row_limits(s->m + (size_t)x * (size_t)s->n_l, s->n_l, &s->low[x], &s->high[x]);
}

static void make_a(fold *s)
{
    memcpy(s->a, s->own, sizeof *s->a * (size_t)s->n_w);
    for (int k = 0; k < s->n_in_a; k++) {
        const walk *w = &s->in_a[k];
        const double *from = w->cost + w->at;

        if (w->w_step == 1)
            for (int x = 0; x < s->n_w; x++)
                s->a[x] += from[x];
        else
            for (int x = 0; x < s->n_w; x++)
                s->a[x] += from[(size_t)x * w->w_step];
    }
}

/* Step 3: the states of w that matter in this row. Without branches: nobody could predict them. */
static int make_terms(fold *s)
{
    double limit =
        s->has_limits ? fmin(weft_row_least_sum(s->a, s->high, s->n_w), DBL_MAX) : DBL_MAX;
    const double *row = s->m;
    int n = 0;

    for (int x = 0; x < s->n_w; x++, row += s->n_l) {
        s->term[n] = (weft_term){row, s->a[x]};
        n += s->a[x] + s->low[x] <= limit;
    }
    return n;
}

static void make_row(fold *s, double *to)
{
    make_a(s);
    weft_row_fold(s->term, make_terms(s), to, s->n_l);
}

/* The next states of the axes but the last; returns the first axis that changed, -1 at the end. */
static int advance(fold *s)
{
    for (int i = s->b->n - 2; i >= 0; i--) {
        size_t size = (size_t)s->b->size[s->axis[i]];
        bool is_over = (size_t)++s->digit[i] == size;

        for (int k = 0; k < s->n_in_m + s->n_in_a; k++) {
            walk *w = k < s->n_in_m ? &s->in_m[k] : &s->in_a[k - s->n_in_m];

            w->at = is_over ? w->at - (size - 1) * w->step[i] : w->at + w->step[i];
        }
        if (!is_over)
            return i;
        s->digit[i] = 0;
    }
    return -1;
}

static void make_table(fold *s, double *to)
{
    int changed = 0, n_rows = 1; /* of a matrix, as far as it matters */

    for (int i = s->n_first; i + 1 < s->b->n && n_rows < LEAST_ROWS; i++)
        n_rows *= s->b->size[s->axis[i]];
    s->has_limits = n_rows >= LEAST_ROWS;

    s->sum = WEFT_NEW_RAW(s->arena, double, (size_t)s->n_w *(size_t)s->n_l);
    s->low = WEFT_NEW(s->arena, double, s->n_w);
    s->high = WEFT_NEW(s->arena, double, s->n_w);
    s->term = WEFT_NEW_RAW(s->arena, weft_term, s->n_w + 1);
    s->digit = WEFT_NEW(s->arena, int, s->b->n);
    make_matrix(s);
    while (changed >= 0) {
        make_row(s, to);
        to += s->n_l;
        changed = advance(s);
        if (changed >= 0 && changed < s->n_first)
            make_matrix(s);
    }
}

/* One neighbour and one factor that runs over w: rows need no turning. */
static bool is_column(const fold *s)
{
    return s->b->n == 1 && s->n_in_m == 1 && s->in_m[0].w_step == 1;
}

static void fold_into(fold *s, double *to)
{
    s->own = WEFT_NEW(s->arena, double, s->n_w);
    s->a = WEFT_NEW_RAW(s->arena, double, s->n_w);
    begin_walks(s);
    if (s->b->n == 0) {
        *to = INFINITY;
        for (int x = 0; x < s->n_w; x++)
            *to = fmin(*to, s->own[x]);
    } else if (is_column(s)) {
        for (int i = 0; i < s->n_l; i++)
            to[i] =
                weft_row_least_sum(s->own, s->in_m[0].cost + (size_t)i * (size_t)s->n_w, s->n_w);
    } else {
        make_table(s, to);
    }
}

const double *weft_bucket_fold(const weft_bucket *b, weft_arena *a, int *axis)
{
    fold s = {.b = b, .arena = a, .n_w = b->size[b->n], .axis = axis, .n_l = 1};
    size_t n_entries = 1, mark;
    double *to;

    for (int i = 0; i < b->n; i++)
        n_entries *= (size_t)b->size[i];
    to = WEFT_NEW_RAW(a, double, n_entries);
    mark = weft_arena_mark(a);
    choose_axes(&s, axis);
    if (b->n > 0)
        s.n_l = b->size[s.last];
    fold_into(&s, to);
    weft_arena_rewind(a, mark);
    return to;
}
