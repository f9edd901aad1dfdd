/* SPDX-License-Identifier: MIT */
/* climb.c: few evaluations, no proof: counts by conflicts, dimensions by halving.
 *
 * Dimensions are rows, columns, lanes and buffer. A child has the next smaller size of one of them,
 * or fewer rows and more columns, or the reverse.
 * 1. The first dimension is the largest of all. Its counts start at the smallest; a child starts
 *    with its parent's, with one more place of the cores that got smaller, and one place less of
 *    what then breaks a limit.
 * 2. Counts climb: a neighbour has one place more of tensor cores or of vector cores, while the
 * other gives way as the limits ask, or of both, or one less (per TDP only). The neighbour with the
 *    largest upper bound is tried first, ties to the type that operators wait for, then to the
 *    smaller area; the first that is better is taken, or the best of them if none is, until two
 * steps in a row have brought nothing. One whose bound is not above the best here is not tried.
 * 3. Best first: the dimension with the largest value is expanded next. A dimension whose bound
 * over all counts is not above the best value is not tried and has that bound as its value. The
 * search ends after 16 expansions without a better design.
 *
 * Progress is strict and of the metric alone: equal values would end with idle cores. Below the
 * least throughput a design counts by how far it is from it. Dimensions outside the limits are
 * expanded until one is inside. Bounds are not evaluations, but they are counted too. A heuristic:
 * its own bound is that of the lattice as one box. */
#include <math.h>
#include <string.h>

#include "evaluator.h"

enum { PATIENCE = 16, MOST_BAD = 2, N_DIMS = 4, MOST_STEPS = 5 };

static const weft_parameter dims[N_DIMS] = {WEFT_ROWS, WEFT_COLS, WEFT_LANES, WEFT_BUFFER};

typedef struct dimension {
    weft_design_point point; /* with the best counts so far */
    double score;
    bool is_expanded;
} dimension;

typedef struct queue {
    WEFT_VEC(dimension) item;
    weft_map *seen;
} queue;

/* Values below the least throughput: negative, larger when nearer. */
static double score_of(const weft_evaluator *s, int64_t index, double value)
{
    const weft_tried *t = weft_evaluator_look(s, index);

    return value > 0 || t == NULL || !(s->least > 0) ? value : t->throughput / s->least - 1;
}

static double top_score(const weft_evaluator *s, double top, double tdp_w)
{
    double metric = weft_evaluator_metric(s, top, tdp_w);

    return metric > 0 || !(s->least > 0) ? metric : top / s->least - 1;
}

static bool is_progress(double score, double before)
{
    return before == -INFINITY ? score > before
                               : score > before + WEFT_EVALUATOR_EXACT * fabs(before);
}

/* --- counts ---------------------------------------------------------------------------------- */

typedef struct step {
    double top, area_mm2;
    weft_design_point point;
    bool is_wanted; /* operators wait for it */
} step;

static bool comes_before(const step *a, const step *b)
{
    if (a->top != b->top)
        return a->top > b->top;
    if (a->is_wanted != b->is_wanted)
        return a->is_wanted;
    return a->area_mm2 < b->area_mm2;
}

static void conflicts_of(const weft_evaluator *s, const weft_design_point *p, bool *tensor,
                         bool *vector)
{
    *tensor = *vector = false;
    for (int i = 0; i < s->objective.n_workloads; i++) {
        const weft_workload *w = &s->objective.workload[i];
        weft_conflicts c = w->timer->conflicts(w->eval[0], p);

        *tensor |= c.tensor > 0;
        *vector |= c.vector > 0;
    }
}

/* Moves both counts by so many places; false: outside the lattice. */
static bool shift(const weft_evaluator *s, weft_design_point *p, int tensor, int vector)
{
    const int *n = s->objective.template_->n_sizes;
    int t = p->at[WEFT_TENSOR_CORES] + tensor, v = p->at[WEFT_VECTOR_CORES] + vector;

    if (t < 0 || t >= n[WEFT_TENSOR_CORES] || v < 0 || v >= n[WEFT_VECTOR_CORES])
        return false;
    p->at[WEFT_TENSOR_CORES] = (uint16_t)t;
    p->at[WEFT_VECTOR_CORES] = (uint16_t)v;
    return true;
}

/* Takes places from one count until the design is within the limits; false: it never is. */
static bool make_room(const weft_evaluator *s, weft_design_point *p, weft_parameter k)
{
    while (!weft_evaluator_fits(s, p)) {
        if (p->at[k] == 0)
            return false;
        p->at[k]--;
    }
    return true;
}

