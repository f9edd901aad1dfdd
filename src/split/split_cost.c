/* SPDX-License-Identifier: MIT */
/* split_cost.c: what a split costs on devices of one design.
 *
 * 1. Every member's boxes (of phase 0; over all members these are all shards) give the bytes that
 *    the fullest member holds and the most elements that any member touches of a tensor.
 * 2. The head costs what its loop nest costs with extents ceil(D/e), of the shared axis ceil(D/s),
 *    in each phase. Blocks have that size or one less on each axis, and every combination of blocks
 *    has a member, so this is the largest member's work. Bytes are those the nest touches, but no
 *    more than the boxes hold; without a cut, exactly those of weft_work_key_of.
 * 3. Followers cost what is left in the end; a share of it is added to each phase, so that n_phases
 *    * phase_s is the sum.
 * 4. Rings of r members: all-reduce 2 (r-1)/r of the bytes pass each link, reduce-scatter half.
 *
 * Guarantee: seconds and bytes are those of the slowest or fullest member, never less. Joules count
 * every member as if it were the largest: exact where the factors divide the extents.
 * Cost: O(members * tensors * rank), and one question to the model of the device for each node; two
 * rotating operands take O(members * phases). */
#include "step_rule.h"

#include <math.h>
#include <string.h>

/* --- what members hold ----------------------------------------------------------------------- */

enum { FEW = 48 };

/* The most elements that a member has of each tensor, and sums of bytes. */
typedef struct holdings {
    int64_t *operand, *weight, *result; /* elements */
    int64_t last[WEFT_MAX_RANK];        /* lengths of what followers work on */
    int64_t last_elements;
    double weight_bytes, operand_bytes, result_bytes, rotate_bytes, reduce_bytes, statistic_bytes;
    double sent_bytes;
    weft_arena *scratch; /* NULL: room[] is enough */
    int64_t room[FEW];
} holdings;

