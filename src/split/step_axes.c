/* SPDX-License-Identifier: MIT */
/* step_axes.c: along which axes of a loop nest an operator may be cut.
 *
 * 1. Candidates have extent > 1. Of an operator with one nest: PARALLEL, SPATIAL and REDUCE axes;
 * of one with several: PARALLEL axes that all nests have, with the same name and extent.
 * 2. A PARALLEL or SPATIAL axis must lead one dimension of every result that is used: the terms of
 *    that index are the digits of a number (factors 1, e1, e1 e2, ...; all indices occur, each
 *    once), and the axis is the highest digit. Of grouped channels g M/G + m only g qualifies.
 * 3. A REDUCE axis must lead every operand index that has it, and not slide along a SPATIAL axis:
 *    kernels are not cut. If it indexes a result of an operator that is no product, as in softmax
 *    and norms, it must lead there, too, and is a statistic: members combine two numbers a place.
 *
 * Guarantee: blocks of these axes give boxes of results that are disjoint and cover them. Proof: by
 * 2 an interval [lo, hi) of the leading digit with factor f is the interval [f lo, f hi) of
 * indices, offset and clipped alike for all; intervals that partition the digit partition the
 * dimension, and products of partitions partition the product. Axes that do not index a result
 * (sums, statistics of a result that has none of their dimensions) leave copies of its boxes. */
#include "step_rule.h"

#include <string.h>

typedef struct head {
    const weft_graph *g;
    const weft_nests *nests;
    const weft_step *step;
    int u;
} head;

static int term_of(const weft_index *x, int axis)
{
    for (int i = 0; i < x->n_terms; i++)
        if (x->axis[i] == axis)
            return i;
    return -1;
}

static bool has_axis(const weft_access *a, int axis)
{
    for (int d = 0; d < a->rank; d++)
        if (term_of(&a->index[d], axis) >= 0)
            return true;
    return false;
}

int weft_result_slot(const weft_graph *g, int u, int tensor)
{
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] == tensor)
            return i - g->res_at[u];
    return -1;
}

int weft_made_count(const weft_step *step)
{
    return step->n_nodes > 1 ? 1 : step->n_results;
}

int weft_made(const weft_graph *g, const weft_step *step, int i)
{
    int u = step->node[0];

    if (step->n_nodes == 1)
        return step->result[i];
    for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
        if (g->res[k] >= 0 && g->use_at[g->res[k] + 1] > g->use_at[g->res[k]])
            return g->res[k];
    return -1;
}

/* The only access of a result in all nests, and its nest; false if there is not one. */
static bool only_access(const head *h, int tensor, weft_access *out, int *nest)
{
    int slot = weft_result_slot(h->g, h->u, tensor), n = 0;

    for (int i = 0; i < h->nests->n; i++) {
        weft_access a;

        if (!weft_node_access(h->g, h->u, h->nests, i, true, slot, &a))
            continue;
        *out = a;
        *nest = i;
        n++;
    }
    return n == 1 && out->rank == h->g->tensor[tensor].shape->rank;
}

/* Is the term the highest digit of an index whose terms are digits, all values of which occur? */
static bool leads_digits(const weft_nest *n, const weft_index *x, int term, int64_t size)
{
    int64_t reach = 1; /* product of the extents of lower digits */
    int n_left = 0;
    bool used[WEFT_MAX_TERMS] = {false};

    for (int i = 0; i < x->n_terms; i++)
        n_left += n->axis[x->axis[i]].extent > 1;
    for (; n_left > 0; n_left--) {
        int last = -1;

        for (int i = 0; i < x->n_terms; i++)
            if (!used[i] && n->axis[x->axis[i]].extent > 1 && x->factor[i] == reach)
                last = i;
        if (last < 0 || (n_left == 1 && last != term))
            return false;
        used[last] = true;
        if (__builtin_mul_overflow(reach, n->axis[x->axis[last]].extent, &reach))
            return false;
    }
    return x->offset <= 0 && x->offset + reach >= size;
}

/* Does the axis lead exactly one dimension of a result? */
static bool leads_result(const head *h, const weft_access *a, int nest, int axis, int tensor)
{
    const weft_shape *shape = h->g->tensor[tensor].shape;
    int n = 0;

    for (int d = 0; d < a->rank; d++) {
        int term = term_of(&a->index[d], axis);

        if (term < 0)
            continue;
        if (!leads_digits(&h->nests->nest[nest], &a->index[d], term, shape->dim[d]))
            return false;
        n++;
    }
    return n == 1;
}

/* The number of axis `axis` of nest 0 in nest i: the same name, extent and kind; -1 if none. */
static int twin(const weft_nests *nests, int axis, int i)
{
    const weft_axis *x = &nests->nest[0].axis[axis];

    if (i == 0)
        return axis;
    for (int k = 0; k < nests->nest[i].n_axes; k++) {
        const weft_axis *y = &nests->nest[i].axis[k];

        if (strcmp(x->name, y->name) == 0 && x->extent == y->extent && x->kind == y->kind)
            return k;
    }
    return -1;
}

static bool may_cut_parallel(const head *h, int axis)
{
    for (int i = 0; i < weft_made_count(h->step); i++) {
        weft_access a;
        int nest;

        if (!only_access(h, weft_made(h->g, h->step, i), &a, &nest) ||
            !leads_result(h, &a, nest, twin(h->nests, axis, nest), weft_made(h->g, h->step, i)))
            return false;
    }
    return weft_made_count(h->step) > 0;
}

