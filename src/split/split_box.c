/* SPDX-License-Identifier: MIT */
/* split_box.c: which points each member computes and which parts of tensors it has.
 *
 * Exclusive shards. Members are numbered by mixed radix over the factors, the first axis slowest;
 * coordinate c of factor e owns the block [floor(D c/e), floor(D (c+1)/e)) of an axis of extent D.
 * What is summed over a cut axis is combined by its partners; scattered, partner c_r of e_r keeps
 * block c_s e_r + c_r of e_s e_r of the scatter axis, which is a part of its block c_s of e_s.
 *
 * Shared shards, for sums of products of two operands (left, right). An operand is replicated over
 * its share group: members that differ only in cut axes that do not index it. The axis that is
 * shared has factor 1 and is cut into as many shards as that group has members; in phase t the
 * member number q of its group uses shard (q + t) mod s and then takes the next one from number
 * q + 1, which has just used it.
 *
 *   axis in one operand T        T rotates; the member's own block is complete after s phases
 *   summed axis (in both)        the operand rotates that is replicated, if the other one is not;
 *                                both, if their groups are equally large (Cannon): q is the sum of
 *                                both numbers, so a step along either ring leads to the next shard
 *
 * Guarantee: over the phases each point of the member's block is computed once, and the shard of
 * phase t + 1 is where the ring neighbour had it in phase t. Proof: (q + t) mod s takes each value
 * once for t = 0 .. s - 1; the neighbour has number q + 1 (the other operand's number is the same),
 * so its shard of phase t has number (q + 1 + t) mod s. Sums do not depend on the order of shards.
 * Source: shards of MARS (Shen et al., DAC 2023); Cannon 1969 for two rotating operands. */
#include "step_rule.h"

#include <assert.h>

/* --- rotation -------------------------------------------------------------------------------- */

static bool indexes(const weft_step_axis *a, bool is_left)
{
    return is_left ? a->in_left : a->in_right;
}

/* Members over which an operand is replicated; 0 if they differ in a summed axis. */
static int share_group(const weft_step *step, const int *factor, bool is_left)
{
    int n = 1;

    for (int k = 0; k < step->n_axes; k++)
        if (factor[k] > 1 && !indexes(&step->axis[k], is_left))
            n *= step->axis[k].kind == WEFT_AXIS_REDUCE ? 0 : factor[k];
    return n;
}

int weft_rotation(const weft_step *step, const weft_step_rule *rule, const int *factor, int axis,
                  bool *left, bool *right)
{
    const weft_step_axis *x = &step->axis[axis];
    int n_left = share_group(step, factor, true), n_right = share_group(step, factor, false);
    int s = 0;

    *left = *right = false;
    if (!rule->has_factors || factor[axis] != 1)
        return 0;
    if (x->in_left != x->in_right) {
        *left = x->in_left;
        *right = x->in_right;
    } else if (x->kind == WEFT_AXIS_REDUCE && x->in_left) {
        *left = n_left > 1 && (n_right == 1 || n_right == n_left);
        *right = n_right > 1 && (n_left == 1 || n_left == n_right);
    }
    if (*left || *right)
        s = *left ? n_left : n_right;
    return s > 1 && s <= x->extent ? s : 0;
}

/* --- preparation ----------------------------------------------------------------------------- */

weft_cut weft_cut_of(const weft_steps *s, int step, const weft_split *split)
{
    const weft_step *x = &s->step[step];
    weft_cut c = {.step = x,
                  .rule = &s->rule[step],
                  .n = split->n,
                  .shared = split->shared,
                  .n_phases = 1,
                  .n_reduce = 1,
                  .n_statistic = 1,
                  .is_scattered = split->is_scattered};

    for (int k = 0; k < x->n_axes; k++) {
        c.factor[k] = split->factor[k] > 0 ? split->factor[k] : 1;
        c.is_cut = c.is_cut || c.factor[k] > 1;
        if (weft_axis_is_sum(&x->axis[k]))
            c.n_reduce *= c.factor[k];
        if (x->axis[k].is_statistic)
            c.n_statistic *= c.factor[k];
    }
    if (c.shared >= 0) {
        c.n_phases =
            weft_rotation(x, c.rule, c.factor, c.shared, &c.left_rotates, &c.right_rotates);
        assert(c.n_phases > 1);
    }
    return c;
}

