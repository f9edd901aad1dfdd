/* SPDX-License-Identifier: MIT */
/* stage_cost.c: what a stage of a pipeline costs, from sums over cuts.
 *
 * 1. Every table is turned into arrays over cuts, backward with what is computed again. A stage is
 *    the difference of two sums: O(parts * recomputations) for each way to share.
 * 2. Memory of a device: weights, gradients (of a parameter that two units of the stage share
 *    once), moments, the microbatches in flight times the stash, and the largest work_bytes of a
 *    unit. That maximum is looked for only if the largest of all units does not fit and none
 *    would.
 * 3. Of the recomputations that fit, the quickest is taken.
 *
 * In a chain both times and memory rise with the outer cut, so a stage that does not fit, or is too
 * slow, ends the search for longer ones.
 *
 * Sums of whole numbers of bytes below 2^53 are exact; seconds are off by the rounding of sums. */
#include <math.h>

#include "pipeline.h"
#include "space.h"

/* --- tables ---------------------------------------------------------------------------------- */

/* Stages may differ in what they compute again: the quickest for each unit, so that no cuts give
 * less. */
static double row_least_s(const weft_pipe_costs *c, const weft_unit_cost *cost)
{
    double sum_s = 0;

    for (int u = 0; u < c->p->units.n_units; u++) {
        double again_s = INFINITY;

        for (int r = 0; r < c->n_recomputes; r++)
            again_s = fmin(again_s, cost[u].again_s[c->recompute[r]]);
        sum_s += cost[u].forward_s + cost[u].backward_s + again_s;
    }
    return sum_s;
}

static void fill_row(weft_pipe_costs *c, int table, weft_arena *a)
{
    const weft_training *p = c->p;
    const weft_unit_cost *sum = p->cost_sum[table];
    weft_pipe_row *row = &c->row[table];
    int n = p->units.n_cuts;

    row->is_there = sum != NULL;
    if (sum == NULL)
        return;
    row->forward_s = WEFT_NEW(a, double, n);
    for (int i = 0; i < n; i++)
        row->forward_s[i] = sum[i].forward_s;
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        row->backward_s[r] = WEFT_NEW(a, double, n);
        row->stash_bytes[r] = WEFT_NEW(a, double, n);
        for (int i = 0; i < n; i++) {
            row->backward_s[r][i] = sum[i].backward_s + sum[i].again_s[r];
            row->stash_bytes[r][i] = sum[i].stash_bytes[r];
        }
        for (int u = 0; u < p->units.n_units; u++)
            row->most_work_bytes[r] =
                fmax(row->most_work_bytes[r], p->cost[table][u].work_bytes[r]);
    }
    row->least_s = row_least_s(c, p->cost[table]);
}

static void fill_store(weft_pipe_costs *c, int state, weft_arena *a)
{
    const weft_training *p = c->p;
    const weft_unit_state *sum = p->state_sum[state];
    weft_pipe_store *s = &c->store[state];
    int n = p->units.n_cuts;

    s->is_there = sum != NULL;
    if (sum == NULL)
        return;
    s->held_bytes = WEFT_NEW(a, double, n);
    s->moment_bytes = WEFT_NEW(a, double, n);
    s->sync_bytes = WEFT_NEW(a, double, n);
    s->update_s = WEFT_NEW(a, double, n);
    s->shared_bytes = WEFT_NEW(a, double, p->units.n_shared + 1);
    for (int i = 0; i < n; i++) {
        s->held_bytes[i] = sum[i].weight_bytes + sum[i].gradient_bytes;
        s->moment_bytes[i] = sum[i].moment_bytes;
        s->sync_bytes[i] = sum[i].sync_bytes;
        s->update_s[i] = sum[i].update_s;
    }
    for (int k = 0; k < p->units.n_shared; k++)
        s->shared_bytes[k] = weft_shared_bytes(p, k, state);
}

