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

#include "space.h"
#include "train_plan.h"

/* --- tables ---------------------------------------------------------------------------------- */

/* Stages may differ in what they compute again: the quickest for each unit, so that no cuts give
 * less. */
static double row_least_s(const weft_pipe_costs *c, const weft_block_cost *cost)
{
    double sum_s = 0;

    for (int u = 0; u < c->p->blocks.n_blocks; u++) {
        double again_s = INFINITY;

        for (int r = 0; r < c->n_recomputes; r++)
            again_s = fmin(again_s, cost[u].again_s[c->recompute[r]]);
        sum_s += cost[u].forward_s + cost[u].backward_s + again_s;
    }
    return sum_s;
}

/* Has the table the width and the samples that every stage must have? */
static bool is_asked(const weft_pipe_costs *c, int table)
{
    const weft_train_problem *p = c->p;
    const weft_train_constraints *x = &p->constraints;

    return weft_counts_allow(&x->tp, p->width[table / p->n_shares % p->n_widths]) &&
           weft_counts_allow(&x->mbs, p->share[table % p->n_shares]);
}

static void fill_row(weft_pipe_costs *c, int table, weft_arena *a)
{
    const weft_train_problem *p = c->p;
    const weft_block_cost *sum = p->cost_sum[table];
    weft_pipe_row *row = &c->row[table];
    int n = p->blocks.n_cuts;

    row->is_there = sum != NULL && is_asked(c, table);
    if (!row->is_there)
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
        for (int u = 0; u < p->blocks.n_blocks; u++)
            row->most_work_bytes[r] =
                fmax(row->most_work_bytes[r], p->cost[table][u].work_bytes[r]);
    }
    row->least_s = row_least_s(c, p->cost[table]);
}

static void count_messages(weft_pipe_costs *c, int table, weft_arena *a)
{
    const weft_blocks *b = &c->p->blocks;
    const weft_block_state *unit = c->p->state[table];
    weft_pipe_store *s = &c->store[table];

    s->n_weights = WEFT_NEW(a, double, b->n_cuts);
    s->n_syncs = WEFT_NEW(a, double, b->n_cuts);
    for (int i = 0; i < b->n_cuts; i++)
        for (int u = 0; u < b->n_blocks; u++)
            if (weft_bit_get(weft_cut_bits(b, i), u)) {
                s->n_weights[i] += unit[u].weight_bytes > 0;
                s->n_syncs[i] += unit[u].sync_bytes > 0;
            }
    for (int u = 0; u < b->n_blocks; u++)
        s->most_zero_bytes = fmax(s->most_zero_bytes, weft_zero_work_bytes(c->p, 2, &unit[u]));
}

static void fill_store(weft_pipe_costs *c, int table, weft_arena *a)
{
    const weft_train_problem *p = c->p;
    const weft_block_state *sum = p->state_sum[table];
    weft_pipe_store *s = &c->store[table];
    int n = p->blocks.n_cuts;

    if (!c->row[table].is_there)
        return;
    if (table > 0 && p->state[table] == p->state[table - 1] && c->row[table - 1].is_there) {
        *s = c->store[table - 1];
        return;
    }
    s->weight_bytes = WEFT_NEW(a, double, n);
    s->gradient_bytes = WEFT_NEW(a, double, n);
    s->moment_bytes = WEFT_NEW(a, double, n);
    s->sync_bytes = WEFT_NEW(a, double, n);
    s->update_s = WEFT_NEW(a, double, n);
    s->shared_bytes = WEFT_NEW(a, double, p->blocks.n_shared + 1);
    for (int i = 0; i < n; i++) {
        s->weight_bytes[i] = sum[i].weight_bytes;
        s->gradient_bytes[i] = sum[i].gradient_bytes;
        s->moment_bytes[i] = sum[i].moment_bytes;
        s->sync_bytes[i] = sum[i].sync_bytes;
        s->update_s[i] = sum[i].update_s;
    }
    for (int k = 0; k < p->blocks.n_shared; k++)
        s->shared_bytes[k] = weft_shared_bytes(p, k, table);
    if (p->constraints.zero >= WEFT_ZERO_GRADIENTS || weft_sync_overlaps(p))
        count_messages(c, table, a);
}

