/* SPDX-License-Identifier: MIT */
/* edge.c: what passes between two steps.
 *
 * Inside a set: member j needs box N of the tensor and owns box O, so it receives |N| - |N and O|
 * elements: halo exchange, gathering, scattering and transposition of layouts are all this formula.
 * The step takes as long as the member that receives most. Between sets every member receives its
 * whole need.
 *
 * Interior: a dimension whose need exceeds what is owned restricts its leading axis to the points
 * whose indices are owned (or fall outside the tensor); restrictions of several dimensions
 * intersect, so the rest is a block. Points beyond the kept block count as waiting, even if some of
 * them do not: the share is never too large. Operands of followers let all points before them go
 * ahead.
 *
 * Cost: O(members * rank). */
#include "step_rule.h"

#include <math.h>

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Copies are equal: one of them stands for all. */
static int n_distinct(const weft_cut *a, const weft_cut *b)
{
    return a->is_cut || b->is_cut ? b->n : 1;
}

double weft_reshard_bytes(const weft_steps *s, int v, int k, const weft_split *from,
                          const weft_split *to, double *total)
{
    const weft_step_operand *x = &s->step[v].operand[k];
    weft_cut need = weft_cut_of(s, v, to), own;
    double largest = 0, sum = 0;
    int n;

    if (x->step < 0)
        return weft_need_bytes(s, v, k, to, total);
    own = weft_cut_of(s, x->step, from);
    n = n_distinct(&own, &need);
    for (int j = 0; j < n; j++) {
        weft_member reader = weft_cut_member(&need, j, 0), maker = weft_cut_member(&own, j, 0);
        weft_box a = weft_cut_need(&need, &reader, k), b = weft_cut_result(&own, &maker, x->result);
        double bytes = (double)(weft_box_elements(&a) - weft_box_common(&a, &b)) *
                       need.rule->operand[k].element_bytes;

        largest = most(largest, bytes);
        sum += bytes;
    }
    if (total)
        *total = sum * need.n / n;
    return largest;
}

double weft_need_bytes(const weft_steps *s, int v, int k, const weft_split *to, double *total)
{
    weft_cut c = weft_cut_of(s, v, to);
    double largest = 0, sum = 0;
    int n = c.is_cut ? c.n : 1;

    for (int j = 0; j < n; j++) {
        weft_member m = weft_cut_member(&c, j, 0);
        weft_box b = weft_cut_need(&c, &m, k);
        double bytes = (double)weft_box_elements(&b) * c.rule->operand[k].element_bytes;

        largest = most(largest, bytes);
        sum += bytes;
    }
    if (total)
        *total = sum * c.n / n;
    return largest;
}

double weft_result_bytes(const weft_steps *s, int v, int result, const weft_split *split,
                         double *total)
{
    weft_cut c = weft_cut_of(s, v, split);
    double largest = 0;
    int n = c.is_cut ? c.n : 1;

    for (int j = 0; j < n; j++) {
        weft_member m = weft_cut_member(&c, j, 0);
        weft_box b = weft_cut_result(&c, &m, result);

        largest =
            most(largest, (double)weft_box_elements(&b) * c.rule->result[result].element_bytes);
    }
    if (total)
        *total = (double)s->graph->tensor[s->step[v].result[result]].bytes;
    return largest;
}

/* --- interior -------------------------------------------------------------------------------- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Keeps the points of a dimension's leading axis whose indices lie in [lo, hi); false if none do or
 * it cannot be told. `kept` starts as the member's block `all`. */
static bool keep_points(const weft_dim_rule *d, const weft_design_points *all, int64_t lo,
                        int64_t hi, weft_design_points *kept)
{
    int64_t low = d->lo, high = d->hi, first, last;
    int lead = 0;

    if (d->n_terms == 0 || d->stride > 0)
        return false;
    for (int i = 0; i < d->n_terms; i++) {
        if (d->factor[i] <= 0)
            return false;
        lead = d->factor[i] > d->factor[lead] ? i : lead;
    }
    for (int i = 0; i < d->n_terms; i++) {
        low += i == lead ? 0 : d->factor[i] * all->lo[d->axis[i]];
        high += i == lead ? 0 : d->factor[i] * (all->hi[d->axis[i]] - 1);
    }
    first = lo > 0 ? -floor_divide(low - lo, d->factor[lead]) : INT64_MIN;
    last = hi < d->size ? floor_divide(hi - 1 - high, d->factor[lead]) : INT64_MAX - 1;
    if (first > kept->lo[d->axis[lead]])
        kept->lo[d->axis[lead]] = first;
    if (last + 1 < kept->hi[d->axis[lead]])
        kept->hi[d->axis[lead]] = last + 1;
    return kept->lo[d->axis[lead]] < kept->hi[d->axis[lead]];
}

