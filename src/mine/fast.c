/* SPDX-License-Identifier: MIT */
/* fast.c: bounds first, so that few designs need a schedule; no proof.
 *
 * A shape is rows, columns and number of tensor cores; its variants are all lanes, vector cores and
 * buffers with it. Throughput alone is searched for this way; per TDP climb.c does it.
 * 1. Boxes of shapes, with all variants each, by falling bound: one of several shapes is cut in the
 *    middle, one of a single shape is opened: its variants within the limits are bounded one by
 *    one. This ends after 32 shapes, or when no bound is within 15 % of the largest of a shape.
 * 2. Of the variants of a shape whose bound is within 0.1 % of the largest one stands for all: of
 *    those whose paths and works one after the other (`serial`) are within 2 % of the least, one
 *    with at least two vector cores for each tensor core (or as many as there are: an epilogue
 *    holds one, operators beside it need others), then the one with the least power, the fewest
 *    vector cores, the least area.
 * 3. They are scheduled by rising estimate floor + 0.3 (serial - floor), but those with whose bound
 *    the best so far has 99 % of it, and but those that would not be better if their schedule had
 *    4 % more of its bound than any before. The first schedule that is not better ends it.
 *
 * Guarantee: none for the design, but the bound is valid: no design has more than the largest bound
 * of a box or shape that is left. The numbers of 1 to 3 were chosen with the eight networks of
 * docs/results.md. Cost: two bounds a cut, up to 2 x 729 a shape: at most 9 sizes of a parameter, evenly
 * spread, are looked at. */
#include <math.h>

#include "evaluator.h"

enum { MOST_SHAPES = 32, MOST_CUTS = 4096, MOST_SIZES = 9, PATIENCE = 1, N_SHAPE_PARAMETERS = 3 };

static const double NEAR_TOP = 0.85, SAME_TOP = 0.999, SAME_SERIAL = 1.02, WORTH = 1 / 0.99,
                    SERIAL_PART = 0.3, MORE_REACH = 0.04;

static const weft_parameter shape_parameters[N_SHAPE_PARAMETERS] = {WEFT_ROWS, WEFT_COLS,
                                                                    WEFT_TENSOR_CORES};

/* A box of shapes with all variants. */
typedef struct box_entry {
    weft_space_box box;
    double top; /* of throughput: no member has more */
    bool is_done;
} box_entry;

typedef struct variant {
    int64_t index;
    double top, serial; /* throughputs */
    double tdp_w, area_mm2;
    int n_vector; /* place */
    bool is_narrow;
} variant;

/* The variant that stands for a shape. */
typedef struct shape {
    int64_t index;
    double top;    /* of the shape */
    double chance; /* estimated throughput */
    bool is_done;
} shape;

typedef struct boxes {
    weft_evaluator *evaluator;
    WEFT_VEC(box_entry) box_entry;
    WEFT_VEC(shape) shape;
    double most;  /* top of a shape */
    double reach; /* the largest part of its top that a shape has had in a schedule */
} boxes;

/* --- variants of a shape */

/* Places of a parameter: all, or some that are evenly spread. */
static int places_of(const weft_evaluator *s, weft_parameter k, int out[MOST_SIZES])
{
    int n = s->objective.template_->n_sizes[k], n_out = n < MOST_SIZES ? n : MOST_SIZES;

    for (int i = 0; i < n_out; i++)
        out[i] = n_out == 1 ? 0 : (int)((int64_t)i * (n - 1) / (n_out - 1));
    return n_out;
}

static variant variant_of(const weft_evaluator *s, const weft_design_point *p)
{
    const weft_template *t = s->objective.template_;
    int most = t->n_sizes[WEFT_VECTOR_CORES] - 1;
    double enough =
        fmin(t->size[WEFT_VECTOR_CORES][most], 2 * weft_parameter_size(t, p, WEFT_TENSOR_CORES));

    return (variant){.index = weft_point_index(t, p),
                     .tdp_w = weft_design_point_tdp_w(t, p),
                     .area_mm2 = weft_design_point_area_mm2(t, p),
                     .n_vector = p->at[WEFT_VECTOR_CORES],
                     .is_narrow = weft_parameter_size(t, p, WEFT_VECTOR_CORES) < enough};
}

