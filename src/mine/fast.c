/* SPDX-License-Identifier: MIT */
/* fast.c: few evaluations, no proof: counts by conflicts, dimensions by halving (methods 6.3).
 *
 * Dimensions are rows, columns, lanes and buffer. Breadth first from the largest of all; a child
 * has the next smaller size of one of them.
 * 1. A dimension's value is the best that its counts reach (below). If the bound of all its counts
 *    is not above the best value so far, it is not tried and has that bound as its value.
 * 2. bad(child) = 0 if its value is above its parent's, else bad(parent) + 1; children of those
 *    with bad <= 1 are visited. A dimension that is not within the limits has value 0.
 * Counts start at the smallest. One more (the next size) of tensor cores, of vector cores, or of
 * both: the one with the largest upper bound is tried first, ties to the type that operators wait
 * for, then to the smaller area; a candidate whose bound is not above the best of this dimension is
 * not tried. It stops after two steps without progress, or when no candidate is left.
 *
 * Progress is strict and of the metric alone: equal values would end with idle cores. Below the
 * least throughput a design counts by how far it is from it. Bounds cost no evaluation. A
 * heuristic: its bound is that of the lattice as one box. */
#include <math.h>
#include <string.h>

#include "assay.h"

enum { MOST_BAD = 1, N_DIMS = 4, N_STEPS = 3 };

static const weft_knob dims[N_DIMS] = {WEFT_KNOB_ROWS, WEFT_KNOB_COLS, WEFT_KNOB_LANES,
                                       WEFT_KNOB_BUFFER};

typedef struct dimension {
    weft_point point; /* counts at their smallest */
    double score;
    int bad;
} dimension;

typedef struct queue {
    WEFT_VEC(dimension) item;
    weft_map *seen;
} queue;

/* Values below the least throughput: negative, larger when nearer. */
static double score_of(const weft_assay *s, int64_t index, double value)
{
    const weft_tried *t = weft_assay_look(s, index);

    return value > 0 || t == NULL || !(s->least > 0) ? value : t->throughput / s->least - 1;
}

static double top_score(const weft_assay *s, double top, double tdp_w)
{
    double metric = weft_assay_metric(s, top, tdp_w);

    return metric > 0 || !(s->least > 0) ? metric : top / s->least - 1;
}

static bool is_progress(double score, double before)
{
    return score > before + WEFT_ASSAY_EXACT * fabs(before);
}

/* --- counts ---------------------------------------------------------------------------------- */

typedef struct step {
    weft_point point;
    double top;
    bool is_wanted; /* operators wait for it */
    double area_mm2;
} step;

static bool comes_before(const step *a, const step *b)
{
    if (a->top != b->top)
        return a->top > b->top;
    if (a->is_wanted != b->is_wanted)
        return a->is_wanted;
    return a->area_mm2 < b->area_mm2;
}

static void conflicts_of(const weft_assay *s, const weft_point *p, bool *tensor, bool *vector)
{
    *tensor = *vector = false;
    for (int i = 0; i < s->quest.n_workloads; i++) {
        const weft_workload *w = &s->quest.workload[i];
        weft_conflicts c = w->timer->conflicts(w->mill[0], p);

        *tensor |= c.tensor > 0;
        *vector |= c.vector > 0;
    }
}

