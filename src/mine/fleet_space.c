/* SPDX-License-Identifier: MIT */
/* fleet_space.c: the stages that a pipeline may have, whatever the designs.
 *
 * 1. A stage is what lies between two cuts. Memory does not depend on designs (they all have the
 *    same memory, and operators are cut the same way): for each number of stages from it to the
 *    end, which is the number of microbatches it keeps, the stage takes the recomputation that is
 *    the quickest of those that fit. Nothing, some and all computed again are ever slower, and
 *    events are monotone in every time: no other choice is better.
 * 2. Times are sums over units, equal for units of a kind: a stage is worth a vector of counts and
 *    a recomputation, its variant. Networks of equal layers have few of them.
 *
 * Memory as the simulator has it (sim/pipeline_figures.c): weights, gradients, moments, the stash
 * of each microbatch kept, and the work of the largest unit. Of a parameter that two units of the
 * stage read the second has neither weights nor gradients of its own.
 *
 * Cost: O(pairs of cuts * (stages + kinds)). */
#include <math.h>

#include "fleet.h"

enum { MOST_PAIRS = 400000 };

/* Sums over the units of cuts. */
typedef struct sums {
    double *held_bytes, *moment_bytes, *sync_bytes; /* [n_cuts] */
    double *stash_bytes[WEFT_N_RECOMPUTES];
    int *count; /* [n_cuts * n_kinds] */
} sums;

static bool has_unit(const weft_units *u, int cut, int unit)
{
    return u->is_chain ? unit < cut : weft_bit_get(u->cut + (size_t)cut * (size_t)u->n_words, unit);
}

static sums sums_of(const weft_fleet_net *net, weft_arena *a)
{
    const weft_units *u = &net->units;
    sums s = {WEFT_NEW(a, double, u->n_cuts),
              WEFT_NEW(a, double, u->n_cuts),
              WEFT_NEW(a, double, u->n_cuts),
              {NULL},
              WEFT_NEW(a, int, u->n_cuts * net->work.n_kinds)};

    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        s.stash_bytes[r] = WEFT_NEW(a, double, u->n_cuts);
    for (int c = 0; c < u->n_cuts; c++)
        for (int q = 0; q < u->n_units; q++) {
            int k = net->work.kind_of[q];
            const weft_unit_kind *kind = &net->work.kind[k];

            if (!has_unit(u, c, q))
                continue;
            s.held_bytes[c] += kind->state.weight_bytes + kind->state.gradient_bytes;
            s.moment_bytes[c] += kind->state.moment_bytes;
            s.sync_bytes[c] += kind->state.sync_bytes;
            for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
                s.stash_bytes[r][c] += kind->cost.stash_bytes[r];
            s.count[c * net->work.n_kinds + k]++;
        }
    return s;
}

/* --- shared parameters -------------------------------------------------------------------------
 */

static bool is_inside(const weft_units *u, int unit, int inner, int outer)
{
    return has_unit(u, outer, unit) && !has_unit(u, inner, unit);
}

/* Is the parameter of entry k there already when its other unit comes? */
static bool is_copy(const weft_units *u, int k, int inner, int outer)
{
    const weft_shared *s = &u->shared[k];

    if (!is_inside(u, s->other, inner, outer))
        return false;
    if (is_inside(u, s->owner, inner, outer))
        return true;
    for (int i = 0; i < k && s->tensor >= 0; i++)
        if (u->shared[i].owner == s->owner && u->shared[i].tensor == s->tensor &&
            is_inside(u, u->shared[i].other, inner, outer))
            return true;
    return false;
}

double weft_fleet_shared_bytes(const weft_fleet_net *net, int shared)
{
    const weft_units *u = &net->units;
    int other = u->shared[shared].other, n = 0;
    const weft_unit_state *s = &net->work.kind[net->work.kind_of[other]].state;

    for (int i = 0; i < u->n_shared; i++)
        n += u->shared[i].other == other;
    return fmax(0, s->gradient_bytes - s->sync_bytes) / n;
}

/* --- memory ------------------------------------------------------------------------------------
 */