/* An index that has the axis: does the axis lead it, and not slide along a spatial one? */
static bool leads_operand(const weft_nest *n, const weft_index *x, int term)
{
    int64_t reach = 0;

    for (int i = 0; i < x->n_terms; i++) {
        const weft_axis *a = &n->axis[x->axis[i]];

        if (i == term)
            continue;
        if (a->kind == WEFT_AXIS_SPATIAL)
            return false;
        reach += (x->factor[i] < 0 ? -x->factor[i] : x->factor[i]) * (a->extent - 1);
    }
    return x->factor[term] > reach;
}

static bool leads_operands(const head *h, int axis)
{
    const weft_nest *n = &h->nests->nest[0];
    int n_indices = 0;

    for (int k = 0; k < n->n_accesses; k++)
        for (int d = 0; !n->access[k].is_result && d < n->access[k].rank; d++) {
            int term = term_of(&n->access[k].index[d], axis);

            if (term >= 0 && !leads_operand(n, &n->access[k].index[d], term))
                return false;
            n_indices += term >= 0;
        }
    return n_indices > 0;
}

static bool may_cut_reduce(const head *h, int axis, bool *is_statistic)
{
    *is_statistic = false;
    if (!weft_node_combines(h->g, h->u) || !leads_operands(h, axis))
        return false;
    for (int i = 0; i < weft_made_count(h->step); i++) {
        weft_access a;
        int nest;

        if (!only_access(h, weft_made(h->g, h->step, i), &a, &nest))
            return false;
        if (!has_axis(&a, axis))
            continue;
        if (h->nests->nest[0].is_mac ||
            !leads_result(h, &a, nest, axis, weft_made(h->g, h->step, i)))
            return false;
        *is_statistic = true;
    }
    return weft_made_count(h->step) > 0;
}

static bool may_cut(const head *h, int axis, bool *is_statistic)
{
    const weft_axis *x = &h->nests->nest[0].axis[axis];

    *is_statistic = false;
    if (x->extent <= 1 || x->kind == WEFT_AXIS_SEQUENTIAL)
        return false;
    for (int i = 1; i < h->nests->n; i++)
        if (x->kind != WEFT_AXIS_PARALLEL || twin(h->nests, axis, i) < 0)
            return false;
    if (x->kind == WEFT_AXIS_REDUCE)
        return may_cut_reduce(h, axis, is_statistic);
    return may_cut_parallel(h, axis);
}

static bool is_in_results(const head *h, int axis)
{
    for (int i = 0; i < weft_made_count(h->step); i++) {
        weft_access a;
        int nest;

        if (only_access(h, weft_made(h->g, h->step, i), &a, &nest) &&
            has_axis(&a, twin(h->nests, axis, nest)))
            return true;
    }
    return false;
}

/* Partial sums of a product stay cut along the columns of the right operand; of other operators,
 * along the longest parallel axis. */
static int find_scatter(const weft_step *step, bool is_mac)
{
    bool has_sum = false;
    int best = -1;

    for (int k = 0; k < step->n_axes; k++) {
        const weft_step_axis *a = &step->axis[k];
        bool may = is_mac ? a->in_right && !a->in_left : a->kind == WEFT_AXIS_PARALLEL;

        has_sum = has_sum || weft_axis_is_sum(a);
        if (may && a->in_result && a->kind != WEFT_AXIS_REDUCE &&
            (best < 0 || a->extent > step->axis[best].extent))
            best = k;
    }
    return has_sum ? best : -1;
}

/* Where the operand of an access stands in the lists of the step. */
static bool find_place(const weft_step *step, const weft_access *a, weft_factor_place *out)
{
    for (int k = 0; k < step->n_operands; k++)
        if (step->operand[k].node == 0 && step->operand[k].slot == a->slot) {
            *out = (weft_factor_place){false, k};
            return true;
        }
    for (int k = 0; k < step->n_weights; k++)
        if (step->weight[k].node == 0 && step->weight[k].slot == a->slot) {
            *out = (weft_factor_place){true, k};
            return true;
        }
    return false;
}

static void find_factors(const weft_nests *nests, const weft_step *step, weft_step_rule *rule,
                         int side[2])
{
    const weft_nest *n = &nests->nest[0];

    rule->has_factors = nests->n == 1 && weft_nest_factors(n, &side[0], &side[1]) &&
                        find_place(step, &n->access[side[0]], &rule->left) &&
                        find_place(step, &n->access[side[1]], &rule->right);
}

void weft_find_axes(const weft_graph *g, const weft_nests *nests, weft_step *step,
                    weft_step_rule *rule)
{
    const head h = {g, nests, step, step->node[0]};
    const weft_nest *n = &nests->nest[0];
    int side[2] = {0, 0};

    memset(rule->axis_of, -1, sizeof rule->axis_of);
    step->n_axes = 0;
    step->scatter = -1;
    if (nests->n == 0)
        return;
    find_factors(nests, step, rule, side);
    for (int k = 0; k < n->n_axes; k++) {
        bool is_statistic;

        if (!may_cut(&h, k, &is_statistic))
            continue;
        step->axis[step->n_axes] =
            (weft_step_axis){.name = n->axis[k].name,
                             .extent = n->axis[k].extent,
                             .kind = n->axis[k].kind,
                             .in_left = rule->has_factors && has_axis(&n->access[side[0]], k),
                             .in_right = rule->has_factors && has_axis(&n->access[side[1]], k),
                             .in_result = is_in_results(&h, k),
                             .is_statistic = is_statistic};
        for (int i = 0; i < nests->n; i++)
            rule->axis_of[i][twin(nests, k, i)] = (int8_t)step->n_axes;
        step->n_axes++;
    }
    step->scatter = find_scatter(step, n->is_mac);
}