/* A neighbour within the limits: where one count grows the other gives way. */
static bool move_counts(const weft_evaluator *s, weft_design_point *p, int tensor, int vector)
{
    if (!shift(s, p, tensor, vector))
        return false;
    if (tensor + vector != 1)
        return weft_evaluator_fits(s, p);
    return make_room(s, p, tensor > 0 ? WEFT_VECTOR_CORES : WEFT_TENSOR_CORES);
}

/* The neighbours within the limits, best first. */
static int steps_from(weft_evaluator *s, const weft_design_point *p, step *out)
{
    static const int move[MOST_STEPS][2] = {
        {1,  0 },
        {0,  1 },
        {1,  1 },
        {-1, 0 },
        {0,  -1}
    };
    const weft_template *t = s->objective.template_;
    int n_moves = s->objective.metric == WEFT_METRIC_PER_TDP ? MOST_STEPS : MOST_STEPS - 2, n = 0;
    int64_t index[MOST_STEPS];
    double top[MOST_STEPS];
    bool tensor, vector;

    conflicts_of(s, p, &tensor, &vector);
    for (int i = 0; i < n_moves; i++) {
        step x = {.point = *p};

        if (!move_counts(s, &x.point, move[i][0], move[i][1]))
            continue;
        x.is_wanted = (move[i][0] <= 0 || tensor) && (move[i][1] <= 0 || vector);
        x.area_mm2 = weft_design_point_area_mm2(t, &x.point);
        index[n] = weft_point_index(t, &x.point);
        out[n++] = x;
    }
    weft_evaluator_tops(s, WEFT_GAUGE_BOUND, index, n, top);
    for (int i = 0; i < n; i++) {
        step x = out[i];
        int at = i;

        x.top = top_score(s, top[i], weft_design_point_tdp_w(t, &x.point));
        for (; at > 0 && comes_before(&x, &out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = x;
    }
    return n;
}

static weft_status try_one(weft_evaluator *s, const weft_design_point *p, double *score)
{
    int64_t index = weft_point_index(s->objective.template_, p);

    WEFT_TRY(weft_evaluator_try(s, &index, 1, score));
    *score = isnan(*score) ? -INFINITY : score_of(s, index, *score);
    return WEFT_OK;
}

/* Moves p to the first neighbour that is better than the best or, if none is, to the best of those
 * tried; score: -INFINITY if none was worth a try. */
static weft_status step_from(weft_evaluator *s, weft_design_point *p, double best, double *score)
{
    step candidate[MOST_STEPS];
    int n = steps_from(s, p, candidate);

    *score = -INFINITY;
    for (int i = 0; i < n && !is_progress(*score, best); i++) {
        double value = 0;

        if (!is_progress(candidate[i].top, best))
            continue;
        WEFT_TRY(try_one(s, &candidate[i].point, &value));
        if (value > *score) {
            *score = value;
            *p = candidate[i].point;
        }
    }
    return WEFT_OK;
}

static weft_status climb(weft_evaluator *s, dimension *d)
{
    weft_design_point p = d->point;
    int bad = 0;

    WEFT_TRY(try_one(s, &p, &d->score));
    while (bad < MOST_BAD && !weft_evaluator_is_over(s)) {
        double score;

        WEFT_TRY(step_from(s, &p, d->score, &score));
        if (score == -INFINITY)
            break;
        bad++;
        if (is_progress(score, d->score)) {
            d->point = p;
            d->score = score;
            bad = 0;
        }
    }
    return WEFT_OK;
}

/* --- dimensions ------------------------------------------------------------------------------ */

/* The best that any counts of this dimension may reach; -INFINITY: none is within the limits. */
static double bound_of(weft_evaluator *s, const weft_design_point *p)
{
    const weft_template *t = s->objective.template_;
    weft_space_box box = {*p, *p};
    double top = 0;

    box.lo.at[WEFT_TENSOR_CORES] = box.lo.at[WEFT_VECTOR_CORES] = 0;
    box.hi.at[WEFT_TENSOR_CORES] = (uint16_t)(t->n_sizes[WEFT_TENSOR_CORES] - 1);
    box.hi.at[WEFT_VECTOR_CORES] = (uint16_t)(t->n_sizes[WEFT_VECTOR_CORES] - 1);
    if (!weft_evaluator_fits(s, &box.lo))
        return -INFINITY;
    weft_evaluator_box_tops(s, &box, 1, &top);
    return top_score(s, top, weft_design_point_tdp_w(t, &box.lo));
}

/* Lessens counts until the design is within the limits; the smallest counts are. */
static void make_fit(const weft_evaluator *s, weft_design_point *p)
{
    while (!weft_evaluator_fits(s, p)) {
        uint16_t *more = p->at[WEFT_TENSOR_CORES] > p->at[WEFT_VECTOR_CORES]
                             ? &p->at[WEFT_TENSOR_CORES]
                             : &p->at[WEFT_VECTOR_CORES];

        *more = (uint16_t)(*more - 1);
    }
}

static weft_status visit(weft_evaluator *s, dimension *d)
{
    d->score = bound_of(s, &d->point);
    if (d->score == -INFINITY)
        return WEFT_OK;
    make_fit(s, &d->point);
    if (weft_evaluator_best(s) > 0 && weft_evaluator_is_beaten(s, d->score))
        return WEFT_OK;
    return climb(s, d);
}

/* A child: one place down in one dimension, perhaps one up in another, and what cores do about it.
 */
typedef struct change {
    int down, up; /* parameters; up: -1 for none */
    int tensor, vector;
} change;

static const change changes[] = {
    {WEFT_ROWS,   -1,        1, 0},
    {WEFT_COLS,   -1,        1, 0},
    {WEFT_LANES,  -1,        0, 1},
    {WEFT_BUFFER, -1,        0, 0},
    {WEFT_ROWS,   WEFT_COLS, 0, 0},
    {WEFT_COLS,   WEFT_ROWS, 0, 0},
};

enum { N_CHANGES = sizeof changes / sizeof changes[0] };

/* The changed dimension; false if there is none or it was seen. */
static bool child_of(weft_evaluator *s, queue *q, const weft_design_point *parent, const change *c,
                     weft_design_point *out)
{
    weft_design_point key;

    *out = *parent;
    if (out->at[c->down] == 0 ||
        (c->up >= 0 && out->at[c->up] + 1 >= s->objective.template_->n_sizes[c->up]))
        return false;
    out->at[c->down]--;
    if (c->up >= 0)
        out->at[c->up]++;
    key = *out;
    key.at[WEFT_TENSOR_CORES] = key.at[WEFT_VECTOR_CORES] = 0;
    if (!weft_map_put(q->seen, weft_arena_text(s->arena, (const char *)&key, sizeof key),
                      sizeof key, 0))
        return false;
    (void)shift(s, out, c->tensor, c->vector); /* at the end of its list a count stays */
    return true;
}

/* Dimensions outside the limits come first: what lies behind them is not reached otherwise. */
static int best_open(const queue *q)
{
    int best = -1;

    for (int i = 0; i < q->item.n; i++) {
        if (q->item.at[i].is_expanded)
            continue;
        if (q->item.at[i].score == -INFINITY)
            return i;
        if (best < 0 || q->item.at[i].score > q->item.at[best].score)
            best = i;
    }
    return best;
}

static weft_status expand(weft_evaluator *s, queue *q, int at)
{
    weft_design_point parent = q->item.at[at].point;

    q->item.at[at].is_expanded = true;
    for (int i = 0; i < N_CHANGES && !weft_evaluator_is_over(s); i++) {
        dimension child = {.score = 0};

        if (!child_of(s, q, &parent, &changes[i], &child.point))
            continue;
        WEFT_TRY(visit(s, &child));
        WEFT_PUSH(s->arena, q->item, child);
    }
    return WEFT_OK;
}

weft_status weft_search_climb(weft_evaluator *s)
{
    queue q = {.seen = weft_map_new(s->arena)};
    dimension root = {.score = 0};
    int idle = 0, at;

    for (int i = 0; i < N_DIMS; i++)
        root.point.at[dims[i]] = (uint16_t)(s->objective.template_->n_sizes[dims[i]] - 1);
    s->bound = weft_evaluator_root_top(s);
    WEFT_TRY(visit(s, &root));
    WEFT_PUSH(s->arena, q.item, root);
    while (idle < PATIENCE && !weft_evaluator_is_over(s) && (at = best_open(&q)) >= 0) {
        double before = weft_evaluator_best(s);
        bool is_inside = q.item.at[at].score > -INFINITY;

        WEFT_TRY(expand(s, &q, at));
        idle = is_progress(weft_evaluator_best(s), before) ? 0 : idle + is_inside;
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}