/* For every cut the list of those that contain it. */
static void list_outer(weft_pipe_costs *c, weft_arena *a)
{
    const weft_units *u = &c->p->units;
    int *at = WEFT_NEW(a, int, u->n_cuts + 1), *outer, n = 0;

    if (u->is_chain)
        return;
    for (int i = 0; i < u->n_cuts; i++)
        for (int k = i + 1; k < u->n_cuts; k++)
            n += weft_cut_within(u, i, k);
    outer = WEFT_NEW(a, int, n + 1);
    n = 0;
    for (int i = 0; i < u->n_cuts; i++) {
        at[i] = n;
        for (int k = i + 1; k < u->n_cuts; k++)
            if (weft_cut_within(u, i, k))
                outer[n++] = k;
    }
    at[u->n_cuts] = n;
    c->outer_at = at;
    c->outer = outer;
}

void weft_pipe_costs_new(const weft_training *p, weft_arena *a, weft_pipe_costs *out)
{
    int n_classes = p->cluster->n_classes;
    int n_states;

    *out = (weft_pipe_costs){.p = p};
    out->n_classes = n_classes < WEFT_MAX_PARTS ? n_classes : WEFT_MAX_PARTS;
    n_states = out->n_classes * p->n_widths;
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        if (p->ask.recomputes >> r & 1)
            out->recompute[out->n_recomputes++] = (weft_recompute)r;
    out->row = WEFT_NEW(a, weft_pipe_row, n_states * p->n_shares);
    out->store = WEFT_NEW(a, weft_pipe_store, n_states);
    for (int i = 0; i < n_states * p->n_shares; i++)
        fill_row(out, i, a);
    for (int i = 0; i < n_states; i++)
        fill_store(out, i, a);
    list_outer(out, a);
    out->like = WEFT_NEW(a, signed char, out->n_classes * out->n_classes + 1);
    for (int i = 0; i < out->n_classes * out->n_classes; i++)
        out->like[i] = -1;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* What one device of a part is asked for. */
typedef struct holding {
    const weft_pipe_costs *c;
    const weft_pipe_crew *crew;
    int part, table, inner, outer;
    weft_recompute recompute;
    int64_t in_flight;
} holding;

static bool is_inside(const weft_units *u, int unit, int inner, int outer)
{
    const uint64_t *i = u->cut + (size_t)inner * (size_t)u->n_words;
    const uint64_t *o = u->cut + (size_t)outer * (size_t)u->n_words;

    if (u->is_chain)
        return unit >= inner && unit < outer;
    return weft_bit_get(o, unit) && !weft_bit_get(i, unit);
}

/* The largest work_bytes of a unit of the stage. */
static double largest_work(const holding *h)
{
    const weft_units *u = &h->c->p->units;
    const weft_unit_cost *cost = h->c->p->cost[h->table];
    const uint64_t *i = u->cut + (size_t)h->inner * (size_t)u->n_words;
    const uint64_t *o = u->cut + (size_t)h->outer * (size_t)u->n_words;
    double most = 0;

    if (u->is_chain) {
        for (int k = h->inner; k < h->outer; k++)
            most = fmax(most, cost[k].work_bytes[h->recompute]);
        return most;
    }
    for (int k = 0; k < u->n_units; k++)
        if (weft_bit_get(o, k) && !weft_bit_get(i, k))
            most = fmax(most, cost[k].work_bytes[h->recompute]);
    return most;
}

/* The other unit of entry k finds the parameter on its stage: the owner is there, or the other unit
 * of an earlier entry. */
static bool is_copy(const holding *h, int k)
{
    const weft_units *u = &h->c->p->units;
    const weft_shared *s = &u->shared[k];

    if (!is_inside(u, s->other, h->inner, h->outer))
        return false;
    if (is_inside(u, s->owner, h->inner, h->outer))
        return true;
    for (int i = 0; i < k && s->tensor >= 0; i++)
        if (u->shared[i].owner == s->owner && u->shared[i].tensor == s->tensor &&
            is_inside(u, u->shared[i].other, h->inner, h->outer))
            return true;
    return false;
}

/* All but the work. */
static double kept_bytes(const holding *h)
{
    const weft_training *p = h->c->p;
    const weft_pipe_row *row = &h->c->row[h->table];
    const weft_pipe_store *s = &h->c->store[h->table / p->n_shares];
    const double *stash = row->stash_bytes[h->recompute];
    double moments = s->moment_bytes[h->outer] - s->moment_bytes[h->inner];
    double held = s->held_bytes[h->outer] - s->held_bytes[h->inner];

    for (int k = 0; k < p->units.n_shared; k++)
        if (is_copy(h, k))
            held -= 2 * s->shared_bytes[k]; /* the weight and the gradient */
    if (p->ask.is_split_moments)
        moments /= h->crew->n_blocks;
    return held + moments + (double)h->in_flight * (stash[h->outer] - stash[h->inner]);
}

static double room_bytes(const holding *h)
{
    return h->c->p->cluster->classes[h->crew->class_id[h->part]].memory_bytes;
}

static bool part_fits(const holding *h)
{
    double room = room_bytes(h), kept = kept_bytes(h);
    double work = h->c->row[h->table].most_work_bytes[h->recompute];

    if (kept + work <= room)
        return true;
    return kept <= room && kept + largest_work(h) <= room;
}

static int table_of(const weft_pipe_costs *c, const weft_pipe_crew *crew, int part, int mix)
{
    return weft_training_table(c->p, crew->class_id[part], crew->width,
                               crew->mix[mix * crew->n_parts + part]);
}

static holding part_of(const weft_pipe_costs *c, const weft_pipe_crew *crew, int part, int mix)
{
    return (holding){.c = c, .crew = crew, .part = part, .table = table_of(c, crew, part, mix)};
}

/* --- a stage --------------------------------------------------------------------------------- */

/* One way to run it. */
typedef struct way {
    int inner, outer, mix;
    weft_recompute recompute;
    int64_t in_flight;
} way;

static holding holding_of(const weft_pipe_costs *c, const weft_pipe_crew *crew, const way *w,
                          int part)
{
    holding h = part_of(c, crew, part, w->mix);

    h.inner = w->inner;
    h.outer = w->outer;
    h.recompute = w->recompute;
    h.in_flight = w->in_flight;
    return h;
}

static bool way_fits(const weft_pipe_costs *c, const weft_pipe_crew *crew, const way *w)
{
    for (int i = 0; i < crew->n_parts; i++) {
        holding h = holding_of(c, crew, w, i);

        if (!part_fits(&h))
            return false;
    }
    return true;
}

/* Bytes over room and share of room of the fullest device. */
static double way_fullness(const weft_pipe_costs *c, const weft_pipe_crew *crew, const way *w)
{
    double most = 0;

    for (int i = 0; i < crew->n_parts; i++) {
        holding h = holding_of(c, crew, w, i);

        most = fmax(most, (kept_bytes(&h) + largest_work(&h)) / room_bytes(&h));
    }
    return most;
}

/* fmax without its care for NAN: this is where the time goes. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static void way_times(const weft_pipe_costs *c, const weft_pipe_crew *crew, const way *w,
                      double *forward_s, double *backward_s)
{
    *forward_s = *backward_s = 0;
    for (int i = 0; i < crew->n_parts; i++) {
        const weft_pipe_row *row = &c->row[table_of(c, crew, i, w->mix)];
        const double *b = row->backward_s[w->recompute];

        *forward_s = larger(*forward_s, row->forward_s[w->outer] - row->forward_s[w->inner]);
        *backward_s = larger(*backward_s, b[w->outer] - b[w->inner]);
    }
}

/* One class: most stages are such. */
static bool single_stage(const weft_pipe_costs *c, const weft_pipe_crew *crew, const way *w,
                         double most_s, weft_pipe_stage *out)
{
    holding h = part_of(c, crew, 0, w->mix);
    const weft_pipe_row *row = &c->row[h.table];
    double best_s = INFINITY, best_bytes = INFINITY, room = room_bytes(&h);
    double forward_s = row->forward_s[w->outer] - row->forward_s[w->inner];

    h.inner = w->inner;
    h.outer = w->outer;
    h.in_flight = w->in_flight;
    for (int r = 0; r < c->n_recomputes; r++) {
        const double *b = row->backward_s[c->recompute[r]];
        double backward_s = b[w->outer] - b[w->inner], bytes;

        if (backward_s > best_s || forward_s + backward_s >= most_s)
            continue;
        h.recompute = c->recompute[r];
        bytes = kept_bytes(&h);
        if (bytes > room ||
            (bytes + row->most_work_bytes[h.recompute] > room && bytes + largest_work(&h) > room) ||
            (backward_s == best_s && bytes >= best_bytes))
            continue;
        best_s = backward_s;
        best_bytes = bytes;
        out->recompute = h.recompute;
    }
    out->forward_s = forward_s;
    out->backward_s = best_s;
    out->mix = w->mix;
    return best_s < INFINITY;
}

bool weft_pipe_stage_of(weft_pipe_costs *c, const weft_pipe_crew *crew, const weft_pipe_span *span,
                        int mix, double most_s, weft_pipe_stage *out)
{
    way w = {.inner = span->inner, .outer = span->outer, .in_flight = span->in_flight, .mix = mix};
    way best = w;
    double best_s = INFINITY;

    c->n_tried++;
    if (crew->n_parts == 1)
        return single_stage(c, crew, &w, most_s, out);
    for (int r = 0; r < c->n_recomputes; r++) {
        double forward_s, backward_s;

        w.recompute = c->recompute[r];
        way_times(c, crew, &w, &forward_s, &backward_s);
        if (forward_s + backward_s >= most_s || backward_s > best_s || !way_fits(c, crew, &w) ||
            (backward_s == best_s && way_fullness(c, crew, &w) >= way_fullness(c, crew, &best)))
            continue;
        best_s = backward_s;
        best = w;
        *out = (weft_pipe_stage){forward_s, backward_s, mix, w.recompute};
    }
    return best_s < INFINITY;
}

double weft_pipe_stage_over(weft_pipe_costs *c, const weft_pipe_crew *crew, int inner, int outer,
                            int64_t in_flight, int *class_id)
{
    way w = {.inner = inner, .outer = outer, .in_flight = in_flight};
    double least = INFINITY;

    c->n_tried++;
    for (w.mix = 0; w.mix < crew->n_mixes; w.mix++)
        for (int r = 0; r < c->n_recomputes; r++) {
            double most = -INFINITY;
            int fullest = -1;

            w.recompute = c->recompute[r];
            for (int i = 0; i < crew->n_parts; i++) {
                holding h = holding_of(c, crew, &w, i);
                double over = kept_bytes(&h) - room_bytes(&h);

                over += over < least ? largest_work(&h) : 0;
                if (over > most) {
                    most = over;
                    fullest = crew->class_id[i];
                }
            }
            if (most < least) {
                least = most;
                *class_id = fullest;
            }
        }
    return least;
}

double weft_pipe_sync_bytes(const weft_pipe_costs *c, const weft_pipe_crew *crew, int inner,
                            int outer)
{
    double most = 0;

    for (int i = 0; i < crew->n_parts; i++) {
        const weft_pipe_store *s = &c->store[crew->class_id[i] * c->p->n_widths + crew->width];

        most = fmax(most, s->sync_bytes[outer] - s->sync_bytes[inner]);
    }
    return most;
}

double weft_pipe_update_s(const weft_pipe_costs *c, const weft_pipe_crew *crew, int inner,
                          int outer)
{
    double most_s = 0;

    for (int i = 0; i < crew->n_parts; i++) {
        const weft_pipe_store *s = &c->store[crew->class_id[i] * c->p->n_widths + crew->width];

        most_s = fmax(most_s, s->update_s[outer] - s->update_s[inner]);
    }
    return c->p->ask.is_split_moments ? most_s / crew->n_blocks : most_s;
}