static double work_bytes(const weft_fleet_net *net, int inner, int outer, int r)
{
    const weft_units *u = &net->units;
    double most = 0;

    for (int q = u->is_chain ? inner : 0; q < (u->is_chain ? outer : u->n_units); q++)
        if (is_inside(u, q, inner, outer))
            most = fmax(most, net->work.kind[net->work.kind_of[q]].cost.work_bytes[r]);
    return most;
}

/* What does not depend on microbatches and recomputation. */
static double fixed_bytes(const weft_fleet *f, const weft_fleet_net *net, const sums *s, int inner,
                          int outer)
{
    double moments = s->moment_bytes[outer] - s->moment_bytes[inner];
    double held = s->held_bytes[outer] - s->held_bytes[inner];

    for (int k = 0; k < net->units.n_shared; k++)
        if (is_copy(&net->units, k, inner, outer))
            held -= 2 * weft_fleet_shared_bytes(net, k);
    return held + (f->is_split_moments ? moments / f->replicas : moments);
}

double weft_fleet_memory(const weft_fleet_space *x, int inner, int outer, int recompute,
                         int64_t in_flight)
{
    const weft_fleet_net *net = x->net;
    const weft_units *u = &net->units;
    weft_arena *a = weft_arena_new();
    sums s = sums_of(net, a);
    double bytes =
        fixed_bytes(x->fleet, net, &s, inner, outer) + work_bytes(net, inner, outer, recompute);

    for (int q = 0; q < u->n_units; q++)
        if (is_inside(u, q, inner, outer))
            bytes += (double)in_flight *
                     net->work.kind[net->work.kind_of[q]].cost.stash_bytes[recompute];
    weft_arena_free(a);
    return bytes;
}

/* --- pairs and variants ------------------------------------------------------------------------
 */

typedef struct maker {
    weft_fleet_space *out;
    sums sum;
    double memory_bytes;
    weft_map *seen; /* variants */
    WEFT_VEC(weft_fleet_pair) pair;
    WEFT_VEC(int) variant_of;
    WEFT_VEC(weft_fleet_variant) variant;
    int *key;
    weft_arena *a;
} maker;

static int variant_at(maker *m, int inner, int outer, int recompute)
{
    int n = m->out->n_kinds, at, *copy;
    size_t bytes = (size_t)(n + 1) * sizeof *m->key;

    for (int k = 0; k < n; k++)
        m->key[k] = m->sum.count[outer * n + k] - m->sum.count[inner * n + k];
    m->key[n] = recompute;
    at = weft_map_get(m->seen, (const char *)m->key, bytes);
    if (at >= 0)
        return at;
    copy = weft_arena_copy(m->a, m->key, bytes);
    (void)weft_map_put(m->seen, (const char *)copy, bytes, m->variant.n);
    WEFT_PUSH(m->a, m->variant, ((weft_fleet_variant){recompute, copy}));
    return m->variant.n - 1;
}

/* The quickest recomputation with which the stage fits; -1: none. */
static int recompute_of(const maker *m, int inner, int outer, double fixed, int64_t in_flight)
{
    const weft_fleet *f = m->out->fleet;

    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        double stash = m->sum.stash_bytes[r][outer] - m->sum.stash_bytes[r][inner];

        if (f->recomputes >> r & 1 && fixed + (double)in_flight * stash <= m->memory_bytes &&
            fixed + (double)in_flight * stash + work_bytes(m->out->net, inner, outer, r) <=
                m->memory_bytes)
            return r;
    }
    return -1;
}

static double ring_s(const weft_fleet *f, double bytes)
{
    double n = f->replicas;

    if (f->replicas < 2 || !(bytes > 0))
        return 0;
    return 2 * (n - 1) * f->between.latency_s + 2 * (n - 1) / n * bytes / f->between.bytes_per_s;
}