/* --- members --------------------------------------------------------------------------------- */

static void coordinates(const weft_cut *c, int member, int at[WEFT_MAX_AXES])
{
    if (!c->is_cut)
        member = 0;
    for (int k = c->step->n_axes - 1; k >= 0; k--) {
        assert(c->factor[k] > 0); /* as weft_cut_of has it */
        at[k] = member % c->factor[k];
        member /= c->factor[k];
    }
}

static int member_at(const weft_cut *c, const int *at)
{
    int member = 0;

    for (int k = 0; k < c->step->n_axes; k++)
        member = member * c->factor[k] + at[k];
    return member;
}

/* floor(extent * c / e) without overflow. */
static int64_t border(int64_t extent, int c, int e)
{
    return extent / e * c + extent % e * c / e;
}

static void take_block(weft_design_points *p, int axis, int64_t extent, int c, int e)
{
    p->lo[axis] = border(extent, c, e);
    p->hi[axis] = border(extent, c + 1, e);
}

/* Number of the member in the share group of an operand. */
static int ring_number(const weft_cut *c, const int *at, bool is_left)
{
    int q = 0;

    for (int k = 0; k < c->step->n_axes; k++)
        if (!indexes(&c->step->axis[k], is_left))
            q = q * c->factor[k] + at[k];
    return q;
}

static int shard_of(const weft_cut *c, const int *at, int phase)
{
    int q = phase;

    q += c->left_rotates ? ring_number(c, at, true) : 0;
    q += c->right_rotates ? ring_number(c, at, false) : 0;
    return q % c->n_phases;
}

/* Number of the member among those that share its sums. */
static int sum_number(const weft_cut *c, const int *at)
{
    int q = 0;

    for (int k = 0; k < c->step->n_axes; k++)
        if (weft_axis_is_sum(&c->step->axis[k]))
            q = q * c->factor[k] + at[k];
    return q;
}

weft_member weft_cut_member(const weft_cut *c, int member, int phase)
{
    const weft_step *step = c->step;
    int at[WEFT_MAX_AXES];
    weft_member m = {0}; /* a step may have no axis */

    coordinates(c, member, at);
    for (int k = 0; k < step->n_axes; k++)
        take_block(&m.all, k, step->axis[k].extent, at[k], c->factor[k]);
    m.phase = m.final = m.all;
    if (c->shared >= 0)
        take_block(&m.phase, c->shared, step->axis[c->shared].extent, shard_of(c, at, phase),
                   c->n_phases);
    if (c->is_scattered)
        take_block(&m.final, step->scatter, step->axis[step->scatter].extent,
                   at[step->scatter] * c->n_reduce + sum_number(c, at),
                   c->factor[step->scatter] * c->n_reduce);
    return m;
}

static bool is_place(const weft_factor_place *p, bool is_weight, int at)
{
    return p->is_weight == is_weight && p->at == at;
}

bool weft_cut_rotates(const weft_cut *c, bool is_weight, int at)
{
    return (c->left_rotates && is_place(&c->rule->left, is_weight, at)) ||
           (c->right_rotates && is_place(&c->rule->right, is_weight, at));
}

static weft_box box_of(const weft_member *m, const weft_tensor_rule *t, bool rotates)
{
    return weft_rule_box(t, t->is_final ? &m->final : rotates ? &m->phase : &m->all);
}

weft_box weft_cut_need(const weft_cut *c, const weft_member *m, int operand)
{
    return box_of(m, &c->rule->operand[operand], weft_cut_rotates(c, false, operand));
}

weft_box weft_cut_weight(const weft_cut *c, const weft_member *m, int weight)
{
    return box_of(m, &c->rule->weight[weight], weft_cut_rotates(c, true, weight));
}

weft_box weft_cut_result(const weft_cut *c, const weft_member *m, int result)
{
    return box_of(m, &c->rule->result[result], false);
}