static void make_room(const weft_step *step, holdings *h)
{
    int n = step->n_operands + step->n_weights + step->n_results;

    memset(h, 0, sizeof *h);
    if (n > FEW)
        h->scratch = weft_arena_new();
    h->operand = h->scratch ? WEFT_NEW(h->scratch, int64_t, n) : h->room;
    h->weight = h->operand + step->n_operands;
    h->result = h->weight + step->n_weights;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static weft_box entry_box(const weft_cut *c, const weft_member *m, bool is_weight, int k)
{
    return is_weight ? weft_cut_weight(c, m, k) : weft_cut_need(c, m, k);
}

static bool is_equal(const weft_box *a, const weft_box *b)
{
    return weft_box_elements(a) == weft_box_elements(b) &&
           weft_box_common(a, b) == weft_box_elements(a);
}

/* Bytes of a member's boxes of a list, the same part of a tensor once, and per entry the most
 * elements so far; *rotating gets those of operands that rotate. */
static double hold_list(const weft_cut *c, const weft_member *m, bool is_weight, int64_t *elements,
                        double *rotating)
{
    const weft_tensor_rule *rule = is_weight ? c->rule->weight : c->rule->operand;
    int n = is_weight ? c->step->n_weights : c->step->n_operands;
    double sum = 0;

    for (int k = 0; k < n; k++) {
        weft_box b = entry_box(c, m, is_weight, k), before;
        int64_t x = weft_box_elements(&b);
        bool is_repeated = false;

        if (rule[k].same_as >= 0 && c->shared < 0) { /* shards that rotate leave their bytes */
            before = entry_box(c, m, is_weight, rule[k].same_as);
            is_repeated = is_equal(&b, &before);
        }
        elements[k] = x > elements[k] ? x : elements[k];
        sum += is_repeated ? 0 : (double)x * rule[k].element_bytes;
        if (c->shared >= 0 && weft_cut_rotates(c, is_weight, k))
            *rotating += (double)x * rule[k].element_bytes;
    }
    return sum;
}

static double hold_results(const weft_cut *c, const weft_member *m, int64_t *elements)
{
    double sum = 0;

    for (int k = 0; k < c->step->n_results; k++) {
        weft_box b = weft_cut_result(c, m, k);
        int64_t x = weft_box_elements(&b);

        elements[k] = x > elements[k] ? x : elements[k];
        sum += (double)x * c->rule->result[k].element_bytes;
    }
    return sum;
}

/* What followers work on, in the end. */
static void hold_last(const weft_cut *c, const weft_member *m, holdings *h)
{
    weft_box b = weft_rule_box(&c->rule->last, &m->final);
    int64_t n = weft_box_elements(&b);

    h->last_elements = n > h->last_elements ? n : h->last_elements;
    for (int d = 0; d < b.rank; d++)
        if (b.hi[d] - b.lo[d] > h->last[d])
            h->last[d] = b.hi[d] - b.lo[d];
}

/* Places that have statistics: the points of the member without those that are combined. */
static double n_places(const weft_cut *c, const weft_member *m)
{
    const weft_nest *n = &c->rule->nest[0];
    double places = 1;

    for (int i = 0; i < n->n_axes; i++) {
        int k = c->rule->axis_of[0][i];

        if (n->axis[i].kind != WEFT_AXIS_REDUCE)
            places *= (double)(k < 0 ? n->axis[i].extent : m->all.hi[k] - m->all.lo[k]);
    }
    return places;
}

/* Sums and statistics of a member, and what it receives while they are combined. */
static void hold_sums(const weft_cut *c, const weft_member *m, holdings *h)
{
    if (c->n_reduce > 1) {
        weft_box b = weft_rule_box(&c->rule->last, &m->all);
        double bytes = (double)weft_box_elements(&b) * c->rule->last.element_bytes;

        h->reduce_bytes = most(h->reduce_bytes, bytes);
        h->sent_bytes += (c->is_scattered ? 1 : 2) * (c->n_reduce - 1.0) / c->n_reduce * bytes;
    }
    if (c->n_statistic > 1) {
        double bytes = 2 * most(WEFT_STATISTIC_BYTES, c->rule->last.element_bytes) * n_places(c, m);

        h->statistic_bytes = most(h->statistic_bytes, bytes);
        h->sent_bytes += 2 * (c->n_statistic - 1.0) / c->n_statistic * bytes;
    }
}

/* Two rotating operands: the largest pair of shards that a member receives together. */
static double largest_pair(const weft_cut *c)
{
    double largest = 0;

    for (int j = 0; j < c->n; j++)
        for (int t = 1; t < c->n_phases; t++) {
            weft_member m = weft_cut_member(c, j, t);
            const weft_factor_place *side[] = {&c->rule->left, &c->rule->right};
            double sum = 0;

            for (int i = 0; i < 2; i++) {
                const weft_tensor_rule *rule = side[i]->is_weight ? &c->rule->weight[side[i]->at]
                                                                  : &c->rule->operand[side[i]->at];
                weft_box b = weft_rule_box(rule, &m.phase);

                sum += (double)weft_box_elements(&b) * rule->element_bytes;
            }
            largest = most(largest, sum);
        }
    return largest;
}

/* A ring's members have all shards of their operand in phase 0, and each travels to all others. */
static void hold(const weft_cut *c, holdings *h)
{
    int n = c->is_cut ? c->n : 1; /* copies are equal */

    make_room(c->step, h);
    for (int j = 0; j < n; j++) {
        weft_member m = weft_cut_member(c, j, 0);
        double rotating = 0;

        h->operand_bytes = most(h->operand_bytes, hold_list(c, &m, false, h->operand, &rotating));
        h->weight_bytes = most(h->weight_bytes, hold_list(c, &m, true, h->weight, &rotating));
        h->result_bytes = most(h->result_bytes, hold_results(c, &m, h->result));
        h->rotate_bytes = most(h->rotate_bytes, rotating);
        h->sent_bytes += (c->n_phases - 1) * rotating;
        hold_last(c, &m, h);
        hold_sums(c, &m, h);
    }
    if (c->left_rotates && c->right_rotates)
        h->rotate_bytes = largest_pair(c);
}

/* --- what members compute -------------------------------------------------------------------- */

/* Elements of a node's operands and results that are touched at most, by slot. */
typedef struct limits {
    int64_t *read, *written;
    weft_arena *scratch;
    int64_t room[FEW];
} limits;

static void limit_list(const weft_step_operand *list, int n, const int64_t *elements, int node,
                       limits *l)
{
    for (int k = 0; k < n; k++)
        if (list[k].node == node)
            l->read[list[k].slot] = elements[k];
}

/* Limits of node i of the step; tensors inside the step are as large as its end. */
static void find_limits(const weft_graph *g, const weft_cut *c, const holdings *h, int i, limits *l)
{
    const weft_step *step = c->step;
    int u = step->node[i], n_args = g->arg_at[u + 1] - g->arg_at[u];
    int n = n_args + g->res_at[u + 1] - g->res_at[u];

    l->scratch = n > FEW ? weft_arena_new() : NULL;
    l->read = l->scratch ? WEFT_NEW(l->scratch, int64_t, n) : l->room;
    l->written = l->read + n_args;
    for (int k = 0; k < n; k++)
        l->read[k] = -1;
    for (int k = 0; k < n_args && i > 0; k++)
        l->read[k] = h->last_elements;
    limit_list(step->operand, step->n_operands, h->operand, i, l);
    limit_list(step->weight, step->n_weights, h->weight, i, l);
    for (int k = 0; k < n - n_args && i > 0; k++)
        l->written[k] = h->last_elements;
}

static int64_t blocks(int64_t extent, int n)
{
    return extent / n + (extent % n != 0);
}

/* The head's nests as the largest member walks them in a phase. */
static void cut_nests(const weft_cut *c, weft_nests *out)
{
    out->n = c->rule->n_nests;
    for (int i = 0; i < out->n; i++) {
        out->nest[i] = c->rule->nest[i];
        for (int k = 0; k < out->nest[i].n_axes; k++) {
            int axis = c->rule->axis_of[i][k];
            int64_t *extent = &out->nest[i].axis[k].extent;

            if (axis >= 0)
                *extent = blocks(*extent, axis == c->shared ? c->n_phases : c->factor[axis]);
        }
    }
}

static void key_of_part(const weft_graph *g, const weft_cut *c, const holdings *h, int i,
                        const weft_nest *nest, int n, weft_work_key *out)
{
    weft_work_part part = {.n = n, .nest = nest};
    limits l;

    find_limits(g, c, h, i, &l);
    if (c->is_cut) {
        part.most_read = l.read;
        part.most_written = l.written;
    }
    weft_part_key_of(g, c->step->node[i], &part, out);
    weft_arena_free(l.scratch);
}

static void head_key(const weft_graph *g, const weft_cut *c, const holdings *h, weft_work_key *out)
{
    weft_nests nests;

    if (!c->is_cut) {
        key_of_part(g, c, h, 0, c->rule->nest, c->rule->n_nests, out);
        return;
    }
    cut_nests(c, &nests);
    key_of_part(g, c, h, 0, nests.nest, nests.n, out);
}

static void cut_follower(const weft_cut *c, const holdings *h, int i, weft_nest *nest)
{
    for (int k = 0; k < nest->n_axes && c->is_cut; k++)
        nest->axis[k].extent = h->last[c->rule->dim_of[i - 1][k]];
}

static void follower_key(const weft_graph *g, const weft_cut *c, const holdings *h, int i,
                         weft_work_key *out)
{
    weft_nest nest = c->rule->follower[i - 1];

    cut_follower(c, h, i, &nest);
    key_of_part(g, c, h, i, &nest, 1, out);
}

static void forward_key(const weft_graph *g, const weft_cut *c, const holdings *h, int i,
                        weft_work_key *out)
{
    if (i == 0)
        head_key(g, c, h, out);
    else
        follower_key(g, c, h, i, out);
}

/* Sums that members combine leave the kernel: the nodes of such a step are kernels of their own.
 * `room` is for the graph that says so. */
static const weft_graph *graph_of(const weft_graph *g, const weft_cut *c, weft_graph *room)
{
    if (g->kernel == NULL || !c->is_cut || (c->n_reduce <= 1 && c->n_statistic <= 1))
        return g;
    *room = *g;
    room->kernel = NULL;
    return room;
}

static weft_cost node_cost(const weft_graph *g, const weft_cut *c, const holdings *h, int i,
                           const weft_design *d)
{
    const weft_node *n = &g->node[c->step->node[i]];
    weft_work_key k;
    weft_cost cost;

    forward_key(g, c, h, i, &k);
    cost = weft_design_cost(d, &k);
    if (!k.is_view && !weft_design_supports(d, n->op, n->domain))
        cost.seconds = INFINITY;
    return cost;
}

static void add_compute(const weft_graph *g, const weft_cut *c, const holdings *h,
                        const weft_design *d, weft_split_cost *m)
{
    weft_cost head = node_cost(g, c, h, 0, d);

    m->phase_s = head.seconds;
    m->joules = c->n_phases * head.joules;
    for (int i = 1; i < c->step->n_nodes; i++) {
        weft_cost more = node_cost(g, c, h, i, d);

        m->phase_s += more.seconds / c->n_phases;
        m->joules += more.joules;
    }
    m->joules *= c->n;
}

/* --- gradients ------------------------------------------------------------------------------- */

/* A backward node walks the nests of its forward node, node i of the step: the same axes. */
static void cut_backward(const weft_cut *c, const holdings *h, int i, weft_nests *nests)
{
    for (int n = 0; n < nests->n; n++) {
        weft_nest *nest = &nests->nest[n];

        if (i > 0)
            cut_follower(c, h, i, nest);
        for (int k = 0; i == 0 && k < nest->n_axes; k++)
            for (int x = 0; x < c->step->n_axes; x++)
                if (c->factor[x] > 1 && nest->axis[k].extent == c->step->axis[x].extent &&
                    strcmp(nest->axis[k].name, c->step->axis[x].name) == 0) {
                    nest->axis[k].extent = blocks(nest->axis[k].extent, c->factor[x]);
                    break;
                }
    }
}

/* The most elements that a member has of a tensor that node i of the step makes; -1: not known. */
static int64_t made_elements(const weft_cut *c, const holdings *h, int i, int tensor)
{
    for (int k = 0; k < c->step->n_results; k++)
        if (c->step->result[k] == tensor)
            return h->result[k];
    return c->step->n_nodes > 1 || i > 0 ? h->last_elements : -1;
}

/* Operands and results of backward nodes have the places that are given in ops/nest.c. */
static void find_back_limits(const weft_graph *g, const weft_cut *c, const holdings *h, int i,
                             int u, limits *l)
{
    int f = c->step->node[i], n_args = g->arg_at[f + 1] - g->arg_at[f];
    int n_res = g->res_at[f + 1] - g->res_at[f], n_read = g->arg_at[u + 1] - g->arg_at[u];
    int n = n_read + g->res_at[u + 1] - g->res_at[u];
    limits of;

    find_limits(g, c, h, i, &of);
    l->scratch = n > FEW ? weft_arena_new() : NULL;
    l->read = l->scratch ? WEFT_NEW(l->scratch, int64_t, n) : l->room;
    l->written = l->read + n_read;
    for (int k = 0; k < n; k++)
        l->read[k] = -1;
    for (int k = 0; k < n_res && n_args + n_res + k < n_read; k++)
        l->read[k] = l->read[n_res + n_args + k] = made_elements(c, h, i, g->res[g->res_at[f] + k]);
    for (int k = 0; k < n_args && n_res + k < n_read && k < n - n_read; k++)
        l->read[n_res + k] = l->written[k] = of.read[k];
    weft_arena_free(of.scratch);
}

static void backward_key(const weft_graph *g, const weft_cut *c, const holdings *h, int i, int u,
                         weft_work_key *out)
{
    weft_work_part part = {0};
    weft_nests nests;
    limits l;

    weft_node_nests(g, u, &nests);
    cut_backward(c, h, i, &nests);
    find_back_limits(g, c, h, i, u, &l);
    part = (weft_work_part){nests.n, nests.nest, l.read, l.written};
    weft_part_key_of(g, u, &part, out);
    weft_arena_free(l.scratch);
}

/* Place of the node, or of the forward node of a backward node, in the step. */
static int place_of(const weft_graph *g, const weft_step *step, int u)
{
    int of = g->node[u].phase == WEFT_BACKWARD ? g->node[u].forward : u, i = 0;

    while (step->node[i] != of)
        i++;
    return i;
}

void weft_split_keys(const weft_steps *s, int step, const weft_split *split, int n, const int *node,
                     weft_work_key *out)
{
    const weft_graph *g;
    weft_graph room;
    weft_split gathered = *split; /* for backward nodes of the head: scattered sums are gathered */
    weft_cut c = weft_cut_of(s, step, split), whole;
    holdings h, all;

    g = graph_of(s->graph, &c, &room);
    gathered.is_scattered = false;
    whole = weft_cut_of(s, step, &gathered);
    hold(&c, &h);
    hold(&whole, &all);
    for (int k = 0; k < n; k++) {
        int i = place_of(g, &s->step[step], node[k]);

        if (g->node[node[k]].phase != WEFT_BACKWARD)
            forward_key(g, &c, &h, i, &out[k]);
        else if (!c.is_cut)
            weft_work_key_of(g, node[k], &out[k]);
        else
            backward_key(g, i == 0 ? &whole : &c, i == 0 ? &all : &h, i, node[k], &out[k]);
    }
    weft_arena_free(h.scratch);
    weft_arena_free(all.scratch);
}

/* --- modes ----------------------------------------------------------------------------------- */

weft_split_cost weft_split_cost_of(const weft_steps *s, int step, const weft_split *split,
                                   const weft_design *d)
{
    weft_cut c = weft_cut_of(s, step, split);
    weft_split_cost m;
    weft_graph room;
    holdings h;

    hold(&c, &h);
    m = (weft_split_cost){.n_phases = c.n_phases,
                          .rotate_bytes = h.rotate_bytes,
                          .reduce_bytes = h.reduce_bytes,
                          .n_reduce = c.n_reduce,
                          .is_scattered = c.is_scattered,
                          .statistic_bytes = h.statistic_bytes,
                          .n_statistic = c.n_statistic,
                          .weight_bytes = h.weight_bytes,
                          .operand_bytes = h.operand_bytes,
                          .result_bytes = h.result_bytes,
                          .extra_bytes = h.rotate_bytes + h.reduce_bytes,
                          .sent_bytes = h.sent_bytes};
    add_compute(graph_of(s->graph, &c, &room), &c, &h, d, &m);
    weft_arena_free(h.scratch);
    return m;
}

/* --- seconds --------------------------------------------------------------------------------- */

double weft_split_compute_s(const weft_split_cost *m)
{
    return m->n_phases * m->phase_s;
}

double weft_split_reduce_s(const weft_split_cost *m, const weft_link_cost *inside)
{
    int passes = m->is_scattered ? WEFT_REDUCE_SCATTER : WEFT_ALL_REDUCE;

    return weft_ring_s(inside, m->n_reduce, passes, m->reduce_bytes) +
           weft_ring_s(inside, m->n_statistic, WEFT_ALL_REDUCE, m->statistic_bytes);
}

double weft_split_cost_s(const weft_split_cost *m, const weft_link_cost *inside, bool hides)
{
    double rotate_s = weft_link_cost_s(inside, m->rotate_bytes), c = m->phase_s;
    double phases_s = m->n_phases == 1 ? c /* 0 times no end is no number */
                      : hides          ? c + (m->n_phases - 1) * most(c, rotate_s)
                                       : m->n_phases * c + (m->n_phases - 1) * rotate_s;

    return phases_s + weft_split_reduce_s(m, inside);
}