/* The next sizes of counts within the limits, best first. */
static int steps_from(weft_assay *s, const weft_point *p, step *out)
{
    const weft_template *t = s->quest.template_;
    int64_t index[N_STEPS];
    double top[N_STEPS];
    bool tensor, vector;
    int n = 0;

    conflicts_of(s, p, &tensor, &vector);
    for (int i = 1; i <= N_STEPS; i++) { /* bit 0: tensor cores, bit 1: vector cores */
        step x = {.point = *p, .is_wanted = (i & 1 ? tensor : true) && (i & 2 ? vector : true)};

        x.point.at[WEFT_KNOB_TENSOR_CORES] += (uint16_t)(i & 1);
        x.point.at[WEFT_KNOB_VECTOR_CORES] += (uint16_t)(i >> 1);
        if (x.point.at[WEFT_KNOB_TENSOR_CORES] >= t->n_sizes[WEFT_KNOB_TENSOR_CORES] ||
            x.point.at[WEFT_KNOB_VECTOR_CORES] >= t->n_sizes[WEFT_KNOB_VECTOR_CORES] ||
            !weft_assay_fits(s, &x.point))
            continue;
        x.area_mm2 = weft_point_area_mm2(t, &x.point);
        index[n] = weft_point_index(t, &x.point);
        out[n++] = x;
    }
    weft_assay_tops(s, WEFT_GAUGE_FLOOR, index, n, top);
    for (int i = 0; i < n; i++) {
        step x = out[i];
        int at = i;

        x.top = top_score(s, top[i], weft_point_tdp_w(t, &x.point));
        for (; at > 0 && comes_before(&x, &out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = x;
    }
    return n;
}

static weft_status try_one(weft_assay *s, const weft_point *p, double *score)
{
    int64_t index = weft_point_index(s->quest.template_, p);

    WEFT_TRY(weft_assay_try(s, &index, 1, score));
    *score = isnan(*score) ? -INFINITY : score_of(s, index, *score);
    return WEFT_OK;
}

/* Moves p to a step that makes progress or, without one, to the best of those tried. */
static weft_status best_step(weft_assay *s, weft_point *p, double best, bool *is_end, double *score)
{
    step candidate[N_STEPS];
    int n = steps_from(s, p, candidate);

    *is_end = true;
    *score = -INFINITY;
    for (int i = 0; i < n && !is_progress(*score, best); i++) {
        double value = 0;

        if (!is_progress(candidate[i].top, best))
            continue;
        WEFT_TRY(try_one(s, &candidate[i].point, &value));
        if (*is_end || value > *score) {
            *score = value;
            *p = candidate[i].point;
        }
        *is_end = false;
    }
    return WEFT_OK;
}

/* The best score of the counts of a dimension. */
static weft_status search_counts(weft_assay *s, const weft_point *first, double *best)
{
    weft_point p = *first;
    bool is_end = false;
    int bad = 0;

    WEFT_TRY(try_one(s, &p, best));
    while (bad < 2 && !weft_assay_is_over(s)) {
        double score;

        WEFT_TRY(best_step(s, &p, *best, &is_end, &score));
        if (is_end)
            break;
        bad = is_progress(score, *best) ? 0 : bad + 1;
        *best = fmax(*best, score);
    }
    return WEFT_OK;
}

/* --- dimensions ------------------------------------------------------------------------------ */

static weft_status visit(weft_assay *s, dimension *d)
{
    const weft_template *t = s->quest.template_;
    weft_space_box box = {d->point, d->point};
    double top = 0;

    d->score = 0;
    if (!weft_assay_fits(s, &d->point))
        return WEFT_OK;
    box.hi.at[WEFT_KNOB_TENSOR_CORES] = (uint16_t)(t->n_sizes[WEFT_KNOB_TENSOR_CORES] - 1);
    box.hi.at[WEFT_KNOB_VECTOR_CORES] = (uint16_t)(t->n_sizes[WEFT_KNOB_VECTOR_CORES] - 1);
    weft_assay_box_tops(s, &box, 1, &top);
    d->score = top_score(s, top, weft_point_tdp_w(t, &d->point));
    if (weft_assay_is_beaten(s, d->score) && weft_assay_best(s) > 0)
        return WEFT_OK;
    return search_counts(s, &d->point, &d->score);
}

/* The dimension with the next smaller size of knob k; false if there is none or it was seen. */
static bool child_of(weft_assay *s, queue *q, const weft_point *parent, weft_knob k,
                     weft_point *out)
{
    char *key;

    *out = *parent;
    if (out->at[k] == 0)
        return false;
    out->at[k]--;
    key = weft_arena_text(s->arena, (const char *)out, sizeof *out);
    return weft_map_put(q->seen, key, sizeof *out, 0);
}

weft_status weft_search_fast(weft_assay *s)
{
    queue q = {.seen = weft_map_new(s->arena)};
    dimension root = {.bad = 0};

    for (int i = 0; i < N_DIMS; i++)
        root.point.at[dims[i]] = (uint16_t)(s->quest.template_->n_sizes[dims[i]] - 1);
    s->bound = weft_assay_root_top(s);
    WEFT_TRY(visit(s, &root));
    WEFT_PUSH(s->arena, q.item, root);
    for (int at = 0; at < q.item.n && !weft_assay_is_over(s); at++) {
        dimension parent = q.item.at[at];

        for (int i = 0; i < N_DIMS && parent.bad <= MOST_BAD; i++) {
            dimension child = {.bad = 0};

            if (!child_of(s, &q, &parent.point, dims[i], &child.point))
                continue;
            WEFT_TRY(visit(s, &child));
            child.bad = is_progress(child.score, parent.score) ? 0 : parent.bad + 1;
            WEFT_PUSH(s->arena, q.item, child);
        }
        weft_assay_progress(s, s->bound);
    }
    return WEFT_OK;
}