/* The variants within the limits. */
static int list_variants(const weft_evaluator *s, weft_design_point p, variant *out)
{
    int lanes[MOST_SIZES], cores[MOST_SIZES], buffer[MOST_SIZES], n = 0;
    int n_lanes = places_of(s, WEFT_LANES, lanes);
    int n_cores = places_of(s, WEFT_VECTOR_CORES, cores);
    int n_buffers = places_of(s, WEFT_BUFFER, buffer);

    for (int i = 0; i < n_lanes; i++)
        for (int j = 0; j < n_cores; j++)
            for (int k = 0; k < n_buffers; k++) {
                p.at[WEFT_LANES] = (uint16_t)lanes[i];
                p.at[WEFT_VECTOR_CORES] = (uint16_t)cores[j];
                p.at[WEFT_BUFFER] = (uint16_t)buffer[k];
                if (weft_evaluator_fits(s, &p))
                    out[n++] = variant_of(s, &p);
            }
    return n;
}

static void gauge_all(weft_evaluator *s, weft_gauge gauge, const variant *v, int n, double *out)
{
    int64_t *index = WEFT_NEW(s->arena, int64_t, n);

    for (int i = 0; i < n; i++)
        index[i] = v[i].index;
    weft_evaluator_tops(s, gauge, index, n, out);
}

/* Keeps the variants with the largest bounds; the others are not worth an estimate. */
static int keep_top(weft_evaluator *s, variant *v, int n, double *most)
{
    double *top = WEFT_NEW(s->arena, double, n + 1);
    int n_kept = 0;

    gauge_all(s, WEFT_GAUGE_BOUND, v, n, top);
    *most = 0;
    for (int i = 0; i < n; i++)
        *most = fmax(*most, top[i]);
    for (int i = 0; i < n; i++)
        if (top[i] >= SAME_TOP * *most) {
            v[n_kept] = v[i];
            v[n_kept++].top = top[i];
        }
    return n_kept;
}

static bool comes_before(const variant *a, const variant *b)
{
    if (a->is_narrow != b->is_narrow)
        return b->is_narrow;
    if (a->tdp_w != b->tdp_w)
        return a->tdp_w < b->tdp_w;
    if (a->n_vector != b->n_vector)
        return a->n_vector < b->n_vector;
    return a->area_mm2 < b->area_mm2;
}

static const variant *best_variant(weft_evaluator *s, variant *v, int n)
{
    double *serial = WEFT_NEW(s->arena, double, n + 1), most = 0;
    const variant *best = NULL;

    gauge_all(s, WEFT_GAUGE_SERIAL, v, n, serial);
    for (int i = 0; i < n; i++)
        most = fmax(most, serial[i]);
    for (int i = 0; i < n; i++) {
        v[i].serial = serial[i];
        if (serial[i] * SAME_SERIAL >= most && (best == NULL || comes_before(&v[i], best)))
            best = &v[i];
    }
    return best;
}

/* A shape whose variants were all looked at is bounded by the largest of them. */
static void open_shape(boxes *y, box_entry *c)
{
    weft_evaluator *s = y->evaluator;
    size_t mark = weft_arena_mark(s->arena);
    variant *v = WEFT_NEW(s->arena, variant, MOST_SIZES * MOST_SIZES * MOST_SIZES);
    int n = list_variants(s, c->box.lo, v);
    bool is_whole = true;
    shape x = {.index = -1};

    for (int k = WEFT_LANES; k < WEFT_N_PARAMETERS; k++)
        is_whole = is_whole && s->objective.template_->n_sizes[k] <= MOST_SIZES;
    n = keep_top(s, v, n, &x.top);
    if (n > 0 && x.top > 0) {
        const variant *b = best_variant(s, v, n);

        x.index = b->index;
        x.chance = 1 / ((1 - SERIAL_PART) / b->top + SERIAL_PART / b->serial);
    }
    weft_arena_rewind(s->arena, mark);
    c->is_done = true;
    if (is_whole)
        c->top = x.top;
    if (x.index < 0)
        return;
    y->most = fmax(y->most, x.top);
    WEFT_PUSH(s->arena, y->shape, x);
}