/* False: the stage does not fit even if it is the last. */
static bool add_pair(maker *m, int inner, int outer)
{
    int s = m->out->n_stages, last = m->out->n_cuts - 1;
    double fixed = fixed_bytes(m->out->fleet, m->out->net, &m->sum, inner, outer);
    int left = 1, r = recompute_of(m, inner, outer, fixed, 1);

    if (r < 0)
        return false;
    WEFT_PUSH(m->a, m->pair,
              ((weft_fleet_pair){
                  inner, outer,
                  ring_s(m->out->fleet, m->sum.sync_bytes[outer] - m->sum.sync_bytes[inner]),
                  m->variant_of.n}));
    for (int k = 0; k <= s; k++)
        WEFT_PUSH(m->a, m->variant_of, -1);
    for (; left <= s && r >= 0; left++) {
        int64_t in_flight = weft_in_flight(WEFT_ONE_F_ONE_B, left, 0, m->out->n_microbatches, 1);

        r = recompute_of(m, inner, outer, fixed, in_flight);
        if (r >= 0 && (left == 1) == (outer == last) && (left == s) == (inner == 0))
            m->variant_of.at[m->variant_of.n - s - 1 + left] = variant_at(m, inner, outer, r);
    }
    return true;
}

static bool add_pairs(maker *m)
{
    const weft_units *u = &m->out->net->units;
    int *at = WEFT_NEW(m->a, int, u->n_cuts + 1);

    m->out->pair_at = at;
    for (int i = 0; i < u->n_cuts; i++) {
        at[i] = m->pair.n;
        for (int k = i + 1; k < u->n_cuts; k++)
            if (weft_cut_within(u, i, k)) {
                if (!add_pair(m, i, k) && u->is_chain && u->n_shared == 0)
                    break; /* nor does any that holds more */
                if (m->pair.n > MOST_PAIRS)
                    return false;
            }
    }
    at[u->n_cuts] = m->pair.n;
    return true;
}

static void add_hops(weft_fleet_space *s, weft_arena *a)
{
    const weft_units *u = &s->net->units;
    const weft_span *l = &s->fleet->between;
    double *send_s = WEFT_NEW(a, double, u->n_cuts), *return_s = WEFT_NEW(a, double, u->n_cuts);
    double *hop_s = WEFT_NEW(a, double, u->n_cuts);

    for (int c = 1; c + 1 < u->n_cuts; c++) {
        send_s[c] = weft_span_s(l, (double)s->fleet->microbatch * u->leave_bytes[c]);
        return_s[c] = weft_span_s(l, (double)s->fleet->microbatch * u->back_bytes[c]);
        hop_s[c] = send_s[c] + return_s[c];
    }
    s->send_s = send_s;
    s->return_s = return_s;
    s->hop_s = hop_s;
}

bool weft_fleet_space_new(const weft_fleet *f, const weft_fleet_net *net, double memory_bytes,
                          weft_arena *a, weft_fleet_space *out)
{
    maker m = {.out = out, .memory_bytes = memory_bytes, .a = a, .seen = weft_map_new(a)};

    *out = (weft_fleet_space){.fleet = f,
                              .net = net,
                              .n_cuts = net->units.n_cuts,
                              .n_kinds = net->work.n_kinds,
                              .n_stages = f->n_stages,
                              .n_microbatches = f->batch / (f->microbatch * f->replicas)};
    m.sum = sums_of(net, a);
    m.key = WEFT_NEW(a, int, out->n_kinds + 1);
    add_hops(out, a);
    if (!add_pairs(&m))
        return false;
    out->n_pairs = m.pair.n;
    out->pair = m.pair.at;
    out->variant_of = m.variant_of.at;
    out->n_variants = m.variant.n;
    out->variant = m.variant.at;
    return true;
}

weft_fleet_load weft_fleet_load_of(const weft_fleet_space *s, const weft_fleet_variant *v,
                                   const weft_fleet_time *time)
{
    weft_fleet_load l = {0};

    for (int k = 0; k < s->n_kinds; k++)
        if (v->count[k] > 0) {
            l.forward_s += v->count[k] * time[k].forward_s;
            l.backward_s += v->count[k] * (time[k].backward_s + time[k].again_s[v->recompute]);
            l.update_s += v->count[k] * time[k].update_s;
        }
    l.load_s = l.forward_s + l.backward_s;
    if (s->fleet->is_split_moments)
        l.update_s /= s->fleet->replicas;
    return l;
}
