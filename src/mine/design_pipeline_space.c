/* SPDX-License-Identifier: MIT */
/* design_pipeline_space.c: the stages that a pipeline may have, whatever the designs.
 *
 * 1. A stage is what lies between two cuts. Memory does not depend on designs (they all have the
 *    same memory, and operators are cut the same way): for each number of stages from it to the
 *    end, which is the number of microbatches it keeps, the stage takes the recomputation that is
 *    the quickest of those that fit. Nothing, some and all computed again are ever slower, and
 *    events are monotone in every time: no other choice is better.
 * 2. Times are sums over units, equal for units of a kind: a stage is worth a vector of counts and
 *    a recomputation, its variant. Networks of equal layers have few of them.
 *
 * Memory as the simulator has it (sim/train_figures.c): weights, gradients, moments, the stash
 * of each microbatch kept, and the work of the largest unit. Of a parameter that two units of the
 * stage read the second has neither weights nor gradients of its own.
 *
 * Cost: O(pairs of cuts * (stages + kinds)). */
#include <math.h>

#include "design_pipeline.h"

enum { MOST_PAIRS = 400000 };

/* Sums over the units of cuts. */
typedef struct sums {
    double *held_bytes, *moment_bytes, *sync_bytes; /* [n_cuts] */
    double *stash_bytes[WEFT_N_RECOMPUTES];
    int *count; /* [n_cuts * n_kinds] */
} sums;

