/* SPDX-License-Identifier: MIT */
/* longest.c: the solvers `longest-group` and `longest-all`, the plain mapping that sharding
 * methods are compared with. A re-implementation: what MARS (DAC 2023) compared with is not
 * published in full.
 *
 * 1. One set: the accelerators of the first group that the links make (candidates of baseline_sets.c),
 *    or all equal accelerators, the largest such class (ties: the fastest, then the first).
 * 2. Its design: the one with which a single accelerator takes least time for all steps.
 * 3. Every step is cut along its two longest axes (ties: the earlier), into a parts of the longest
 *    and b of the other, a b = members, a >= b, a - b smallest: 2 x 2, 4 x 2, 3 x 2. Axes over
 * which statistics are taken are left whole; partial sums are combined at once, nothing rotates.
 * Where an axis is too short: the next factors, then the next pair of axes, else a copy for
 * everyone.
 *
 * No guarantee. Time O(steps * axes^2 * splits). */
#include "baseline.h"

#include <math.h>

/* Axes that may be cut, longest first; their number. */
static int rank_axes(const weft_step *s, int axis[WEFT_MAX_AXES])
{
    int n = 0;

    for (int i = 0; i < s->n_axes; i++) {
        int at = n;

        if (s->axis[i].is_statistic || s->axis[i].kind == WEFT_AXIS_SEQUENTIAL)
            continue;
        for (; at > 0 && s->axis[axis[at - 1]].extent < s->axis[i].extent; at--)
            axis[at] = axis[at - 1];
        axis[at] = i;
        n++;
    }
    return n;
}

/* Place of the split with these factors and nothing else; -1: it is not valid. */
static int find_factors(const weft_baseline_list *l, const weft_step *s, const int *factor)
{
    for (int i = 0; i < l->n; i++) {
        bool is_equal = l->split[i].shared < 0 && !l->split[i].is_scattered;

        for (int j = 0; is_equal && j < s->n_axes; j++)
            is_equal = (l->split[i].factor[j] > 1 ? l->split[i].factor[j] : 1) == factor[j];
        if (is_equal)
            return i;
    }
    return -1;
}

static int find_pair(const weft_baseline_list *l, const weft_step *s, int n, int longer,
                     int shorter)
{
    for (int part = (int)sqrt(n + 0.5); part >= 1; part--) { /* of the shorter axis */
        int factor[WEFT_MAX_AXES], at;

        if (n % part != 0)
            continue;
        for (int i = 0; i < WEFT_MAX_AXES; i++)
            factor[i] = 1;
        factor[longer] = n / part;
        if (shorter >= 0)
            factor[shorter] = part;
        else if (part > 1)
            continue;
        at = find_factors(l, s, factor);
        if (at >= 0)
            return at;
    }
    return -1;
}

int weft_baseline_longest(weft_baseline *b, int u, int n)
{
    const weft_step *s = &b->problem->steps->step[u];
    const weft_baseline_list *l = weft_baseline_splits(b, u, n);
    int axis[WEFT_MAX_AXES], n_axes = rank_axes(s, axis), at = -1;

    for (int i = 0; i < n_axes && at < 0; i++) {
        for (int j = i + 1; j < n_axes && at < 0; j++)
            at = find_pair(l, s, n, axis[i], axis[j]);
        if (at < 0)
            at = find_pair(l, s, n, axis[i], -1);
    }
    for (int i = 0; i < l->n && at < 0; i++) {
        if (weft_split_is_copy(&l->split[i]))
            at = i;
    }
    return at < 0 ? 0 : at;
}

/* Is x better than y as the largest class: more members, then a faster one? */
static bool is_larger(weft_baseline *b, const weft_device_set *x, const weft_device_set *y)
{
    double x_s, y_s;

    if (x->n != y->n)
        return x->n > y->n;
    weft_baseline_best_design(b, x, NULL, &x_s);
    weft_baseline_best_design(b, y, NULL, &y_s);
    return x_s < y_s;
}

/* The first group below a whole class, or the largest class, that can run everything; -1: none. */
static int find_device_set(weft_baseline *b, const weft_candidates *c, bool is_group)
{
    int best = -1;

    for (int i = 0; i < c->n; i++) {
        int n_missing;

        weft_baseline_best_design(b, &c->device_set[i], &n_missing, NULL);
        if (n_missing > 0)
            continue;
        if (is_group && c->parent[i] >= 0 && c->device_set[i].n > 1)
            return i;
        if (c->parent[i] < 0 && (best < 0 || is_larger(b, &c->device_set[i], &c->device_set[best])))
            best = i;
    }
    return best;
}

static weft_status solve(const weft_shard_problem *p, weft_run *run, bool is_group,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    weft_candidates c = weft_baseline_candidates(b);
    int at = find_device_set(b, &c, is_group);

    if (at >= 0) {
        weft_baseline_sets sets = weft_baseline_sets_new(b, &c.device_set[at], 1);
        weft_draft d = weft_draft_new(b, &sets);

        sets.device_set[0].design = weft_baseline_best_design(b, &c.device_set[at], NULL, NULL);
        for (int u = 0; u < p->steps->n; u++)
            d.choice[u] = weft_baseline_longest(b, u, sets.device_set[0].n);
        weft_baseline_offer(b, &d, NULL);
    }
    return weft_baseline_finish(b, plan, proof);
}

static weft_status solve_group(const weft_shard_problem *p, const weft_shard_options *o,
                               weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, true, plan, proof);
}

static weft_status solve_all(const weft_shard_problem *p, const weft_shard_options *o,
                             weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)o;
    return solve(p, run, false, plan, proof);
}

const weft_shard_solver weft_shard_longest_group = {
    .name = "longest-group",
    .summary = "baseline: splits the two longest axes of each step over one group of accelerators",
    .solve = solve_group};

const weft_shard_solver weft_shard_longest_all = {
    .name = "longest-all",
    .summary = "baseline: splits the two longest axes of each step over all equal accelerators",
    .solve = solve_all};