/* --- questions ------------------------------------------------------------------------------- */

int weft_split_phases(const weft_steps *s, int step, const weft_split *split)
{
    return weft_cut_of(s, step, split).n_phases;
}

weft_box weft_split_need(const weft_steps *s, int step, const weft_split *split, int member,
                         int operand, int phase)
{
    weft_cut c = weft_cut_of(s, step, split);
    weft_member m = weft_cut_member(&c, member, phase);

    return weft_cut_need(&c, &m, operand);
}

weft_box weft_split_weight(const weft_steps *s, int step, const weft_split *split, int member,
                           int weight, int phase)
{
    weft_cut c = weft_cut_of(s, step, split);
    weft_member m = weft_cut_member(&c, member, phase);

    return weft_cut_weight(&c, &m, weight);
}

weft_box weft_split_result(const weft_steps *s, int step, const weft_split *split, int member,
                           int result)
{
    weft_cut c = weft_cut_of(s, step, split);
    weft_member m = weft_cut_member(&c, member, 0);

    return weft_cut_result(&c, &m, result);
}

void weft_split_boxes(const weft_steps *s, int step, const weft_split *split, weft_box *operand,
                      weft_box *weight, weft_box *result)
{
    weft_cut c = weft_cut_of(s, step, split);

    for (int j = 0; j < c.n; j++) {
        weft_member m = weft_cut_member(&c, j, 0);

        for (int k = 0; k < c.step->n_operands; k++)
            operand[k * c.n + j] = weft_cut_need(&c, &m, k);
        for (int k = 0; k < c.step->n_weights; k++)
            weight[k * c.n + j] = weft_cut_weight(&c, &m, k);
        for (int k = 0; k < c.step->n_results; k++)
            result[k * c.n + j] = weft_cut_result(&c, &m, k);
    }
}

/* Moves to the next number of an operand's share group. */
static void next_in_ring(const weft_cut *c, bool is_left, int at[WEFT_MAX_AXES])
{
    for (int k = c->step->n_axes - 1; k >= 0; k--) {
        if (indexes(&c->step->axis[k], is_left))
            continue;
        at[k] = (at[k] + 1) % c->factor[k];
        if (at[k] != 0)
            return;
    }
}

int weft_split_source(const weft_steps *s, int step, const weft_split *split, int member,
                      bool is_weight, int operand)
{
    weft_cut c = weft_cut_of(s, step, split);
    int at[WEFT_MAX_AXES];

    if (!weft_cut_rotates(&c, is_weight, operand))
        return -1;
    coordinates(&c, member, at);
    next_in_ring(&c, c.left_rotates && is_place(&c.rule->left, is_weight, operand), at);
    return member_at(&c, at);
}

void weft_split_points(const weft_steps *s, int step, const weft_split *split, int member,
                       int phase, int64_t lo[WEFT_MAX_AXES], int64_t hi[WEFT_MAX_AXES])
{
    weft_cut c = weft_cut_of(s, step, split);
    weft_member m = weft_cut_member(&c, member, phase);

    for (int k = 0; k < c.step->n_axes; k++) {
        lo[k] = m.phase.lo[k];
        hi[k] = m.phase.hi[k];
    }
}

int weft_split_partners(const weft_steps *s, int step, const weft_split *split, int member,
                        int partner[WEFT_MAX_MEMBERS])
{
    weft_cut c = weft_cut_of(s, step, split);
    int mine[WEFT_MAX_AXES], at[WEFT_MAX_AXES], n = 0;

    if (!c.is_cut) {
        partner[0] = member;
        return 1;
    }
    coordinates(&c, member, mine);
    for (int j = 0; j < c.n; j++) {
        bool is_partner = true;

        coordinates(&c, j, at);
        for (int k = 0; k < c.step->n_axes; k++)
            is_partner =
                is_partner && (c.step->axis[k].kind == WEFT_AXIS_REDUCE || at[k] == mine[k]);
        if (is_partner)
            partner[n++] = j;
    }
    return n;
}