/* Share of a member's points of the head that read nothing outside the box `own`. */
static double kept_share(const weft_cut *c, const weft_tensor_rule *t,
                         const weft_design_points *all, const weft_box *need, const weft_box *own)
{
    weft_design_points kept = *all;
    double share = 1;

    for (int d = 0; d < t->whole.rank; d++) {
        bool is_there = need->lo[d] >= own->lo[d] && need->hi[d] <= own->hi[d];

        for (int i = 0; i < t->n_variants && !is_there; i++)
            if (own->lo[d] >= own->hi[d] ||
                !keep_points(&t->way[i].dim[d], all, own->lo[d], own->hi[d], &kept))
                return 0;
    }
    for (int k = 0; k < c->step->n_axes; k++)
        share *= (double)(kept.hi[k] - kept.lo[k]) / (double)(all->hi[k] - all->lo[k]);
    return t->n_variants > 0 ? share : 0;
}

/* Points of the head and of each follower that a member computes. */
static double head_points(const weft_cut *c, const weft_design_points *all)
{
    double sum = 0;

    for (int i = 0; i < c->rule->n_nests; i++) {
        const weft_nest *n = &c->rule->nest[i];
        double points = 1;

        for (int k = 0; k < n->n_axes; k++) {
            int axis = c->rule->axis_of[i][k];

            points *= (double)(axis < 0 ? n->axis[k].extent : all->hi[axis] - all->lo[axis]);
        }
        sum += points;
    }
    return sum;
}

static double member_share(const weft_cut *c, const weft_member *m, int k, const weft_box *need,
                           const weft_box *own)
{
    int64_t needed = weft_box_elements(need), common = weft_box_common(need, own);
    weft_box last = weft_rule_box(&c->rule->last, &m->final);
    double head = head_points(c, &m->all), each = (double)weft_box_elements(&last);
    double sum = head + (c->step->n_nodes - 1) * each;
    int node = c->step->operand[k].node;

    if (common == needed)
        return 1;
    if (!(sum > 0))
        return 0;
    if (node == 0)
        return kept_share(c, &c->rule->operand[k], &m->all, need, own) * head / sum;
    return (head + (node - 1) * each +
            (c->step->n_nodes - node) * each * (double)common / (double)needed) /
           sum;
}

double weft_interior_share(const weft_steps *s, int v, int k, const weft_split *from,
                           const weft_split *to)
{
    const weft_step_operand *x = &s->step[v].operand[k];
    weft_cut need = weft_cut_of(s, v, to), own;
    double share = 1;
    int n;

    if (x->step < 0 || need.shared >= 0)
        return 0;
    own = weft_cut_of(s, x->step, from);
    n = n_distinct(&own, &need);
    for (int j = 0; j < n; j++) {
        weft_member reader = weft_cut_member(&need, j, 0), maker = weft_cut_member(&own, j, 0);
        weft_box a = weft_cut_need(&need, &reader, k), b = weft_cut_result(&own, &maker, x->result);

        share = fmin(share, member_share(&need, &reader, k, &a, &b));
    }
    return share;
}

/* --- seconds --------------------------------------------------------------------------------- */

double weft_reshard_s(const weft_link_cost *inside, double largest_bytes)
{
    return weft_link_cost_s(inside, largest_bytes);
}

double weft_handover_s(const weft_link_cost *between, double need_bytes, double tensor_bytes,
                       int n_senders)
{
    if (!(need_bytes > 0))
        return 0;
    return weft_link_cost_s(between, most(need_bytes, tensor_bytes / n_senders));
}
