/* SPDX-License-Identifier: MIT */
/* boxes.c: branch and bound over boxes of a lattice too large to list.
 *
 * 1. A box is an interval of places for each parameter. Its bound is valid for every member within the
 *    limits; per TDP it is divided by the power of the lower corner, the least of all members.
 * 2. The boxes with the largest bounds are taken, up to 64 at once: a single design is scheduled if
 *    its floor is above the best value, any other box is cut in the middle of one parameter: rows and
 * columns first, then buffer, lanes, tensor cores, vector cores. Counts come last, for boxes that
 * differ in counts alone share most of the work of their bounds.
 * 3. It ends when no bound is above the best value: the best design is optimal. Before, nothing is
 *    above max(best, largest bound in the heap). Bounds are of the policy, so nothing is said of
 *    other schedules.
 *
 * Time: two bounds a cut. Memory: one heap entry for each open box, limited; at the limit the
 * search ends with a bound. Ties go to the older box: the same for any number of threads. */
#include <math.h>

#include "evaluator.h"

enum { MOST_OPEN = 1 << 22 };

typedef struct open_box {
    weft_space_box box;
    double top; /* of the metric */
    int64_t age;
} open_box;

typedef struct heap {
    WEFT_VEC(open_box) item;
    int64_t next_age;
} heap;

static bool comes_before(const open_box *a, const open_box *b)
{
    return a->top != b->top ? a->top > b->top : a->age < b->age;
}

static void swap(open_box *a, open_box *b)
{
    open_box kept = *a;

    *a = *b;
    *b = kept;
}

static void push(weft_arena *a, heap *h, const weft_space_box *box, double top)
{
    open_box item = {*box, top, h->next_age++};
    int i = h->item.n;

    WEFT_PUSH(a, h->item, item);
    for (; i > 0 && comes_before(&h->item.at[i], &h->item.at[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&h->item.at[i], &h->item.at[(i - 1) / 2]);
}

static open_box pop(heap *h)
{
    open_box first = h->item.at[0];
    int n = --h->item.n, i = 0;

    h->item.at[0] = h->item.at[n];
    for (;;) {
        int child = 2 * i + 1;

        if (child >= n)
            return first;
        if (child + 1 < n && comes_before(&h->item.at[child + 1], &h->item.at[child]))
            child++;
        if (!comes_before(&h->item.at[child], &h->item.at[i]))
            return first;
        swap(&h->item.at[i], &h->item.at[child]);
        i = child;
    }
}

static int width(const weft_space_box *b, int k)
{
    return b->hi.at[k] - b->lo.at[k];
}

/* The parameter to cut, or -1: a single design. */
static int parameter_to_cut(const weft_space_box *b)
{
    static const weft_parameter order[] = {WEFT_BUFFER, WEFT_LANES, WEFT_TENSOR_CORES,
                                           WEFT_VECTOR_CORES};
    int rows = width(b, WEFT_ROWS), cols = width(b, WEFT_COLS);

    if (rows > 0 || cols > 0)
        return rows >= cols ? WEFT_ROWS : WEFT_COLS;
    for (int i = 0; i < 4; i++)
        if (width(b, (int)order[i]) > 0)
            return (int)order[i];
    return -1;
}

/* What a round works on. */
typedef struct batch {
    weft_space_box child[2 * WEFT_EVALUATOR_BATCH];
    double parent_top[2 * WEFT_EVALUATOR_BATCH];
    int n_children;
    int64_t single[WEFT_EVALUATOR_BATCH];
    double single_top[WEFT_EVALUATOR_BATCH];
    int n_singles;
} batch;

static void take_boxes(weft_evaluator *s, heap *h, batch *r)
{
    r->n_children = r->n_singles = 0;
    for (int i = 0; i < WEFT_EVALUATOR_BATCH && h->item.n > 0; i++) {
        open_box b;
        int k;

        if (weft_evaluator_is_beaten(s, h->item.at[0].top))
            return;
        b = pop(h);
        k = parameter_to_cut(&b.box);
        if (k < 0) {
            r->single[r->n_singles] = weft_point_index(s->objective.template_, &b.box.lo);
            r->single_top[r->n_singles++] = b.top;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            int middle = (b.box.lo.at[k] + b.box.hi.at[k]) / 2;
            weft_space_box *child = &r->child[r->n_children];

            *child = b.box;
            if (side == 0)
                child->hi.at[k] = (uint16_t)middle;
            else
                child->lo.at[k] = (uint16_t)(middle + 1);
            r->parent_top[r->n_children++] = b.top;
        }
    }
}

static void push_children(weft_evaluator *s, heap *h, const batch *r)
{
    double top[2 * WEFT_EVALUATOR_BATCH];

    weft_evaluator_box_tops(s, r->child, r->n_children, top);
    for (int i = 0; i < r->n_children; i++) {
        double tdp_w = weft_design_point_tdp_w(s->objective.template_, &r->child[i].lo);
        double metric = fmin(weft_evaluator_metric_top(s, top[i], tdp_w), r->parent_top[i]);

        if (metric > 0 && !weft_evaluator_is_beaten(s, metric))
            push(s->arena, h, &r->child[i], metric);
    }
}

/* Designs that the budget did not reach go back into the heap. */
static weft_status try_singles(weft_evaluator *s, heap *h, const batch *r)
{
    const weft_template *t = s->objective.template_;
    int64_t hopeful[WEFT_EVALUATOR_BATCH];
    double top[WEFT_EVALUATOR_BATCH], value[WEFT_EVALUATOR_BATCH], kept[WEFT_EVALUATOR_BATCH];
    int n = 0;

    weft_evaluator_tops(s, WEFT_GAUGE_BOUND, r->single, r->n_singles, top);
    for (int i = 0; i < r->n_singles; i++) {
        weft_design_point p = weft_point_at(t, r->single[i]);
        double metric = weft_evaluator_metric_top(s, top[i], weft_design_point_tdp_w(t, &p));

        kept[n] = fmin(metric, r->single_top[i]);
        if (!weft_evaluator_is_beaten(s, kept[n]))
            hopeful[n++] = r->single[i];
    }
    WEFT_TRY(weft_evaluator_try(s, hopeful, n, value));
    for (int i = 0; i < n; i++) {
        weft_design_point p = weft_point_at(t, hopeful[i]);
        weft_space_box box = {p, p};

        if (isnan(value[i]))
            push(s->arena, h, &box, kept[i]);
    }
    return WEFT_OK;
}

weft_status weft_search_boxes(weft_evaluator *s)
{
    heap h = {.next_age = 0};
    batch *r = WEFT_NEW(s->arena, batch, 1);
    double top = weft_evaluator_root_top(s);
    weft_space_box all = weft_template_box(s->objective.template_);

    if (top > 0)
        push(s->arena, &h, &all, top);
    while (h.item.n > 0 && h.item.n < MOST_OPEN && !weft_evaluator_is_beaten(s, h.item.at[0].top) &&
           !weft_evaluator_is_over(s)) {
        take_boxes(s, &h, r);
        push_children(s, &h, r);
        WEFT_TRY(try_singles(s, &h, r));
        weft_evaluator_progress(s, h.item.n > 0 ? fmax(h.item.at[0].top, weft_evaluator_best(s))
                                                : weft_evaluator_best(s));
    }
    s->bound = weft_evaluator_best(s);
    if (h.item.n > 0 && !weft_evaluator_is_beaten(s, h.item.at[0].top))
        s->bound = h.item.at[0].top;
    return WEFT_OK;
}