/* For every cut the list of those that contain it. */
static void list_outer(weft_pipe_costs *c, weft_arena *a)
{
    const weft_blocks *u = &c->p->blocks;
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

void weft_pipe_costs_new(const weft_train_problem *p, weft_arena *a, weft_pipe_costs *out)
{
    int n_classes = p->cluster->n_classes;
    int n_tables;

    *out = (weft_pipe_costs){.p = p};
    out->n_classes = n_classes < WEFT_MAX_PARTS ? n_classes : WEFT_MAX_PARTS;
    n_tables = out->n_classes * p->n_widths * p->n_shares;
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        if (p->constraints.recomputes >> r & 1)
            out->recompute[out->n_recomputes++] = (weft_recompute)r;
    out->row = WEFT_NEW(a, weft_pipe_row, n_tables);
    out->store = WEFT_NEW(a, weft_pipe_store, n_tables);
    for (int i = 0; i < n_tables; i++) {
        fill_row(out, i, a);
        fill_store(out, i, a);
    }
    list_outer(out, a);
    out->like = WEFT_NEW(a, signed char, out->n_classes * out->n_classes + 1);
    for (int i = 0; i < out->n_classes * out->n_classes; i++)
        out->like[i] = -1;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* One way to run a stage. */
typedef struct way {
    const weft_pipe_costs *c;
    const weft_pipe_group *group;
    weft_pipe_range range;
    int mix;
    weft_recompute recompute;
} way;

static int table_of(const way *w, int part)
{
    return weft_train_problem_table(w->c->p, w->group->class_id[part], w->group->width,
                                    w->group->mix[w->mix * w->group->n_parts + part]);
}

/* The largest work_bytes of a unit of the stage. */
static double largest_work(const way *w, int table)
{
    const weft_blocks *u = &w->c->p->blocks;
    const weft_block_cost *cost = w->c->p->cost[table];
    const weft_block_state *state = w->c->p->state[table];
    int first = u->is_chain ? w->range.inner : 0, end = u->is_chain ? w->range.outer : u->n_blocks;
    double most = 0;

    for (int k = first; k < end; k++)
        if (weft_block_between(u, k, w->range.inner, w->range.outer))
            most = fmax(most, cost[k].work_bytes[w->recompute] +
                                  weft_zero_work_bytes(w->c->p, w->group->n_blocks, &state[k]));
    return most;
}

/* What a device of a part holds, but the work. */
static double kept_bytes(const way *w, int table)
{
    const weft_train_problem *p = w->c->p;
    const weft_pipe_store *s = &w->c->store[table];
    const double *stash = w->c->row[table].stash_bytes[w->recompute];
    int inner = w->range.inner, outer = w->range.outer;
    double moments = s->moment_bytes[outer] - s->moment_bytes[inner];
    double weights = s->weight_bytes[outer] - s->weight_bytes[inner];
    double gradients = s->gradient_bytes[outer] - s->gradient_bytes[inner];
    int n = w->group->n_blocks;

    for (int k = 0; k < p->blocks.n_shared; k++)
        if (weft_shared_is_copy(&p->blocks, k, inner, outer)) {
            weights -= weft_shared_weight_bytes(p, s->shared_bytes[k]);
            gradients -= s->shared_bytes[k];
        }
    return weft_zero_bytes(p, WEFT_ZERO_WEIGHTS, n, weights) +
           weft_zero_bytes(p, WEFT_ZERO_GRADIENTS, n, gradients) +
           weft_zero_bytes(p, WEFT_ZERO_MOMENTS, n, moments) +
           (double)w->range.in_flight * (stash[outer] - stash[inner]);
}

static double room_bytes(const way *w, int part)
{
    return weft_train_room_bytes(w->c->p, w->group->class_id[part]);
}

/* Beside so many bytes that are kept. */
static bool work_fits(const way *w, int table, double kept, double room)
{
    double most =
        w->c->row[table].most_work_bytes[w->recompute] + w->c->store[table].most_zero_bytes;

    return kept <= room && (kept + most <= room || kept + largest_work(w, table) <= room);
}

/* --- a stage --------------------------------------------------------------------------------- */

static bool way_fits(const way *w)
{
    for (int i = 0; i < w->group->n_parts; i++) {
        int table = table_of(w, i);

        if (!work_fits(w, table, kept_bytes(w, table), room_bytes(w, i)))
            return false;
    }
    return true;
}

/* Share of its room that the fullest device needs. */
static double way_fullness(const way *w)
{
    double most = 0;

    for (int i = 0; i < w->group->n_parts; i++) {
        int table = table_of(w, i);

        most = fmax(most, (kept_bytes(w, table) + largest_work(w, table)) / room_bytes(w, i));
    }
    return most;
}

/* fmax without its care for NAN: this is where the time goes. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static void way_times(const way *w, double *forward_s, double *backward_s)
{
    int inner = w->range.inner, outer = w->range.outer;

    *forward_s = *backward_s = 0;
    for (int i = 0; i < w->group->n_parts; i++) {
        const weft_pipe_row *row = &w->c->row[table_of(w, i)];
        const double *b = row->backward_s[w->recompute];

        *forward_s = larger(*forward_s, row->forward_s[outer] - row->forward_s[inner]);
        *backward_s = larger(*backward_s, b[outer] - b[inner]);
    }
}

/* One class: most stages are such. */
static bool single_stage(way *w, double most_s, weft_pipe_stage *out)
{
    const weft_pipe_costs *c = w->c;
    int table = table_of(w, 0), inner = w->range.inner, outer = w->range.outer;
    const weft_pipe_row *row = &c->row[table];
    double best_s = INFINITY, best_bytes = INFINITY, room = room_bytes(w, 0);
    double forward_s = row->forward_s[outer] - row->forward_s[inner];

    for (int r = 0; r < c->n_recomputes; r++) {
        const double *b = row->backward_s[c->recompute[r]];
        double backward_s = b[outer] - b[inner], bytes;

        if (backward_s > best_s || forward_s + backward_s >= most_s)
            continue;
        w->recompute = c->recompute[r];
        bytes = kept_bytes(w, table);
        if (!work_fits(w, table, bytes, room) || (backward_s == best_s && bytes >= best_bytes))
            continue;
        best_s = backward_s;
        best_bytes = bytes;
        out->recompute = w->recompute;
    }
    out->forward_s = forward_s;
    out->backward_s = best_s;
    out->mix = w->mix;
    return best_s < INFINITY;
}

bool weft_pipe_stage_of(weft_pipe_costs *c, const weft_pipe_group *group,
                        const weft_pipe_range *range, int mix, double most_s, weft_pipe_stage *out)
{
    way w = {.c = c, .group = group, .range = *range, .mix = mix}, best = w;
    double best_s = INFINITY;

    c->n_tried++;
    if (group->n_parts == 1)
        return single_stage(&w, most_s, out);
    for (int r = 0; r < c->n_recomputes; r++) {
        double forward_s, backward_s;

        w.recompute = c->recompute[r];
        way_times(&w, &forward_s, &backward_s);
        if (forward_s + backward_s >= most_s || backward_s > best_s || !way_fits(&w) ||
            (backward_s == best_s && way_fullness(&w) >= way_fullness(&best)))
            continue;
        best_s = backward_s;
        best = w;
        *out = (weft_pipe_stage){forward_s, backward_s, mix, w.recompute};
    }
    return best_s < INFINITY;
}

double weft_pipe_stage_over(weft_pipe_costs *c, const weft_pipe_group *group,
                            const weft_pipe_range *range, int *class_id)
{
    way w = {.c = c, .group = group, .range = *range};
    double least = INFINITY;

    c->n_tried++;
    for (w.mix = 0; w.mix < group->n_mixes; w.mix++)
        for (int r = 0; r < c->n_recomputes; r++) {
            double most = -INFINITY;
            int fullest = -1;

            w.recompute = c->recompute[r];
            for (int i = 0; i < group->n_parts; i++) {
                int table = table_of(&w, i);
                double over = kept_bytes(&w, table) - room_bytes(&w, i);

                over += over < least ? largest_work(&w, table) : 0;
                if (over > most) {
                    most = over;
                    fullest = group->class_id[i];
                }
            }
            if (most < least) {
                least = most;
                *class_id = fullest;
            }
        }
    return least;
}

static const weft_pipe_store *store_of(const weft_pipe_costs *c, const weft_pipe_group *g, int mix,
                                       int part)
{
    return &c->store[weft_train_problem_table(c->p, g->class_id[part], g->width,
                                              g->mix[mix * g->n_parts + part])];
}

double weft_pipe_update_s(const weft_pipe_costs *c, const weft_pipe_group *group,
                          const weft_pipe_range *range, int mix)
{
    double most_s = 0;

    for (int i = 0; i < group->n_parts; i++) {
        const double *update_s = store_of(c, group, mix, i)->update_s;

        most_s = fmax(most_s, update_s[range->outer] - update_s[range->inner]);
    }
    return weft_zero_bytes(c->p, WEFT_ZERO_MOMENTS, group->n_blocks, most_s);
}

/* --- what replicas divide -------------------------------------------------------------------- */

/* The most of any part: messages of units, and their bytes. */
typedef struct messages {
    double n, bytes;
} messages;

static void add_part(messages *to, const double *n, const double *bytes,
                     const weft_pipe_range *range)
{
    to->n = fmax(to->n, n[range->outer] - n[range->inner]);
    to->bytes = fmax(to->bytes, bytes[range->outer] - bytes[range->inner]);
}

static double half_sync_s(messages x, const weft_levels *sync_way, int n_ways)
{
    return weft_half_sync_s(weft_ways_s(sync_way, n_ways, x.n > 0 ? x.bytes / x.n : 0), x.n);
}

void weft_pipe_hold_up(const weft_pipe_costs *c, const weft_pipe_group *group,
                       const weft_pipe_range *range, const weft_levels *sync_way, int n_ways,
                       weft_pipe_stage *s)
{
    messages weights = {0}, gradients = {0};
    double gather_s = 0;

    if (c->p->constraints.zero < WEFT_ZERO_GRADIENTS || n_ways == 0)
        return;
    for (int i = 0; i < group->n_parts; i++) {
        const weft_pipe_store *store = store_of(c, group, s->mix, i);

        add_part(&weights, store->n_weights, store->weight_bytes, range);
        add_part(&gradients, store->n_syncs, store->sync_bytes, range);
    }
    if (c->p->constraints.zero >= WEFT_ZERO_WEIGHTS)
        gather_s = half_sync_s(weights, sync_way, n_ways);
    s->forward_s = fmax(s->forward_s, gather_s);
    s->backward_s = fmax(s->backward_s, gather_s + half_sync_s(gradients, sync_way, n_ways));
}

double weft_pipe_sync_s(const weft_pipe_costs *c, const weft_pipe_group *group,
                        const weft_pipe_range *range, const weft_levels *sync_way, int n_ways,
                        const weft_pipe_stage *s)
{
    bool overlaps = weft_sync_overlaps(c->p);
    double most = 0, n = 0;

    for (int i = 0; i < group->n_parts; i++) {
        const weft_pipe_store *x = store_of(c, group, s->mix, i);

        most = fmax(most, x->sync_bytes[range->outer] - x->sync_bytes[range->inner]);
        if (overlaps)
            n = fmax(n, x->n_syncs[range->outer] - x->n_syncs[range->inner]);
    }
    if (!overlaps)
        return weft_sync_part(c->p) * weft_ways_s(sync_way, n_ways, most);
    return weft_exposed_sync_s(n > 0 ? weft_ways_s(sync_way, n_ways, most / n) : 0, n,
                               s->backward_s);
}