/* --- boxes of shapes */

static int widest(const box_entry *c)
{
    int best = -1, most = 0;

    for (int i = 0; i < N_SHAPE_PARAMETERS; i++) {
        int width = c->box.hi.at[shape_parameters[i]] - c->box.lo.at[shape_parameters[i]];

        if (width > most) {
            most = width;
            best = (int)shape_parameters[i];
        }
    }
    return best;
}

static void add_box_entries(boxes *y, const weft_space_box *box, int n)
{
    double top[2] = {0, 0};

    weft_evaluator_box_tops(y->evaluator, box, n, top);
    for (int i = 0; i < n; i++) {
        box_entry c = {.box = box[i], .top = top[i]};

        if (top[i] > 0)
            WEFT_PUSH(y->evaluator->arena, y->box_entry, c);
    }
}

static void cut(boxes *y, int at, int parameter)
{
    weft_space_box half[2] = {y->box_entry.at[at].box, y->box_entry.at[at].box};
    int middle = (half[0].lo.at[parameter] + half[0].hi.at[parameter]) / 2;

    half[0].hi.at[parameter] = (uint16_t)middle;
    half[1].lo.at[parameter] = (uint16_t)(middle + 1);
    y->box_entry.at[at] = y->box_entry.at[--y->box_entry.n];
    add_box_entries(y, half, 2);
}

static int best_box_entry(const boxes *y)
{
    int best = -1;

    for (int i = 0; i < y->box_entry.n; i++)
        if (!y->box_entry.at[i].is_done &&
            (best < 0 || y->box_entry.at[i].top > y->box_entry.at[best].top))
            best = i;
    return best;
}

static void find_shapes(boxes *y)
{
    weft_space_box all = weft_template_box(y->evaluator->objective.template_);
    int at, n_cuts = 0;

    add_box_entries(y, &all, 1);
    while (y->shape.n < MOST_SHAPES && n_cuts < MOST_CUTS && (at = best_box_entry(y)) >= 0 &&
           y->box_entry.at[at].top >= NEAR_TOP * y->most && !weft_evaluator_is_over(y->evaluator)) {
        int parameter = widest(&y->box_entry.at[at]);

        if (parameter < 0)
            open_shape(y, &y->box_entry.at[at]);
        else
            cut(y, at, parameter);
        n_cuts++;
    }
}

/* --- schedules */

/* Is it worth a schedule? */
static bool is_open(const boxes *y, const shape *x)
{
    double best = weft_evaluator_best(y->evaluator);

    return !x->is_done && x->top > best * WORTH &&
           (y->reach == 0 || x->top * fmin(1, y->reach + MORE_REACH) > best);
}

static int best_shape(const boxes *y)
{
    int best = -1;

    for (int i = 0; i < y->shape.n; i++) {
        const shape *x = &y->shape.at[i];

        if (is_open(y, x) && (best < 0 || x->chance > y->shape.at[best].chance))
            best = i;
    }
    return best;
}

static weft_status try_shapes(boxes *y)
{
    weft_evaluator *s = y->evaluator;
    int at, idle = 0;

    while (idle < PATIENCE && (at = best_shape(y)) >= 0 && !weft_evaluator_is_over(s)) {
        double before = weft_evaluator_best(s), value = 0;

        y->shape.at[at].is_done = true;
        WEFT_TRY(weft_evaluator_try(s, &y->shape.at[at].index, 1, &value));
        idle = weft_evaluator_best(s) > before ? 0 : idle + 1;
        y->reach = fmax(y->reach, value / y->shape.at[at].top); /* NAN: the budget was spent */
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}

weft_status weft_search_fast(weft_evaluator *s)
{
    boxes y = {.evaluator = s};

    if (s->objective.metric != WEFT_METRIC_THROUGHPUT)
        return weft_search_climb(s);
    find_shapes(&y);
    s->bound = 0;
    for (int i = 0; i < y.box_entry.n; i++)
        s->bound = fmax(s->bound, y.box_entry.at[i].top);
    return try_shapes(&y);
}