static sums sums_of(const weft_design_pipeline_net *net, weft_arena *a)
{
    const weft_blocks *u = &net->blocks;
    sums s = {WEFT_NEW(a, double, u->n_cuts),
              WEFT_NEW(a, double, u->n_cuts),
              WEFT_NEW(a, double, u->n_cuts),
              {NULL},
              WEFT_NEW(a, int, u->n_cuts * net->work.n_kinds)};

    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        s.stash_bytes[r] = WEFT_NEW(a, double, u->n_cuts);
    for (int c = 0; c < u->n_cuts; c++)
        for (int q = 0; q < u->n_blocks; q++) {
            int k = net->work.kind_of[q];
            const weft_block_kind *kind = &net->work.kind[k];

            if (!weft_block_between(u, q, 0, c))
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

/* --- shared parameters ----------------------------------------------------------------------- */

double weft_pipeline_shared_bytes(const weft_design_pipeline_net *net, int shared)
{
    const weft_blocks *u = &net->blocks;
    int other = u->shared[shared].other, n = 0;
    const weft_block_state *s = &net->work.kind[net->work.kind_of[other]].state;

    for (int i = 0; i < u->n_shared; i++)
        n += u->shared[i].other == other;
    return fmax(0, s->gradient_bytes - s->sync_bytes) / n;
}

/* --- memory ---------------------------------------------------------------------------------- */

static double work_bytes(const weft_design_pipeline_net *net, int inner, int outer, int r)
{
    const weft_blocks *u = &net->blocks;
    double most = 0;

    for (int q = u->is_chain ? inner : 0; q < (u->is_chain ? outer : u->n_blocks); q++)
        if (weft_block_between(u, q, inner, outer))
            most = fmax(most, net->work.kind[net->work.kind_of[q]].cost.work_bytes[r]);
    return most;
}

/* What does not depend on microbatches and recomputation. */
static double fixed_bytes(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                          const sums *s, int inner, int outer)
{
    double moments = s->moment_bytes[outer] - s->moment_bytes[inner];
    double held = s->held_bytes[outer] - s->held_bytes[inner];

    for (int k = 0; k < net->blocks.n_shared; k++)
        if (weft_shared_is_copy(&net->blocks, k, inner, outer))
            held -= 2 * weft_pipeline_shared_bytes(net, k);
    return held + (f->is_split_moments ? moments / f->replicas : moments);
}

/* --- pairs and variants ---------------------------------------------------------------------- */

typedef struct maker {
    weft_stage_space *out;
    sums sum;
    double memory_bytes;
    weft_map *seen; /* variants */
    WEFT_VEC(weft_cut_pair) pair;
    WEFT_VEC(int) variant_of;
    WEFT_VEC(weft_stage_variant) variant;
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
    WEFT_PUSH(m->a, m->variant, ((weft_stage_variant){recompute, copy}));
    return m->variant.n - 1;
}

/* The quickest recomputation with which the stage fits; -1: none. */
static int recompute_of(const maker *m, int inner, int outer, double fixed, int64_t in_flight)
{
    const weft_design_pipeline *f = m->out->design_pipeline;

    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        double stash = m->sum.stash_bytes[r][outer] - m->sum.stash_bytes[r][inner];

        if (f->recomputes >> r & 1 && fixed + (double)in_flight * stash <= m->memory_bytes &&
            fixed + (double)in_flight * stash + work_bytes(m->out->net, inner, outer, r) <=
                m->memory_bytes)
            return r;
    }
    return -1;
}

static double ring_s(const weft_design_pipeline *f, double bytes)
{
    return weft_ring_s(&f->between, f->replicas, WEFT_ALL_REDUCE, bytes);
}

/* False: the stage does not fit even if it is the last. */
static bool add_pair(maker *m, int inner, int outer)
{
    int s = m->out->n_stages, last = m->out->n_cuts - 1;
    double fixed = fixed_bytes(m->out->design_pipeline, m->out->net, &m->sum, inner, outer);
    int left = 1, r = recompute_of(m, inner, outer, fixed, 1);

    if (r < 0)
        return false;
    WEFT_PUSH(m->a, m->pair,
              ((weft_cut_pair){inner, outer,
                               ring_s(m->out->design_pipeline,
                                      m->sum.sync_bytes[outer] - m->sum.sync_bytes[inner]),
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
    const weft_blocks *u = &m->out->net->blocks;
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

static void add_hops(weft_stage_space *s, weft_arena *a)
{
    const weft_blocks *u = &s->net->blocks;
    const weft_link_cost *l = &s->design_pipeline->between;
    double *send_s = WEFT_NEW(a, double, u->n_cuts), *return_s = WEFT_NEW(a, double, u->n_cuts);
    double *hop_s = WEFT_NEW(a, double, u->n_cuts);

    for (int c = 1; c + 1 < u->n_cuts; c++) {
        send_s[c] = weft_link_cost_s(l, (double)s->design_pipeline->microbatch * u->leave_bytes[c]);
        return_s[c] =
            weft_link_cost_s(l, (double)s->design_pipeline->microbatch * u->back_bytes[c]);
        hop_s[c] = send_s[c] + return_s[c];
    }
    s->send_s = send_s;
    s->return_s = return_s;
    s->hop_s = hop_s;
}

bool weft_stage_space_new(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                          double memory_bytes, weft_arena *a, weft_stage_space *out)
{
    maker m = {.out = out, .memory_bytes = memory_bytes, .a = a, .seen = weft_map_new(a)};

    *out = (weft_stage_space){.design_pipeline = f,
                              .net = net,
                              .n_cuts = net->blocks.n_cuts,
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

weft_stage_load weft_stage_load_of(const weft_stage_space *s, const weft_stage_variant *v,
                                   const weft_block_time *time)
{
    weft_stage_load l = {0};

    for (int k = 0; k < s->n_kinds; k++)
        if (v->count[k] > 0) {
            l.forward_s += v->count[k] * time[k].forward_s;
            l.backward_s += v->count[k] * (time[k].backward_s + time[k].again_s[v->recompute]);
            l.update_s += v->count[k] * time[k].update_s;
        }
    l.load_s = l.forward_s + l.backward_s;
    if (s->design_pipeline->is_split_moments)
        l.update_s /= s->design_pipeline->replicas;
    return l;
}
